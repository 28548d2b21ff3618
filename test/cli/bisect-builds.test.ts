import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { openBuildSeries, SERIES_TOML, shapeOf, type BuildShape } from '../support/build-series.ts';
import { SimFolder, type SimResult } from './sim.ts';

const BUILDS = 64;

const folder = new SimFolder();
let assemble: (shape: BuildShape) => Uint8Array;

/** A folder of 64 builds of which those from `firstBad` on are bad. */
function series(name: string, firstBad: number): string {
  mkdirSync(join(folder.path, name));
  for (let index = 0; index < BUILDS; index++) {
    // Without leading zeros: 10 comes after 9.
    folder.write(join(name, `build-${index}.wasm`), assemble(shapeOf(index, firstBad)));
  }
  return name;
}

/** The bundle of the `wanted`-th failing run of a build. */
async function record(shape: BuildShape, wanted: number): Promise<string> {
  folder.write('guest.wasm', assemble(shape));
  folder.write('series.toml', SERIES_TOML);
  let found = 0;
  for (let seed = 1; seed < 200; seed++) {
    const out = `run-${shape.word}-${seed}.athanor`;
    const run = ['run', 'series.toml', '--seed', String(seed), '--out', out];
    if ((await folder.sim(run)).exitCode === 1 && ++found === wanted) return out;
  }
  throw new Error('no run of a bad build failed');
}

function bisect(...args: string[]): Promise<SimResult> {
  return folder.sim(['bisect', ...args, '--format', 'jsonl', '--jobs', '1']);
}

beforeAll(async () => {
  assemble = await openBuildSeries();
});

describe('sim bisect --builds', () => {
  it.each([
    [41, 1],
    [41, 2],
    [41, 3],
    [1, 1],
    [24, 1],
    [63, 1],
  ])('names build %i of 64 in 8 builds, from failing run %i', async (firstBad, wanted) => {
    const bundle = await record(shapeOf(BUILDS - 1, firstBad), wanted);
    const { exitCode, records, stderr } = await bisect(
      bundle,
      '--builds',
      series(`at-${firstBad}-${wanted}`, firstBad),
    );
    expect([exitCode, stderr]).toEqual([0, '']);
    const result = records().at(-1);
    expect(result).toMatchObject({
      type: 'result',
      mode: 'builds',
      first_bad: `build-${firstBad}.wasm`,
      last_good: `build-${firstBad - 1}.wasm`,
      exact: true,
      confirmed: true,
    });
    expect(result?.['tried']).toBeLessThanOrEqual(8);
    expect(result?.['next']).toHaveLength(2);
  });
});

describe('sim bisect --good --bad', () => {
  let failing = '';

  beforeAll(async () => {
    failing = await record(shapeOf(0, 0), 1);
    folder.write('good.wasm', assemble(shapeOf(6, BUILDS)));
    folder.write('bad.wasm', assemble(shapeOf(7, 0)));
  });

  it('tells two builds apart, and keeps a run of each that differs by the build alone', async () => {
    const args = [failing, '--good', 'good.wasm', '--bad', 'bad.wasm', '--out', 'kept'];
    const { exitCode, records, stderr } = await bisect(...args);
    expect([exitCode, stderr]).toEqual([0, '']);
    const builds = records().filter(({ type }) => type === 'build');
    expect(builds).toMatchObject([
      {
        name: 'good.wasm',
        recorded_fails: false,
        drift: { answered: expect.any(Number) as number },
      },
      { name: 'bad.wasm', recorded_fails: true, drift: { answered: expect.any(Number) as number } },
    ]);
    const result = records().at(-1) as Record<string, string>;
    expect(result).toMatchObject({ first_bad: 'bad.wasm', last_good: 'good.wasm', exact: true });
    const { failing: bad = '', passing: good = '' } = result;
    expect((await folder.sim(['replay', bad, '--check', 'log'])).exitCode).toBe(0);
    expect((await folder.sim(['replay', good, '--check', 'log'])).exitCode).toBe(0);
    expect(openBundle(folder.read(bad)).manifest).toMatchObject({
      outcome: { verdict: 'fail' },
      lineage: { parent: openBundle(folder.read(failing)).digest },
    });
    expect(openBundle(folder.read(good)).manifest.outcome.verdict).toBe('pass');
    // The first of the commands to go on with tells where the two part.
    expect((await folder.sim(['bisect', bad, good])).exitCode).toBe(1);
    const shrunk = await folder.sim(['shrink', bad, '--format', 'jsonl']);
    expect(shrunk.records().at(-1)).toMatchObject({ status: 'shrunk' });
  });

  it.each<[string, readonly string[], number, string]>([
    ['swapped ends', ['--good', 'bad.wasm', '--bad', 'good.wasm'], 5, 'input/builds-swapped'],
    ['one build twice', ['--good', 'bad.wasm', '--bad', 'bad.wasm'], 5, 'input/good-build-fails'],
    ['a build that is not there', ['--good', 'no.wasm', '--bad', 'bad.wasm'], 5, 'input/missing'],
    ['one end alone', ['--good', 'good.wasm'], 64, '--good and --bad go together'],
    ['the other end alone', ['--bad', 'bad.wasm'], 64, '--good and --bad go together'],
    ['a folder too', ['--good', 'a', '--bad', 'b', '--builds', 'c'], 64, 'are both given'],
    ['a command too', ['--good', 'a', '--bad', 'b', '--build', 'make'], 64, 'go with --git'],
  ])('%s is one clear error with its remedy', async (_, args, code, text) => {
    const { exitCode, stderr } = await bisect(failing, ...args);
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(text)]);
    expect(stderr).toMatch(/"remedy":"|there is no such file/);
  });
});

describe('builds that go on for longer than a shrunk run', () => {
  const lingerSeconds = 5;
  let shrunk = '';

  beforeAll(async () => {
    const failing = await record({ ...shapeOf(0, 0), lingerSeconds, word: 'long' }, 1);
    shrunk = 'shrunk.athanor';
    const { exitCode } = await folder.sim(['shrink', failing, '--out', shrunk]);
    expect(exitCode).toBe(0);
    // What is left of the time is less than any build takes.
    const { virtualNsMax } = openBundle(folder.read(shrunk)).scenario.plan.limits;
    expect(virtualNsMax).toBeLessThan(lingerSeconds * 1_000_000_000);
  });

  function builds(name: string, shapes: readonly Partial<BuildShape>[]): string {
    mkdirSync(join(folder.path, name));
    shapes.forEach((shape, index) => {
      const whole = { ...shapeOf(index, BUILDS), lingerSeconds, ...shape };
      folder.write(join(name, `${index}.wasm`), assemble(whole));
    });
    return name;
  }

  it('pass where they use up their time without the failure', async () => {
    const list = builds('lingering', [{}, {}, {}, {}, { isBad: true }, { isBad: true }]);
    const { exitCode, records, stderr } = await bisect(shrunk, '--builds', list);
    expect([exitCode, stderr]).toEqual([0, '']);
    const result = { first_bad: '4.wasm', last_good: '3.wasm', exact: true, skipped: [] };
    expect(records().at(-1)).toMatchObject(result);
  });

  it('are told from builds that hang by the good end', async () => {
    const [short, hung] = [{ lingerSeconds: 0 }, { lingerSeconds: 60 }];
    const list = builds('hanging', [short, short, hung, hung, short, { isBad: true }]);
    const { exitCode, records } = await bisect(shrunk, '--builds', list);
    const result = { first_bad: '5.wasm', exact: true, skipped: ['2.wasm', '3.wasm'] };
    expect([exitCode, records().at(-1)]).toMatchObject([0, result]);
  });

  it('are told for the swapped ends that they are', async () => {
    const list = builds('backwards', [{ isBad: true }, {}]);
    const { exitCode, stderr } = await bisect(shrunk, '--builds', list);
    expect([exitCode, stderr]).toEqual([5, expect.stringContaining('input/builds-swapped')]);
  });
});

describe('builds that are no use', () => {
  let failing = '';

  /** A folder of builds: `g` good, `b` bad, `x` no module at all. */
  function builds(name: string, kinds: string): string {
    mkdirSync(join(folder.path, name));
    Array.from(kinds).forEach((kind, index) => {
      const module = assemble(shapeOf(index, kind === 'b' ? 0 : BUILDS));
      const bytes = kind === 'x' ? Buffer.from('no module') : module;
      folder.write(join(name, `${index}.wasm`), bytes);
    });
    return name;
  }

  beforeAll(async () => {
    failing = await record(shapeOf(0, 0), 1);
  });

  it('a module that is refused is skipped and named', async () => {
    const { exitCode, records } = await bisect(failing, '--builds', builds('skip', 'ggxxgbb'));
    const result = { first_bad: '5.wasm', exact: true, skipped: ['2.wasm', '3.wasm'] };
    expect([exitCode, records().at(-1)]).toMatchObject([0, result]);
  });

  it('a budget that is too small for an answer is said to be', async () => {
    const args = [failing, '--builds', builds('small', 'ggggbb'), '--budget', '40'];
    const { exitCode, records } = await bisect(...args);
    const candidates = [1, 2, 3, 4, 5].map((index) => `${index}.wasm`);
    const result = { exact: false, confirmed: false, runs: 40, candidates };
    expect([exitCode, records().at(-1)]).toMatchObject([2, result]);
  });

  it('says for people what was tried, and which is the first bad one', async () => {
    const list = builds('plain', 'gggbbb');
    const args = ['bisect', failing, '--builds', list, '--format', 'table', '--jobs', '1'];
    const { stdout } = await folder.sim(args);
    expect(stdout).toContain('6 builds of "worker", from 0.wasm to 5.wasm');
    expect(stdout).toMatch(/^> +3\.wasm +\d+ of \d+/m);
    expect(stdout).toContain('the first bad build is 3.wasm');
  });

  it.each<[string, () => readonly string[], number, string]>([
    ['an empty folder', () => ['--builds', builds('none', '')], 5, 'there are 0 modules'],
    ['one build', () => ['--builds', builds('one', 'b')], 5, 'input/builds'],
    ['no folder', () => ['--builds', 'nowhere'], 5, 'input/missing'],
    ['swapped ends', () => ['--builds', builds('swap', 'bbg')], 5, 'input/builds-swapped'],
    ['a bad first one', () => ['--builds', builds('bad', 'bbb')], 5, 'input/good-build-fails'],
    ['a good last one', () => ['--builds', builds('good', 'ggg')], 5, 'input/bad-build-passes'],
    ['an end that is no module', () => ['--builds', builds('end', 'gx')], 5, 'input/build-end'],
    ['no such guest', () => ['--builds', 'plain', '--guest', 'x'], 64, 'there are \\"worker'],
    ['two sources', () => ['--builds', 'plain', '--git', 'a..b'], 64, 'usage/bisect'],
    ['no source', () => ['--guest', 'worker'], 64, 'usage/bisect'],
    ['decisions too', () => ['--builds', 'plain', '--decisions'], 64, 'usage/bisect'],
  ])('%s is one clear error with its remedy', async (_, args, code, text) => {
    const { exitCode, stderr } = await bisect(failing, ...args());
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(text)]);
    expect(stderr).toContain('"remedy":"');
  });
});
