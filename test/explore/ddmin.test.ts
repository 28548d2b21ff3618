import { describe, expect, it } from 'vitest';
import { ddmin } from '../../sim/index.ts';

/** Plays the game against a predicate; returns the result and what was asked. */
function play<T>(items: readonly T[], fails: (kept: readonly T[]) => boolean) {
  const asked: (readonly T[])[] = [];
  const game = ddmin(items);
  for (let turn = game.next(); ;) {
    if (turn.done === true) return { result: turn.value, asked };
    asked.push(...turn.value);
    turn = game.next(turn.value.findIndex(fails));
  }
}

const eight = [0, 1, 2, 3, 4, 5, 6, 7];

describe('delta debugging', () => {
  it.each([
    ['nothing is needed', []],
    ['one item', [5]],
    ['two far apart', [0, 7]],
    ['three', [1, 4, 6]],
    ['all', eight],
  ])('finds exactly what is needed: %s', (_name, needed) => {
    const { result } = play(eight, (kept) => needed.every((item) => kept.includes(item)));
    expect(result).toEqual(needed);
  });

  it('keeps all items where no smaller set fails', () => {
    expect(play(eight, () => false).result).toEqual(eight);
  });

  it('asks for the empty set first, and for nothing twice', () => {
    const { asked } = play(eight, (kept) => kept.includes(2) && kept.includes(3));
    expect(asked[0]).toEqual([]);
    const keys = asked.map((kept) => kept.join());
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('leaves a set from which no single item can go, though the rule is not monotonous', () => {
    const fails = (kept: readonly number[]): boolean => kept.length % 3 === 2 && kept.includes(4);
    const { result } = play(eight, fails);
    expect(fails(result)).toBe(true);
    for (const item of result) expect(fails(result.filter((other) => other !== item))).toBe(false);
  });

  it('needs about log n questions for one of a thousand', () => {
    const many = Array.from({ length: 1_000 }, (_, index) => index);
    const { result, asked } = play(many, (kept) => kept.includes(613));
    expect(result).toEqual([613]);
    expect(asked.length).toBeLessThan(60);
  });

  it('has nothing to ask about nothing', () => {
    expect(play([], () => true)).toEqual({ result: [], asked: [] });
  });
});
