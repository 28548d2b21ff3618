import { readInteger, readList, readRecord, type Read } from '../kernel/shape.ts';
import type { VirtualNs } from '../kernel/units.ts';
import { readBlockEnd, type BlockEnd } from './machine-input.ts';
import type { WorldState } from './world-state.ts';

/** What the world holds of a machine that begins where it is ready (CR-55). */
export interface ReadyNode {
  /** When that is: its node starts then, and is without power before. */
  readonly atNs: VirtualNs;
  /** The node's files, which are its disks. */
  readonly files: unknown;
  /** Requests to its disks that are under way, and when they end. */
  readonly ends: readonly { readonly atNs: VirtualNs; readonly end: BlockEnd }[];
}

/** At most this many requests are under way to a machine's disks: each queue has 1,024 places. */
const ENDS_MAX = 65_536;

/** Takes a document for what `readyNode` gave; anything else is refused (`bundle/shape`). */
export const readReadyNode: Read<ReadyNode> = readRecord<ReadyNode>({
  atNs: readInteger(),
  files: (value) => value,
  ends: readList(readRecord({ atNs: readInteger(), end: readBlockEnd }), ENDS_MAX),
});

/** What a world that was captured when its only machine got ready holds of it. */
export function readyNode({ lives, files, queue }: WorldState, node: number): ReadyNode {
  const ends = queue.events.flatMap(({ atNs, sequence, payload }) => {
    return payload.kind === 'block' ? [{ atNs, sequence, end: payload.end }] : [];
  });
  // The queue is a heap: this is the order in which they end.
  ends.sort((a, b) => a.atNs - b.atNs || a.sequence - b.sequence);
  return {
    atNs: lives[node]?.localNs ?? 0,
    files: files[node],
    ends: ends.map(({ atNs, end }) => ({ atNs, end })),
  };
}
