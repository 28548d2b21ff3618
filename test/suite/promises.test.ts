import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { countPlan, planDocument } from '../../sim/index.ts';
import { loadSpec, makePlan } from '../../scenarios/spec/index.ts';
import { SimFolder } from '../cli/sim.ts';

const folder = new SimFolder();
const WORDS = `import { choose, determinism, service, test } from 'athanor/spec';\n`;

async function plan(text: string, ...args: readonly string[]): ReturnType<SimFolder['sim']> {
  folder.write('p.sim.ts', WORDS + text);
  return folder.sim(['plan', 'p.sim.ts', '--format', 'table', ...args]);
}

/** The bundle of the one leaf that a spec has, which fails. */
async function failing(text: string): Promise<string> {
  folder.write('f.sim.ts', WORDS + text);
  const args = ['test', 'f.sim.ts', '--seed', '1', '--no-types', '--format', 'jsonl'];
  const { records } = await folder.sim(args);
  const leaves = records().filter(({ type }) => type === 'leaf');
  expect(leaves).toHaveLength(1);
  return String(leaves[0]?.['bundle']);
}

const FAILS = `test('t', () => { console.log('so far'); throw new Error('no'); });`;

describe('what plans promise', () => {
  it('FB-13 plans 10,000 leaves from text alone; the bench holds what it takes to a bar', () => {
    const tests = Array.from({ length: 1_000 }, (_, index) => {
      return `test('t${index}', () => { choose('a', [1, 2]); choose('b', [1, 2, 3, 4, 5]); });`;
    });
    const model = loadSpec('big.sim.ts', () => WORDS + tests.join('\n'));
    const planned = makePlan(model, 1);
    expect(countPlan(planned)).toEqual({ instances: 10_000, estimated: false });
    expect(JSON.stringify(planDocument(planned))).toContain('"instances":10000');
    const bench = readFileSync('bench/suite.ts', 'utf8');
    expect(bench).toMatch(
      /'plan of 10,000 leaves, p95'[^}]*bar: \{ kind: 'at-most', value: 100 \}/,
    );
  });

  it('FB-26 refuses suggestions by a language model by name, and prints nothing', async () => {
    const { exitCode, stdout, stderr } = await plan(FAILS, '--suggest', '--strategy', 'llm');
    expect([exitCode, stdout]).toEqual([64, '']);
    expect(stderr).toContain('strategy "llm" is reserved: a hermetic simulator asks no model');
  });

  it.each([
    [`determinism({ level: 'L5', runtime: 'wasm' });`, 'wasm guests keep levels up to L4, not L5'],
    [
      `determinism({ level: 'L5', runtime: 'machine' }); service('db', { guest: { builtin: 'pingpong' } });`,
      'the spec asks for L5, and service "db" is no machine: it keeps levels up to L4',
    ],
    [`determinism({ runtime: 'gvisor' });`, '"gvisor" is no runtime'],
    [`determinism({ level: 'L6' });`, '"L6" is no level'],
  ])('FB-68 FB-69 refuses %s when it is loaded, with the reason', async (text, reason) => {
    const { exitCode, stdout, stderr } = await plan(text);
    expect([exitCode, stdout]).toEqual([5, '']);
    expect(stderr).toContain(reason);
  });

  it('FB-69 takes what machines keep, and the page says of each kind of guest how it is measured', async () => {
    const { exitCode, stdout } = await plan(
      `determinism({ level: 'L5', runtime: 'machine' }); service('db', { guest: { machine: 'db.vm.toml' } });`,
    );
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Determinism: L5 (strict)')]);
    const page = readFileSync('docs/machines.md', 'utf8');
    for (const row of [
      '| WASM, models, record worlds | L4 |',
      '| L5 | the self-test',
      '| L3, one',
    ]) {
      expect(page).toContain(row);
    }
  });
});

describe('what bundles of leaves hold', () => {
  it('FB-48 FB-53 has the same parts without fan-out as the bundle of any run, in the same order', async () => {
    const leaf = openBundle(folder.read(await failing(FAILS)));
    const path = await failing(FAILS);
    await folder.sim(['run', path, '--out', 'run.athanor']);
    const run = openBundle(folder.read('run.athanor'));
    // What tells of fan-out stands in plan.json alone: all else is as the run of the same scenario has it.
    expect(Object.keys(leaf.manifest)).toEqual(Object.keys(run.manifest));
    expect(leaf.manifest.outcome).toEqual(run.manifest.outcome);
    expect(leaf.schedule).toEqual(run.schedule);
    expect(leaf.events).toEqual(run.events);
    expect(leaf.trace).toBe(run.trace);
  });

  it('FB-53 has what a leaf wrote and what happened, so that nothing runs for its report', async () => {
    const { stdout } = await folder.sim(['inspect', await failing(FAILS), 'trace.json']);
    const { rows } = JSON.parse(stdout) as { rows: readonly { kind: string; text: string }[] };
    expect(rows.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'start start',
      'exit exit 1',
      'stdout so far',
      expect.stringMatching(/^stderr failed: Error: no/),
      expect.stringMatching(/^stderr {5}at body/),
    ]);
  });

  it('FB-67 has the environment of its services, secrets and all, and its page says so', async () => {
    const secret = 'hunter2-of-the-test';
    const bundle = await failing(
      `service('db', { body: () => {}, env: { PASSWORD: '${secret}' } });\n${FAILS}`,
    );
    const { scenario } = openBundle(folder.read(bundle));
    expect(JSON.stringify(scenario.world.nodes)).toContain(secret);
    expect(readFileSync('docs/bundle.md', 'utf8')).toMatch(
      /## Secrets\n\nA bundle holds the programs, their files, environment .* If these are secret, so\nis the bundle/s,
    );
  });

  it('FB-75 names every guest by its content, and knows no image of a registry', async () => {
    const { scenario } = openBundle(folder.read(await failing(FAILS)));
    for (const { guest } of scenario.world.nodes) expect(guest.image).toMatch(/^[0-9a-f]{64}$/);
    folder.write(
      'd.sim.ts',
      `${WORDS}service('db', { guest: { docker: 'postgres:16' } });\ntest('t', () => {});`,
    );
    const { exitCode, stderr } = await folder.sim(['test', 'd.sim.ts', '--no-types']);
    expect([exitCode, stderr]).toEqual([5, expect.stringContaining('docker')]);
  });
});
