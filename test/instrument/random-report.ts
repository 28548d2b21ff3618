import { compareRuns, type Mismatch, type Outcome } from './differential.ts';
import { encode } from './encode.ts';
import type { ModuleModel } from './model.ts';
import { shrink, shrinkRatio } from './shrink.ts';
import type { Wabt } from './wabt.ts';

/** Sums over many modules. */
export interface RandomTotals {
  modules: number;
  runs: number;
  suspensions: number;
  executed: number;
  /** Modules that every option set refused or that one did, by reason. */
  readonly refusals: Map<string, number>;
}

export function newTotals(): RandomTotals {
  return { modules: 0, runs: 0, suspensions: 0, executed: 0, refusals: new Map() };
}

/** Adds the outcome of one module. */
export function addOutcome(totals: RandomTotals, outcome: Outcome): void {
  totals.modules += 1;
  totals.runs += outcome.runCount;
  totals.suspensions += outcome.suspensionCount;
  totals.executed += outcome.executed;
  for (const reason of new Set(outcome.refusals)) {
    const general = reason.replaceAll(/\d+/g, 'N');
    totals.refusals.set(general, (totals.refusals.get(general) ?? 0) + 1);
  }
}

export function describeTotals(totals: RandomTotals): string {
  const { modules, runs, suspensions, executed, refusals } = totals;
  const lines = [
    `${modules} modules, ${runs} instrumented runs, ${suspensions} suspensions, ` +
      `${Math.round(executed / Math.max(1, modules))} instructions a module`,
  ];
  for (const [reason, count] of refusals) lines.push(`refused ${count}: ${reason}`);
  return lines.join('\n');
}

/** A shrunk counterexample, with all that is needed to repeat it. */
export function explainMismatch(
  wabt: Wabt,
  { model, seed, mismatch }: { model: ModuleModel; seed: number; mismatch: Mismatch },
): string {
  const effort = { combinations: [mismatch.combination], sweepMax: 400 };
  const small = shrink(
    model,
    (candidate) => {
      try {
        return compareRuns(candidate, seed, effort).mismatch !== null;
      } catch {
        return false;
      }
    },
    3000,
  );
  const last = compareRuns(small, seed, effort).mismatch ?? mismatch;
  return [
    `seed ${seed}: ${mismatch.combination}, ${mismatch.schedule}: ${mismatch.detail}`,
    `shrunk to ${shrinkRatio(model, small)}: ${last.schedule}: ${last.detail}`,
    wabt.disassemble(encode(small)),
  ].join('\n');
}
