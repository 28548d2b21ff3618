import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../scenarios/index.ts';

/** A project of somebody else's: packages, a world's faults, suites. */
const folder = mkdtempSync(join(tmpdir(), 'sim-vitest-'));

interface Ended {
  readonly exitCode: number;
  readonly output: string;
}

function shell(command: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, NO_COLOR: '1', ...env },
      maxBuffer: 16 * 1024 * 1024,
    };
    execFile('sh', ['-c', command], options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : Number(error.code);
      resolve({ exitCode, output: `${stdout}${stderr}` });
    });
  });
}

const run = (file: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> => {
  return shell(`npx vitest run ${file} --reporter=verbose`, env);
};

/** The commands that a failed run prints. */
function replays(output: string): readonly string[] {
  return [...output.matchAll(/replay {2}(.*npx vitest run .*)$/gm)].map((match) => match[1] ?? '');
}

beforeAll(() => {
  const root = packageRoot();
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  symlinkSync(root, join(modules, 'athanor'));
  symlinkSync(join(root, 'node_modules', 'vitest'), join(modules, 'vitest'));
  symlinkSync(join(root, 'node_modules', 'vitest', 'vitest.mjs'), join(modules, '.bin', 'vitest'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  writeFileSync(
    join(folder, 'slow.yaml'),
    'default: { latency_ms: [7, 7] }\npayments.issue_refund: { errors: { timeout: 0.10 } }\n',
  );
  // A server that starts beside other work may take longer than a test has otherwise.
  const config = 'export default { test: { testTimeout: 120_000 } };\n';
  writeFileSync(join(folder, 'vitest.config.js'), config);
  for (const [name, text] of Object.entries(SUITES)) writeFileSync(join(folder, name), text);
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

const HEAD = `import { expect } from 'vitest';
import { simTest } from 'athanor/vitest';
/** Pays back once more where the answer did not come. */
async function refund(server, more = {}) {
  for (let attempt = 0; attempt < 4; attempt++) {
    try { return await server.call('issue_refund', { order: 3, amount_cents: 5, ...more }); }
    catch (error) { if (error.kind !== 'timeout') throw error; }
  }
}
`;

const SUITES: Readonly<Record<string, string>> = {
  'green.test.js': `${HEAD}
const it = simTest({ world: 'shop', faults: './slow.yaml' });
it('has fixtures that share one world', async ({ server, world, clock, faults, trace, run, task }) => {
  expect([run, world.revision, clock.nowNs, faults === null]).toEqual([0, 0, 0, false]);
  const order = await server.call('get_order', { id: 3 });
  expect(order).toEqual(world.tables.orders.get(3));
  expect([clock.nowNs, trace.summary(), task.name]).toEqual([7_000_000, 'get_order', 'has fixtures that share one world']);
  await expect(server.call('get_order', { id: 99 })).rejects.toMatchObject({ name: 'CallError', injected: false });
  expect(server.tools).toContain('issue_refund');
});
it('is served by a process', async ({ url, run }) => {
  const before = url.snapshot();
  const reply = await fetch(url.href + '/issue_refund', { method: 'POST', body: JSON.stringify({ order: 3, amount_cents: 5 }) });
  expect(reply.status).toBe(504);
  // The answer was lost, the write was not.
  expect([before.refunds.length, url.snapshot().refunds.length, url.summary()]).toEqual([0, 1, 'issue_refund!timeout']);
});
simTest({ world: 'shop', runs: 5 })('injects nothing without the marker', async ({ server, faults, trace }) => {
  for (let n = 0; n < 20; n++) await server.call('issue_refund', { order: 3, amount_cents: 5 });
  expect([faults, trace.faults().length, trace.count('issue_refund')]).toEqual([null, 0, 20]);
});
it('is right with a key', { runs: 12, minPassRate: 1 }, async ({ server, world }) => {
  await refund(server, { key: 'k' });
  expect(world.tables.refunds.all()).toHaveLength(1);
});
`,
  'red.test.js': `${HEAD}
const it = simTest({ world: 'shop', faults: { 'payments.issue_refund': { errors: { timeout: 0.3 } } }, runs: 6 });
it('refunds once (strict)', async ({ server, world }) => {
  await refund(server);
  expect(world.tables.refunds.all()).toHaveLength(1);
});
`,
  'rate.test.js': `${HEAD}
const it = simTest({ world: 'shop', faults: { 'payments.issue_refund': { errors: { timeout: 0.5 } } }, runs: 20 });
const once = async ({ server, world }) => {
  await refund(server);
  expect(world.tables.refunds.all()).toHaveLength(1);
};
it('mostly', { minPassRate: 0.2 }, once);
it('nearly always', { minPassRate: 0.95 }, once);
it('skips some', { minPassRate: 0.01 }, ({ run, skip }) => { if (run >= 3) skip(); });
`,
  'markers.test.js': `${HEAD}
const it = simTest({});
const refused = (markers) => { try { simTest(markers)('t', () => {}); return ''; } catch (error) { return error.message; } };
it('refuses markers', () => {
  expect(refused({ runs: undefined })).toBe('test "t": the marker "runs" has no argument');
  expect(refused({ world: '' })).toContain('"world" has no argument');
  expect(refused({ runs: 0 })).toContain('runs is 0');
  expect(refused({ minPassRate: 1.5 })).toContain('minPassRate is 1.5');
  expect(refused({ wrold: 'shop' })).toContain('no marker "wrold"');
  expect(refused({ faults: 'world' })).toContain('faults without a world');
});
it('needs a world', ({ server }) => { expect(server).toBe(null); });
`,
};

describe('athanor/vitest', () => {
  it('FH-42 FH-43 FH-45 gives fixtures, and each run is an item of its own', async () => {
    const { exitCode, output } = await run('green.test.js');
    expect([exitCode, output]).toEqual([0, output]);
    expect(output).toMatch(/✓ green\.test\.js > injects nothing without the marker > run 4/);
    expect(output).toMatch(/Tests +19 passed \(19\)/);
    expect(output).toContain(
      'is right with a key: 12/12 passed (100%)  min_pass_rate=100% -> PASS',
    );
  });

  it('FH-41 FH-49 tells of a failed run its trace, seed and a command that repeats it alone', async () => {
    const { exitCode, output } = await run('red.test.js');
    expect(exitCode).toBe(1);
    const failed = [...output.matchAll(/× red\.test\.js > refunds once \(strict\) > run (\d)/g)];
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.length).toBeLessThan(6);
    const run0 = failed[0]?.[1] ?? '';
    const told = new RegExp(
      `trace {3}(issue_refund!timeout → .*)\\nseed {4}(\\d+) \\(run ${run0}\\)\\nreplay {2}(npx .*)`,
    ).exec(output);
    expect(told).not.toBeNull();
    const again = await shell(told?.[3] ?? '');
    expect(again.exitCode).toBe(1);
    expect(again.output).toMatch(/Tests +1 failed \| 5 skipped \(6\)/);
    expect(again.output).toContain(`trace   ${told?.[1]}\nseed    ${told?.[2]} (run ${run0})`);
  });

  it('FH-45 FH-46 FH-47 absorbs single failures and judges the rate over what ran', async () => {
    const { exitCode, output } = await run('rate.test.js');
    expect(exitCode).toBe(1);
    // No item is red, only the group whose rate is too low.
    expect(output).not.toContain('×');
    const rates = [...output.matchAll(/(mostly|nearly always): (\d+)\/20 passed \((\d+)%\) .*/g)];
    expect(rates.map(([line]) => line.replace(/\d+\/20 passed \(\d+%\)/, 'R'))).toEqual([
      'mostly: R  min_pass_rate=20% -> PASS',
      'nearly always: R  min_pass_rate=95% -> FAIL',
    ]);
    const [, , passed, share] = rates[1] ?? [];
    expect(Number(share)).toBe(5 * Number(passed));
    const block = output.slice(output.indexOf('nearly always: '));
    const shown = [...block.matchAll(/^ +run (\d+): expected/gm)].slice(0, 6);
    expect(shown.length).toBe(Math.min(5, 20 - Number(passed)));
    expect(block).toContain(`  and ${20 - Number(passed) - 5} more`);
    expect(output).toContain('skips some: 3/3 passed (100%)  min_pass_rate=1% -> PASS');
    const one = await shell(replays(block)[0] ?? '');
    expect(one.exitCode).toBe(1);
    expect(one.output).toContain('nearly always: 0/1 passed (0%)  min_pass_rate=95% -> FAIL');
  });

  it('FH-44 takes the number of runs from the environment, and so does the command it prints', async () => {
    const { output } = await run('red.test.js', { ATHANOR_RUNS: '30' });
    expect(output).toMatch(/Tests .*\(30\)/);
    const last = replays(output).at(-1) ?? '';
    expect(last).toMatch(/^ATHANOR_RUNS=30 npx vitest run red\.test\.js -t /);
    expect((await shell(last)).output).toMatch(/Tests +1 failed \| 29 skipped \(30\)/);
    const wrong = await run('red.test.js', { ATHANOR_RUNS: 'many' });
    expect(wrong.output).toContain('ATHANOR_RUNS is "many"');
  });

  it('FH-48 refuses markers without an argument, and fixtures without their marker', async () => {
    const { exitCode, output } = await run('markers.test.js');
    expect(exitCode).toBe(1);
    expect(output).toMatch(/Tests +1 failed \| 1 passed \(2\)/);
    expect(output).toContain('a fixture of a world is used, and the test names no world');
  });
});
