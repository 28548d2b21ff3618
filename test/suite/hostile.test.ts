import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../scenarios/index.ts';
import { SimFolder, type SimResult } from '../cli/sim.ts';

const folder = new SimFolder();
const WORDS = `import { assert, assertEqual, choose, connect, listen, readFile, sleep, test, writeFile } from 'athanor/spec';
/** What the constructor of functions behind a value gives: of the host's, the process. */
const behind = (value) => { try { return typeof value.constructor.constructor('return process')(); } catch (error) { return error.name; } };
const thrownBy = (run) => { try { return run(); } catch (error) { return error; } };
`;

function run(text: string, ...args: readonly string[]): Promise<SimResult> {
  folder.write('h.sim.ts', WORDS + text);
  const common = ['--seed', '1', '--no-types', '--format', 'jsonl'];
  return folder.sim(['test', 'h.sim.ts', ...common, ...args]);
}

/** What a body of one leaf says at its end. */
async function said(body: string, top = ''): Promise<string> {
  const end = `const say = (...all) => { throw new Error('said ' + all.join('|')); };`;
  const { records, stderr } = await run(`${top}\ntest('t', async () => { ${end} ${body} });`);
  expect(stderr).toBe('');
  const leaf = records().find(({ type }) => type === 'leaf');
  return (
    String(leaf?.['detail'])
      .split('\n')[0]
      ?.replace(/^Error: said /, '') ?? ''
  );
}

describe('what a hostile body finds of the host', () => {
  it.each([
    [
      'the constructor of its words',
      `say(behind(choose), behind(sleep(0)))`,
      'EvalError|EvalError',
    ],
    [
      'that of an error of ours',
      `say(behind(thrownBy(() => choose('n', [].concat()))))`,
      'EvalError',
    ],
    ['that of a refusal', `say(behind(thrownBy(() => readFile('/none'))))`, 'EvalError'],
    [
      'that of what its modules are called by',
      `say(...['valueOf', 'constructor', '__proto__', 'hasOwnProperty'].map((name) => {
        const error = thrownBy(() => require(name)); return error.message.slice(-20) + behind(error); }))`,
      ['valueOf', 'constructor', '__proto__', 'hasOwnProperty']
        .map((name) => `${`the spec has no file ${name}`.slice(-20)}EvalError`)
        .join('|'),
    ],
    [
      'that of asynchronous functions and generators',
      `say(...[async () => {}, function* () {}, async function* () {}].map(behind),
        thrownBy(() => Object.getPrototypeOf(async () => {}).constructor('return process')).name)`,
      'EvalError|EvalError|EvalError|EvalError',
    ],
    [
      'an import of the host',
      `say(await import('node:fs').catch((error) => error.message + behind(error)))`,
      'the spec has no file node:fsEvalError',
    ],
    [
      'the caller of a function',
      `say(thrownBy(() => sleep.caller).name, thrownBy(() => (function () { return arguments.callee; })()).name)`,
      'TypeError|TypeError',
    ],
    [
      'a global object that can be written',
      `say(typeof (function () { return this; })(), thrownBy(() => { globalThis.left = 1; }).name)`,
      'undefined|TypeError',
    ],
    [
      'its own way to format stacks',
      `say(thrownBy(() => { Error.prepareStackTrace = (error, frames) => frames; }).name, typeof new Error('x').stack)`,
      'TypeError|string',
    ],
    [
      'objects of the engine in a stack',
      `const holder = {}; Error.captureStackTrace(holder); say(holder.stack.includes('node:'), holder.stack.includes('realm'))`,
      'false|false',
    ],
  ])('%s', async (_, body, found) => {
    expect(await said(body)).toBe(found);
  });

  it('what is not there is refused by its name', async () => {
    const names = [
      'Atomics',
      'SharedArrayBuffer',
      'WeakRef',
      'FinalizationRegistry',
      'Intl',
      'WebAssembly',
      'eval',
      'structuredClone',
      'process',
      'Buffer',
      'TextDecoder',
      'URL',
      'AbortController',
      'MessageChannel',
      'Temporal',
      'ShadowRealm',
      'escape',
      'navigator',
      'localStorage',
      '__athanor_FaultServer',
    ];
    const reached = names.map((name) => `thrownBy(() => ${name})`).join(', ');
    const found = await said(`say([${reached}].map((error) => error.message).join())`);
    expect(found).toBe(names.map((name) => `${name} is not defined`).join());
    const all = await said(
      `say(Object.getOwnPropertyNames(globalThis).filter((name) => /athanor/.test(name)).length)`,
    );
    expect(all).toBe('0');
  });
});

describe('what a body sees of time, locale and chance', () => {
  it.each([
    [
      'no Date but its own',
      `say(Object.getPrototypeOf(Date) === Function.prototype, new Date(0).constructor === Date, Date.now())`,
      'true|true|1767225600000',
    ],
    ['a Date without new, as a text', `say(Date())`, '2026-01-01T00:00:00.000Z'],
    [
      'a subclass of Date',
      `class Own extends Date { own() { return this.getTime(); } } const own = new Own(); say(own.own(), own instanceof Own, own instanceof Date)`,
      '1767225600000|true|true',
    ],
    [
      'UTC, whatever a date is made of',
      `say(new Date('2026-01-01T10:00').getTime() === Date.UTC(2026, 0, 1, 10), new Date(2026, 0, 1).toISOString(),
      new Date({ toString: () => '2026-01-01T00:00' }).toISOString(), new Date({ valueOf: () => 5 }).getTime(), new Date(new Date(7)).getTime(), new Date(null).getTime())`,
      'true|2026-01-01T00:00:00.000Z|2026-01-01T00:00:00.000Z|5|7|0',
    ],
    [
      'texts that only an engine reads, as no date',
      `say(...['1 Jan 2026', '2026-1-1', 'Thu, 01 Jan 2026 00:00:00 GMT', ''].map((text) => Date.parse(text)), new Date({ toString: () => 'Jan 1 2026' }).getTime())`,
      'NaN|NaN|NaN|NaN|NaN',
    ],
    [
      'no part of a date in the zone of the host',
      `const date = new Date(0); say(date.getHours(), date.getDay(), date.getTimezoneOffset(), String(date), typeof date.getYear, typeof date.setYear, date.toDateString())`,
      '0|4|0|1970-01-01T00:00:00.000Z|undefined|undefined|1970-01-01',
    ],
    [
      'no order of a locale',
      `const kinds = [Object, Array, String, Number, BigInt, Date, Uint8Array, Object.getPrototypeOf(Uint8Array)];
      say(kinds.flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype).filter((name) => /locale/i.test(name))).length, typeof 'a'.localeCompare, typeof 'a'.normalize)`,
      '0|undefined|undefined',
    ],
    [
      'clocks that stand while it runs',
      `const all = [Date.now(), performance.now()]; for (let n = 0; n < 1e5; n++); say(Date.now() - all[0], performance.now() - all[1])`,
      '0|0',
    ],
    [
      'microtasks before timers, in their order',
      `const all = []; setTimeout(() => all.push('t')); setImmediate(() => all.push('i')); queueMicrotask(() => all.push('m'));
      Promise.resolve().then(() => all.push('p')); all.push('s'); await sleep(1); say(all.join(''))`,
      'smpti',
    ],
    [
      'promises of its own kind, species and all',
      `class Own extends Promise { static get [Symbol.species]() { return Promise; } }
      const next = Own.resolve(1).then((n) => n + 1); class List extends Array {} const list = List.from([1]).map(String);
      say(next instanceof Own, await next, list instanceof List, await Own.reject(new Error('x')).catch((error) => error.message), await Own.allSettled([Own.reject(1)]).then(([{ reason }]) => reason))`,
      'false|2|true|x|1',
    ],
    [
      'asynchronous generators',
      `async function* count() { for (let n = 0; n < 3; n++) { await sleep(1); yield n; } } const all = []; for await (const n of count()) all.push(n); say(all.join(), Date.now() - 1767225600000)`,
      '0,1,2|3',
    ],
    [
      'timers that are never due',
      `const left = []; setTimeout(() => left.push(1), Infinity); setInterval(() => left.push(2), Infinity); const id = setInterval(() => left.push(3), 1.1);
      void sleep(1e300); await sleep(4); clearInterval(id); say(left.join(), thrownBy(() => setTimeout('code')).message)`,
      '3,3,3|a timer runs a function',
    ],
    [
      'errors of its own by assignment',
      `class Own extends TypeError { constructor(text) { super(text); this.name = 'Own'; } } const error = new Own('x'); error.message = 'y'; say(error.name, error.message, String(error))`,
      'Own|y|Own: y',
    ],
  ])('%s', async (_, body, found) => {
    expect(await said(body)).toBe(found);
  });

  it.each([
    [`connect('echo', 70000)`, 'connect() takes a port from 1 to 65535'],
    [`connect('nobody', 80)`, 'no node is called "nobody"'],
    [`connect(5, 'a')`, 'connect() takes a port from 1 to 65535'],
    [`listen(-1)`, 'listen() takes a port from 1 to 65535'],
    [`readFile()`, 'the path of readFile() is no text'],
    [`writeFile({}, 'x')`, 'the path of writeFile() is no text'],
    [`writeFile('/a', 'x'.repeat(2 ** 24 + 1))`, '/a has 16777217 bytes'],
    [
      `choose('n', new Proxy([1], { get: (list, key) => (key === 'length' ? -1 : list[key]) }))`,
      'choose("n") has -1 options, expected 1 to 1000000',
    ],
    [`choose('x'.repeat(1001), [1, 2])`, 'the name of a choice has more than 1000 letters'],
    [`choose('parallel#1', [1, 2])`, 'choose("parallel#1") has the name of an order'],
    [
      `crypto.getRandomValues(new Uint8Array(65537))`,
      'getRandomValues() fills at most 65536 items',
    ],
  ])('%s is an error of the body that says why', async (call, message) => {
    expect(
      await said(
        `await (async () => ${call})().catch((error) => say(error.message)); say('nothing')`,
      ),
    ).toBe(message);
  });
});

/** What one leaf leaves where all could find it, and how the next one looks for it. */
const TRACES: readonly (readonly [string, string])[] = [
  ['an iterator of a map', `Object.getPrototypeOf(new Map().entries())`],
  ['an iterator of a set', `Object.getPrototypeOf(new Set().values())`],
  ['an iterator of a text', `Object.getPrototypeOf(''[Symbol.iterator]())`],
  ['the matches of an expression', `Object.getPrototypeOf('a'.matchAll(/a/g))`],
  ['a generator', `Object.getPrototypeOf(Object.getPrototypeOf((function* () {})()))`],
  ['typed arrays', `Object.getPrototypeOf(Uint8Array)`],
  ['an assertion that failed', `thrownBy(() => assert(false)).constructor`],
  ['its prototype', `Object.getPrototypeOf(thrownBy(() => assert(false)))`],
  ['what all objects inherit', `Object.prototype.toString`],
  ['errors', `TypeError.prototype`],
  ['the way of promises', `Promise.prototype.then`],
  ['a word', `choose`],
  ['what was declared', `OWN`],
  ['dates', `Date.prototype.getTime`],
];

describe('what one leaf leaves for the next', () => {
  it.each(TRACES)('nothing on %s', async (_, holder) => {
    const { records } = await run(`import { service } from 'athanor/spec';
      const OWN = service('own', { body: () => {} });
      test('t', () => { choose('n', [1, 2]); const holder = ${holder};
        assertEqual(typeof holder === 'object' || typeof holder === 'function', true);
        assertEqual(Object.hasOwn(holder, 'left'), false);
        assertEqual(thrownBy(() => { holder.left = 1; })?.name, 'TypeError'); });`);
    const outcomes = records().flatMap(({ type, outcome, detail }) =>
      type === 'leaf' ? [[outcome, detail]] : [],
    );
    expect(outcomes).toEqual([
      ['pass', ''],
      ['pass', ''],
    ]);
  });

  it('no last match of an expression, no symbol that holds anything, no template with a memory', async () => {
    const { exitCode, stderr, stdout } = await run(`const tag = (parts) => parts;
      test('t', () => { choose('n', [1, 2]);
        assertEqual([RegExp.$1, RegExp.lastMatch, RegExp['$&'], RegExp.input].map(String), Array(4).fill('undefined'));
        /(secret)/.exec('secret');
        assertEqual(thrownBy(() => { Symbol.for('s').left = 1; }).name, 'TypeError');
        assertEqual(thrownBy(() => { tag\`a\`.left = 1; }).name, 'TypeError'); });`);
    expect([exitCode, stderr], stdout).toEqual([0, '']);
  });

  it('no getter that it put on a prototype', async () => {
    const { exitCode, stdout } = await run(`test('t', () => { choose('n', [1, 2]);
        for (const holder of [Object.prototype, Array.prototype, Map.prototype, String.prototype, Promise, JSON, globalThis]) {
          assertEqual(thrownBy(() => Object.defineProperty(holder, 'left', { get: () => 1, configurable: true })).name, 'TypeError');
          assertEqual(thrownBy(() => Object.setPrototypeOf(holder, { left: 1 }))?.name ?? 'same', 'TypeError');
        }
        assertEqual('left' in {}, false); });`);
    expect(exitCode, stdout).toBe(0);
  });
});

describe("what the host's stack would decide", () => {
  it.each([
    ['in a catch', `try { f(); } catch { console.log(depth); }`],
    [
      'in a catch that takes it apart',
      `try { f(); } catch ({ message }) { console.log(message, depth); }`,
    ],
    ['in a finally', `(() => { try { f(); } finally { return depth; } })();`],
    ['in a promise', `await new Promise(() => f()).catch(() => depth);`],
    ['in a settled list', `await Promise.allSettled([(async () => f())()]);`],
    [
      'within the calls of ours',
      `const deep = () => { Math.random(); deep(); }; try { deep(); } catch (error) { console.log(behind(error)); }`,
    ],
    [
      'in the text of a stack',
      `const deep = () => { void new Error('x').stack; deep(); }; try { deep(); } catch (error) { console.log(behind(error)); }`,
    ],
    ['caught by nobody', `f();`],
  ])('ends the run where a recursion reaches it %s', async (_, body) => {
    const { exitCode, stderr } = await run(
      `test('t', async () => { let depth = 0; const f = () => { depth++; f(); }; ${body} });`,
    );
    expect(exitCode).toBe(5);
    expect(JSON.parse(stderr)).toMatchObject({
      code: 'guest/stack',
      place: 'h.sim.ts, test "t"',
      remedy: expect.any(String) as string,
    });
  });

  it('leaves every other error as it was', async () => {
    expect(
      await said(`const all = []; try { throw new RangeError('own'); } catch ({ name, message }) { all.push(name, message); }
        try { try { null.x; } finally { all.push('finally'); } } catch (error) { all.push(error.name); }
        try { throw Object.create(null); } catch { all.push('bare'); }
        await Promise.reject(3).catch((n) => all.push(n)); say(all.join())`),
    ).toBe('RangeError,own,finally,TypeError,bare,3');
  });
});

describe('promises that nobody waits for', () => {
  const LOST = `import { assert, choose, sleep, test } from 'athanor/spec';
test('floats', async () => {
  const n = choose('n', [1, 2, 3]);
  void (async () => { await sleep(1); assert(n !== 2, 'two is bad'); })();
  await sleep(5);
});
test('waits late', async () => { const late = Promise.reject(new Error('x')); await sleep(1); await late.catch(() => {}); });
`;

  it('fail their leaf, alike for any number of jobs, and end no process', async () => {
    const main = join(packageRoot(), 'dist', 'cli', 'main.js');
    const results = await Promise.all(
      ['1', '2'].map(async (jobs) => {
        const own = new SimFolder();
        own.write('l.sim.ts', LOST);
        const args = [
          'test',
          'l.sim.ts',
          '--seed',
          '1',
          '--no-types',
          '--format',
          'jsonl',
          '--jobs',
          jobs,
        ];
        const child = promisify(execFile)(process.execPath, [main, ...args], {
          cwd: own.path,
          timeout: 60_000,
        });
        const { stdout, stderr, code } = (await child.catch(
          (error: unknown) => error as { stdout: string; stderr: string; code: number },
        )) as { stdout: string; stderr: string; code?: number };
        return { stdout, stderr, code };
      }),
    );
    expect(results[1]).toEqual(results[0]);
    expect([results[0]?.code, results[0]?.stderr]).toEqual([1, '']);
    const leaves = (results[0]?.stdout ?? '')
      .trim()
      .split('\n')
      .flatMap((line) => {
        const { type, outcome, detail } = JSON.parse(line) as Record<string, unknown>;
        return type === 'leaf' ? [`${String(outcome)} ${String(detail)}`] : [];
      });
    expect(leaves).toEqual([
      'pass ',
      expect.stringMatching(
        /^fail nobody waited for a promise that failed: AssertionError: two is bad\n {4}at .*l\.sim\.ts:4:\d+\)$/,
      ),
      'pass ',
      'pass ',
    ]);
  });
});
