import { describe, expect, it } from 'vitest';
import type { BuildJudge, Standing } from '../../cli/bisect/build-prober.ts';
import { bisectOverBuilds } from '../../cli/bisect/over-builds.ts';
import { draw53, streamKey } from '../../sim/index.ts';

const BUILDS = 64;

/** Builds whose runs fail by chance: `rate` of them from `firstBad` on, none before. */
class ChanceJudge implements BuildJudge {
  readonly standings = new Map<number, Standing>();
  private readonly fails: (index: number, run: number) => boolean;
  private left: number;

  constructor(fails: (index: number, run: number) => boolean, budget = Infinity) {
    this.fails = fails;
    this.left = budget;
  }

  ask(index: number, runs: number, untilFailure: boolean): Promise<Standing> {
    let standing = this.standings.get(index) ?? {
      index,
      name: `b${index}`,
      failures: 0,
      others: 0,
      runs: 0,
      replayFails: false,
      drift: null,
      skipped: null,
    };
    while (standing.runs < runs && !(untilFailure && standing.failures > 0) && this.left > 0) {
      const failures = standing.failures + Number(this.fails(index, standing.runs));
      standing = { ...standing, failures, runs: standing.runs + 1 };
      this.left--;
    }
    this.standings.set(index, standing);
    return Promise.resolve(standing);
  }
}

function chance(firstBad: number, percent: number, luck: number): ChanceJudge {
  const key = streamKey(luck, 'chance');
  return new ChanceJudge((index, run) => {
    return index >= firstBad && draw53(key, index * 10_000 + run, 0) % 100 < percent;
  });
}

describe('the search for the first bad build', () => {
  it.each([100, 50, 15])(
    'is right at each of 63 places where %i of 100 runs fail',
    async (percent) => {
      const wrong: string[] = [];
      for (let firstBad = 1; firstBad < BUILDS; firstBad++) {
        const judge = chance(firstBad, percent, firstBad);
        const result = await bisectOverBuilds(judge, BUILDS, 0.95);
        const isRight = result.firstBad.index === firstBad && result.confirmed;
        if (!isRight || judge.standings.size > 8) {
          wrong.push(`${firstBad}: ${result.firstBad.name} after ${judge.standings.size} builds`);
        }
      }
      expect(wrong).toEqual([]);
    },
  );

  it('takes back a build that passed by luck, and goes on before it', async () => {
    // The middle build is bad but fails late: later than it takes to call it good.
    const judge = new ChanceJudge((index, run) => {
      if (index < 20) return false;
      return index === 31 ? run === 30 : run % 2 === 0;
    });
    const result = await bisectOverBuilds(judge, BUILDS, 0.95);
    expect(judge.standings.get(31)).toMatchObject({ failures: 1, runs: 31 });
    expect(result).toMatchObject({
      wrong: null,
      confirmed: true,
      firstBad: { index: 20 },
      lastGood: { index: 19 },
    });
  });

  it('takes back even the good end', async () => {
    const judge = new ChanceJudge((index, run) => (index === 0 ? run === 40 : run % 2 === 0));
    const result = await bisectOverBuilds(judge, 2, 0.95);
    expect(result).toMatchObject({ wrong: 'good-fails', confirmed: false });
  });

  it('blames no end when the budget is too small to know', async () => {
    const judge = new ChanceJudge(() => false, 10);
    const result = await bisectOverBuilds(judge, BUILDS, 0.95);
    expect(result).toMatchObject({ wrong: null, confirmed: false });
  });
});
