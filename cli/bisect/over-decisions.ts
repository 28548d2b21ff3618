import type { DecisionLine } from './decision-line.ts';
import type { Question, Sampler } from './sampler.ts';

/** One future, and the recorded decision that decides whether it fails. */
export interface Deciding {
  readonly future: number;
  /** With this many recorded decisions the run does not fail; with one more it does. */
  readonly position: number;
}

export interface DecidingResult {
  /** The futures that were bisected to the end, in order. */
  readonly found: readonly Deciding[];
  /** The position that most futures name, the earliest of several; null if none was found. */
  readonly position: number | null;
  /** How many futures were looked at; those that fail without any recorded decision say nothing. */
  readonly futures: number;
}

/** So many futures vote. */
const FUTURES = 8;

/**
 * Finds two runs that differ in one decision, one failing and one not. A future takes the recorded
 * answers up to a position and its own seed's after it: with none of them it does not fail, with all
 * of them it is the recorded run. Bisection keeps one end that fails and one that does not until they
 * are one decision apart; it needs no estimate, since each run is what it is.
 */
export async function bisectOverDecisions(
  line: DecisionLine,
  sampler: Sampler,
): Promise<DecidingResult> {
  const futures = Array.from({ length: FUTURES }, (_, future) => future);
  const first = futures.map((future) => ({ position: 0, future }));
  const outcomes = await askWithin(first, sampler);
  if (outcomes === null) return { found: [], position: null, futures: 0 };
  const open = futures
    .filter((_, index) => !outcomes[index])
    .map((future) => ({ future, low: 0, high: line.length }));
  const found: Deciding[] = [];
  while (open.length > 0) {
    // All futures take a step at once, so that jobs have work.
    const questions = open.map(({ future, low, high }) => {
      return { future, position: (low + high) >> 1 };
    });
    const failed = await askWithin(questions, sampler);
    if (failed === null) break;
    open.forEach((range, index) => {
      const { position } = questions[index] as Question;
      if (failed[index]) range.high = position;
      else range.low = position;
    });
    for (let index = open.length - 1; index >= 0; index--) {
      const { future, low, high } = open[index] as (typeof open)[number];
      if (high - low > 1) continue;
      found.push({ future, position: low });
      open.splice(index, 1);
    }
  }
  found.sort((a, b) => a.future - b.future);
  return { found, position: mostNamed(found), futures: FUTURES };
}

/** Whether each continuation failed; null where the budget is too small for all of them. */
async function askWithin(
  questions: readonly Question[],
  sampler: Sampler,
): Promise<readonly boolean[] | null> {
  if (questions.length > sampler.budgetLeft) return null;
  const results = await sampler.ask(questions);
  return results.map((result) => sampler.failed(result));
}

function mostNamed(found: readonly Deciding[]): number | null {
  const votes = new Map<number, number>();
  for (const { position } of found) votes.set(position, (votes.get(position) ?? 0) + 1);
  let best: number | null = null;
  for (const [position, count] of [...votes].sort(([a], [b]) => a - b)) {
    if (best === null || count > (votes.get(best) ?? 0)) best = position;
  }
  return best;
}
