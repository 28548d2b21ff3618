import type { Millionths, VirtualNs } from '../kernel/units.ts';
import type { PredicateDef } from './predicates.ts';
import type { GuestDef } from './scenario.ts';

/**
 * What a link does to packets besides losing them independently. Every part is absent unless it
 * was asked for, and what is absent decides nothing.
 */
export interface LinkFaultsDef {
  /** Losses in bursts: a link is good or bad, packet by packet (Gilbert 1960, Elliott 1963). */
  readonly burst?: BurstDef;
  /** A second copy arrives up to `gapNs` after the first. */
  readonly duplicate?: { readonly chance: Millionths; readonly gapNs: VirtualNs };
  /** A packet takes 1 to `windowNs` longer, and others overtake it. */
  readonly reorder?: { readonly chance: Millionths; readonly windowNs: VirtualNs };
  /** The share of packets whose checksum does not fit when they arrive: they are dropped. */
  readonly corrupt?: Millionths;
  /** The share of packets in whose payload one bit is flipped, unseen by any checksum. */
  readonly corruptUndetected?: Millionths;
  /** The most bytes that wait for the bandwidth; what comes on top is dropped (tail drop). */
  readonly queueBytes?: number;
  /** Random early detection (Floyd and Jacobson 1993), by the present length of the queue. */
  readonly red?: RedDef;
  /** The largest packet, headers of 20 bytes included. */
  readonly mtu?: { readonly bytes: number; readonly oversize: 'drop' | 'fragment' };
}

export interface BurstDef {
  /** The chance for each packet that a good link turns bad, and that a bad one turns good. */
  readonly enter: Millionths;
  readonly leave: Millionths;
  /** The share of packets that a bad link loses. */
  readonly loss: Millionths;
}

export interface RedDef {
  /** Where dropping begins; at `toBytes` packets are dropped with `chance`, above it all are. */
  readonly fromBytes: number;
  readonly toBytes: number;
  readonly chance: Millionths;
}

/** An MTU is at least what every IPv4 link carries (RFC 791). */
export const MTU_BYTES_MIN = 68;
export const MTU_BYTES_MAX = 65_535;

/** What is done to a node's clocks. Never to the scheduler's time (CR-91). */
export type ClockChangeDef =
  /** The wall clock is set forward or back. The monotonic clock stays. */
  | { readonly kind: 'jump'; readonly byNs: number }
  /** Both clocks run faster or slower, in parts per million. */
  | { readonly kind: 'drift'; readonly ppm: number }
  /** The wall clock, or both, stand still. */
  | { readonly kind: 'freeze'; readonly clock: 'realtime' | 'both' }
  /** The wall clock gains or loses `byNs` evenly within `overNs`: a smeared leap second. */
  | { readonly kind: 'slew'; readonly byNs: number; readonly overNs: VirtualNs }
  /** The wall clock is right again, both run at the right speed. */
  | { readonly kind: 'synchronize' };

/** A clock drifts at most by a half, and is set by at most about 52 days. */
export const DRIFT_PPM_MAX = 500_000;
export const CLOCK_STEP_NS_MAX = 2 ** 52;

/** A node's clocks at the start of the world. */
export interface NodeClockDef {
  readonly offsetNs: number;
  readonly driftPpm: number;
}

export type NodeActionDef =
  /** Ends the program as an operating system would; the machine and its page cache stay. */
  | { readonly kind: 'kill'; readonly oneOf: readonly number[] }
  /** Power loss, and the disk is replaced by one as at the start of the world. */
  | { readonly kind: 'wipe'; readonly oneOf: readonly number[] }
  /** Ends the program and starts another build of it on the same disk. */
  | { readonly kind: 'upgrade'; readonly oneOf: readonly number[]; readonly guest: GuestDef }
  /** The node gets this share of its processor: at least one millionth. */
  | { readonly kind: 'slow'; readonly oneOf: readonly number[]; readonly cpu: Millionths }
  /** A non-maskable interrupt to all processors of a machine. */
  | { readonly kind: 'interrupt'; readonly oneOf: readonly number[] }
  /** This processor of a machine, counted from 0, gets no turns. */
  | { readonly kind: 'stall'; readonly oneOf: readonly number[]; readonly vcpu: number }
  | { readonly kind: 'clock'; readonly oneOf: readonly number[]; readonly change: ClockChangeDef }
  /** The directed links hold what is sent, until they are released. */
  | { readonly kind: 'stick'; readonly from: readonly number[]; readonly to: readonly number[] };

/** What makes an event happen, once its time has come, instead of that time alone. */
export type TriggerDef =
  /** The node has run this many more quanta. */
  | { readonly kind: 'quantum'; readonly node: number; readonly count: number }
  /** The node has had this many more effects of a kind (`clock`, `fs/write`, …). */
  | {
      readonly kind: 'effect';
      readonly node: number;
      readonly effect: string;
      readonly count: number;
    }
  /** This is so at a moment (CR-96). */
  | { readonly kind: 'predicate'; readonly that: PredicateDef }
  /** The decision of this ordinal, from 0, is made on a stream. */
  | { readonly kind: 'decision'; readonly stream: string; readonly ordinal: number }
  /** Again and again within the window, on average once in `meanNs` (CR-79). */
  | { readonly kind: 'hazard'; readonly meanNs: VirtualNs };

/** Families of faults, which swarm testing switches on or off for a seed. */
export const FAULT_FAMILIES = [
  'clock',
  'crash',
  'disk',
  'hardware',
  'link',
  'partition',
  'pause',
] as const;
export type FaultFamily = (typeof FAULT_FAMILIES)[number];

/** From this time on there are no faults, and what must come eventually is waited for (CR-95). */
export interface LivenessDef {
  readonly atNs: VirtualNs;
}
