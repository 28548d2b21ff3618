import { describe, expect, it } from 'vitest';
import {
  decodeDecisions,
  Decisions,
  LOG_DECISIONS,
  OverrideSource,
  readWholeLog,
  type Decision,
} from '../../sim/index.ts';

interface Recorded {
  readonly decisions: Decisions;
  all(): Decision[];
}

function recorded(seed: number): Recorded {
  const frames: Uint8Array[] = [];
  const decisions = new Decisions(seed, (frame) => frames.push(frame));
  return {
    decisions,
    all: () => {
      decisions.log.flush();
      return [...decodeDecisions(readWholeLog(Buffer.concat(frames), LOG_DECISIONS))];
    },
  };
}

describe('decisions', () => {
  it('CR-60, CR-114: another stream in between shifts no draw of a stream', () => {
    const plain = recorded(9);
    const mixed = recorded(9);
    const a = plain.decisions.stream('link/a/b/loss');
    const b = mixed.decisions.stream('link/a/b/loss');
    for (let index = 0; index < 100; index++) {
      mixed.decisions.decide(mixed.decisions.stream(`other/${index}`), index, 5);
      expect(mixed.decisions.decide(b, index, 1000)).toBe(plain.decisions.decide(a, index, 1000));
    }
  });

  it('CR-98: what is logged is what was decided, with address, arity, choice and door', () => {
    const { decisions, all } = recorded(1);
    decisions.setSources([new OverrideSource([{ stream: 's', ordinal: 1, choice: 4 }])]);
    const stream = decisions.stream('s');
    const choices = [decisions.decide(stream, 10, 6), decisions.decide(stream, 7, 6)];
    expect(decisions.decide(stream, 7, 1)).toBe(0);
    choices.push(decisions.decide(decisions.stream('t'), 2 ** 50, 2 ** 52));
    expect(all()).toEqual([
      { index: 0, stream: 's', ordinal: 0, atNs: 10, arity: 6, choice: choices[0], door: 'seeded' },
      { index: 1, stream: 's', ordinal: 1, atNs: 7, arity: 6, choice: 4, door: 'override' },
      {
        index: 2,
        stream: 't',
        ordinal: 0,
        atNs: 2 ** 50,
        arity: 2 ** 52,
        choice: choices[2],
        door: 'seeded',
      },
    ]);
  });

  it('a chance comes about as often as it says; none and certainty are no decisions', () => {
    const { decisions, all } = recorded(5);
    const stream = decisions.stream('chance');
    let yes = 0;
    for (let index = 0; index < 20_000; index++) {
      if (decisions.decideChance(stream, index, 250_000)) yes++;
    }
    expect(Math.abs(yes - 5_000)).toBeLessThan(5 * Math.sqrt(20_000 * 0.25 * 0.75));
    expect(decisions.decideChance(stream, 0, 0)).toBe(false);
    expect(decisions.decideChance(stream, 0, 1_000_000)).toBe(true);
    expect(all().length).toBe(20_000);
  });

  it('entropy bytes are a function of the choice alone, so an override repeats them', () => {
    const first = recorded(1).decisions;
    const second = recorded(2).decisions;
    for (const decisions of [first, second]) {
      decisions.setSources([new OverrideSource([{ stream: 'e', ordinal: 0, choice: 77 }])]);
    }
    const [a, b] = [new Uint8Array(33), new Uint8Array(33)];
    first.decideBytes(first.stream('e'), 0, a);
    second.decideBytes(second.stream('e'), 0, b);
    expect(a).toEqual(b);
    second.decideBytes(second.stream('e'), 0, b);
    expect(a).not.toEqual(b);
  });

  it('CR-101: goes on equally after capture and restore, with handles kept from before', () => {
    const { decisions, all } = recorded(3);
    const stream = decisions.stream('s');
    const late = decisions.stream('late');
    decisions.decide(stream, 1, 10);
    const state = decisions.capture();
    const next = [decisions.decide(stream, 2, 10), decisions.decide(late, 2, 10)];
    const chain = decisions.log.chain();
    decisions.restore(state);
    expect([decisions.decide(stream, 2, 10), decisions.decide(late, 2, 10)]).toEqual(next);
    expect(decisions.log.chain()).toBe(chain);
    expect(all().map(({ stream: name, ordinal }) => `${name}#${ordinal}`)).toEqual([
      's#0',
      's#1',
      'late#0',
    ]);
  });

  it('refuses an override outside the arity, or a decision named twice', () => {
    const { decisions } = recorded(1);
    decisions.setSources([new OverrideSource([{ stream: 's', ordinal: 0, choice: 2 }])]);
    expect(() => decisions.decide(decisions.stream('s'), 0, 2)).toThrow('not among the 2 answers');
    const twice = { stream: 's', ordinal: 0, choice: 0 };
    expect(() => new OverrideSource([twice, twice])).toThrow('twice');
  });
});
