import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { C_SERIES, C_SERIES_FIRST_BAD, C_SERIES_TOML } from '../support/c-series.ts';
import { SimFolder } from './sim.ts';

const folder = new SimFolder();
const temporary = mkdtempSync(join(tmpdir(), 'sim-c-series-'));
const outer = process.env['TMPDIR'];
const main = join(process.cwd(), 'dist', 'cli', 'main.js');
/** The command that a user would type, with artefacts kept by content beside all commits. */
const BUILD = `cd '${folder.path}' && '${process.execPath}' '${main}' guest build "$OLDPWD/worker.c" --out "$OLDPWD/worker.wasm"`;

function git(...args: string[]): string {
  const who = ['-c', 'user.name=Tester', '-c', 'user.email=tester@example.org'];
  const options = { cwd: join(folder.path, 'repo'), encoding: 'utf8' } as const;
  return execFileSync('git', [...who, '-c', 'commit.gpgsign=false', ...args], options);
}

beforeAll(async () => {
  process.env['TMPDIR'] = temporary;
  mkdirSync(join(folder.path, 'repo'));
  git('init', '--quiet', '--initial-branch', 'main');
  for (const [index, { message, source }] of C_SERIES.entries()) {
    folder.write('repo/worker.c', source);
    git('add', '--all');
    git('commit', '--quiet', '--message', message);
    git('tag', `c${index}`);
  }
  execFileSync('/bin/sh', ['-c', BUILD], { cwd: join(folder.path, 'repo'), stdio: 'pipe' });
  folder.write('worker.wasm', folder.read('repo/worker.wasm'));
  rmSync(join(folder.path, 'repo', 'worker.wasm'));
  folder.write('ledger.toml', C_SERIES_TOML);
  for (let seed = 1, code = 0; code === 0; seed++) {
    expect(seed).toBeLessThan(60);
    const run = ['run', 'ledger.toml', '--seed', String(seed), '--out', 'failing.athanor'];
    code = (await folder.sim(run)).exitCode;
  }
});

afterAll(() => {
  if (outer === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = outer;
  rmSync(temporary, { recursive: true });
  rmSync(folder.path, { recursive: true });
});

describe('a history of C sources', () => {
  it('is bisected to the commit that broke it, through refactorings that shift draws', async () => {
    const range = ['--git', 'c0..main', '--build', BUILD, '--artifact', 'worker.wasm'];
    const more = ['--repo', 'repo', '--jobs', '1', '--format', 'jsonl'];
    const { exitCode, records, stderr } = await folder.sim([
      'bisect',
      'failing.athanor',
      ...range,
      ...more,
    ]);
    expect([exitCode, stderr]).toEqual([0, '']);
    const told = records();
    const named = (index: number) => {
      return expect.stringContaining(C_SERIES[index]?.message ?? '') as string;
    };
    expect(told.at(-1)).toMatchObject({
      first_bad: named(C_SERIES_FIRST_BAD),
      last_good: named(C_SERIES_FIRST_BAD - 1),
      exact: true,
      confirmed: true,
    });
    expect(told.at(-1)?.['tried']).toBeLessThanOrEqual(5);
    // What the builds draw besides, and what they leave out, is told apart from what was recorded.
    const builds = told.filter(({ type }) => type === 'build');
    const buildOf = (index: number) => {
      return builds.find(({ name }) => String(name).endsWith(C_SERIES[index]?.message ?? '?'));
    };
    // Two nodes: neither draws a token, or each draws one and seven times more.
    expect(buildOf(0)).toMatchObject({ drift: { missing: 2, misfits: 0, extra: 0 } });
    expect(buildOf(4)).toMatchObject({ drift: { missing: 0, misfits: 0, extra: 14 } });
    expect(git('status', '--porcelain')).toBe('');
    expect(readdirSync(temporary)).toEqual([]);
  });
});
