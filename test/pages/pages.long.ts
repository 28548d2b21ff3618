import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeHandlers } from '../../cli/record/handlers.ts';
import { buildGuestFromPath, compileC, socketLibrary } from '../../guests/index.ts';
import { packageRoot } from '../../scenarios/index.ts';
import { SimFolder } from '../cli/sim.ts';
import { serviceOf, worldOf } from '../record/worlds.ts';
import { Page } from '../support/page.ts';

/** What pages show that needs a compiler, or a test runner of its own. */
const worlds = new Page('docs/record-worlds.md');
const WORLD = worlds.take('name: shop');

describe('docs/vitest.md', () => {
  const page = new Page('docs/vitest.md');
  const folder = mkdtempSync(join(tmpdir(), 'sim-page-'));
  afterAll(() => {
    rmSync(folder, { recursive: true });
    expect(page.left()).toEqual([]);
  });

  function vitest(file: string): Promise<string> {
    const env = { PATH: process.env['PATH'], HOME: folder, NO_COLOR: '1' };
    const options = { cwd: folder, env, timeout: 300_000 };
    return new Promise((resolve) => {
      execFile('npx', ['vitest', 'run', file], options, (_, stdout, stderr) => {
        resolve(stdout + stderr);
      });
    });
  }

  it('runs the test that it shows, and tells of it as it shows', async () => {
    const root = packageRoot();
    const modules = join(folder, 'node_modules');
    mkdirSync(join(modules, '.bin'), { recursive: true });
    symlinkSync(root, join(modules, 'athanor'));
    const runner = join(root, 'node_modules', 'vitest');
    symlinkSync(runner, join(modules, 'vitest'));
    symlinkSync(join(runner, 'vitest.mjs'), join(modules, '.bin', 'vitest'));
    const test = page.take("it('refunds once'");
    const files = {
      'package.json': '{ "type": "module" }\n',
      'shop.yaml': WORLD,
      'shop.ts': worlds.take('export function issue_refund'),
      'shop.test.ts': test,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    expect(await vitest('shop.test.ts')).toContain(page.take('min_pass_rate=95% -> FAIL').trim());
    writeFileSync(join(folder, 'shop.test.ts'), test.replace(', minPassRate: 0.95', ''));
    expect(await vitest('shop.test.ts')).toContain(page.take('trace   issue_refund!timeout'));
  });
});

describe('programs in C', () => {
  it('compiles the handler of docs/record-worlds.md, which replies as it says', async () => {
    const text = worlds.take('ATHANOR_HANDLER(issue_refund)');
    const source = `#include <athanor/handler.h>\nstatic char input[1024], order[1024];\n${text}`;
    const library = socketLibrary();
    const bytes = new TextEncoder().encode(source);
    const module = await compileC({
      files: [{ path: 'main.c', bytes }, ...library.files],
      units: ['main.c'],
      includeDirectories: library.includeDirectories,
      flags: ['-mexec-model=reactor'],
    });
    const def = worldOf(WORLD, new Map([['shop.issue_refund', () => null]]));
    const modules = [{ name: 'shop', kind: 'wasm' as const, bytes: module }];
    const bench = serviceOf(def, { handlers: makeHandlers(def, modules) });
    const outcome = bench.call('issue_refund', { order: 3, amount_cents: 1 });
    expect(outcome).toEqual({ kind: 'result', value: { id: 1 } });
  });

  it('compiles the markers of docs/drive.md, which a drive reads', async () => {
    const folder = new SimFolder();
    const marks = new Page('docs/drive.md').take('sim_mark("log", "breaker_open"');
    const source = `#include <athanor/sim.h>\nint main(void) {\n${marks}return 0; }\n`;
    folder.write('main.c', source);
    folder.write('c.wasm', await buildGuestFromPath(join(folder.path, 'main.c')));
    const asserted = { flow_status: 'completed', breaker_open: ['shop.issue_refund'] };
    folder.write('p.json', JSON.stringify({ target: 'c.wasm', assert: asserted }));
    const { exitCode, stdout } = await folder.sim(['drive', 'p.json']);
    expect(exitCode, stdout).toBe(0);
  });
});
