import type { VirtualNs } from '../../sim/index.ts';

/** The most fuel granted at once: the fuel word is a signed 32-bit count. */
export const FUEL_SLICE_MAX = 2 ** 30;

export interface GuestClockState {
  readonly executed: number;
  readonly baseNs: VirtualNs;
  readonly baseExecuted: number;
}

/**
 * A guest's local clock: the time at which it went on plus the instructions executed since, at
 * its rate, plus what effects took. `granted - fuel word` instructions have been executed.
 */
export class GuestClock {
  /** Virtual nanoseconds that 1,000 instructions take. */
  private readonly rate: number;
  private granted = 0;
  private baseNs: VirtualNs = 0;
  private baseExecuted = 0;

  constructor(nsPerThousandInstructions: number) {
    this.rate = nsPerThousandInstructions;
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
    const { baseNs, baseExecuted } = this;
    return { executed: this.granted - fuel, baseNs, baseExecuted };
  }

  /** Restores to a fuel word of 0. */
  restore(state: GuestClockState): void {
    this.granted = state.executed;
    this.baseNs = state.baseNs;
    this.baseExecuted = state.baseExecuted;
  }
}
