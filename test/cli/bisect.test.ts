import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { SimFolder, type SimResult } from './sim.ts';

/**
 * A connection breaks if the server loses its power before the client is done, at about 280 ms. What
 * decides is when the power is lost, which is one draw.
 */
const SCENARIO = `
schema_version = 1
name = "loss"

[guest.server]
builtin = "echo-server"

[guest.client]
builtin = "echo-client"

[[node]]
name = "server"
guest = "server"
args = ["7", "0"]

[[node]]
name = "client"
guest = "client"
args = ["server", "7", "6", "64", "40"]

[network]
latency = "4ms"
jitter = "3ms"

[[event]]
name = "loss"
at = "20ms"
within = "1s"
chance = "90%"
do = "crash"
node = "server"

[[event]]
name = "power"
at = "1500ms"
do = "restart"

[[event]]
name = "stall"
at = "10ms"
within = "1s"
every = "100ms"
do = "pause"
node = "client"
for = "1ms"

[[property]]
name = "no connection breaks"
kind = "never"
console = "broken at *"

[limits]
virtual_time = "120s"
`;

const folder = new SimFolder();
let failing = '';
let passing = '';

function bisect(...args: string[]): Promise<SimResult> {
  return folder.sim(['bisect', ...args, '--format', 'jsonl', '--jobs', '1']);
}

beforeAll(async () => {
  folder.write('loss.toml', SCENARIO);
  for (let seed = 1; seed < 60 && (failing === '' || passing === ''); seed++) {
    const out = `run-${seed}.athanor`;
    const run = ['run', 'loss.toml', '--seed', String(seed), '--out', out];
    const { exitCode } = await folder.sim(run);
    if (exitCode === 1) failing = out;
    if (exitCode === 0) passing = out;
  }
});

describe('sim bisect over time', () => {
  it('names the decision that made the failure all but certain, and draws the curve', async () => {
    const { exitCode, records } = await bisect(failing);
    expect(exitCode).toBe(0);
    const moments = records().filter(({ type }) => type === 'moment');
    expect(moments.map(({ which }) => which)).toEqual(['rise', 'certain']);
    for (const moment of moments) {
      expect(moment).toMatchObject({ exact: true, decision: { stream: 'plan/loss/at' } });
    }
    const points = records().filter(({ type }) => type === 'point');
    const shares = points.map(({ share }) => share as number);
    expect(shares[0]).toBeLessThan(0.9);
    expect(shares.at(-1)).toBe(1);
    expect(records().at(-1)).toMatchObject({ type: 'result', mode: 'time', exact: true });
  });

  it('names the fault that it needed, with the likelihood without it, and none of the others', async () => {
    const { records } = await bisect(failing);
    const faults = records().filter(({ type }) => type === 'fault');
    expect(faults).toHaveLength(1);
    const [fault] = faults as Readonly<Record<string, { readonly share: number }>>[];
    expect(fault).toMatchObject({ event: 'loss', node: 'server' });
    expect(fault?.['with']?.share).toBeGreaterThan(0.9);
    expect(fault?.['without']?.share).toBe(0);
    const result = records().at(-1) as Readonly<Record<string, number>>;
    expect(result).toMatchObject({ faults_complete: true, exit_code: 0 });
    expect(result['faults']).toBeGreaterThan(1);
  });

  it('is the same for any number of jobs', async () => {
    const args = ['bisect', failing, '--format', 'jsonl', '--budget', '60'];
    const main = join(process.cwd(), 'dist', 'cli', 'main.js');
    const outputs = await Promise.all(
      ['1', '3'].map(async (jobs) => {
        const child = promisify(execFile)(process.execPath, [main, ...args, '--jobs', jobs], {
          cwd: folder.path,
        });
        return child.then(
          ({ stdout }) => stdout,
          (error: unknown) => (error as { readonly stdout: string }).stdout,
        );
      }),
    );
    expect(outputs[0]).toContain('"type":"result"');
    expect(outputs[1]).toBe(outputs[0]);
  });

  it('says so when the budget ends before the answer is exact', async () => {
    const { exitCode, records } = await bisect(failing, '--budget', '9');
    expect(exitCode).toBe(2);
    expect(records().at(-1)).toMatchObject({ exact: false, continuations: 9, exit_code: 2 });
  });

  it('draws the curve for people', async () => {
    const { stdout } = await folder.sim(['bisect', failing, '--jobs', '1', '--format', 'table']);
    expect(stdout).toMatch(/^0\.000000000s +0 {2}.*#/m);
    expect(stdout).toContain('the event "loss" happens');
    expect(stdout).toMatch(
      /^made possible by the event "loss": crash of server at .*: 0% without it/m,
    );
    expect(stdout).toMatch(
      /^made certain by the event "loss" happens .* before it, 100% after it$/m,
    );
    expect(stdout).toMatch(/^next {2}sim bisect .* --decisions$/m);
  });
});

describe('sim bisect --decisions', () => {
  it('CR-25, CR-26: keeps two runs that differ in one decision, one failing, one not', async () => {
    const { exitCode, records } = await bisect(failing, '--decisions', '--out', 'pair');
    expect(exitCode).toBe(0);
    const result = records().at(-1) as Readonly<Record<string, string>>;
    expect(result).toMatchObject({ mode: 'decisions', decision: { stream: 'plan/loss/at' } });
    const replays = [result['failing'], result['passing']].map((path) => {
      return folder.sim(['replay', path ?? '', '--format', 'jsonl']);
    });
    const ends = (await Promise.all(replays)).map(({ records: lines }) => lines().at(-1));
    expect(ends[0]).toMatchObject({ reproduced_status: 'fail', canonical: false });
    expect(ends[1]).toMatchObject({ validation: 'passed', canonical: false });
    expect(ends[1]).not.toMatchObject({ reproduced_status: 'fail' });
    const pair = await bisect(result['failing'] ?? '', result['passing'] ?? '');
    expect(pair.exitCode).toBe(1);
    expect(pair.records().at(-1)).toMatchObject({ decision: result['position'] });
  });
});

describe('the first difference of two runs', () => {
  it('CR-15, CR-28: both are repeated, and the contexts of both sides are shown', async () => {
    const direct = await bisect(failing, passing);
    const args = ['replay', failing, '--bisect', passing, '--format', 'jsonl'];
    const replayed = await folder.sim(args);
    expect(direct.exitCode).toBe(1);
    expect(replayed.stdout).toBe(direct.stdout);
    const kinds = direct.records().map(({ type }) => type);
    expect(kinds).toEqual(['difference', 'context', 'context', 'result']);
    expect(direct.records()[0]).toMatchObject({ left: failing, right: passing });
  });

  it('a run and itself are equal', async () => {
    const { exitCode, records } = await bisect(failing, failing);
    expect([exitCode, records().at(-1)]).toMatchObject([0, { equal: true }]);
  });
});

describe('what cannot be bisected', () => {
  it.each([
    ['a run that passed', () => [passing], 5, 'error input/not-failed: the run did not fail'],
    ['a budget of zero', () => [failing, '--budget', '0'], 64, 'error usage/budget: --budget is 0'],
    ['a confidence of 100', () => [failing, '--confidence', '100'], 64, 'expected 50 to 99'],
    ['no such job', () => [failing, '--jobs', '0'], 64, 'expected 1 to 256'],
    ['two and --decisions', () => [failing, passing, '--decisions'], 64, 'two bundles are'],
    ['a missing file', () => ['nowhere.athanor'], 5, 'nowhere.athanor'],
  ])('%s is one clear error', async (_, args, code, text) => {
    const { exitCode, stderr } = await folder.sim(['bisect', ...args()]);
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(text)]);
  });
});
