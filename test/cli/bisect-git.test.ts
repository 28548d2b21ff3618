import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBuildSeries, SERIES_TOML, shapeOf } from '../support/build-series.ts';
import { SimFolder, type SimResult } from './sim.ts';

const COMMITS = 12;
const FIRST_BAD = 8;
/** It does not build; it is the first that a search tries between the ends. */
const BROKEN = 5;

const folder = new SimFolder();
let failing = '';

/** A command that leaves `out.wasm`, but for the broken commit, which has no `guest.wasm`. */
const BUILD = ['--build', 'cp guest.wasm out.wasm', '--artifact', 'out.wasm', '--repo', 'repo'];

function git(...args: string[]): string {
  const who = ['-c', 'user.name=Tester', '-c', 'user.email=tester@example.org'];
  const options = { cwd: join(folder.path, 'repo'), encoding: 'utf8' } as const;
  return execFileSync('git', [...who, '-c', 'commit.gpgsign=false', ...args], options);
}

function bisect(...args: string[]): Promise<SimResult> {
  return folder.sim(['bisect', failing, ...args, '--format', 'jsonl', '--jobs', '1']);
}

/** Temporary folders of its own, so that what is left there is what a search has left. */
const TEMPORARY = mkdtempSync(join(tmpdir(), 'sim-git-'));
const outer = process.env['TMPDIR'];

function leftOvers(): readonly string[] {
  return readdirSync(TEMPORARY);
}

beforeAll(async () => {
  process.env['TMPDIR'] = TEMPORARY;
  const assemble = await openBuildSeries();
  mkdirSync(join(folder.path, 'repo'));
  git('init', '--quiet', '--initial-branch', 'main');
  for (let index = 0; index < COMMITS; index++) {
    folder.write('repo/guest.wasm', assemble(shapeOf(index, FIRST_BAD)));
    folder.write('repo/NOTES', `change ${index}`);
    if (index === BROKEN) rmSync(join(folder.path, 'repo', 'guest.wasm'));
    git('add', '--all');
    git('commit', '--quiet', '--message', `Change ${index}`);
    git('tag', `c${index}`);
  }
  folder.write('guest.wasm', assemble(shapeOf(COMMITS - 1, FIRST_BAD)));
  folder.write('series.toml', SERIES_TOML);
  for (let seed = 1; seed < 60 && failing === ''; seed++) {
    const run = ['run', 'series.toml', '--seed', String(seed), '--out', 'failing.athanor'];
    if ((await folder.sim(run)).exitCode === 1) failing = 'failing.athanor';
  }
});

afterAll(() => {
  if (outer === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = outer;
  rmSync(TEMPORARY, { recursive: true });
  rmSync(folder.path, { recursive: true });
});

describe('sim bisect --git', () => {
  it('names the first bad commit, skips one that does not build, and leaves nothing', async () => {
    const { exitCode, records, stderr } = await bisect('--git', 'c0..main', ...BUILD);
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(records().at(-1)).toMatchObject({
      first_bad: expect.stringContaining(`Change ${FIRST_BAD}`) as string,
      last_good: expect.stringContaining(`Change ${FIRST_BAD - 1}`) as string,
      exact: true,
      skipped: [expect.stringContaining(`Change ${BROKEN}`) as string],
      next: [
        expect.stringMatching(/^sim bisect \S+first-bad\.athanor \S+last-good\.athanor$/) as string,
        expect.stringMatching(/^sim shrink \S+first-bad\.athanor$/) as string,
      ],
    });
    expect(leftOvers()).toEqual([]);
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('finds the module that the command has made where nobody names it', async () => {
    const command = ['--build', 'mkdir -p out && cp guest.wasm out/new.wasm', '--repo', 'repo'];
    const { exitCode, records } = await bisect('--git', 'c6..main', ...command);
    const result = { first_bad: expect.stringContaining(`Change ${FIRST_BAD}`) as string };
    expect([exitCode, records().at(-1)]).toMatchObject([0, result]);
  });

  it('names all commits that may be the first bad one where those between do not build', async () => {
    const command = `test "$(cat NOTES)" != "change 7" && cp guest.wasm out.wasm`;
    const build = ['--build', command, '--artifact', 'out.wasm', '--repo', 'repo'];
    const { exitCode, records } = await bisect('--git', 'c6..main', ...build);
    expect(exitCode).toBe(2);
    const names = [7, 8].map((index) => expect.stringContaining(`Change ${index}`) as string);
    expect(records().at(-1)).toMatchObject({ exact: false, confirmed: true, candidates: names });
  });
});

describe('what cannot be bisected over commits', () => {
  const range = (text: string): readonly string[] => ['--git', text, ...BUILD];
  it.each<[string, readonly string[], number, string]>([
    ['an unknown revision', range('c0..nowhere'), 5, 'input/git-revision'],
    ['no range', range('c0'), 64, 'usage/git'],
    ['an empty range', range('c3..c3'), 5, 'input/git-range'],
    ['swapped ends', range('main..c0'), 5, 'input/builds-swapped'],
    ['a bad end that passes', range('c0..c4'), 5, 'input/bad-build-passes'],
    ['a good end that fails', range('c9..main'), 5, 'input/good-build-fails'],
    ['an end that does not build', range(`c${BROKEN}..main`), 5, 'input/build-end'],
    ['no build command', ['--git', 'c0..main', '--artifact', 'out.wasm'], 64, 'usage/bisect'],
    [
      'a module outside',
      ['--git', 'c0..main', '--build', 'true', '--artifact', '../x.wasm', '--repo', 'repo'],
      64,
      'usage/artifact',
    ],
    [
      'no module',
      ['--git', 'c0..main', '--build', 'true', '--artifact', 'out.wasm', '--repo', 'repo'],
      5,
      'has left no out.wasm',
    ],
    [
      'a build command that fails everywhere',
      ['--git', 'c0..main', '--build', 'echo no compiler; exit 3', '--repo', 'repo'],
      5,
      'the command ended with code 3: no compiler',
    ],
    [
      'no new module',
      ['--git', 'c0..main', '--build', 'true', '--repo', 'repo'],
      5,
      'no new module',
    ],
    [
      'several new modules',
      ['--git', 'c0..main', '--build', 'cp guest.wasm a.wasm; cp a.wasm b.wasm', '--repo', 'repo'],
      5,
      'the command has left 2 modules: a.wasm, b.wasm',
    ],
    [
      'no repository',
      ['--git', 'c0..main', '--build', 'true', '--artifact', 'out.wasm', '--repo', '.'],
      5,
      'input/git-repository',
    ],
  ])('%s is one clear error, and leaves nothing', async (_, args, code, text) => {
    const { exitCode, stderr } = await bisect(...args);
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(text)]);
    expect(leftOvers()).toEqual([]);
  });
});

describe('an interrupt', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    '%s ends what builds, and leaves nothing',
    async (signal) => {
      const marker = join(folder.path, `started-${signal}`);
      // The shell waits for a child of its own, which must end as well.
      const build = `sleep 300 & echo $! > '${marker}.draft'; mv '${marker}.draft' '${marker}'; wait`;
      const args = ['bisect', failing, '--git', 'c0..main', '--build', build, '--repo', 'repo'];
      const main = join(process.cwd(), 'dist', 'cli', 'main.js');
      const child = spawn(process.execPath, [main, ...args], { cwd: folder.path, stdio: 'ignore' });
      const ended = once(child, 'close');
      while (!existsSync(marker)) await setTimeout(20);
      const sleeper = Number(readFileSync(marker, 'utf8'));
      expect(git('worktree', 'list').trim().split('\n')).toHaveLength(2);
      child.kill(signal);
      expect(await ended).toEqual([null, signal]);
      expect(leftOvers()).toEqual([]);
      expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
      expect(await isGone(sleeper)).toBe(true);
    },
  );
});

/** Whether a process ends, which whoever has inherited it may take a moment to see. */
async function isGone(pid: number): Promise<boolean> {
  for (let turn = 0; turn < 200; turn++) {
    const state = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : '';
    if (state === '' || state.includes(') Z ')) return true;
    await setTimeout(20);
  }
  return false;
}
