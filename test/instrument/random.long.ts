import { describe, expect, it } from 'vitest';
import { COMBINATIONS, compareRuns } from './differential.ts';
import { randomModule } from './random-module.ts';
import { addOutcome, describeTotals, explainMismatch, newTotals } from './random-report.ts';
import { engineKnowsExnref, featuresOf } from './test-features.ts';
import { openWabt } from './wabt.ts';

const MODULE_COUNT = 20_000;
const exnref = engineKnowsExnref();

/** The first seed: given, or from the commit under test, or a fixed one. It is printed. */
function firstSeed(): number {
  const text = process.env.ATHANOR_SEED ?? process.env.CI_COMMIT ?? 'a7a0';
  const seed = Number.parseInt(text.slice(0, 7), 16);
  if (Number.isNaN(seed)) throw new Error(`ATHANOR_SEED is not hexadecimal: ${text}`);
  return seed;
}

describe('many random modules, instrumented, against plain V8', () => {
  it('give equal results, traps, memory, tables, calls and exact fuel, preempted at every count', async () => {
    const wabt = await openWabt();
    const start = firstSeed();
    console.log(`ATHANOR_SEED=${start.toString(16)}: ${MODULE_COUNT} modules`);
    const names = [...COMBINATIONS.keys()];
    const totals = newTotals();
    for (let index = 0; index < MODULE_COUNT; index += 1) {
      const seed = (start + index) >>> 0;
      const model = randomModule(seed, featuresOf(seed, { exnref }));
      // Every tenth module with all option sets, and preempted at each count up to 4000.
      const thorough = index % 10 === 0;
      const combinations = thorough
        ? names
        : ['everything', names[1 + (index % (names.length - 1))]];
      const outcome = compareRuns(model, seed, { combinations, sweepMax: thorough ? 4000 : 8 });
      const { mismatch } = outcome;
      if (mismatch !== null) throw new Error(explainMismatch(wabt, { model, seed, mismatch }));
      addOutcome(totals, outcome);
    }
    console.log(describeTotals(totals));
    expect(totals.modules).toBe(MODULE_COUNT);
  });
});
