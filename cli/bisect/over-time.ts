import type { DecisionLine } from './decision-line.ts';
import type { Sampler } from './sampler.ts';
import type { Estimate } from './statistics.ts';

/** A position and how likely the failure is from there on. */
export interface CurvePoint extends Estimate {
  readonly position: number;
  readonly atNs: number;
}

/** Between these two positions the likelihood rises. */
export interface Crossing {
  readonly before: CurvePoint;
  readonly after: CurvePoint;
  /** Whether the two are one decision apart; otherwise the budget ran out. */
  readonly exact: boolean;
}

export interface Curve {
  readonly points: readonly CurvePoint[];
  /** Its steepest step; null where it starts certain. */
  readonly rise: Crossing | null;
  /** Where it becomes all but certain for good; null where it starts so. */
  readonly certain: Crossing | null;
}

/** A failure is all but certain from this likelihood on. */
export const CERTAIN = 0.9;

/** Positions of the first look, evenly over the decisions; and futures for each. */
const GRID = 8;
const FUTURES_FIRST = 8;
/** At most so many futures at a position: the interval is then about 0.3 wide at its widest. */
const FUTURES_MAX = 32;

/**
 * How likely the failure was while the run went on (issue: bisect over time). First a coarse grid
 * over all decisions, then bisection for the last place where the likelihood becomes all but certain,
 * and then for the steepest step.
 */
export async function bisectOverTime(line: DecisionLine, sampler: Sampler): Promise<Curve> {
  const grid = Array.from({ length: GRID + 1 }, (_, index) => {
    return Math.floor((line.length * index) / GRID);
  });
  // Of a short line some are the same position, whose futures count once.
  await sampler.sample([...new Set(grid)], FUTURES_FIRST);
  if (sampler.share(0) >= CERTAIN) await sampler.sample([0], FUTURES_MAX);
  const start = sampler.share(0);
  if (start >= CERTAIN) return { points: points(line, sampler), rise: null, certain: null };
  const certain = await cross(CERTAIN, line, sampler);
  const rise = await steepest(line, sampler);
  return { points: points(line, sampler), rise, certain };
}

/**
 * Halves the widest rise between two sampled positions until it is one decision wide: then no other
 * rise between sampled positions is greater than that of this one decision.
 */
async function steepest(line: DecisionLine, sampler: Sampler): Promise<Crossing> {
  for (;;) {
    const [low, high] = widestRise(line, sampler);
    const isSpent = sampler.budgetLeft === 0;
    const isKnown = [low, high].every((position) => isSampled(position, line, sampler));
    if ((high - low === 1 && isKnown) || isSpent) return crossing(low, high, line, sampler);
    // Neighbours that few futures have told of rise by luck.
    const next = isKnown ? [(low + high) >> 1] : [low, high];
    await sampler.sample(next, FUTURES_MAX);
  }
}

/** The neighbours among the sampled positions between which the share rises most, the first such. */
function widestRise(line: DecisionLine, sampler: Sampler): readonly [number, number] {
  const positions = [...sampler.positions(), line.length];
  let best: readonly [number, number] = [0, line.length];
  let most = -Infinity;
  for (const [index, high] of positions.entries()) {
    const low = positions[index - 1];
    if (low === undefined) continue;
    const rise = sampler.share(high) - sampler.share(low);
    if (rise > most) [most, best] = [rise, [low, high]];
  }
  return best;
}

function isSampled(position: number, line: DecisionLine, sampler: Sampler): boolean {
  return position >= line.length || sampler.at(position).samples >= FUTURES_MAX;
}

/** Bisects for the last crossing of a level among what has been sampled so far. */
async function cross(level: number, line: DecisionLine, sampler: Sampler): Promise<Crossing> {
  let high = line.length;
  let low = 0;
  for (const position of sampler.positions().toReversed()) {
    if (sampler.share(position) < level) {
      low = position;
      break;
    }
    high = position;
  }
  while (high - low > 1 && sampler.budgetLeft > 0) {
    const middle = (low + high) >> 1;
    if (await isBelow(middle, level, sampler)) low = middle;
    else high = middle;
  }
  await sampler.sample([low, high], FUTURES_MAX);
  return crossing(low, high, line, sampler);
}

function crossing(low: number, high: number, line: DecisionLine, sampler: Sampler): Crossing {
  return {
    before: pointAt(low, line, sampler),
    after: pointAt(high, line, sampler),
    exact: high - low === 1,
  };
}

/** Takes futures at a position until its interval leaves the level, or enough are taken. */
async function isBelow(position: number, level: number, sampler: Sampler): Promise<boolean> {
  for (let count = FUTURES_FIRST; ; count += FUTURES_FIRST) {
    await sampler.sample([position], count);
    const { low, high } = sampler.at(position);
    if (high < level || low > level || count >= FUTURES_MAX || sampler.budgetLeft === 0) {
      return sampler.share(position) < level;
    }
  }
}

function pointAt(position: number, line: DecisionLine, sampler: Sampler): CurvePoint {
  return { position, atNs: line.timeOf(position), ...sampler.at(position) };
}

function points(line: DecisionLine, sampler: Sampler): readonly CurvePoint[] {
  const sampled = sampler.positions().map((position) => pointAt(position, line, sampler));
  return [...sampled, pointAt(line.length, line, sampler)];
}
