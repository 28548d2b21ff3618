import type { Decisions } from '../kernel/decision.ts';
import { readBoolean, readInteger, readList, readRecord, type Read } from '../kernel/shape.ts';
import {
  MILLION,
  NS_PER_S,
  VIRTUAL_NS_MAX,
  type Millionths,
  type VirtualNs,
} from '../kernel/units.ts';
import { readLinkFaults } from '../plan/fault-codec.ts';
import type { LinkFaultsDef } from '../plan/faults.ts';
import type { LinkDef } from '../plan/scenario.ts';
import { DROP } from './drop.ts';
import { backlogBytes, LinkDecisions, piecesOf, queueRefusal, wireBytes } from './link-faults.ts';
import { readPacket, type Packet } from './packet.ts';

/** A link carries at most this many packets at once; further ones are dropped. */
export const LINK_PACKETS_MAX = 16_384;
/** And at most this many bytes. */
export const LINK_BYTES_MAX = 64 * 1024 * 1024;

/** What is added to a link for a time, on top of what it is by itself. */
export interface Degradation {
  /** The link loses packets with the larger of its own and this probability. */
  readonly loss: Millionths;
  readonly extraLatencyNs: VirtualNs;
  /** Bits a second, where that is less than the link's own; 0 for no limit. */
  readonly bandwidth: number;
  /** Each part stands for the link's own. */
  readonly faults: LinkFaultsDef;
}

/** No faults. */
export const NOTHING: LinkFaultsDef = {};

/** A link that is as it is by itself. */
export const NO_DEGRADATION: Degradation = {
  loss: 0,
  extraLatencyNs: 0,
  bandwidth: 0,
  faults: NOTHING,
};

/** What changes about a link, as plain data; what is absent is as on a new link. */
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
  readonly cutHolds?: number;
  readonly addedBandwidth?: number;
  readonly addedFaults?: LinkFaultsDef;
  readonly bad?: boolean;
  readonly stuck?: number;
  readonly held?: readonly Packet[];
}

export const readLinkState: Read<LinkState> = readRecord<LinkState>(
  {
    from: readInteger(0),
    to: readInteger(0),
    cut: readBoolean,
    cuts: readInteger(0),
    addedLoss: readInteger(0, MILLION),
    addedLatencyNs: readInteger(0),
    busyUntilNs: readInteger(0),
    packets: readInteger(0, LINK_PACKETS_MAX),
    bytes: readInteger(0, LINK_BYTES_MAX),
    cutHolds: readInteger(1),
    addedBandwidth: readInteger(1),
    addedFaults: readLinkFaults,
    bad: readBoolean,
    stuck: readInteger(1),
    held: readList(readPacket, LINK_PACKETS_MAX),
  },
  ['cutHolds', 'addedBandwidth', 'addedFaults', 'bad', 'stuck', 'held'],
);

/** One direction from one node to another. */
export class Link {
  readonly def: LinkDef;
  /** How often it was cut: what was sent before the latest cut began is lost (CR-89). */
  cuts = 0;
  /** How many cuts hold it now: nothing gets through until none does. */
  cutHolds = 0;
  /** How many times it is stuck now: while it is, it holds what is sent. */
  stuck = 0;
  /** What it holds, in the order of sending. */
  held: Packet[] = [];
  /** When the last packet will have left, if bandwidth is limited. */
  busyUntilNs: VirtualNs = 0;
  /** What is under way or held. */
  packets = 0;
  bytes = 0;
  readonly decisions: LinkDecisions;
  private added: Degradation = NO_DEGRADATION;
  /** What it does to packets now. */
  private present: LinkFaultsDef;
  /** Whether it is within a burst of losses. */
  private bad = false;

  /** `name` is `<from>/<to>` in node names: it keys the link's decisions (CR-60). */
  constructor(def: LinkDef, name: string) {
    this.def = def;
    this.present = def.faults ?? NOTHING;
    this.decisions = new LinkDecisions(name);
  }

  get isCut(): boolean {
    return this.cutHolds > 0;
  }

  get isFull(): boolean {
    return this.packets >= LINK_PACKETS_MAX || this.bytes >= LINK_BYTES_MAX;
  }

  /** What it does to packets now besides losing and delaying them. */
  get faults(): LinkFaultsDef {
    return this.present;
  }

  degrade(added: Degradation): void {
    const { loss, extraLatencyNs, bandwidth, faults } = added;
    const nothing = loss + extraLatencyNs + bandwidth === 0 && faults === NOTHING;
    this.added = nothing ? NO_DEGRADATION : added;
    const { faults: own = NOTHING } = this.def;
    this.present = faults === NOTHING ? own : { ...own, ...faults };
    if (this.present.burst === undefined) this.bad = false;
  }

  /** Why the link does not carry the packet from now on, or 0. */
  refuses(decisions: Decisions, packet: Packet, nowNs: VirtualNs): number {
    const loss = Math.max(this.def.loss, this.added.loss);
    const faults = this.present;
    if (faults === NOTHING) return this.loses(decisions, nowNs, loss) ? DROP.LOSS : 0;
    const pieces = piecesOf(packet, faults.mtu);
    if (pieces === 0) return DROP.TOO_BIG;
    for (let piece = 0; piece < pieces; piece++) {
      if (this.loses(decisions, nowNs, loss)) return DROP.LOSS;
      if (this.losesInBurst(decisions, nowNs)) return DROP.BURST;
    }
    const { bandwidth } = this;
    if (bandwidth === 0) return 0;
    const waiting = backlogBytes(this.busyUntilNs, nowNs, bandwidth);
    return queueRefusal(faults, waiting, wireBytes(packet, pieces), (chance) => {
      return this.decisions.chance(decisions, 'red', nowNs, chance);
    });
  }

  /** When a packet that is sent now arrives: stream `link/<from>/<to>/jitter`. */
  arrivalNs(decisions: Decisions, nowNs: VirtualNs, packet: Packet): VirtualNs {
    const { latencyNs, jitterNs } = this.def;
    const { bandwidth } = this;
    let leavesNs = nowNs;
    if (bandwidth > 0) {
      const bytes = wireBytes(packet, Math.max(1, piecesOf(packet, this.present.mtu)));
      const sendingNs = Math.ceil((bytes * 8 * NS_PER_S) / bandwidth);
      leavesNs = Math.min(Math.max(nowNs, this.busyUntilNs) + sendingNs, VIRTUAL_NS_MAX);
      this.busyUntilNs = leavesNs;
    }
    const slowestNs = leavesNs + latencyNs + this.added.extraLatencyNs;
    if (jitterNs === 0) return slowestNs;
    return slowestNs - this.decisions.choose(decisions, 'jitter', nowNs, jitterNs + 1);
  }

  /** The state, or null if it is that of a new link. */
  capture(): LinkState | null {
    const { cuts, cutHolds, busyUntilNs, packets, bytes, added, bad, stuck, held } = this;
    const { from, to } = this.def;
    const still = cutHolds + cuts + busyUntilNs + packets + stuck === 0 && !bad;
    if (still && added === NO_DEGRADATION) return null;
    return {
      from,
      to,
      cut: cutHolds > 0,
      cuts,
      addedLoss: added.loss,
      addedLatencyNs: added.extraLatencyNs,
      busyUntilNs,
      packets,
      bytes,
      ...(cutHolds > 1 ? { cutHolds } : {}),
      ...(added.bandwidth > 0 ? { addedBandwidth: added.bandwidth } : {}),
      ...(added.faults === NOTHING ? {} : { addedFaults: added.faults }),
      ...(bad ? { bad } : {}),
      ...(stuck > 0 ? { stuck } : {}),
      ...(held.length > 0 ? { held: held.slice() } : {}),
    };
  }

  /** Takes a saved state, or with null that of a new link. */
  restore(state: LinkState | null): void {
    this.cuts = state?.cuts ?? 0;
    this.cutHolds = state?.cutHolds ?? (state?.cut === true ? 1 : 0);
    this.busyUntilNs = state?.busyUntilNs ?? 0;
    this.packets = state?.packets ?? 0;
    this.bytes = state?.bytes ?? 0;
    this.degrade({
      loss: state?.addedLoss ?? 0,
      extraLatencyNs: state?.addedLatencyNs ?? 0,
      bandwidth: state?.addedBandwidth ?? 0,
      faults: state?.addedFaults ?? NOTHING,
    });
    this.bad = state?.bad ?? false;
    this.stuck = state?.stuck ?? 0;
    this.held = state?.held?.slice() ?? [];
  }

  /** Bits a second, or 0 for no limit. */
  private get bandwidth(): number {
    const own = this.def.bandwidth ?? 0;
    const { bandwidth } = this.added;
    return own === 0 || (bandwidth > 0 && bandwidth < own) ? bandwidth : own;
  }

  private loses(decisions: Decisions, nowNs: VirtualNs, loss: Millionths): boolean {
    return this.decisions.chance(decisions, 'loss', nowNs, loss);
  }

  /** First the link turns good or bad, then a bad one may lose the packet. */
  private losesInBurst(decisions: Decisions, nowNs: VirtualNs): boolean {
    const { burst } = this.present;
    if (burst === undefined) return false;
    const turns = this.bad ? burst.leave : burst.enter;
    if (this.decisions.chance(decisions, 'burst', nowNs, turns)) this.bad = !this.bad;
    return this.bad && this.decisions.chance(decisions, 'burst-loss', nowNs, burst.loss);
  }
}
