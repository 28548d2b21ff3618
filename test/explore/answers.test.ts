import { describe, expect, it } from 'vitest';
import { AddressedAnswers, Decisions } from '../../sim/index.ts';

/** Makes decisions of these streams and arities, and tells the choices. */
function decide(
  answers: AddressedAnswers,
  asked: readonly (readonly [string, number])[],
): number[] {
  const decisions = new Decisions(7, () => {});
  decisions.setSources([answers]);
  return asked.map(([name, arity]) => decisions.decide(decisions.stream(name), 0, arity));
}

describe('answers by address', () => {
  const given = [
    { stream: 'a', ordinal: 0, choice: 3, arity: 9 },
    { stream: 'a', ordinal: 1, choice: 4, arity: 9 },
    { stream: 'b', ordinal: 0, choice: 5, arity: null },
  ];

  it('CR-60: hold whatever the order and whatever other streams draw', () => {
    const plain = decide(new AddressedAnswers(given), [
      ['a', 9],
      ['a', 9],
      ['b', 7],
    ]);
    const mixed = decide(new AddressedAnswers(given), [
      ['b', 7],
      ['x', 50],
      ['a', 9],
      ['y', 2],
      ['a', 9],
    ]);
    expect(plain).toEqual([3, 4, 5]);
    expect([mixed[2], mixed[4], mixed[0]]).toEqual(plain);
  });

  it('leave to the seed what does not fit, and say how much drifted', () => {
    const answers = new AddressedAnswers(given);
    const seeded = decide(new AddressedAnswers([]), [
      ['a', 8],
      ['b', 5],
      ['c', 4],
    ]);
    expect(
      decide(answers, [
        ['a', 8],
        ['b', 5],
        ['c', 4],
      ]),
    ).toEqual(seeded);
    expect(answers.drift()).toEqual({ answered: 0, missing: 1, misfits: 2, extra: 1 });
  });
});
