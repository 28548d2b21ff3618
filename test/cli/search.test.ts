import { describe, expect, it } from 'vitest';
import { assertSameRun } from '../../cli/commands/search.ts';
import { openBundle } from '../../cli/bundle.ts';
import { failure } from '../support/failure.ts';
import { helloToml, SimFolder } from './sim.ts';

const JSONL = ['--format', 'jsonl'];

function ofType(records: readonly Readonly<Record<string, unknown>>[], type: string) {
  return records.filter((record) => record['type'] === type);
}

/** Two nodes that say hello; which one loses its power, if any, is for the search to decide. */
const CHOICES = `
[[event]]
name = "maybe"
at = "1us"
chance = "1%"
do = "crash"
one_of = ["ada", "bob"]
`;

describe('sim search', () => {
  it('CR-31: has a budget of one run unless somebody says more, and refuses none', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    const one = await folder.sim(['search', 'hello.toml', ...JSONL]);
    expect(one.exitCode).toBe(0);
    expect(ofType(one.records(), 'result')).toMatchObject([{ states: 1, passed: 1, findings: 0 }]);
    for (const budget of ['--max-states', '--max-depth']) {
      const none = await folder.sim(['search', 'hello.toml', budget, '0']);
      expect([none.exitCode, none.stderr]).toEqual([
        64,
        expect.stringContaining(`${budget} is 0, expected at least 1`),
      ]);
    }
  });

  it('CR-32: keeps one bundle for each distinct finding, which replays and shrinks', async () => {
    const folder = new SimFolder();
    const search = ['search', 'fault-campaign', '--seed', '20', '--max-states', '64'];
    const found = await folder.sim([...search, '--on-violation', 'collect', ...JSONL]);
    expect(found.exitCode).toBe(1);
    const findings = ofType(found.records(), 'finding');
    expect(findings.map(({ signature }) => signature)).toEqual([
      'clients finish: exit: still running when nothing could happen',
    ]);
    expect(findings[0]?.['count']).toBeGreaterThan(1);
    expect(folder.bundles()).toEqual([findings[0]?.['bundle']]);
    const replayed = await folder.sim(['replay', ...folder.bundles()]);
    expect(replayed.exitCode).toBe(0);
    const first = await folder.sim([...search, ...JSONL]);
    const [stopped] = ofType(first.records(), 'finding');
    expect(stopped).toMatchObject({ state: findings[0]?.['state'], count: 1 });
    expect(folder.bundles()).toHaveLength(1);
  });

  it('CR-32: a failed property outweighs a budget of virtual time that ran out', async () => {
    const folder = new SimFolder();
    const short = ['--max-virtual-time', '3500ms', '--seed', '27', '--max-states', '2'];
    const both = await folder.sim([
      'search',
      'fault-campaign',
      ...short,
      '--on-violation',
      'collect',
      ...JSONL,
    ]);
    const kinds = ofType(both.records(), 'finding').map(({ kind }) => kind);
    expect([both.exitCode, kinds]).toEqual([1, ['fail', 'inconclusive']]);
    const timeout = await folder.sim([
      'search',
      'fault-campaign',
      '--max-virtual-time',
      '100ms',
      '--seed',
      '1',
      ...JSONL,
    ]);
    expect(timeout.exitCode).toBe(2);
    expect(ofType(timeout.records(), 'finding')).toMatchObject([
      { kind: 'inconclusive', signature: 'timeout: virtual-time' },
    ]);
  });

  it('CR-33: refuses to search where two runs of one seed differ', () => {
    const run = (events: string) => {
      const logs = { schedule: Buffer.from('s'), events: Buffer.from(events), fingerprints: [] };
      return { ...logs, scenario: { seed: 7 } } as never;
    };
    expect(failure(() => assertSameRun(run('a'), run('b')))).toMatchObject({
      code: 'verdict/nondeterminism',
      place: 'seed 7',
    });
    expect(() => assertSameRun(run('a'), run('a'))).not.toThrow();
  });

  it('CR-38: writes a ledger that was asked for even with nothing in it', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    await folder.sim(['search', 'hello.toml', '--max-states', '3', '--ledger', 'found.json']);
    expect(JSON.parse(folder.read('found.json').toString())).toMatchObject({
      schema_version: 1,
      type: 'findings',
      strategy: 'random',
      states: 3,
      passed: 3,
      findings: [],
    });
  });

  it.each(['bfs', 'dfs'])(
    'CR-103: walks the tree of decisions to its end: %s',
    async (strategy) => {
      const folder = new SimFolder();
      folder.write('hello.toml', helloToml({ seed: 1, more: CHOICES }));
      const walked = await folder.sim([
        ...['search', 'hello.toml', '--strategy', strategy, '--max-states', '50'],
        ...['--on-violation', 'collect', ...JSONL],
      ]);
      const [result] = ofType(walked.records(), 'result');
      // No crash, and a crash of the one or the other.
      expect(result).toMatchObject({
        states: 3,
        passed: 1,
        coverage: 'all answers to the first 8 decisions, in 3 runs',
      });
      expect(ofType(walked.records(), 'finding')).toMatchObject([{ count: 2, kind: 'fail' }]);
      expect((await folder.sim(['replay', ...folder.bundles()])).exitCode).toBe(0);
    },
  );

  it('records the schedule that a strategy chose, so that the finding replays', async () => {
    const folder = new SimFolder();
    for (const [strategy, seed] of [
      ['pct', '1'],
      ['delay', '1'],
      ['swarm', '300'],
    ] as const) {
      const found = await folder.sim([
        ...['search', 'fault-campaign', '--strategy', strategy, '--seed', seed],
        ...['--max-states', '80', ...JSONL],
      ]);
      expect([strategy, found.exitCode]).toEqual([strategy, 1]);
    }
    const bundles = folder.bundles();
    expect(bundles).toHaveLength(3);
    for (const bundle of bundles) {
      expect(openBundle(folder.read(bundle)).scenario.plan.scheduling).toEqual({
        delayNsMax: 20_000_000,
        choices: 8,
      });
      expect((await folder.sim(['replay', bundle, '--check', 'log'])).exitCode).toBe(0);
    }
  });
});
