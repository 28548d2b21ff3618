import type { SeedResult } from './campaign-run.ts';
import type { Context } from './context.ts';
import { printable } from './timeline.ts';

/** At most this many properties are followed. */
const PROPERTIES_MAX = 10_000;

/** Follows which properties had something to judge in any run of a campaign (FB-71, FB-73). */
export class NeverFired {
  /** In how many runs each fired; 0 while it only stood there. */
  private readonly firedCounts = new Map<string, number>();

  add({ fired, vacuous }: SeedResult): void {
    for (const label of vacuous) this.count(label, 0);
    for (const label of fired) this.count(label, 1);
  }

  /** Names the properties that no run has put to the test. */
  report(context: Context): void {
    const { output } = context;
    for (const [label, count] of this.firedCounts) {
      if (count > 0) continue;
      output.record({ type: 'warning', code: 'never_fired', property: label });
      const text = `never fired: ${printable(label)} had nothing to judge in any run`;
      if (output.speaks) output.warn(text);
    }
  }

  private count(label: string, by: number): void {
    const known = this.firedCounts.get(label);
    if (known === undefined && this.firedCounts.size >= PROPERTIES_MAX) return;
    this.firedCounts.set(label, (known ?? 0) + by);
  }
}
