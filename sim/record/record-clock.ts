import { assert } from '../kernel/assert.ts';
import { EPOCH_SECONDS, NS_PER_S, type VirtualNs } from '../kernel/units.ts';
import { formatDatetime } from './datetime.ts';

/** A clock as handlers and rules see it: virtual nanoseconds since the world's epoch. */
export interface RecordClock {
  readonly nowNs: VirtualNs;
}

/**
 * A clock that stands still until somebody moves it; at first it shows the epoch. "Two hours old"
 * needs no waiting (FH-36).
 */
export class FakeClock implements RecordClock {
  private atNs: VirtualNs = 0;

  get nowNs(): VirtualNs {
    return this.atNs;
  }

  /** The time as text. */
  now(): string {
    return clockText(this.atNs);
  }

  advance(ns: VirtualNs): void {
    assert(Number.isSafeInteger(ns) && ns >= 0, 'a clock advances by whole nanoseconds');
    this.set(this.atNs + ns);
  }

  /** Sets the nanoseconds since the epoch. */
  set(ns: VirtualNs): void {
    assert(Number.isSafeInteger(ns), 'a time is within 2^53 nanoseconds');
    this.atNs = ns;
  }
}

/** A point of a world's clock as text, in whole seconds. */
export function clockText(atNs: VirtualNs): string {
  return formatDatetime(EPOCH_SECONDS + Math.floor(atNs / NS_PER_S));
}
