import type { Decisions } from '../kernel/decision.ts';
import type { EventLog } from '../kernel/event-log.ts';
import { readInteger, readList, readPair, readRecord } from '../kernel/shape.ts';
import type { VirtualNs } from '../kernel/units.ts';
import { MEMORY_WORD_BITS, type MemoryRangeDef } from '../plan/hardware.ts';
import type { Note } from './timeline.ts';
import { describeAddress, describeBits, drawBits, drawWord } from './word-flip.ts';

/** Bits of the word at `address`, of 8 bytes and the least one first, that are not as they were. */
export interface MemoryFlip {
  readonly address: number;
  /** Ascending, each once. */
  readonly bits: readonly number[];
}

/** A flip that the plan has asked for. */
interface Wanted {
  readonly bits: number;
  readonly range?: MemoryRangeDef;
}

export interface MemoryFlipsOptions {
  readonly names: readonly string[];
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly note: (note: Note) => void;
}

const readState = readList(
  readPair(
    readInteger(),
    readRecord<Wanted>(
      {
        bits: readInteger(1, MEMORY_WORD_BITS),
        range: readRecord<MemoryRangeDef>({ address: readInteger(), bytes: readInteger(1) }),
      },
      ['range'],
    ),
  ),
  Number.MAX_SAFE_INTEGER,
);

/** No more flips than this wait for a guest that stands still; later ones change nothing. */
const WAITING_MAX = 1_024;
const BYTE_BITS = 8;
const NONE: readonly MemoryFlip[] = [];

/**
 * Flips in the memory of compiled programs. How much memory one has is known when it goes on, and
 * before that it sees none of it: the word is drawn then.
 */
export class MemoryFlips {
  private readonly options: MemoryFlipsOptions;
  private waiting: (readonly [node: number, wanted: Wanted])[] = [];

  constructor(options: MemoryFlipsOptions) {
    this.options = options;
  }

  /** A flip waits for the node to go on; false if too many do. */
  add(node: number, { bits, range }: Wanted): boolean {
    if (this.waiting.length >= WAITING_MAX) return false;
    this.waiting.push([node, { bits, ...(range === undefined ? {} : { range }) }]);
    return true;
  }

  /** What flips in the node's memory of so many bytes now that it goes on. */
  take(node: number, byteCount: number, atNs: VirtualNs): readonly MemoryFlip[] {
    if (this.waiting.length === 0) return NONE;
    const due = this.waiting.filter(([of]) => of === node);
    this.waiting = this.waiting.filter(([of]) => of !== node);
    return due.flatMap(([, wanted]) => this.draw(node, wanted, byteCount, atNs));
  }

  /** A life of the node begins: what waited for the last one is gone. */
  forget(node: number): void {
    this.waiting = this.waiting.filter(([of]) => of !== node);
  }

  /** Nothing where nothing waits. */
  capture(): { readonly flips?: unknown } {
    return this.waiting.length === 0 ? {} : { flips: this.waiting.slice() };
  }

  /** Takes what `capture` gave; anything else is refused (`bundle/shape`). */
  restore(state: unknown): void {
    this.waiting = state === undefined ? [] : [...readState(state, 'world.flips')];
  }

  private draw(
    node: number,
    wanted: Wanted,
    byteCount: number,
    atNs: VirtualNs,
  ): readonly MemoryFlip[] {
    const { names, decisions, note } = this.options;
    const { address: from, bytes } = wanted.range ?? { address: 0, bytes: byteCount };
    if (bytes === 0 || from + bytes > byteCount) {
      const text = `no flip: the memory ends at ${describeAddress(byteCount)}`;
      note({ atNs, node, kind: 'plan', text });
      return NONE;
    }
    const draw = { decisions, of: `node/${names[node] ?? ''}/memory/flip`, atNs };
    const address = drawWord(draw, [{ from, to: from + bytes }]);
    const flip = { address, bits: drawBits(draw, wanted.bits) };
    tellMemoryFlip(this.options, node, flip, atNs);
    return [flip];
  }
}

/** An event for each bit, with the address of its byte; and a note for people. */
export function tellMemoryFlip(
  { events, note }: Pick<MemoryFlipsOptions, 'events' | 'note'>,
  node: number,
  { address, bits }: MemoryFlip,
  atNs: VirtualNs,
): void {
  const kind = events.kind('memory/flip');
  for (const bit of bits) {
    events.append(kind, node, atNs, bit % BYTE_BITS, address + Math.floor(bit / BYTE_BITS));
  }
  const text = `${describeBits(bits)} of the word at ${describeAddress(address)} flipped`;
  note({ atNs, node, kind: 'plan', text });
}
