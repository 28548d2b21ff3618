import { describe, expect, it } from 'vitest';
import { COMBINATIONS, compareRuns, type Effort } from './differential.ts';
import { randomModule } from './random-module.ts';
import { addOutcome, describeTotals, explainMismatch, newTotals } from './random-report.ts';
import { engineKnowsExnref, featuresOf } from './test-features.ts';
import { openWabt } from './wabt.ts';

const MODULE_COUNT = 3_000;
const exnref = engineKnowsExnref();

/** The first seed: given, or from the commit under test, or a fixed one. It is printed. */
function firstSeed(): number {
  const text = process.env.ATHANOR_SEED ?? process.env.CI_COMMIT ?? 'a7a0';
  const seed = Number.parseInt(text.slice(0, 7), 16);
  if (Number.isNaN(seed)) throw new Error(`ATHANOR_SEED is not hexadecimal: ${text}`);
  return seed;
}

/**
 * Every hundredth module with all option sets and preempted at each fuel count up to 1500; the
 * others with everything on, or (one of four) with another option set, and a few preemptions.
 */
function effortOf(index: number): Effort {
  const names = [...COMBINATIONS.keys()];
  if (index % 100 === 0) return { combinations: names, sweepMax: 1500 };
  const other = names[1 + ((index >> 2) % (names.length - 1))];
  return { combinations: [index % 4 === 3 ? other : 'everything'], sweepMax: 2 };
}

describe('many random modules, instrumented, against plain V8', () => {
  it('give equal results, traps, memory, tables, calls and exact fuel, preempted at every count', async () => {
    const wabt = await openWabt();
    const start = firstSeed();
    console.log(`ATHANOR_SEED=${start.toString(16)}: ${MODULE_COUNT} modules`);
    const totals = newTotals();
    for (let index = 0; index < MODULE_COUNT; index += 1) {
      const seed = (start + index) >>> 0;
      const model = randomModule(seed, featuresOf(seed, { exnref }));
      const outcome = compareRuns(model, seed, effortOf(index));
      const { mismatch } = outcome;
      if (mismatch !== null) throw new Error(explainMismatch(wabt, { model, seed, mismatch }));
      addOutcome(totals, outcome);
    }
    console.log(describeTotals(totals));
    expect(totals.modules).toBe(MODULE_COUNT);
  }, 5_400_000);
});
