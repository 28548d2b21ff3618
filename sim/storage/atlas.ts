import type { Decisions } from '../kernel/decision.ts';
import { draw32, streamKey } from '../kernel/draw.ts';
import type { VirtualNs } from '../kernel/units.ts';
import type { DiskAtlasDef } from '../plan/disk.ts';

/**
 * Says which nodes' copy of a chunk may be damaged: of each chunk `faultyMax` nodes, by a ranking
 * that one decision (stream `disk/atlas`) gives for the whole run. It keeps no account of damage,
 * so that the order in which nodes meet faults does not matter.
 */
export class DiskAtlas {
  readonly def: DiskAtlasDef;
  private readonly decisions: Decisions;
  private saltNow = -1;

  constructor(def: DiskAtlasDef, decisions: Decisions) {
    this.def = def;
    this.decisions = decisions;
  }

  /** The decision that was made, or -1. */
  get salt(): number {
    return this.saltNow;
  }

  set salt(salt: number) {
    this.saltNow = salt;
  }

  /** Whether the node's copy of the byte may be damaged; `origin` names the file on all nodes. */
  allows(node: number, origin: string, byte: number, atNs: VirtualNs): boolean {
    const { nodes, faultyMax, chunkBytes } = this.def;
    if (!nodes.includes(node)) return true;
    if (this.saltNow < 0) {
      const stream = this.decisions.stream('disk/atlas');
      this.saltNow = this.decisions.decide(stream, atNs, 0x1_0000_0000);
    }
    const key = streamKey(this.saltNow, origin);
    const chunk = Math.floor(byte / chunkBytes);
    const own = draw32(key, chunk, node);
    let before = 0;
    for (const other of nodes) {
      if (other === node) continue;
      const rank = draw32(key, chunk, other);
      if (rank < own || (rank === own && other < node)) before++;
    }
    return before < faultyMax;
  }
}
