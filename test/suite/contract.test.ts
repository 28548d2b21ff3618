import { describe, expect, it } from 'vitest';
import { SimFolder } from '../cli/sim.ts';

const folder = new SimFolder();
const WORDS = `import { assert, assertEqual, choose, connect, determinism, faultAssumption, faultMatrix, faultScenario,
  listen, parallel, readFile, scenario, service, sleep, test, writeFile } from 'athanor/spec';\n`;

interface LeafRecord {
  readonly title: string;
  readonly outcome: string;
  readonly bundle: string | null;
}

async function runLeaves(text: string): Promise<readonly LeafRecord[]> {
  folder.write('c.sim.ts', WORDS + text);
  const command = ['test', 'c.sim.ts', '--seed', '1', '--format', 'jsonl', '--no-types'];
  const { records } = await folder.sim(command);
  return records().filter(({ type }) => type === 'leaf') as unknown as LeafRecord[];
}

interface DecisionRecord {
  readonly stream: string;
  readonly choice: number;
  readonly door: string;
}

async function decisionsOf(bundle: string | null): Promise<readonly DecisionRecord[]> {
  const { records } = await folder.sim([
    'inspect',
    bundle ?? '',
    '--decisions',
    '--format',
    'jsonl',
  ]);
  return records().filter(({ type }) => type === 'decision') as unknown as DecisionRecord[];
}

const ECHO = `const echo = service('echo', { ports: { main: 7000 }, body: async () => {
  const server = listen(7000);
  for (;;) { const peer = await server.accept(); await peer.send((await peer.receive()) ?? ''); }
} });\n`;

describe('leaves', () => {
  it('FB-36 takes the first option of an anonymous choice, in one leaf', async () => {
    const leaves = await runLeaves(`test('t', () => { assertEqual(choose([7, 8, 9]), 7); });`);
    expect(leaves.map(({ title, outcome }) => [title, outcome])).toEqual([['t', 'pass']]);
  });

  it('FB-42 FB-50 logs which regime decided each occurrence: the leaf the first, the seed the others', async () => {
    const leaves = await runLeaves(`${ECHO}
      faultAssumption('twice', { target: echo, rules: [
        { do: 'degrade', duplicate: '50%', mode: 'exhaustive', max_fires: 2 } ] });
      test('t', { faults: ['twice'] }, async () => {
        const peer = await connect(echo, 7000);
        await peer.send('a');
        await peer.receive();
        throw new Error('to have a bundle');
      });`);
    expect(leaves).toHaveLength(4);
    const last = await decisionsOf(leaves[3]?.bundle ?? null);
    const occurrences = last.filter(({ stream }) => /^link\/.*\/duplicate$/.test(stream));
    expect(occurrences.length).toBeGreaterThan(2);
    expect(occurrences.map(({ door }) => door).slice(0, 3)).toEqual(['leaf', 'leaf', 'seeded']);
    expect(occurrences.slice(0, 2).map(({ choice }) => choice)).toEqual([1, 1]);
  });

  it('FB-50 fans out over occurrences of storage as well', async () => {
    const leaves = await runLeaves(`const disk = service('disk', { body: async () => {
        for (let n = 0; n < 3; n++) { await sleep(1); try { readFile('/a'); console.log('read'); } catch { console.log('lost'); } }
      }, file: [{ path: '/a', text: 'x' }] });
      faultAssumption('eio', { target: disk, rules: [
        { do: 'disk', nodes: ['disk'], read_error: '50%', mode: 'exhaustive', max_fires: 2 } ] });
      test('t', { faults: ['eio'] }, async () => { await sleep(20); throw new Error('to have a bundle'); });`);
    expect(leaves.map(({ title }) => title.slice(-7))).toEqual(
      ['eio.1=00', 'eio.1=01', 'eio.1=10', 'eio.1=11'].map((text) => text.slice(-7)),
    );
    const answers = await Promise.all(
      leaves.map(async ({ bundle }) => {
        const all = await decisionsOf(bundle);
        return all.filter(({ door, stream }) => door === 'leaf' && stream.includes('/disk/'));
      }),
    );
    expect(answers.map((list) => list.map(({ choice }) => choice))).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ]);
  });

  it('FB-47 keeps the id of a leaf whatever else the suite has', async () => {
    const own = `test('t', () => { choose('a', [1, 2]); choose('b', ['x', 'y']); });`;
    const alone = await runLeaves(own);
    const beside = await runLeaves(`test('before', () => { choose('z', [1, 2, 3]); });\n${own}`);
    expect(alone.map(({ title }) => title)).toEqual([
      't [leaf 0] a=1, b=x',
      't [leaf 1] a=1, b=y',
      't [leaf 2] a=2, b=x',
      't [leaf 3] a=2, b=y',
    ]);
    expect(beside.slice(3).map(({ title }) => title)).toEqual(alone.map(({ title }) => title));
  });
});

describe('the contract of a plan', () => {
  async function plan(text: string, ...args: string[]): Promise<Record<string, unknown>> {
    folder.write('p.sim.ts', WORDS + text);
    const { stdout, stderr } = await folder.sim(['plan', 'p.sim.ts', '--format', 'json', ...args]);
    return JSON.parse(stdout === '' ? stderr : stdout) as Record<string, unknown>;
  }

  it('FB-68 FB-69 takes a level, a runtime and strictness, and refuses what guests cannot keep', async () => {
    const none = await plan(`test('t', () => {});`);
    expect(none['determinism']).toEqual({
      level: 'L1',
      runtime: 'wasm',
      strict: true,
      explicit: false,
    });
    for (const level of ['L0', 'L1', 'L2', 'L3', 'L4']) {
      const own = await plan(`determinism({ level: '${level}', strict: false });`);
      expect(own['determinism']).toMatchObject({ level, strict: false, explicit: true });
    }
    const above = await plan(`determinism({ level: 'L5' });`);
    expect(above).toMatchObject({
      code: 'scenario/spec-value',
      message: expect.stringContaining('wasm guests keep levels up to L4') as string,
    });
  });

  it('FB-21 suggests what works for every protocol, with the edge and its protocol in a comment', async () => {
    folder.write(
      'g.sim.ts',
      `${WORDS}service('db', { ports: { main: { port: 53, protocol: 'udp' } } });\nservice('api', { dependsOn: ['db'] });`,
    );
    const { stdout } = await folder.sim(['plan', 'g.sim.ts', '--suggest', '--format', 'table']);
    expect(stdout).toContain('// api -> db (udp, by depends_on): no fault test yet');
    expect(stdout).toContain(`rules: [{ do: 'isolate', node: 'db', at: '0s' }]`);
  });

  it('FB-8 gives the same bytes whatever the folder and the time', async () => {
    const text = `${WORDS}${ECHO}test('t', () => { choose('a', [1, 2]); });`;
    const texts = await Promise.all(
      ['one', 'two'].map(async () => {
        const own = new SimFolder();
        own.write('p.sim.ts', text);
        const json = await own.sim(['plan', 'p.sim.ts', '--seed', '3', '--format', 'json']);
        const table = await own.sim(['plan', 'p.sim.ts', '--seed', '3', '--format', 'table']);
        return json.stdout + table.stdout;
      }),
    );
    expect(texts[1]).toBe(texts[0]);
  });
});

describe('specs that are wrong', () => {
  it.each([
    ['a type error', `test('t', () => { const n: string = 5; });`, 'spec-type'],
    ['a test that stands twice', `test('t', () => {});\ntest('t', () => {});`, 'spec-duplicate'],
    [
      'a scenario named as a test',
      `test('t', () => {});\nscenario('t', () => {});`,
      'spec-duplicate',
    ],
    ['an empty matrix', `faultMatrix({ scenarios: [], faults: [] });`, 'spec-value'],
    [
      'options that are no list',
      `test('t', () => { choose('n', 'abc' as never); });`,
      'spec-choose',
    ],
    [
      'a reserved policy',
      `test('t', () => { parallel(() => {}, { interleavings: 'sut-internal' as never }); });`,
      'spec-interleavings',
    ],
    [
      'an unknown policy',
      `test('t', () => { parallel(() => {}, { interleavings: 0 }); });`,
      'spec-interleavings',
    ],
    ['an unknown option', `test('t', { timeuot: '5s' } as never, () => {});`, 'spec-value'],
    ['a test without a body', `test('t');`, 'spec-value'],
    [
      'a mode without a number',
      `faultAssumption('f', { target: service('db'), rules: [{ do: 'degrade', loss: '1%', mode: 'exhaustive' }] });`,
      'spec-value',
    ],
  ])('answers %s with one error, its place and its remedy', async (_, text, code) => {
    folder.write('w.sim.ts', WORDS + text);
    const { exitCode, stdout, stderr } = await folder.sim([
      'test',
      'w.sim.ts',
      '--format',
      'jsonl',
    ]);
    expect([exitCode, stdout]).toEqual([5, '']);
    const lines = stderr.trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      code: `scenario/${code}`,
      place: expect.stringMatching(/^w\.sim\.ts:\d+:\d+$/) as string,
      remedy: expect.stringMatching(/./) as string,
    });
  });

  it.each([
    [
      'a rule with a mistake',
      `const db = service('db', { body: () => {} });
       const fine = faultAssumption('fine', { target: db, rules: [{ do: 'crash', node: 'db' }, { do: 'pause', node: 'db', for: '1s' }] });
       const bad = faultAssumption('bad', { target: db, rules: [{ do: 'crash', node: 'db' }, { do: 'crash', nod: 'db' }] });
       test('t', { faults: [fine, bad] }, () => {});`,
      [5, 'scenario/unknown-key', 'w.sim.ts:5:20: rules[1].nod'],
    ],
    [
      'a guest that is not there',
      `service('a', { body: () => {} });\nservice('db', { guest: { wasm: 'none.wasm' } });\ntest('t', () => {});`,
      [5, 'input/missing', 'w.sim.ts:4:1: service "db"'],
    ],
    [
      'a guest that is no module',
      `service('db', { guest: { wasm: 'w.sim.ts' } });\ntest('t', () => {});`,
      [5, 'guest/malformed', 'w.sim.ts, test "t": offset 0'],
    ],
    [
      'more leaves than fit',
      `test('t', () => { for (const n of [1, 2]) choose('n' + n, Array.from({ length: 1000 })); });`,
      [2, 'budget/leaves', '(computed name): 1, n1: 1000, n2: 1000'],
    ],
    [
      'more orders than there are numbers for',
      `test('t', async () => { await parallel(${Array(30).fill('() => {}').join()}, { interleavings: 'all' }); });`,
      [2, 'budget/leaves', expect.stringMatching(/^parallel#1: \d+$/) as string],
    ],
  ])('answers %s where the spec says it, before any leaf has run', async (_, text, wanted) => {
    folder.write('w.sim.ts', WORDS + text);
    const args = ['test', 'w.sim.ts', '--no-types', '--format', 'jsonl'];
    const { exitCode, records, stderr } = await folder.sim(args);
    expect(records().map(({ type }) => type)).toEqual(['plan']);
    const { code, place, remedy } = JSON.parse(stderr) as Record<string, unknown>;
    expect([exitCode, code, place]).toEqual(wanted);
    expect(remedy).toMatch(/./);
  });

  it('answers a file that is not there at its import', async () => {
    folder.write('w.sim.ts', `${WORDS}import { x } from './gone.ts';`);
    const { stderr } = await folder.sim(['plan', 'w.sim.ts', '--format', 'jsonl']);
    expect(JSON.parse(stderr)).toMatchObject({
      code: 'scenario/spec-import',
      message: 'cannot read "gone.ts": there is no such file',
      place: 'w.sim.ts:3:19',
    });
  });

  it('answers unknown flags of both commands', async () => {
    for (const command of [
      ['plan', '--cots'],
      ['test', '--lead', '1'],
      ['test', '--shard', 'a'],
    ]) {
      const [name = '', ...flags] = command;
      const { exitCode, stdout } = await folder.sim([name, 'w.sim.ts', ...flags, '--no-types']);
      expect([exitCode, stdout], command.join(' ')).toEqual([64, '']);
    }
  });
});
