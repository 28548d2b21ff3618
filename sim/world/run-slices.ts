import { assert } from '../kernel/assert.ts';
import type { Effect, Guest } from '../kernel/guest.ts';
import type { Slice } from './step.ts';

/** What runs slices. */
export interface SliceDriver {
  /** How many guests may run at once, at least 1: what comes out is the same for any number. */
  readonly atOnce: number;
  guestOf(node: number): Guest;
  /** Is told what each guest did, in the order of the slices. */
  apply(effect: Effect): void;
}

/**
 * Runs the slices of a step. Up to `atOnce` of them are under way at any moment, as far as their
 * guests can set off before their turn; the world hears of each in its turn only. An error is that of
 * the first slice that has one; later ones may be under way still, and their guests have to go.
 */
export function runSlices(slices: readonly Slice[], driver: SliceDriver): void {
  assert(driver.atOnce >= 1, 'some guest may run');
  let off = 0;
  for (let place = 0; place < slices.length; place++) {
    const { node, outcome } = slices[place] as Slice;
    const end = Math.min(slices.length, place + driver.atOnce);
    for (off = Math.max(off, place + 1); off < end; off++) {
      const ahead = slices[off] as Slice;
      driver.guestOf(ahead.node).setOff?.(ahead.outcome);
    }
    driver.apply(driver.guestOf(node).resume(outcome));
  }
}
