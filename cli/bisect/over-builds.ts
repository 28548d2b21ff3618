import type { BuildJudge, Standing } from './build-prober.ts';
import { estimate, passesNeeded } from './statistics.ts';

/** Runs of the bad end, from which the failure's rate is estimated. */
const PILOT_RUNS = 32;
/** They are doubled until so many have failed, */
const PILOT_FAILURES = 5;
/** or there have been so many. */
const PILOT_RUNS_MAX = 256;
/** A good build passes so many runs at least, however sure the failure is. */
const PASSES_MIN = 4;
/** And so many at most: rarer failures are left to the confirmation, or to a larger budget. */
const PASSES_MAX = 256;
/** Doubts about all builds together are so many times smaller than those that are allowed. */
const CAUTION = 10;
/** The last good build passes so many times as many runs in the end. */
const CONFIRMING = 4;

/** What the ends turned out to be, where they are not as they were said to be. */
export type WrongEnds = 'good-fails' | 'bad-passes' | 'swapped' | 'good-skipped' | 'bad-skipped';

export interface BuildsResult {
  /** Null where the ends are right. */
  readonly wrong: WrongEnds | null;
  /** The last build that passes, and the first that fails after it. */
  readonly lastGood: Standing;
  readonly firstBad: Standing;
  /** Builds between those two that could not be tried: each may be the first bad one. */
  readonly between: readonly number[];
  /** The share of failing runs of the bad end. */
  readonly rate: number;
  /** How many passing runs make a build good. */
  readonly passesNeeded: number;
  /** Whether the two neighbours were confirmed; otherwise the budget ran out. */
  readonly confirmed: boolean;
}

/**
 * Finds the first bad build among `count`, of which the first is said to be good and the last bad. A
 * failing run is proof that a build is bad; passing runs only make it likely that it is good. So a
 * build counts as good after as many passes as make an oversight unlikely at the failure's rate, and
 * the last good one must pass several times as many; where it does not, it is bad, and the search
 * goes on before it with twice the passes.
 */
export async function bisectOverBuilds(
  judge: BuildJudge,
  count: number,
  confidence: number,
): Promise<BuildsResult> {
  const steps = Math.ceil(Math.log2(count)) + 1;
  const last = await pilot(judge, count - 1);
  const rate = last.runs === 0 ? 0 : last.failures / last.runs;
  // All builds together are judged with more than the confidence that is asked for: to take one back
  // costs more builds, which cost more than runs.
  const each = 1 - (1 - confidence) / (steps * CAUTION);
  // The rate may be lower than it seems: few runs have told it.
  const { low } = estimate(last.failures, last.runs, confidence);
  let needed = rate === 0 ? PILOT_RUNS : clamp(passesNeeded(low, each));
  let good = await judge.ask(0, needed, true);
  const wrong = wrongEnds(good, last, last.runs >= PILOT_RUNS_MAX);
  const result = (more: Partial<BuildsResult>): BuildsResult => {
    const plain = { wrong, rate, passesNeeded: needed, confirmed: false, between: [] };
    return { ...plain, lastGood: good, firstBad: last, ...more };
  };
  if (wrong !== null || good.runs < needed) return result({});
  const goods = [good];
  let bad = last;
  for (;;) {
    const skipped = new Set<number>();
    for (;;) {
      const next = between(good.index, bad.index, skipped);
      if (next === null) break;
      const standing = await judge.ask(next, needed, true);
      if (standing.skipped !== null) skipped.add(next);
      else if (standing.failures > 0) bad = standing;
      else if (standing.runs < needed) return result({ firstBad: bad });
      else goods.push((good = standing));
    }
    const open = [...skipped].filter((at) => at > good.index && at < bad.index);
    open.sort((a, b) => a - b);
    const confirmed = await judge.ask(good.index, needed * CONFIRMING, true);
    good = confirmed;
    const ends = { firstBad: bad, between: open };
    if (confirmed.failures === 0) {
      return result({ ...ends, confirmed: confirmed.runs >= needed * CONFIRMING });
    }
    // It passed by luck. Those before it may have, too.
    bad = confirmed;
    needed = clamp(needed * 2);
    goods.pop();
    const before = goods.at(-1);
    if (before === undefined) return result({ wrong: 'good-fails', firstBad: bad });
    good = before;
  }
}

/** The bad end after as many runs as tell its rate. */
async function pilot(judge: BuildJudge, index: number): Promise<Standing> {
  for (let runs = PILOT_RUNS; ; runs *= 2) {
    const standing = await judge.ask(index, runs, false);
    const isTold = standing.failures >= PILOT_FAILURES || standing.skipped !== null;
    // Fewer than were asked for: the budget is used up.
    if (isTold || runs >= PILOT_RUNS_MAX || standing.runs < runs) return standing;
  }
}

/** The build to try next: the middle one, or the nearest to it that is not skipped. */
function between(good: number, bad: number, skipped: ReadonlySet<number>): number | null {
  const middle = (good + bad) >> 1;
  for (let away = 0; middle - away > good || middle + away < bad; away++) {
    for (const at of [middle - away, middle + away]) {
      if (at > good && at < bad && !skipped.has(at)) return at;
    }
  }
  return null;
}

function wrongEnds(good: Standing, bad: Standing, isSure: boolean): WrongEnds | null {
  if (bad.skipped !== null) return 'bad-skipped';
  if (good.skipped !== null) return 'good-skipped';
  if (bad.failures > 0) return good.failures > 0 ? 'good-fails' : null;
  if (good.failures > 0) return 'swapped';
  return isSure ? 'bad-passes' : null;
}

function clamp(passes: number): number {
  return Math.min(PASSES_MAX, Math.max(PASSES_MIN, passes));
}
