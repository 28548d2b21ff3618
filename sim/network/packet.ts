import type { VirtualNs } from '../kernel/units.ts';

/** Protocol numbers as in the IPv4 header (IANA, "Assigned Internet Protocol Numbers"). */
export const PROTOCOL_ICMP = 1;
export const PROTOCOL_TCP = 6;
export const PROTOCOL_UDP = 17;

/** TCP control bits (RFC 9293 section 3.1). */
export const FLAG_FIN = 1;
export const FLAG_SYN = 2;
export const FLAG_RST = 4;
export const FLAG_ACK = 16;

/**
 * A packet under way: plain data that nobody changes after it was sent. Sequence numbers count
 * bytes up to 2^53 and never wrap.
 */
export interface Packet {
  readonly kind: 'packet';
  /** Node indexes. */
  readonly from: number;
  readonly to: number;
  readonly protocol: number;
  /** IPv4 addresses and ports of the two ends. */
  readonly source: number;
  readonly sourcePort: number;
  readonly target: number;
  readonly targetPort: number;
  /** TCP only; zero otherwise. */
  readonly flags: number;
  readonly sequence: number;
  readonly acknowledgement: number;
  readonly window: number;
  readonly payload: Uint8Array;
  /** 32 bits over header and payload. */
  readonly digest: number;
  /** The count of cuts of the link when the packet was sent; another count at delivery loses it. */
  readonly cuts: number;
}

export type TimerKind = 'retransmit' | 'acknowledge';

/** A timer of one connection; stale ones are ignored when they fire. */
export interface TimerEvent {
  readonly kind: 'timer';
  readonly node: number;
  readonly socket: number;
  readonly timer: TimerKind;
}

/** What the network has the world's queue keep: plain data. */
export type NetworkEvent = Packet | TimerEvent;

/** How the network asks to be called back. */
export type Schedule = (
  atNs: VirtualNs,
  consumer: number,
  producer: number,
  event: NetworkEvent,
) => void;
