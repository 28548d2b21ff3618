import { failureSignature, SimError, type FailureSignature } from '../../sim/index.ts';
import type { Bundle } from '../bundle.ts';
import { readRun } from '../bundle-input.ts';
import type { Context } from '../context.ts';

/** A failed run that is to be explained. */
export interface Subject {
  /** As somebody wrote it. */
  readonly path: string;
  readonly bundle: Bundle;
  readonly wanted: FailureSignature;
}

/** Reads the bundle of a run that failed a property. Throws `input/not-failed`, `input/broken`. */
export function readSubject(text: string, context: Context): Subject {
  const bundle = readRun(text, context);
  const { outcome } = bundle.manifest;
  const wanted = failureSignature(bundle.scenario, outcome);
  if (outcome.verdict === 'error') {
    throw new SimError({
      code: 'input/broken',
      message: `the simulator itself gave up in this run: ${outcome.reason}`,
      place: text,
      remedy: 'repeat it with `sim replay`; there is no failed property to look for',
    });
  }
  if (wanted === null) {
    const why =
      outcome.verdict === 'pass'
        ? 'it passed'
        : `its budget ran out (${outcome.reason}), which is no failure of a property`;
    throw new SimError({
      code: 'input/not-failed',
      message: `the run did not fail: ${why}`,
      place: text,
      remedy: 'give a run that failed; `sim run SCENARIO --runs 1000` looks for one',
    });
  }
  return { path: text, bundle, wanted };
}

/** The numbers that every way of bisecting takes. Throws `usage/…`. */
export function checkNumbers(options: {
  readonly budget: number | undefined;
  readonly confidence: number | undefined;
  readonly budgetDefault: number;
}): { readonly budget: number; readonly confidence: number } {
  const { budget = options.budgetDefault, confidence = 95 } = options;
  if (budget < 1) {
    throw new SimError({
      code: 'usage/budget',
      message: '--budget is 0, expected at least 1',
      remedy: 'leave it out, or say how many continuations may be run',
    });
  }
  if (confidence < 50 || confidence > 99) {
    throw new SimError({
      code: 'usage/confidence',
      message: `--confidence is ${confidence}, expected 50 to 99 (percent)`,
    });
  }
  return { budget, confidence: confidence / 100 };
}
