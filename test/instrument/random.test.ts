import { describe, expect, it } from 'vitest';
import { COMBINATIONS, compareRuns, type Effort } from './differential.ts';
import { randomModule } from './random-module.ts';
import { addOutcome, describeTotals, explainMismatch, newTotals } from './random-report.ts';
import { engineKnowsExnref, featuresOf } from './test-features.ts';
import { openWabt } from './wabt.ts';

const MODULE_COUNT = 200;
/** Seeds that once found something: 45190 grows a memory without a maximum by recursion. */
const KEPT_SEEDS: readonly number[] = [45_190];
const exnref = engineKnowsExnref();

/** Everything on always; the other option sets take turns. */
function effortOf(seed: number): Effort {
  const names = [...COMBINATIONS.keys()];
  const other = names[1 + (seed % (names.length - 1))];
  return { combinations: ['everything', other], sweepMax: 6 };
}

describe('random modules, instrumented, against plain V8', () => {
  it('give equal results, traps, memory, tables, calls and exact fuel at any preemption', async () => {
    const wabt = await openWabt();
    const totals = newTotals();
    for (const seed of [...KEPT_SEEDS, ...Array.from({ length: MODULE_COUNT }, (_, k) => k)]) {
      const model = randomModule(seed, featuresOf(seed, { exnref }));
      const outcome = compareRuns(model, seed, effortOf(seed));
      const { mismatch } = outcome;
      if (mismatch !== null) throw new Error(explainMismatch(wabt, { model, seed, mismatch }));
      addOutcome(totals, outcome);
    }
    console.log(describeTotals(totals));
    expect(totals.runs).toBeGreaterThan(MODULE_COUNT * 8);
    expect(totals.suspensions).toBeGreaterThan(20_000);
  }, 240_000);
});
