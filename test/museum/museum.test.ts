import { describe, expect, it } from 'vitest';
import { MUSEUM_CASES } from '../../scenarios/museum/index.ts';
import { exhibit } from './exhibit.ts';

describe.each(MUSEUM_CASES)('the museum: $name', ({ name, property, failingSeed }) => {
  it('CR-37: breaks its property at the known seed, the same way twice', () => {
    const run = exhibit(name, 'bug');
    const first = run(failingSeed);
    expect(first.verdict).toBe('fail');
    const failed = first.properties.filter(({ verdict }) => verdict === 'fail');
    expect(failed.map((result) => result.name)).toEqual([property]);
    const second = run(failingSeed);
    expect(second.fingerprints).toEqual(first.fingerprints);
    expect(second.schedule).toEqual(first.schedule);
  });

  it('passes at that seed when it is corrected', () => {
    expect(exhibit(name, 'twin')(failingSeed).verdict).toBe('pass');
  });
});
