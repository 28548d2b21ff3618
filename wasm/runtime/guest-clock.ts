import { MILLION, type Millionths, type VirtualNs } from '../../sim/index.ts';

/** The most fuel granted at once: the fuel word is a signed 32-bit count. */
export const FUEL_SLICE_MAX = 2 ** 30;

export interface GuestClockState {
  readonly executed: number;
  readonly baseNs: VirtualNs;
  readonly baseExecuted: number;
  /** The rate, where the guest has less than all of its processor. */
  readonly rate?: number;
}

/**
 * A guest's local clock: the time at which it went on plus the instructions executed since, at
 * its rate, plus what effects took. `granted - fuel word` instructions have been executed.
 */
export class GuestClock {
  /** The rate with all of the processor. */
  private readonly fullRate: number;
  /** Virtual nanoseconds that 1,000 instructions take now. */
  private rate: number;
  private granted = 0;
  private baseNs: VirtualNs = 0;
  private baseExecuted = 0;

  constructor(nsPerThousandInstructions: number) {
    this.fullRate = nsPerThousandInstructions;
    this.rate = nsPerThousandInstructions;
  }

  /** From here on the guest gets this share of its processor; rounded up to whole rates. */
  setShare(cpu: Millionths, fuel: number): void {
    const rate = cpu === MILLION ? this.fullRate : Math.ceil((this.fullRate * MILLION) / cpu);
    if (rate === this.rate) return;
    this.moveTo(this.localNs(fuel), fuel);
    this.rate = rate;
  }

  /** Instructions executed so far, when the fuel word reads `fuel`. */
  executed(fuel: number): number {
    return this.granted - fuel;
  }

  /** The local time when the fuel word reads `fuel`. */
  localNs(fuel: number): VirtualNs {
    const since = this.granted - fuel - this.baseExecuted;
    if (this.rate === 1000) return this.baseNs + since;
    return this.baseNs + Math.floor((since * this.rate) / 1000);
  }

  /** Moves the local clock to `atNs` without executing anything. */
  moveTo(atNs: VirtualNs, fuel: number): void {
    this.baseNs = atNs;
    this.baseExecuted = this.granted - fuel;
  }

  /** Moves the local clock forward. */
  charge(ns: VirtualNs): void {
    this.baseNs += ns;
  }

  /** Grants fuel up to the horizon and returns the new fuel word (below 0: no more may run). */
  grant(horizonNs: VirtualNs, fuel: number): number {
    const executed = this.granted - fuel;
    const leftNs = horizonNs - this.localNs(fuel);
    const left = this.rate === 1000 ? leftNs : Math.floor((leftNs * 1000) / this.rate);
    const word = left > FUEL_SLICE_MAX ? FUEL_SLICE_MAX : Math.max(left - 1, -1);
    this.granted = executed + word;
    return word;
  }

  capture(fuel: number): GuestClockState {
    const { baseNs, baseExecuted, rate } = this;
    const state = { executed: this.granted - fuel, baseNs, baseExecuted };
    return rate === this.fullRate ? state : { ...state, rate };
  }

  /** Restores to a fuel word of 0. */
  restore(state: GuestClockState): void {
    this.granted = state.executed;
    this.baseNs = state.baseNs;
    this.baseExecuted = state.baseExecuted;
    this.rate = state.rate ?? this.fullRate;
  }
}
