import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { packBundle } from '../../cli/bundle.ts';
import { packageRoot } from '../../scenarios/index.ts';
import { partsOf } from '../cli/bundle-parts.ts';
import { SimFolder, type SimResult } from '../cli/sim.ts';

const SPEC = `import { assert, assertEqual, choose, connect, faultAssumption, faultMatrix, listen, scenario, service, sleep, test }
  from 'athanor/spec';
const echo = service('echo', { ports: { main: 7000 }, file: [{ path: '/a', source: 'a.txt' }], body: async () => {
  const server = listen(7000);
  for (;;) { const peer = await server.accept(); await peer.send((await peer.receive()) ?? ''); }
} });
const lossy = faultAssumption('lossy', { target: echo, rules: [
  { do: 'degrade', loss: '10%', mode: 'exhaustive', max_fires: 2 } ] });
const slow = faultAssumption('slow', { target: echo, rules: [{ do: 'degrade', extra_latency: '5ms' }] });
const talk = scenario('talk', async () => {
  const peer = await connect(echo, 7000);
  await peer.send('a');
  assertEqual(await peer.receiveText(), 'a');
});
faultMatrix({ scenarios: [talk], faults: [lossy, slow] });
test('draws', async () => {
  const x = choose('x', [1, 2, 3, 4, 5]);
  await sleep(x);
  assert(x !== 3, 'three ' + Math.random());
});
`;

function project(): SimFolder {
  const folder = new SimFolder();
  folder.write('s.sim.ts', SPEC);
  folder.write('a.txt', 'hello');
  return folder;
}

function test(folder: SimFolder, ...args: string[]): Promise<SimResult> {
  const common = ['--seed', '4', '--format', 'jsonl', '--no-types'];
  return folder.sim(['test', 's.sim.ts', ...common, ...args]);
}

describe('shards of a suite', () => {
  it('merges into the bytes of the whole, whatever their order', async () => {
    const folder = project();
    const whole = await test(folder, '--report', 'whole.json', '--junit', 'whole.xml');
    expect(whole.exitCode).toBe(1);
    for (const shard of ['1/3', '2/3', '3/3']) {
      await test(folder, '--shard', shard, '--report', `${shard[0] ?? ''}.json`);
    }
    const parts = ['2.json', '3.json', '1.json'].flatMap((name) => ['--merge', name]);
    const merged = await test(folder, ...parts, '--report', 'all.json', '--junit', 'all.xml');
    expect([merged.exitCode, merged.stderr]).toEqual([1, '']);
    expect(folder.read('all.json').equals(folder.read('whole.json'))).toBe(true);
    expect(folder.read('all.xml').equals(folder.read('whole.xml'))).toBe(true);
    const told = (result: SimResult): unknown => {
      return result.records().filter(({ type }) => type !== 'plan' && type !== 'suite');
    };
    expect(told(merged)).toEqual(told(whole));
  });

  it('refuses reports that are not the whole of one run', async () => {
    const folder = project();
    await test(folder, '--shard', '1/2', '--report', '1.json');
    await test(folder, '--shard', '2/2', '--report', '2.json');
    await folder.sim(['test', 's.sim.ts', '--seed', '5', '--no-types', '--report', 'other.json']);
    folder.write('none.json', '{"schema_version":2}');
    folder.write('bad.json', '{');
    for (const [args, code, message] of [
      [['1.json'], 5, 'leaf 1 of 11 is in none of them'],
      [['1.json', '1.json'], 5, 'stands in two reports'],
      [['1.json', 'other.json'], 5, 'its seed is 5, not 4 as in 1.json'],
      [['none.json'], 5, 'it is no report of a suite'],
      [['bad.json'], 5, 'it is no JSON'],
      [['gone.json'], 5, 'gone.json'],
    ] as const) {
      const result = await test(folder, ...args.flatMap((name) => ['--merge', name]));
      expect([result.exitCode, result.stdout], message).toEqual([code, '']);
      expect(result.stderr).toContain(message);
    }
    const both = ['--merge', '1.json', '--merge', '2.json'];
    expect((await test(folder, ...both, '--leaf', '1')).exitCode).toBe(64);
    folder.write('s.sim.ts', SPEC.replace('x !== 3', 'x !== 4'));
    const changed = await test(folder, ...both);
    expect([changed.exitCode, changed.stderr]).toEqual([
      5,
      expect.stringContaining('another s.sim.ts'),
    ]);
  });

  it('gives the same bytes for any number of jobs', async () => {
    const main = join(packageRoot(), 'dist', 'cli', 'main.js');
    const results = await Promise.all(
      ['1', '3'].map(async (jobs) => {
        const folder = project();
        const args = ['test', 's.sim.ts', '--seed', '4', '--no-types', '--format', 'jsonl'];
        const files = ['--report', 'r.json', '--junit', 'r.xml', '--jobs', jobs];
        const child = promisify(execFile)(process.execPath, [main, ...args, ...files], {
          cwd: folder.path,
        });
        const { stdout } = await child.catch((error: unknown) => error as { stdout: string });
        const bundles = folder.bundles();
        expect(bundles).toHaveLength(1);
        const bytes = bundles.map((name) => folder.read(name).toString('hex'));
        return { stdout, bytes, report: folder.read('r.json'), junit: folder.read('r.xml') };
      }),
    );
    expect(results[1]).toEqual(results[0]);
    expect(results[0]?.stdout).toContain('"type":"summary","leaves":11,"pass":10,"fail":1');
    const wrong = await test(project(), '--jobs', '0');
    expect([wrong.exitCode, wrong.stdout]).toEqual([64, '']);
  });
});

describe('the bundle of a leaf', () => {
  async function failed(): Promise<{ folder: SimFolder; bundle: string }> {
    const folder = project();
    const { records } = await test(folder, '--test', 'draws');
    const leaf = records().find(({ outcome }) => outcome === 'fail');
    return { folder, bundle: String(leaf?.['bundle']) };
  }

  it("FB-54 holds the suite's plan with coverage, and which leaf it is", async () => {
    const { folder, bundle } = await failed();
    const { stdout } = await folder.sim(['inspect', bundle, 'plan.json']);
    const plan = JSON.parse(stdout) as Record<string, unknown>;
    const planned = await folder.sim(['plan', 's.sim.ts', '--seed', '4', '--format', 'json']);
    const { leaf, ...rest } = plan;
    expect(rest).toEqual(JSON.parse(planned.stdout));
    expect(rest['coverage']).toMatchObject({ services: 1 });
    expect(leaf).toEqual({
      test: 'draws',
      index: 2,
      title: 'draws [leaf 2] x=3',
      axes: [{ name: 'x', value: 2 }],
    });
    const report = await folder.sim(['report', bundle, '--out', 'r.html']);
    expect([report.exitCode, folder.read('r.html').toString()]).toEqual([
      0,
      expect.stringContaining('draws [leaf 2] x=3'),
    ]);
  });

  it('FB-49 FB-60 runs another leaf of its test, from the bundle alone', async () => {
    const { folder, bundle } = await failed();
    const elsewhere = new SimFolder();
    elsewhere.write('b.athanor', folder.read(bundle));
    const own = await elsewhere.sim(['replay', 'b.athanor', '--leaf', '2', '--format', 'jsonl']);
    expect([own.exitCode, own.stderr]).toEqual([1, '']);
    const again = own.records().find(({ type }) => type === 'leaf');
    // The same leaf gives the same bundle, byte for byte.
    const copy = elsewhere.read(String(again?.['bundle']));
    expect(copy.equals(folder.read(bundle))).toBe(true);
    const other = await elsewhere.sim(['replay', 'b.athanor', '--leaf', '4', '--format', 'jsonl']);
    const alone = await test(folder, '--test', 'draws', '--leaf', '4');
    const leafOf = (result: SimResult): unknown => {
      return result.records().find(({ type }) => type === 'leaf');
    };
    expect([other.exitCode, leafOf(other)]).toEqual([0, leafOf(alone)]);
    const none = await elsewhere.sim(['replay', 'b.athanor', '--leaf', '5']);
    expect([none.exitCode, none.stderr]).toEqual([1, expect.stringContaining('the last is 4')]);
  });

  it('FB-58 names the first test or axis in which its plan has drifted', async () => {
    const { folder, bundle } = await failed();
    const parts = partsOf(folder.read(bundle));
    const drift = async (from: string, to: string): Promise<string> => {
      const plan = (parts.plan ?? '').replace(from, to);
      folder.write('drift.athanor', packBundle({ ...parts, plan }));
      const { exitCode, stderr } = await folder.sim(['replay', 'drift.athanor']);
      expect(exitCode).toBe(0);
      return stderr;
    };
    expect(await drift('', '')).toBe('');
    expect(await drift('"5"', '"6"')).toContain('first at: test draws, axis x');
    expect(await drift('"talk"', '"speak"')).toContain('first at: test talk');
  });

  it('FB-57 FB-14 runs without a plan when told to, and the bundle has none', async () => {
    const folder = project();
    const { records, exitCode } = await test(folder, '--test', 'draws', '--no-plan');
    expect(exitCode).toBe(1);
    expect(Object.keys(records()[0] ?? {})).toEqual(['schema_version', 'type', 'spec', 'seed']);
    const leaf = records().find(({ outcome }) => outcome === 'fail');
    expect(leaf?.['title']).toBe('draws [leaf 2] x=#2');
    const replay = await folder.sim(['replay', String(leaf?.['bundle'])]);
    expect([replay.exitCode, replay.stderr]).toEqual([0, expect.stringContaining('no plan data')]);
  });

  it('FB-14 plans before anything runs', async () => {
    const folder = project();
    const { records } = await test(folder, '--test', 'draws');
    const types = records().map(({ type }) => type);
    expect(types.indexOf('plan')).toBeLessThan(types.indexOf('leaf'));
    expect(records()[0]).toMatchObject({ type: 'plan', planned: 11, estimated: false });
    folder.write('s.sim.ts', `${SPEC}\ntest('late', () => { choose('n', []); });`);
    const broken = await test(folder);
    expect([broken.exitCode, broken.stdout]).toEqual([5, '']);
    expect(broken.stderr).toContain('empty list');
  });

  it('FB-48 is the same bundle without fan-out as ever: nothing of leaves in its manifest', async () => {
    const folder = new SimFolder();
    folder.write(
      's.sim.ts',
      `import { test } from 'athanor/spec';\ntest('t', () => { throw new Error('no'); });`,
    );
    const { records } = await test(folder);
    const bundle = String(records().find(({ type }) => type === 'leaf')?.['bundle']);
    const manifest = await folder.sim(['inspect', bundle, 'manifest.cbor']);
    const text = manifest.stdout;
    expect(text).not.toMatch(/leaf|axes|axis/);
    // Choices that only have their first option change nothing of the run.
    folder.write(
      's.sim.ts',
      `import { choose, test } from 'athanor/spec';\ntest('t', () => { choose([1, 2]); throw new Error('no'); });`,
    );
    const anonymous = (await test(folder)).records().find(({ type }) => type === 'leaf');
    expect(anonymous?.['title']).toBe('t');
  });
});
