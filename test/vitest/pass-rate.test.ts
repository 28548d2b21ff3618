import { describe, expect, it } from 'vitest';
import { PassRate } from '../../cli/vitest/pass-rate.ts';

function rateOf(passed: number, failed: number, minimum: number): PassRate {
  const rate = new PassRate('name', minimum);
  for (let run = 0; run < passed; run++) rate.passed();
  for (let run = 0; run < failed; run++) {
    const trace = 'get_order → issue_refund!timeout';
    rate.failedRun({ run, seed: 7 + run, trace, message: 'no', replay: `again ${run}` });
  }
  return rate;
}

describe('minimum pass rates', () => {
  it.each([
    [17, 3, 0.95, 'name: 17/20 passed (85%)  min_pass_rate=95% -> FAIL'],
    [19, 1, 0.95, 'name: 19/20 passed (95%)  min_pass_rate=95% -> PASS'],
    [2, 1, 0.66, 'name: 2/3 passed (66.7%)  min_pass_rate=66% -> PASS'],
    [0, 1, 0.01, 'name: 0/1 passed (0%)  min_pass_rate=1% -> FAIL'],
    [3, 0, 1, 'name: 3/3 passed (100%)  min_pass_rate=100% -> PASS'],
  ])('FH-45 FH-46 FH-47 judges %i passed and %i failed runs', (passed, failed, minimum, line) => {
    const rate = rateOf(passed, failed, minimum);
    expect(rate.report().split('\n')[0]).toBe(line);
    expect(rate.isBelow).toBe(line.endsWith('FAIL'));
  });

  it('FH-46 shows at most five failed runs with their trace, seed and command', () => {
    const lines = rateOf(0, 7, 0.5).report().split('\n');
    expect(lines.slice(1, 5)).toEqual([
      '  run 0: no',
      '    trace   get_order → issue_refund!timeout',
      '    seed    7 (run 0)',
      '    replay  again 0',
    ]);
    expect(lines.at(-1)).toBe('  and 2 more');
    expect(lines.filter((line) => line.startsWith('  run '))).toHaveLength(5);
  });
});
