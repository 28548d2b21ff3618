import { draw53, streamKey, type Answer } from '../../sim/index.ts';
import type { DecisionLine } from './decision-line.ts';
import type { LineFault } from './line-faults.ts';

/**
 * How far a future leaves the record: one in so many of its decisions is drawn anew. 1 draws all of
 * them; the others stay near the recorded run, and in them the plan does what it did.
 */
export type Redrawn = 1 | 2 | 4;

/** Futures from a fault on. */
export interface Side {
  readonly fault: LineFault;
  readonly withIt: boolean;
  readonly redrawn: Redrawn;
}

/** The answers of a future from a fault on, whose other draws come from `seed`. */
export function answersFrom(line: DecisionLine, side: Side, seed: number): readonly Answer[] {
  const { fault, withIt, redrawn } = side;
  const key = streamKey(seed, 'bisect/near');
  const answers: Answer[] = [];
  // What only the fault asked is not asked without it: what came later on its streams moves up.
  const gone = new Map<string, number>();
  for (let index = fault.from.decisions; index < line.length; index++) {
    const isPast = index < fault.position;
    if (!isPast && redrawn === 1) break;
    const decision = line.decisions[index];
    if (decision === undefined) break;
    const { stream, ordinal, choice, arity, atNs } = decision;
    const isOfPlan = stream.startsWith('plan/') || stream.startsWith('swarm/');
    if (!withIt && isPast && !isOfPlan && fault.withheld !== null && atNs === fault.atNs) {
      gone.set(stream, (gone.get(stream) ?? 0) + 1);
      continue;
    }
    if (!isPast && !isOfPlan && draw53(key, index, 0) % redrawn === 0) continue;
    answers.push({ stream, ordinal: ordinal - (gone.get(stream) ?? 0), choice, arity });
  }
  return withIt || fault.calm === null ? answers : [...answers, fault.calm];
}
