import { describe, expect, it } from 'vitest';
import { MUSEUM_CASES } from '../../scenarios/museum/index.ts';
import { exhibit } from './exhibit.ts';

/** Twins run over so many seeds here; docs/museum.md says over how many they ran once. */
const TWIN_RUNS = 300;

describe.each(MUSEUM_CASES)('the museum: $name', ({ name, budgetRuns }) => {
  it('is found within its budget', () => {
    const run = exhibit(name, 'bug');
    let seed = 1;
    while (seed <= budgetRuns && run(seed).verdict !== 'fail') seed++;
    expect(seed).toBeLessThanOrEqual(budgetRuns);
  });

  it(`is clean over ${TWIN_RUNS} seeds when it is corrected`, () => {
    const run = exhibit(name, 'twin');
    const wrong: number[] = [];
    for (let seed = 1; seed <= TWIN_RUNS; seed++)
      if (run(seed).verdict !== 'pass') wrong.push(seed);
    expect(wrong).toEqual([]);
  });
});
