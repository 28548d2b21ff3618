import type { LineFault } from './line-faults.ts';
import type { Redrawn } from './near-futures.ts';
import type { CurvePoint } from './over-time.ts';
import type { Sampler } from './sampler.ts';
import { shareOf, signTest, type Estimate } from './statistics.ts';

/** A fault without which the failure would have been less likely, from that moment on. */
export interface Responsible {
  readonly fault: LineFault;
  readonly withIt: Estimate;
  readonly withoutIt: Estimate;
  /** How far its futures left the record. */
  readonly redrawn: Redrawn;
  /** How likely so great a difference would be if the fault made none: 0 to 1. */
  readonly doubt: number;
}

export interface ResponsibleFaults {
  /** In order of time. */
  readonly found: readonly Responsible[];
  /** How many faults there were, and how many of them were looked at, the last ones. */
  readonly faults: number;
  readonly tried: number;
  /** Whether the budget was enough for all that had to be looked at. */
  readonly complete: boolean;
}

/** So many faults are looked at, the last ones before the failure. */
const FAULTS_MAX = 128;
/** Pairs of futures for the first look at a fault; then for those that may be responsible. */
const PAIRS_FIRST = 8;
const PAIRS_NEXT: readonly number[] = [16, 32];
/** A fault that turns fewer futures of the first look is not looked at again. */
const TURNED_MIN = 2;
/** After so many faults in a row from which hardly any future fails, earlier ones have no near look. */
const VAIN_MAX = 3;
/** Futures near the record are asked where of the first look so many fail with the fault. */
const NEAR_FAILED_MIN = 4;

/**
 * Which faults the failure needed (a test of "but for"): futures are drawn from the moment of a
 * fault on, each with the fault and without it, and else with the same past and the same seed. A
 * fault is responsible if so many more fail with it than without it that it is no luck: by the
 * exact sign test over the pairs, the doubt shared out over all faults and looks.
 *
 * Where hardly any future fails, though this one did, the futures stay nearer to the record, as far
 * as the failure still comes in half of them: then it does not hang by the exact times of
 * everything, which leaving out any fault would change.
 */
export async function findResponsible(
  faults: readonly LineFault[],
  curve: readonly CurvePoint[],
  sampler: Sampler,
): Promise<ResponsibleFaults> {
  const looks: Look[] = [];
  // From the last one back: from far enough back hardly any future fails, however near the record.
  let vain = 0;
  const last = faults.slice(-FAULTS_MAX);
  for (const fault of last.toReversed()) {
    const isNear = vain < VAIN_MAX;
    const look = await firstLook(fault, { isNear, isRare: isRareAt(fault, curve) }, sampler);
    if (look === null) break;
    looks.unshift(look);
    vain = look.redrawn === 1 && countOf(look.withIt) < TURNED_MIN ? vain + 1 : 0;
  }
  const doubtMax = (1 - sampler.confidence) / Math.max(1, looks.length * PAIRS_NEXT.length);
  const found: Responsible[] = [];
  let complete = looks.length === last.length;
  for (const look of looks) {
    const one = await lookAgain(look, doubtMax, sampler);
    if (one === 'spent') complete = false;
    else if (one !== null && !isUndone(one, curve)) found.push(one);
  }
  return { found, faults: faults.length, tried: looks.length, complete };
}

/** Futures from a fault on, in pairs of the same seed. */
interface Look {
  readonly fault: LineFault;
  readonly redrawn: Redrawn;
  readonly withIt: readonly boolean[];
  readonly withoutIt: readonly boolean[];
  /** How many more fail with the fault than without it. */
  readonly turned: number;
  readonly doubt: number;
}

/** Null where the budget has no place for it. */
async function firstLook(
  fault: LineFault,
  { isNear, isRare }: { readonly isNear: boolean; readonly isRare: boolean },
  sampler: Sampler,
): Promise<Look | null> {
  const ask = async (redrawn: Redrawn, enough: number): Promise<boolean | null> => {
    const withIt = await sampler.follow({ fault, withIt: true, redrawn }, PAIRS_FIRST);
    return withIt.length < PAIRS_FIRST ? null : countOf(withIt) >= enough;
  };
  const isLikely = isRare ? false : await ask(1, TURNED_MIN);
  if (isLikely === null) return null;
  if (isLikely) return compare(fault, 1, PAIRS_FIRST, sampler);
  if (isNear && (await ask(4, NEAR_FAILED_MIN)) === true) {
    const redrawn = (await ask(2, NEAR_FAILED_MIN)) === true ? 2 : 4;
    return compare(fault, redrawn, PAIRS_FIRST, sampler);
  }
  return { fault, redrawn: 1, withIt: [], withoutIt: [], turned: 0, doubt: 1 };
}

/** Whether the curve says that no future fails from there: none did before and after it. */
function isRareAt({ position }: LineFault, curve: readonly CurvePoint[]): boolean {
  const before = curve.findLast((point) => point.position <= position);
  const after = curve.find((point) => point.position >= position);
  return [before, after].every((point) => {
    return point !== undefined && point.samples > 0 && point.failures === 0;
  });
}

async function compare(
  fault: LineFault,
  redrawn: Redrawn,
  count: number,
  sampler: Sampler,
): Promise<Look | null> {
  const withIt = await sampler.follow({ fault, withIt: true, redrawn }, count);
  const withoutIt = await sampler.follow({ fault, withIt: false, redrawn }, count);
  if (withIt.length < count || withoutIt.length < count) return null;
  const by = withIt.filter((failed, index) => failed && !withoutIt[index]).length;
  const against = withoutIt.filter((failed, index) => failed && !withIt[index]).length;
  const turned = by - against;
  const doubt = turned > 0 ? signTest(by, by + against) : 1;
  return { fault, redrawn, withIt, withoutIt, turned, doubt };
}

async function lookAgain(
  { fault, redrawn, turned }: Look,
  doubtMax: number,
  sampler: Sampler,
): Promise<Responsible | 'spent' | null> {
  let turnedMin = TURNED_MIN;
  let last = turned;
  for (const count of PAIRS_NEXT) {
    if (last < turnedMin) return null;
    const look = await compare(fault, redrawn, count, sampler);
    if (look === null) return 'spent';
    const { doubt } = look;
    if (doubt <= doubtMax) {
      const withIt = sampler.estimateOf(look.withIt);
      const withoutIt = sampler.estimateOf(look.withoutIt);
      return { fault, withIt, withoutIt, redrawn, doubt };
    }
    [last, turnedMin] = [look.turned, turnedMin * 2];
  }
  return null;
}

/** Whether the likelihood came back later to what it is without the fault. */
function isUndone(
  { fault, redrawn, withIt, withoutIt }: Responsible,
  curve: readonly CurvePoint[],
): boolean {
  if (redrawn !== 1) return false;
  return curve.some((point) => {
    if (point.position <= fault.position || point.samples === 0) return false;
    return point.high < shareOf(withIt) && shareOf(point) <= shareOf(withoutIt);
  });
}

function countOf(outcomes: readonly boolean[]): number {
  return outcomes.filter((failed) => failed).length;
}
