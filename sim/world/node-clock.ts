import { readInteger, readRecord, readWord, type Read } from '../kernel/shape.ts';
import { VIRTUAL_NS_MAX, type VirtualNs } from '../kernel/units.ts';
import { CLOCK_STEP_NS_MAX, DRIFT_PPM_MAX } from '../plan/faults.ts';
import type { ClockChangeDef, NodeClockDef } from '../plan/faults.ts';

/** The clocks of a node whose clocks differ from the world's time, as plain data. */
export interface NodeClockState {
  /** When the clocks were last changed, and what they showed: nanoseconds since time 0. */
  readonly baseNs: VirtualNs;
  readonly monotonicNs: number;
  readonly realtimeNs: number;
  readonly ppm: number;
  readonly frozen: 'none' | 'realtime' | 'both';
  /** What the wall clock still gains, evenly, over a time from `baseNs` on. */
  readonly slewNs: number;
  readonly slewOverNs: VirtualNs;
}

const CLOCK_NS_MAX = Number.MAX_SAFE_INTEGER;

export const readNodeClockState: Read<NodeClockState> = readRecord<NodeClockState>({
  baseNs: readInteger(),
  monotonicNs: readInteger(),
  realtimeNs: readInteger(-CLOCK_NS_MAX),
  ppm: readInteger(-DRIFT_PPM_MAX, DRIFT_PPM_MAX),
  frozen: readWord(['none', 'realtime', 'both']),
  slewNs: readInteger(-CLOCK_STEP_NS_MAX, CLOCK_STEP_NS_MAX),
  slewOverNs: readInteger(),
});

/** Clocks that show the world's time, from which every other one starts. */
const TRUE_CLOCK: NodeClockState = {
  baseNs: 0,
  monotonicNs: 0,
  realtimeNs: 0,
  ppm: 0,
  frozen: 'none',
  slewNs: 0,
  slewOverNs: 0,
};

/**
 * What a node's clocks show at a time of the world (CR-91). They are effects on top of the
 * world's time and never move it. The monotonic clock drifts and freezes, but is never set and
 * never goes back; the wall clock follows it, and is besides set, slewed and frozen.
 *
 * All in whole nanoseconds: a drift of p parts per million adds floor(d * p / 10^6) after d.
 */
export class NodeClock {
  private state: NodeClockState;

  constructor(def?: NodeClockDef) {
    const { offsetNs, driftPpm } = def ?? { offsetNs: 0, driftPpm: 0 };
    this.state = { ...TRUE_CLOCK, realtimeNs: offsetNs, ppm: driftPpm };
  }

  /** Nanoseconds on the monotonic clock since the world's start. */
  monotonicNs(nowNs: VirtualNs): number {
    return this.state.monotonicNs + this.elapsedNs(nowNs);
  }

  /** Nanoseconds on the wall clock since what it showed, were it right, at the world's start. */
  realtimeNs(nowNs: VirtualNs): number {
    const { realtimeNs, frozen, slewNs, slewOverNs, baseNs } = this.state;
    if (frozen !== 'none') return realtimeNs;
    const gainedNs = slewed(slewNs, nowNs - baseNs, slewOverNs);
    return clamp(realtimeNs + this.elapsedNs(nowNs) + gainedNs);
  }

  /** What the monotonic clock gains in 10^6 ns from its last change on. */
  get rate(): number {
    const { frozen, ppm } = this.state;
    return frozen === 'both' ? 0 : 1_000_000 + ppm;
  }

  /** The first time from `nowNs` on at which the monotonic clock shows this; `Infinity`: never. */
  whenMonotonic(targetNs: number, nowNs: VirtualNs): VirtualNs {
    return firstTime(nowNs, (atNs) => this.monotonicNs(atNs) >= targetNs);
  }

  /** The same for the wall clock. */
  whenRealtime(targetNs: number, nowNs: VirtualNs): VirtualNs {
    return firstTime(nowNs, (atNs) => this.realtimeNs(atNs) >= targetNs);
  }

  change(change: ClockChangeDef, nowNs: VirtualNs): void {
    this.rebase(nowNs);
    const { state } = this;
    switch (change.kind) {
      case 'jump':
        this.state = { ...state, realtimeNs: clamp(state.realtimeNs + change.byNs) };
        return;
      case 'drift':
        this.state = { ...state, ppm: change.ppm };
        return;
      case 'freeze':
        this.state = { ...state, frozen: change.clock };
        return;
      case 'slew':
        this.state = { ...state, slewNs: change.byNs, slewOverNs: change.overNs };
        return;
      case 'synchronize':
        this.state = {
          ...TRUE_CLOCK,
          baseNs: nowNs,
          monotonicNs: state.monotonicNs,
          realtimeNs: nowNs,
        };
        return;
    }
  }

  capture(): NodeClockState {
    return { ...this.state };
  }

  restore(state: NodeClockState): void {
    this.state = { ...state };
  }

  /** What the monotonic clock has gained since `baseNs`. */
  private elapsedNs(nowNs: VirtualNs): number {
    const { baseNs, ppm, frozen } = this.state;
    if (frozen === 'both') return 0;
    const sinceNs = nowNs - baseNs;
    return ppm === 0 ? sinceNs : sinceNs + floorOf(ppm, sinceNs, 1_000_000);
  }

  /** Makes `nowNs` the time from which changes count, without any jump. */
  private rebase(nowNs: VirtualNs): void {
    const { state } = this;
    const sinceNs = nowNs - state.baseNs;
    const leftNs = Math.max(0, state.slewOverNs - sinceNs);
    const doneNs = slewed(state.slewNs, sinceNs, state.slewOverNs);
    this.state = {
      ...state,
      baseNs: nowNs,
      monotonicNs: this.monotonicNs(nowNs),
      realtimeNs: this.realtimeNs(nowNs),
      slewNs: leftNs === 0 ? 0 : state.slewNs - doneNs,
      slewOverNs: leftNs,
    };
  }
}

/** What a slew of `wholeNs` over `overNs` has gained after a time. */
function slewed(wholeNs: number, sinceNs: number, overNs: number): number {
  return overNs === 0 ? 0 : floorOf(wholeNs, Math.min(sinceNs, overNs), overNs);
}

/** floor(a * b / c), exactly: products reach 2^105. */
function floorOf(a: number, b: number, c: number): number {
  const product = BigInt(a) * BigInt(b);
  const divisor = BigInt(c);
  const quotient = product / divisor;
  const exact = product >= 0n || quotient * divisor === product;
  return Number(exact ? quotient : quotient - 1n);
}

function clamp(ns: number): number {
  return Math.max(-CLOCK_NS_MAX, Math.min(CLOCK_NS_MAX, ns));
}

/** The least time from `nowNs` on for which `reached` holds, which then holds for ever. */
function firstTime(nowNs: VirtualNs, reached: (atNs: VirtualNs) => boolean): VirtualNs {
  if (reached(nowNs)) return nowNs;
  if (!reached(VIRTUAL_NS_MAX)) return Infinity;
  let before = nowNs;
  let at = VIRTUAL_NS_MAX;
  while (at - before > 1) {
    const middle = before + Math.floor((at - before) / 2);
    if (reached(middle)) at = middle;
    else before = middle;
  }
  return at;
}
