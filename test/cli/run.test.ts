import { describe, expect, it } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { helloToml, SimFolder } from './sim.ts';

/** What a run's last record says. */
async function result(
  folder: SimFolder,
  args: readonly string[],
): Promise<Record<string, unknown>> {
  const { records } = await folder.sim([...args, '--format', 'jsonl']);
  return records().at(-1) as Record<string, unknown>;
}

describe('sim run', () => {
  it('CR-6: runs a scenario to its end and leaves a bundle', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml());
    const { exitCode, stdout } = await folder.sim([
      'run',
      'hello.toml',
      '--seed',
      '7',
      '--format',
      'table',
    ]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Seed: 7 (command line)');
    expect(stdout).toContain('ada   │ file: 1 lines');
    expect(stdout).toMatch(/^pass {2}nothing more can happen at 1\.5\d+s; /m);
    const [bundle = ''] = folder.bundles();
    expect(stdout).toContain(`replay  sim replay ${bundle}`);
    const { manifest } = openBundle(folder.read(bundle));
    expect([manifest.outcome.verdict, manifest.seed, manifest.kind]).toEqual(['pass', 7, 'run']);
  });

  it('CR-98: equal runs give equal bundles, other seeds others', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml());
    for (const [out, seed] of [
      ['a.athanor', '7'],
      ['b.athanor', '7'],
      ['c.athanor', '8'],
    ] as const) {
      await folder.sim(['run', 'hello.toml', '--seed', seed, '--out', out]);
    }
    expect(folder.read('a.athanor').equals(folder.read('b.athanor'))).toBe(true);
    expect(folder.read('a.athanor').equals(folder.read('c.athanor'))).toBe(false);
  });

  it('CR-106, FB-59: a failing run leaves a bundle and ends with a command to paste', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ exitCode: 3 }));
    const { exitCode, stdout } = await folder.sim([
      'run',
      'hello.toml',
      '--seed',
      '7',
      '--format',
      'table',
    ]);
    expect(exitCode).toBe(1);
    const last = stdout.trimEnd().split('\n').at(-1) ?? '';
    expect(last).toBe(`replay  sim replay ${folder.bundles()[0] ?? ''}`);
    const replayed = await folder.sim(last.split(/ +/).slice(2));
    expect(replayed.exitCode).toBe(0);
    expect(replayed.records().at(-1)).toMatchObject({
      validation: 'passed',
      reproduced_status: 'fail',
    });
  });

  it('CR-47, FB-65: the seed comes from flag, environment, scenario, or one draw', async () => {
    const folder = new SimFolder();
    folder.write('with.toml', helloToml({ seed: 5 }));
    folder.write('without.toml', helloToml());
    const start = async (args: readonly string[], env = {}): Promise<unknown[]> => {
      const { records } = await folder.sim(['run', ...args, '--format', 'jsonl'], { env });
      const { seed, seed_source } = records()[0] as Record<string, unknown>;
      return [seed, seed_source];
    };
    const env = { ATHANOR_SEED: '6' };
    expect(await start(['with.toml', '--seed', '7'], env)).toEqual([7, 'command line']);
    expect(await start(['with.toml'], env)).toEqual([6, 'environment']);
    expect(await start(['with.toml'])).toEqual([5, 'scenario']);
    const [first, source] = await start(['without.toml']);
    const [second] = await start(['without.toml']);
    expect(source).toBe('drawn');
    expect(first).not.toBe(second);
    const bad = await folder.sim(['run', 'with.toml'], { env: { ATHANOR_SEED: '-1' } });
    expect([bad.exitCode, bad.stderr]).toEqual([
      64,
      'error usage/seed: ATHANOR_SEED is "-1", expected a whole number within 0 to 2^53 - 1\n' +
        '  at: environment variable ATHANOR_SEED\n',
    ]);
  });

  it('CR-7: the end is the scenario’s, or that of --until', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    expect((await result(folder, ['run', 'hello.toml']))['reason']).toBe('quiescence');
    const until = ['run', 'hello.toml', '--until'];
    expect((await result(folder, [...until, 'property']))['reason']).toBe('property');
    expect((await result(folder, [...until, 'stopped']))['reason']).toBe('stopped');
    const limited = await result(folder, [...until, 'virtual-time', '--max-virtual-time', '1s']);
    expect([limited['reason'], limited['end_ns']]).toEqual(['virtual-time', 1_000_000_000]);
    const { exitCode, stderr } = await folder.sim([...until, 'virtual-time']);
    expect([exitCode, stderr]).toEqual([
      64,
      'error usage/until: --until virtual-time needs --max-virtual-time\n' +
        '  try: say how long: --max-virtual-time 10s\n',
    ]);
  });

  it('CR-8: spans on the command line are whole numbers with a unit', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml());
    for (const span of ['1.5s', '-1s', '1h', '', 's']) {
      const args = ['run', 'hello.toml', `--max-virtual-time=${span}`];
      const { exitCode, stderr } = await folder.sim(args);
      expect([exitCode, stderr.startsWith('error usage: ')]).toEqual([64, true]);
    }
    const budget = ['--until', 'virtual-time', '--max-virtual-time'];
    for (const [span, endNs] of [
      ['5', 5],
      ['5ticks', 5],
      ['5ns', 5],
      ['5us', 5_000],
      ['5ms', 5_000_000],
    ] as const) {
      const run = await result(folder, ['run', 'hello.toml', '--seed', '1', ...budget, span]);
      expect(run['end_ns']).toBe(endNs);
    }
  });

  it('CR-9: --max-quanta stops at exactly that quantum', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    for (const quanta of [1, 2, 3]) {
      const run = await result(folder, ['run', 'hello.toml', '--max-quanta', String(quanta)]);
      expect([run['quanta'], run['reason'], run['exit_code']]).toEqual([quanta, 'quanta', 2]);
    }
  });

  it('CR-10: a used-up budget is a timeout, never a property failure', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    const { exitCode, records } = await folder.sim([
      'run',
      'hello.toml',
      '--max-virtual-time',
      '1s',
      '--format',
      'jsonl',
    ]);
    expect(exitCode).toBe(2);
    expect(records().at(-1)).toMatchObject({ verdict: 'inconclusive', reason: 'virtual-time' });
    const failed = records().filter((record) => record['verdict'] === 'fail');
    expect(failed).toEqual([]);
  });

  it('CR-11: --save-on puts a checkpoint of the end into the bundle', async () => {
    const folder = new SimFolder();
    folder.write('good.toml', helloToml({ seed: 1 }));
    folder.write('bad.toml', helloToml({ seed: 1, exitCode: 1 }));
    const holds = async (file: string, ...more: string[]): Promise<boolean> => {
      await folder.sim(['run', file, ...more, '--out', 'x.athanor']);
      return openBundle(folder.read('x.athanor')).checkpoint() !== null;
    };
    expect(await holds('good.toml')).toBe(false);
    expect(await holds('bad.toml')).toBe(false);
    expect(await holds('good.toml', '--save-on', 'fail')).toBe(false);
    expect(await holds('bad.toml', '--save-on', 'fail')).toBe(true);
    expect(await holds('good.toml', '--save-on', 'always')).toBe(true);
  });

  it('CR-50: a scenario is an id in the store, a file, a built-in name, else missing', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    // A file wins over the built-in scenario of the same name.
    folder.write('hello', helloToml({ seed: 1, exitCode: 9 }));
    const first = await folder.sim(['run', 'hello.toml', '--format', 'jsonl']);
    const { ids } = first.records()[0] as { ids: { scenario: string } };
    const byId = await result(folder, ['run', ids.scenario]);
    expect(byId['scenario']).toBe(ids.scenario);
    expect((await result(folder, ['run', 'hello']))['verdict']).toBe('fail');
    expect((await result(folder, ['run', 'partition-recovery']))['verdict']).toBe('pass');
    const { exitCode, stderr } = await folder.sim(['run', 'partition-recovry']);
    expect(exitCode).toBe(5);
    expect(stderr).toContain('error scenario/missing: missing scenario: "partition-recovry" is no');
    expect(stderr).toContain('(did you mean "partition-recovery"?)');
  });

  it('a bundle stands for its scenario', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    await folder.sim(['run', 'hello.toml', '--out', 'a.athanor']);
    await folder.sim(['run', 'a.athanor', '--out', 'b.athanor']);
    expect(folder.read('a.athanor').equals(folder.read('b.athanor'))).toBe(true);
  });

  it('--dry checks the scenario and prints its ids', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    const { exitCode, records } = await folder.sim([
      'run',
      'hello.toml',
      '--dry',
      '--format',
      'jsonl',
    ]);
    expect(exitCode).toBe(0);
    expect(records()).toHaveLength(1);
    expect(records()[0]).toMatchObject({ type: 'scenario', name: 'hello', seed: 1 });
  });

  it('every error of a scenario comes as one block', async () => {
    const folder = new SimFolder();
    folder.write('bad.toml', 'schema_version = 1\nname = 7\nsead = 1\n');
    const { exitCode, stdout, stderr } = await folder.sim(['run', 'bad.toml']);
    expect([exitCode, stdout]).toEqual([5, '']);
    expect(stderr).toContain('error scenario/value: 7 is not a text\n  at: bad.toml:2:1: name\n');
    expect(stderr).toContain(
      'error scenario/unknown-key: unknown key "sead" (did you mean "seed"?)',
    );
  });

  it('CR-48: a guest that is refused is invalid input', async () => {
    const folder = new SimFolder();
    folder.write('junk.wasm', 'this is no module');
    folder.write(
      'junk.toml',
      helloToml({ seed: 1 }).replace('builtin = "hello"', 'wasm = "junk.wasm"'),
    );
    const { exitCode, stderr } = await folder.sim(['run', 'junk.toml']);
    expect(exitCode).toBe(5);
    expect(stderr).toMatch(/^error guest\//);
  });

  it('CR-46: --trace writes the log while running, also with --quiet', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    const args = ['run', 'hello.toml', '--quiet', '--trace', 'run.trace', '--format', 'table'];
    const { stdout } = await folder.sim(args);
    expect(stdout).toBe('');
    const trace = await folder.sim(['inspect', 'run.trace', '--format', 'jsonl']);
    const run = await result(folder, ['run', 'hello.toml']);
    expect(trace.records().at(-1)).toMatchObject({
      type: 'trace',
      decision_chain: run['decision_chain'],
      event_chain: run['event_chain'],
      cut_bytes: 0,
    });
  });

  it('a trace is readable up to its last whole frame, wherever it is cut', async () => {
    const folder = new SimFolder();
    await folder.sim(['run', 'crash-restart', '--quiet', '--trace', 'run.trace']);
    const whole = folder.read('run.trace');
    expect(whole.length).toBeGreaterThan(100_000);
    for (const share of [0.3, 0.6, 0.9]) {
      folder.write('cut.trace', whole.subarray(0, Math.floor(whole.length * share)));
      const args = ['inspect', 'cut.trace', '--events', '--limit', '5', '--format', 'jsonl'];
      const { exitCode, records } = await folder.sim(args);
      expect(exitCode).toBe(0);
      expect(records().filter(({ type }) => type === 'event')).toHaveLength(5);
      const last = records().at(-1) as { cut_bytes: number; event_frames: number };
      expect(last.event_frames).toBeGreaterThan(0);
      expect(last.cut_bytes).toBeGreaterThan(0);
    }
  });
});

describe('sim run over seeds', () => {
  it('groups failures and keeps the bundle of each group’s first seed', async () => {
    const folder = new SimFolder();
    folder.write('bad.toml', helloToml({ exitCode: 4 }));
    const args = ['run', 'bad.toml', '--seed', '10', '--runs', '6', '--format', 'jsonl', '-v'];
    const { exitCode, records } = await folder.sim(args);
    expect(exitCode).toBe(1);
    const seeds = records().filter(({ type }) => type === 'run');
    expect(seeds.map(({ seed }) => seed)).toEqual([10, 11, 12, 13, 14, 15]);
    const groups = records().filter(({ type }) => type === 'group');
    expect(groups).toHaveLength(1);
    expect(groups[0]).toMatchObject({
      verdict: 'fail',
      signature: 'exit:everybody finishes',
      count: 6,
      first_seed: 10,
    });
    expect(folder.bundles()).toHaveLength(1);
    const { manifest } = openBundle(folder.read(folder.bundles()[0] ?? ''));
    expect([manifest.seed, manifest.outcome.signature]).toEqual([10, 'exit:everybody finishes']);
    expect(records().at(-1)).toMatchObject({ runs: 6, passed: 0, groups: 1, exit_code: 1 });
  });

  it('passes when all seeds pass, and is a timeout when budgets run out', async () => {
    const folder = new SimFolder();
    folder.write('good.toml', helloToml({ seed: 1 }));
    const pass = await folder.sim(['run', 'good.toml', '--runs', '3', '--format', 'table']);
    expect([pass.exitCode, pass.stdout.includes('3 passed')]).toEqual([0, true]);
    const budget = ['run', 'good.toml', '--runs', '3', '--max-quanta', '1', '--format', 'jsonl'];
    const timeout = await folder.sim(budget);
    expect(timeout.exitCode).toBe(2);
    expect(timeout.records().at(-2)).toMatchObject({
      verdict: 'inconclusive',
      signature: 'quanta',
    });
  });

  it('a run of a campaign is the run of that seed alone', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml());
    const args = ['run', 'hello.toml', '--seed', '3', '--runs', '4', '--format', 'jsonl', '-v'];
    const runs = (await folder.sim(args)).records().filter(({ type }) => type === 'run');
    for (const { seed, endNs, quanta, eventCount } of runs) {
      const alone = await result(folder, ['run', 'hello.toml', '--seed', String(seed)]);
      expect([alone['end_ns'], alone['quanta'], alone['events']]).toEqual([
        endNs,
        quanta,
        eventCount,
      ]);
    }
  });

  it.each([
    [['--runs', '0']],
    [['--runs', '2', '--jobs', '0']],
    [['--runs', '2', '--jobs', '257']],
    [['--runs', '2', '--seed', '9007199254740991']],
  ])('refuses %j', async (more) => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml());
    expect((await folder.sim(['run', 'hello.toml', ...more])).exitCode).toBe(64);
  });

  it('shows progress on a terminal only', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    const args = ['run', 'hello.toml', '--runs', '3'];
    expect((await folder.sim(args)).stderr).toBe('');
    const { stderr } = await folder.sim(args, { terminal: true });
    expect(stderr).toMatch(/\[#{24}\] 3\/3 {2}[\d.]+\/s {2}0s left/);
  });
});
