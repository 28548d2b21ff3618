import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { suggestMet, type PriorLeaf } from '../../sim/index.ts';
import { SimFolder } from '../cli/sim.ts';

const WORDS = `import { assertEqual, choose, connect, faultAssumption, faultScenario, listen,
  scenario, service, sleep, test } from 'athanor/spec';
`;

const SERVICES = `
const server = async (answer) => {
  const door = listen(7000);
  for (;;) {
    const peer = await door.accept();
    const bytes = await peer.receive();
    if (bytes !== null) await peer.send(await answer(bytes));
    peer.close();
  }
};
const db = service('db', { ports: { main: 7000 }, body: () => server((bytes) => bytes) });
const api = service('api', { ports: { main: 7000 }, body: () => server(async (bytes) => {
  const peer = await connect(db, 7000);
  await peer.send(bytes);
  return (await peer.receive()) ?? 'none';
}) });
`;

const BODIES = `
const helper = () => choose('word', ['a', 'bb', 'ccc']);
faultAssumption('late', { target: db, rules: [{ do: 'crash', node: 'db', at: '30s' }] });
const ask = scenario('ask', async () => {
  const word = choose('deep', [false, true]) ? helper() : 'a';
  const peer = await connect(api, 7000);
  await peer.send(word);
  assertEqual(await peer.receiveText(), word);
});
faultScenario('late_ask', { scenario: ask, faults: ['late'] });
`;

interface Suggestion {
  readonly kind: string;
  readonly what: string;
  readonly count: number;
  readonly test: string;
  readonly place: string;
  readonly stub: string;
}

const folder = new SimFolder();

async function runSuite(spec: string, report: string, more: readonly string[] = []): Promise<void> {
  const command = ['test', spec, '--no-types', '--seed', '1', '--report', report];
  const { exitCode, stderr } = await folder.sim([...command, ...more]);
  expect([exitCode === 64 || exitCode === 5, stderr]).toEqual([false, '']);
}

async function suggest(spec: string, ...from: readonly string[]): Promise<readonly Suggestion[]> {
  const files = from.flatMap((file) => ['--from', file]);
  const { stdout } = await folder.sim(['plan', spec, '--suggest', ...files, '--format', 'json']);
  const { suggestions } = JSON.parse(stdout) as { suggestions: { list: readonly Suggestion[] } };
  return suggestions.list;
}

describe('sim plan --suggest --from', () => {
  it('FB-25 suggests what bodies met and no leaf exercised, and the stubs close it', async () => {
    folder.write('a.sim.ts', WORDS + SERVICES + BODIES);
    await runSuite('a.sim.ts', 'a.json');
    const list = await suggest('a.sim.ts', 'a.json');
    expect(list.map(({ kind, what, test }) => [kind, what, test])).toEqual([
      ['call', 'test called api, and no fault was on the way', 'ask'],
      ['call', 'api called db, and no fault was on the way', 'ask'],
      ['answer', 'api answered test, and no fault was on the way', 'ask'],
      ['answer', 'db answered api, and no fault was on the way', 'ask'],
      ['choice', 'ask chose word of 3, and never took options 1, 2 (counted from 0)', 'ask'],
      [
        'rule',
        expect.stringMatching(/^the rule late.1 acted in no leaf: .*before it$/),
        'late_ask',
      ],
    ]);
    expect(list.every(({ count, place }) => count > 0 && /^a\.sim\.ts:\d+/.test(place))).toBe(true);
    const stubs = list.map(({ stub }) => stub).join('\n');
    const words = 'import * as suggested from "athanor/spec";\n';
    folder.write('b.sim.ts', WORDS + SERVICES + BODIES + words + stubs);
    await runSuite('b.sim.ts', 'b.json');
    // What only a body can change stays: the choice is one of a helper.
    expect((await suggest('b.sim.ts', 'b.json')).map(({ what }) => what)).toEqual([list[4]?.what]);
  });

  it('FB-25 reads the bundles of leaves that failed, and a leaf of two files once', async () => {
    folder.write(
      'c.sim.ts',
      `${WORDS}${SERVICES}test('red', async () => {
      const peer = await connect(db, 7000);
      await peer.send('a');
      await peer.receive();
      throw new Error('red');
    });`,
    );
    await runSuite('c.sim.ts', 'c.json');
    const report = JSON.parse(readFileSync(join(folder.path, 'c.json'), 'utf8')) as {
      leaves: readonly { bundle: string }[];
    };
    const bundle = report.leaves[0]?.bundle ?? '';
    const list = await suggest('c.sim.ts', bundle);
    expect(list.map(({ kind, test }) => [kind, test])).toEqual([
      ['call', 'red'],
      ['answer', 'red'],
    ]);
    expect(list[0]?.stub).toContain("rules: [{ do: 'cut', from: ['test'], to: ['db'], at: '0s' }]");
    expect(list[0]?.stub).toContain("suggested.scenario('red_test_db_cut', async () => {");
    expect(await suggest('c.sim.ts', 'c.json', bundle, bundle)).toEqual(list);
  });

  it('FB-25 suggests a disk whose files a guest opened, and a chance that never hit', async () => {
    const rare = `faultAssumption('rare', { target: db, rules: [
      { do: 'degrade', nodes: ['test', 'db'], loss: '0.0001%' }] });`;
    const body = `async () => {
      const peer = await connect(db, 7000);
      await peer.send('a');
      await peer.receive();
      await sleep(3000);
    }`;
    const raft = `service('raft', { guest: { builtin: 'raft' },
      args: ['--id', 'raft', '--peers', 'raft', '--dir', '/data'] });`;
    const test = `test('t', { faults: ['rare'] }, ${body});`;
    folder.write('f.sim.ts', WORDS + SERVICES + raft + rare + test);
    await runSuite('f.sim.ts', 'f.json');
    const list = await suggest('f.sim.ts', 'f.json');
    const found = list.map(({ kind, what }) => `${kind}: ${what}`).sort();
    expect(found).toEqual([
      'chance: the chance link/db/test/loss was drawn and never hit',
      'chance: the chance link/test/db/loss was drawn and never hit',
      'file: raft opened files, and its disk had no fault',
    ]);
    const stubs = list.map(({ stub }) => stub).join('\n');
    const words = 'import * as suggested from "athanor/spec";\n';
    folder.write('g.sim.ts', WORDS + SERVICES + raft + rare + test + words + stubs);
    const { exitCode } = await folder.sim(['plan', 'g.sim.ts']);
    expect([exitCode, stubs.includes("read_error: '10%'")]).toEqual([0, true]);
  });

  it('FB-25 takes a chance of a disk as exercised where any rule of the node hit', () => {
    const leaf = (stream: string, hits: number): PriorLeaf => {
      const nothing = { calls: [], files: [], choices: [], rules: [] };
      const met = { ...nothing, chances: [{ stream, drawn: 2, hits }] };
      return { test: 't', virtualNs: 1, rules: [], met };
    };
    const spec = { tests: [], services: ['db'], taken: new Set<string>() };
    const missed = leaf('node/db/disk/read-error/a.1', 0);
    expect(suggestMet([missed], spec).list.map(({ count }) => count)).toEqual([2]);
    const hit = leaf('node/db/disk/read-error/b.1', 1);
    expect(suggestMet([missed, hit], spec).list).toEqual([]);
  });

  it('FB-25 prints at most 20 stubs and says how many it left out', async () => {
    const many = Array.from(
      { length: 22 },
      (_, index) => `const c${index} = () => choose('c${index}', [1, 2]);`,
    );
    const calls = many.map((_, index) => `c${index}();`).join(' ');
    const deep = `if (choose('deep', [false, true])) { ${calls} }`;
    folder.write('d.sim.ts', `${WORDS}${many.join('\n')}\ntest('t', () => { ${deep} });`);
    await runSuite('d.sim.ts', 'd.json');
    const command = ['plan', 'd.sim.ts', '--suggest', '--from', 'd.json', '--format', 'table'];
    const { stdout } = await folder.sim(command);
    expect(stdout).toContain('From 2 leaves that ran: 20 suggestion(s)\n');
    expect(stdout).toContain('  2 more left out: ');
    expect(stdout.match(/suggested\.choose\(/g)).toHaveLength(20);
  });

  it('FB-25 refuses runs of another spec, what is no run, and --from alone', async () => {
    folder.write('e.sim.ts', `${WORDS}test('t', () => { throw new Error('red'); });`);
    await runSuite('e.sim.ts', 'e.json');
    const report = readFileSync(join(folder.path, 'e.json'), 'utf8');
    const { leaves } = JSON.parse(report) as { leaves: readonly { bundle: string }[] };
    const bundle = leaves[0]?.bundle ?? '';
    folder.write('e.sim.ts', `${WORDS}test('other', () => {});`);
    folder.write('none.json', 'none');
    for (const [file, code, exit] of [
      ['e.json', 'input/from', 5],
      [bundle, 'input/from', 5],
      ['none.json', 'input/report', 5],
      ['missing.json', 'input/', 5],
    ] as const) {
      const command = ['plan', 'e.sim.ts', '--suggest', '--from', file];
      const { exitCode, stdout, stderr } = await folder.sim(command);
      expect([file, exitCode, stdout]).toEqual([file, exit, '']);
      expect(stderr).toContain(code);
    }
    const alone = await folder.sim(['plan', 'e.sim.ts', '--from', 'e.json']);
    expect([alone.exitCode, alone.stdout]).toEqual([64, '']);
  });
});
