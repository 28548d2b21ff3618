import { describe, expect, it } from 'vitest';
import { draw32, draw53, drawUniform, streamKey } from '../../sim/index.ts';

describe('keyed draws', () => {
  it('CR-114: a value is a function of seed, stream name and ordinal: golden values', () => {
    const key = streamKey(42, 'node/n1/entropy');
    expect([0, 1, 2, 2 ** 40].map((ordinal) => draw32(key, ordinal, 0))).toMatchInlineSnapshot(`
      [
        2752870417,
        2062991793,
        2750387438,
        30608012,
      ]
    `);
  });

  it('differs in every part of its key', () => {
    const values = new Set<number>();
    for (const seed of [0, 1, 2 ** 32, 2 ** 33 + 1]) {
      for (const name of ['a', 'b', 'ab', 'ba', '']) {
        for (const ordinal of [0, 1, 2 ** 32]) {
          for (const lane of [0, 1]) values.add(draw53(streamKey(seed, name), ordinal, lane));
        }
      }
    }
    expect(values.size).toBe(4 * 5 * 3 * 2);
  });

  it.each([2, 3, 7, 10, 1000])('is uniform over %i within 5 sigma', (arity) => {
    const counts = new Array<number>(arity).fill(0);
    const key = streamKey(7, 'uniform');
    const draws = 100_000;
    for (let ordinal = 0; ordinal < draws; ordinal++) {
      const value = drawUniform(key, ordinal, arity);
      counts[value] = (counts[value] as number) + 1;
    }
    const expected = draws / arity;
    const sigma = Math.sqrt(expected * (1 - 1 / arity));
    for (const count of counts) expect(Math.abs(count - expected)).toBeLessThan(5 * sigma);
  });

  it('stays within arities above 2^32', () => {
    const key = streamKey(7, 'wide');
    const arity = 2 ** 40 + 3;
    let high = 0;
    for (let ordinal = 0; ordinal < 1000; ordinal++) {
      const value = drawUniform(key, ordinal, arity);
      expect(Number.isInteger(value) && value >= 0 && value < arity).toBe(true);
      if (value >= 2 ** 39) high++;
    }
    expect(high).toBeGreaterThan(400);
    expect(high).toBeLessThan(600);
  });

  it('flips about half of the output bits for each input bit', () => {
    let flipped = 0;
    const trials = 32 * 64;
    for (let ordinal = 0; ordinal < 64; ordinal++) {
      const key = streamKey(1, 'avalanche');
      for (let bit = 0; bit < 32; bit++) {
        let difference = draw32(key, ordinal, 0) ^ draw32(key, (ordinal ^ (1 << bit)) >>> 0, 0);
        for (; difference !== 0; difference &= difference - 1) flipped++;
      }
    }
    expect(flipped / trials).toBeGreaterThan(15);
    expect(flipped / trials).toBeLessThan(17);
  });
});
