import { describe, expect, it } from 'vitest';
import {
  checkLinearizable,
  makeModel,
  partition,
  type Model,
  type ModelName,
  type Operation,
} from '../../sim/index.ts';
import { Dice, randomOperations } from './history-maker.ts';

const CALLS: Record<ModelName, (dice: Dice) => readonly string[]> = {
  register: (dice) =>
    dice.pick([
      () => ['read', 'x'],
      () => ['write', 'x', String(dice.roll(3))],
      () => ['cas', 'x', String(dice.roll(3)), String(dice.roll(3))],
    ])(),
  map: (dice) =>
    dice.pick([
      () => ['get', 'x'],
      () => ['put', 'x', dice.pick(['a', 'b'])],
      () => ['append', 'x', dice.pick(['a', 'b'])],
      () => ['delete', 'x'],
    ])(),
  set: (dice) =>
    dice.pick([
      () => ['add', 's', dice.pick(['a', 'b'])],
      () => ['remove', 's', dice.pick(['a', 'b'])],
      () => ['contains', 's', dice.pick(['a', 'b'])],
      () => ['members', 's'],
    ])(),
  queue: (dice) =>
    dice.pick([() => ['enqueue', 'q', dice.pick(['a', 'b', 'c'])], () => ['dequeue', 'q']])(),
};

function resultOf(dice: Dice, name: string): readonly string[] {
  switch (name) {
    case 'read':
      return [dice.pick(['nil', '0', '1', '2'])];
    case 'get':
      return [dice.pick(['nil', 'a', 'b', 'ab', 'aa'])];
    case 'dequeue':
      return [dice.pick(['nil', 'a', 'b', 'c'])];
    case 'members':
      return [dice.pick(['nil', 'a', 'b', 'b,a'])];
    case 'cas':
    case 'contains':
      return [dice.pick(['true', 'false'])];
    case 'add':
    case 'remove':
    case 'delete':
      return dice.pick([[], ['true'], ['false']]);
    default:
      return [];
  }
}

/** Tries every order by brute force: the definition itself, without cleverness. */
function isLinearizable(operations: readonly Operation[], model: Model): boolean {
  const endOf = (each: Operation): number => {
    return each.status === 'ok' ? (each.returnedNs ?? Infinity) : Infinity;
  };
  const visit = (left: readonly Operation[], state: string): boolean => {
    if (left.every((each) => each.status !== 'ok')) return true;
    const firstEnd = Math.min(...left.map(endOf));
    return left.some((each) => {
      // Nothing that returned before this one was called may be left for later.
      if (each.calledNs > firstEnd) return false;
      const after = model.step(state, each);
      if (after === null) return false;
      return visit(
        left.filter((other) => other !== each),
        after,
      );
    });
  };
  return visit(operations, model.initial);
}

/** What was known when the last reply of the prefix came: later calls are not in it. */
function prefixUntil(operations: readonly Operation[], last: Operation): readonly Operation[] {
  const endNs = last.returnedNs ?? Infinity;
  return operations
    .filter((each) => each.calledNs <= endNs)
    .map((each): Operation => {
      const later = each.status === 'ok' && (each.returnedNs ?? Infinity) > endNs;
      return later ? { ...each, status: 'open', result: [], returnedNs: null } : each;
    });
}

describe('the linearizability search', () => {
  for (const name of ['register', 'map', 'set', 'queue'] as const) {
    it(`agrees with brute force on small random histories of a ${name}`, () => {
      const model = makeModel(name, null);
      const found = { yes: 0, no: 0 };
      for (let seed = 0; seed < 1500; seed++) {
        const dice = new Dice(seed);
        const operations = randomOperations(dice, {
          clients: 2 + dice.roll(3),
          calls: 2 + dice.roll(6),
          call: CALLS[name],
          result: resultOf,
          unknownPercent: dice.pick([0, 25]),
        });
        const result = checkLinearizable(operations, model, { left: 100_000 });
        const expected = isLinearizable(operations, model);
        expect([seed, result.kind]).toEqual([seed, expected ? 'linearizable' : 'violated']);
        found[expected ? 'yes' : 'no']++;
      }
      expect(Math.min(found.yes, found.no)).toBeGreaterThan(100);
    });

    it(`blames the reply that ends the smallest failing prefix (${name})`, () => {
      const model = makeModel(name, null);
      let checked = 0;
      for (let seed = 0; seed < 400; seed++) {
        const operations = randomOperations(new Dice(seed), {
          clients: 3,
          calls: 6,
          call: CALLS[name],
          result: resultOf,
          unknownPercent: 10,
        });
        const result = checkLinearizable(operations, model, { left: 100_000 });
        if (result.kind !== 'violated') continue;
        checked++;
        const { blamed, order } = result.violation;
        expect(isLinearizable(prefixUntil(operations, blamed), model)).toBe(false);
        const before = operations
          .filter((each) => each.status === 'ok' && each !== blamed)
          .filter((each) => (each.returnedNs ?? 0) < (blamed.returnedNs ?? 0))
          .sort((a, b) => (a.returnedNs ?? 0) - (b.returnedNs ?? 0));
        const last = before[before.length - 1];
        if (last === undefined) continue;
        expect(isLinearizable(prefixUntil(operations, last), model)).toBe(true);
        // The order shown is one that the model accepts, and has every reply before the blamed one.
        const end = order.reduce<string | null>((state, each) => {
          return state === null ? null : model.step(state, each);
        }, model.initial);
        expect(end).toBe(result.violation.state);
        for (const each of before) expect(order.map(({ id }) => id)).toContain(each.id);
      }
      expect(checked).toBeGreaterThan(50);
    });
  }

  it('judges each element of a set apart, unless somebody asked for all members', () => {
    const parts = (words: readonly string[][]): string[] => {
      const dice = new Dice(1);
      let next = 0;
      const operations = randomOperations(dice, {
        clients: 1,
        calls: words.length,
        call: () => words[next++] ?? [],
        result: resultOf,
        unknownPercent: 0,
      });
      return [...partition('set', operations).keys()];
    };
    const apart = [
      ['add', 's', 'a'],
      ['contains', 's', 'b'],
      ['remove', 't', 'a'],
    ];
    expect(parts(apart)).toEqual(['s a', 's b', 't a']);
    expect(parts([...apart, ['members', 's']])).toEqual(['s', 't a']);
  });

  it('stops when its steps are used up, and says so', () => {
    const operations = randomOperations(new Dice(3), {
      clients: 4,
      calls: 40,
      call: (dice) => ['write', 'x', String(dice.roll(9))],
      result: () => [],
      unknownPercent: 0,
    });
    const model = makeModel('register', null);
    expect(checkLinearizable(operations, model, { left: 10 })).toEqual({ kind: 'exhausted' });
    const budget = { left: 10_000 };
    expect(checkLinearizable(operations, model, budget)).toEqual({ kind: 'linearizable' });
    expect(budget.left).toBeGreaterThan(9_000);
  });
});
