import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { makeEngine } from '../../cli/engine.ts';
import type { Leaf } from '../../cli/suite/leaf.ts';
import { countExplored } from '../../cli/suite/leaf.ts';
import { SuiteRunner } from '../../cli/suite/run-suite.ts';
import { loadSuite, planSuite } from '../../cli/suite/suite.ts';
import { packageRoot } from '../../scenarios/index.ts';
import { SimFolder } from '../cli/sim.ts';

const folder = new SimFolder();

/** Services that write down who came in which order, and bodies that say what they found. */
const WORLD = `import { choose, connect, faultAssumption, listen, parallel, readFile, service, sleep, test, writeFile } from 'athanor/spec';
const notes = (next = null, delayMs = 0) => async () => {
  const server = listen(7000);
  let text = '';
  for (;;) {
    const peer = await server.accept();
    const word = await peer.receiveText();
    if (word === '?') { await peer.send('=' + text); continue; }
    if (delayMs > 0) await sleep(delayMs);
    text += word;
    if (next !== null) await tell(next, word);
  }
};
const x = service('x', { body: notes() });
const y = service('y', { body: notes() });
const relay = service('relay', { body: notes(x) });
const late = service('late', { body: notes(null, 5) });
async function tell(to, word) { const peer = await connect(to, 7000); await peer.send(word); }
async function ask(to) { const peer = await connect(to, 7000); await peer.send('?'); return peer.receiveText(); }
const end = async (...more) => { throw new Error('end ' + [await ask(x), await ask(y), ...more].join()); };
const text = (path) => String.fromCharCode(...readFile(path));
`;

interface Explored {
  readonly leaves: readonly Leaf[];
  /** What the leaves ended with, each once. */
  readonly ends: readonly string[];
  readonly counted: ReturnType<typeof countExplored>;
}

async function explore(body: string, options: string, rest = ''): Promise<Explored> {
  folder.write('o.sim.ts', `${WORLD}${rest}\ntest('t', ${body.replaceAll('HOW', options)});`);
  const context = { path: (path: string) => join(folder.path, path) };
  const planned = await planSuite('o.sim.ts', { types: false, seed: 1 }, context);
  const runner = new SuiteRunner({
    load: () => loadSuite(planned),
    makeEngine: () => makeEngine(join(folder.path, '.athanor')),
    seed: 1,
    plans: true,
  });
  const leaves = runner.discover(planned.plan.tests);
  const ends = leaves.map((leaf) => {
    const { outcome, detail } = runner.run(leaf).report;
    return `${outcome} ${detail.split('\n')[0] ?? ''}`;
  });
  return { leaves, ends: [...new Set(ends)].sort(), counted: countExplored(leaves) };
}

const DPOR = `{ interleavings: 'dpor' }`;
const ALL = `{ interleavings: 'all', level: 'event' }`;

/** Specs in which orders matter in one way each, and how many of their orders differ. */
const SPECS: readonly (readonly [string, string, explored: number, orders: number])[] = [
  [
    'one service of two branches, another of the third',
    `async () => { await parallel(() => tell(x, 'a'), () => tell(x, 'b'), () => tell(y, 'c'), HOW); await end(); }`,
    6,
    90,
  ],
  [
    'services that nobody shares',
    `async () => { await parallel(() => tell(x, 'a'), () => tell(y, 'b'), HOW); await end(); }`,
    1,
    6,
  ],
  [
    'a service behind a service',
    `async () => { await parallel(() => tell(relay, 'a'), () => tell(x, 'b'), () => tell(y, 'c'), HOW); await end(); }`,
    3,
    90,
  ],
  [
    'a variable of the body',
    `async () => { const seen = []; const note = (to, w) => tell(to, w).then(() => seen.push(w));
      await parallel(() => note(x, 'a'), () => note(y, 'b'), HOW); await end(...seen); }`,
    6,
    6,
  ],
  [
    'files of the node',
    `async () => { const read = (path) => { try { return text(path); } catch { return '-'; } };
      const got = await parallel(() => { writeFile('/a', '1'); return read('/b'); }, () => { writeFile('/b', '2'); return read('/a'); },
        () => { writeFile('/c', '3'); }, HOW);
      throw new Error('end ' + got.join()); }`,
    2,
    6,
  ],
  [
    'a branch that fails',
    `async () => { try { await parallel(() => tell(x, 'a'), () => { throw new Error('no'); }, () => tell(y, 'c'), HOW); }
      catch (error) { await sleep(20); await end(error.message); } }`,
    9,
    19,
  ],
  [
    'branches that wait for time',
    `async () => { const slow = async (to, w, ms) => { await sleep(ms); await tell(to, w); };
      await parallel(() => slow(x, 'a', 3), () => tell(y, 'b'), HOW); await end(); }`,
    4,
    5,
  ],
  [
    'a service that takes its time',
    `async () => { await parallel(() => tell(late, 'a'), () => tell(y, 'b'), HOW); await end(await ask(late)); }`,
    6,
    6,
  ],
  [
    'entropy and the console',
    `async () => { await parallel(() => { console.log('a', Math.random()); }, () => { console.log('b'); }, () => {}, HOW);
      await end(); }`,
    2,
    6,
  ],
];

describe('the orders of events', () => {
  it.each(SPECS)(
    'FB-43 FB-44 reaches with dpor what all orders reach: %s',
    async (_, body, explored, orders) => {
      const [some, all] = [await explore(body, DPOR), await explore(body, ALL)];
      expect(some.ends).toEqual(all.ends);
      expect(some.counted).toEqual({ orders: all.leaves.length, estimated: false, explored });
      expect(all.leaves).toHaveLength(orders);
    },
    60_000,
  );
});

const PAIR = `async () => { await parallel(() => tell(x, 'a'), () => tell(y, 'b'), HOW); await end(); }`;

describe('what could touch what', () => {
  it.each([
    [
      'a list of the body',
      `const list = []; const own = (w) => list.push(w);`,
      `own('a')`,
      `own('b')`,
    ],
    ['a variable of the file', `let count = 0; const own = () => ++count;`, `own()`, `own()`],
    ['a hidden variable', `var own = 1;`, `{ if (own) var own2 = own; }`, `own`],
    ['a class', `class Own { static made = 0; }`, `Own.made++`, `Own.made++`],
    ['a function as a value', `function own() {}`, `Object.assign(own, { a: 1 })`, `own.a`],
  ])('FB-45 takes branches to meet in %s', async (_, top, first, second) => {
    const body = `async () => { await parallel(() => { ${first}; }, () => { ${second}; }, HOW); await end(); }`;
    expect((await explore(body, DPOR, top)).leaves).toHaveLength(2);
  });

  it('FB-45 knows constants, words, services, choices, globals and functions of such', async () => {
    const top = `const WORD = 'a'; const twice = (w) => w + w; async function say(to, w) { await tell(to, twice(w)); }`;
    const body = `async () => { const which = choose('n', [1, 2]);
      await parallel(() => say(x, WORD), async function () { await say(y, String(which)); }, HOW); await end(); }`;
    // One order of each choice.
    expect((await explore(body, DPOR, top)).leaves).toHaveLength(2);
  });

  it('FB-45 tries all orders where the text does not tell the branches, or the chances are counted over all', async () => {
    const computed = await explore(PAIR, `{ ...[{ interleavings: 'dpor' }][0] }`);
    expect(computed.leaves).toHaveLength(6);
    const rule = `faultAssumption('f', { target: x, rules: [{ do: 'degrade', duplicate: '50%', mode: 'exhaustive', max_fires: 1 }] });`;
    const body = PAIR.replace('async () =>', `{ faults: ['f'] }, async () =>`);
    // Two vectors of the rule, in which the steps are as many.
    expect((await explore(body, DPOR, rule)).leaves).toHaveLength(12);
  });
});

describe('suites with orders of events', () => {
  const BODY = `async () => { await parallel(() => tell(x, 'a'), () => tell(x, 'b'), () => tell(y, 'c'), HOW); await end(); }`;
  const sim = (...args: readonly string[]): ReturnType<SimFolder['sim']> => folder.sim(args);
  const write = (name: string, options = DPOR): void => {
    folder.write(name, `${WORLD}\ntest('t', ${BODY.replace('HOW', options)});`);
  };

  it('FB-33 FB-44 says in the plan that only runs tell how many orders there are', async () => {
    write('p.sim.ts');
    const { stdout } = await sim('plan', 'p.sim.ts', '--format', 'table');
    expect(stdout).toContain(
      'parallel#1: [dpor of 3 branches] (only runs tell how many orders of events)',
    );
    expect(stdout).toContain('Total: at least 1 plan instances (parallel#1: only runs tell');
    const json = await sim('plan', 'p.sim.ts', '--format', 'json');
    expect(json.stdout).toMatch(/"size": 1,\s+"estimated": true,\s+"level": "event"/);
  });

  it('FB-44 prints the reduction, and the level and order of each leaf, for any number of jobs', async () => {
    const main = join(packageRoot(), 'dist', 'cli', 'main.js');
    const [one, two] = await Promise.all(
      ['1', '2'].map(async (jobs) => {
        const own = new SimFolder();
        own.write('r.sim.ts', `${WORLD}\ntest('t', ${BODY.replace('HOW', DPOR)});`);
        const args = ['test', 'r.sim.ts', '--seed', '1', '--no-types', '--format', 'table'];
        const child = promisify(execFile)(process.execPath, [main, ...args, '--jobs', jobs], {
          cwd: own.path,
        });
        const { stdout } = await child.catch((error: unknown) => error as { stdout: string });
        return stdout;
      }),
    );
    expect(one).toContain('Orders: t: 90 orders, 6 explored, 84 equivalent\n');
    const titles = [...(one ?? '').matchAll(/t \[leaf \d\] events=(\w+) {2}fail/g)];
    expect(new Set(titles.map((match) => match[1])).size).toBe(6);
    expect(two).toBe(one);
  });

  it('FB-49 runs one order alone, replays it, runs another from its bundle, and resumes it in mid-order', async () => {
    write('l.sim.ts');
    const leaf = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
      const { records } = await sim(...args, '--format', 'jsonl');
      return records().find(({ type }) => type === 'leaf') as Record<string, unknown>;
    };
    const third = await leaf('test', 'l.sim.ts', '--seed', '1', '--no-types', '--leaf', '3');
    expect(third['title']).toMatch(/^t \[leaf 3\] events=[abc]{6}$/);
    const bundle = String(third['bundle']);
    expect((await sim('replay', bundle)).exitCode).toBe(0);
    const fifth = await leaf('replay', bundle, '--leaf', '5');
    const again = await leaf('test', 'l.sim.ts', '--seed', '1', '--no-types', '--leaf', '5');
    expect([fifth['title'], fifth['detail']]).toEqual([again['title'], again['detail']]);
    const at = ['save', bundle, '--at', 'virtual-time=7ms', '--out', 'half.athanor'];
    const saved = await sim(...at);
    expect([saved.exitCode, saved.stderr]).toEqual([0, '']);
    const end = async (...args: readonly string[]): Promise<unknown> => {
      const result = (await sim(...args, '--format', 'jsonl')).records().at(-1);
      return [result?.['verdict'], result?.['decision_chain'], result?.['event_chain']];
    };
    const whole = await end('run', bundle, '--out', 'whole.athanor');
    expect(await end('resume', 'half.athanor', '--out', 'resumed.athanor')).toEqual(whole);
  });

  it.each([
    [`{ interleavings: 'dpor', level: 'launch' }`, '"dpor" is of events'],
    [`{ interleavings: 'critical', level: 'event' }`, 'critical is of launches, not of events'],
    [`{ interleavings: 'all', level: 'steps' }`, 'level steps is no level'],
    [`{ interleavings: 'sut-internal' }`, 'is reserved: it needs guests that let the scheduler'],
  ])('FB-45 refuses %s where it stands', async (options, message) => {
    write('w.sim.ts', options);
    const { exitCode, stderr, stdout } = await sim('plan', 'w.sim.ts', '--format', 'table');
    expect([exitCode, stdout]).toEqual([5, '']);
    expect(stderr).toContain(message);
  });

  it.each([
    [
      'branches within branches',
      `() => parallel(() => {}, HOW), () => {}`,
      'cannot order the steps of others',
    ],
    ['what is no function', `tell(x, 'a'), () => {}`, 'are functions, not what they promised'],
    [
      'more than it has letters for',
      `...Array.from({ length: 17 }, () => () => {})`,
      'of 17 branches, more than 16',
    ],
  ])('refuses %s', async (_, branches, message) => {
    const body = `async () => { await parallel(${branches}, HOW); }`;
    const { ends } = await explore(body, DPOR);
    expect(ends.join()).toContain(message);
  });
});
