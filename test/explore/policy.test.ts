import { describe, expect, it } from 'vitest';
import {
  AddressedAnswers,
  Decisions,
  FirstAnswer,
  policySource,
  type Policy,
} from '../../sim/index.ts';

/** The choices of `steps` resumes of three nodes in turn, and the doors that answered. */
function resumes(policy: Policy, steps: number, seed = 1): { choices: number[]; log: string } {
  const decisions = new Decisions(seed, () => undefined);
  decisions.setSources([policySource(policy)]);
  const choices = Array.from({ length: steps }, (_, step) => {
    const stream = decisions.stream(`node/n${step % 3}/schedule`);
    return decisions.decide(stream, step, 8);
  });
  decisions.log.flush();
  return { choices, log: decisions.log.chain() };
}

describe('the scheduling of a search', () => {
  it('gives each node one priority that lasts, but for the changes (PCT)', () => {
    const calm = resumes({ kind: 'pct', seed: 5, changes: 0, steps: 300 }, 300).choices;
    for (let node = 0; node < 3; node++) {
      expect(new Set(calm.filter((_, step) => step % 3 === node)).size).toBe(1);
    }
    const changed = resumes({ kind: 'pct', seed: 5, changes: 1, steps: 300 }, 300).choices;
    const first = changed.findIndex((choice, step) => choice !== calm[step]);
    expect(first).toBeGreaterThanOrEqual(0);
    expect(changed.slice(first).filter((_, step) => step % 3 === 0)).toEqual(
      Array.from({ length: Math.ceil((300 - first) / 3) }, () => 7),
    );
  });

  it('puts off at most so many resumes (delay-bounded)', () => {
    for (let seed = 0; seed < 20; seed++) {
      const { choices } = resumes({ kind: 'delay', seed, delays: 3, steps: 100 }, 200);
      const put = choices.flatMap((choice, step) => (choice === 0 ? [] : [step]));
      expect(put).toHaveLength(3);
      expect(Math.max(...put)).toBeLessThan(100);
    }
  });

  it('is a function of the seed alone', () => {
    const policy: Policy = { kind: 'pct', seed: 3, changes: 2, steps: 50 };
    expect(resumes(policy, 60, 1)).toEqual(resumes(policy, 60, 2));
    const others = [3, 4, 5, 6].map((seed) => resumes({ ...policy, seed }, 60).log);
    expect(new Set(others).size).toBe(4);
  });

  it('leaves all other decisions to the next door', () => {
    const opportunity = (name: string) => {
      const stream = new Decisions(1, () => undefined).stream(name);
      return { stream, atNs: 0, arity: 4 };
    };
    const source = new FirstAnswer(
      new AddressedAnswers([{ stream: 'node/a/schedule', ordinal: 0, choice: 3, arity: 4 }]),
      policySource({ kind: 'delay', seed: 1, delays: 0, steps: 1 }),
      policySource({ kind: 'calm', streams: ['link/a/b/loss'] }),
    );
    expect([source.choose(opportunity('node/a/schedule')), source.door]).toEqual([3, 'override']);
    expect([source.choose(opportunity('node/b/schedule')), source.door]).toEqual([0, 'directive']);
    expect([source.choose(opportunity('link/a/b/loss')), source.door]).toEqual([0, 'override']);
    expect(source.choose(opportunity('link/b/a/loss'))).toBe(undefined);
  });
});
