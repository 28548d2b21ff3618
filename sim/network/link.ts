import type { Decisions } from '../kernel/decision.ts';
import { readBoolean, readInteger, readRecord, type Read } from '../kernel/shape.ts';
import type { Stream } from '../kernel/stream.ts';
import {
  MILLION,
  NS_PER_S,
  VIRTUAL_NS_MAX,
  type Millionths,
  type VirtualNs,
} from '../kernel/units.ts';
import type { LinkDef } from '../plan/scenario.ts';

/** A link carries at most this many packets at once; further ones are dropped. */
export const LINK_PACKETS_MAX = 16_384;
/** And at most this many bytes. */
export const LINK_BYTES_MAX = 64 * 1024 * 1024;

/** What changes about a link, as plain data. */
export interface LinkState {
  readonly from: number;
  readonly to: number;
  readonly cut: boolean;
  readonly cuts: number;
  readonly addedLoss: number;
  readonly addedLatencyNs: number;
  readonly busyUntilNs: number;
  readonly packets: number;
  readonly bytes: number;
}

export const readLinkState: Read<LinkState> = readRecord<LinkState>({
  from: readInteger(0),
  to: readInteger(0),
  cut: readBoolean,
  cuts: readInteger(0),
  addedLoss: readInteger(0, MILLION),
  addedLatencyNs: readInteger(0),
  busyUntilNs: readInteger(0),
  packets: readInteger(0, LINK_PACKETS_MAX),
  bytes: readInteger(0, LINK_BYTES_MAX),
});

/** One direction from one node to another. */
export class Link {
  readonly def: LinkDef;
  /** Nothing gets through until the cut is mended. */
  cut = false;
  /** How often it was cut: what was sent before the latest cut began is lost (CR-89). */
  cuts = 0;
  addedLoss: Millionths = 0;
  addedLatencyNs: VirtualNs = 0;
  /** When the last packet will have left, if bandwidth is limited. */
  busyUntilNs: VirtualNs = 0;
  /** What is under way. */
  packets = 0;
  bytes = 0;
  private readonly name: string;
  private lossStream: Stream | undefined;
  private jitterStream: Stream | undefined;

  /** `name` is `<from>/<to>` in node names: it keys the link's decisions (CR-60). */
  constructor(def: LinkDef, name: string) {
    this.def = def;
    this.name = name;
  }

  get isFull(): boolean {
    return this.packets >= LINK_PACKETS_MAX || this.bytes >= LINK_BYTES_MAX;
  }

  /** Decides whether the link loses the next packet: stream `link/<from>/<to>/loss`. */
  loses(decisions: Decisions, atNs: VirtualNs): boolean {
    const loss = Math.max(this.def.loss, this.addedLoss);
    if (loss === 0) return false;
    this.lossStream ??= decisions.stream(`link/${this.name}/loss`);
    return decisions.decideChance(this.lossStream, atNs, loss);
  }

  /** When a packet that is sent now arrives: stream `link/<from>/<to>/jitter`. */
  arrivalNs(decisions: Decisions, nowNs: VirtualNs, bytes: number): VirtualNs {
    const { latencyNs, jitterNs, bandwidth } = this.def;
    let leavesNs = nowNs;
    if (bandwidth !== null) {
      const sendingNs = Math.ceil((bytes * 8 * NS_PER_S) / bandwidth);
      leavesNs = Math.min(Math.max(nowNs, this.busyUntilNs) + sendingNs, VIRTUAL_NS_MAX);
      this.busyUntilNs = leavesNs;
    }
    const slowestNs = leavesNs + latencyNs + this.addedLatencyNs;
    if (jitterNs === 0) return slowestNs;
    this.jitterStream ??= decisions.stream(`link/${this.name}/jitter`);
    return slowestNs - decisions.decide(this.jitterStream, nowNs, jitterNs + 1);
  }

  /** The state, or null if it is that of a new link. */
  capture(): LinkState | null {
    const { cut, cuts, addedLoss, addedLatencyNs, busyUntilNs, packets, bytes } = this;
    if (!cut && cuts + addedLoss + addedLatencyNs + busyUntilNs + packets === 0) return null;
    const { from, to } = this.def;
    return { from, to, cut, cuts, addedLoss, addedLatencyNs, busyUntilNs, packets, bytes };
  }

  /** Takes a saved state, or with null that of a new link. */
  restore(state: LinkState | null): void {
    this.cut = state?.cut ?? false;
    this.cuts = state?.cuts ?? 0;
    this.addedLoss = state?.addedLoss ?? 0;
    this.addedLatencyNs = state?.addedLatencyNs ?? 0;
    this.busyUntilNs = state?.busyUntilNs ?? 0;
    this.packets = state?.packets ?? 0;
    this.bytes = state?.bytes ?? 0;
  }
}
