import { describe, expect, it } from 'vitest';
import { signTest } from '../../cli/bisect/statistics.ts';

describe('the sign test', () => {
  it('doubts a difference as much as the binomial distribution does', () => {
    expect(signTest(0, 0)).toBe(1);
    expect(signTest(8, 8)).toBeCloseTo(1 / 256, 12);
    expect(signTest(7, 8)).toBeCloseTo(9 / 256, 12);
    expect(signTest(4, 8)).toBeCloseTo(163 / 256, 12);
    expect(signTest(0, 8)).toBeCloseTo(1, 12);
  });
});
