import { beforeAll, describe, expect, it } from 'vitest';
import { loadGuest } from '../../guests/index.ts';
import { SimFolder, type SimResult } from '../cli/sim.ts';

/** The first seed that loses a row of those from 1 on. */
const SEED = '15';

/** SQLite that commits row by row, a fifth of its flushes lie, and its power is lost twice. */
const LEDGER_TOML = `
schema_version = 1
name = "ledger"

[guest.sqlite]
wasm = "sqlite.wasm"

[[node]]
name = "bank"
guest = "sqlite"
args = ["ledger", "/bank.db", "12", "EXTRA", "delete"]

[node.disk]
crash = "reordered"
tear = "50%"
sync_latency = "100us"
jitter = "20us"
lying_flush = "20%"

${event('stall', 'do = "pause"\nat = "1ms"\nwithin = "2ms"\nfor = "500us"')}
${event('first loss', 'do = "crash"\nat = "1ms"\nwithin = "9ms"')}
${event('first start', 'do = "restart"\nat = "20ms"')}
${event('second loss', 'do = "crash"\nat = "21ms"\nwithin = "9ms"')}
${event('second start', 'do = "restart"\nat = "40ms"')}

[[property]]
name = "committed rows stay"
kind = "linearizable"
model = "set"

[limits]
virtual_time = "1s"
`;

function event(name: string, keys: string): string {
  return `[[event]]\nname = "${name}"\nnode = "bank"\n${keys}\n`;
}

const folder = new SimFolder();

beforeAll(async () => {
  folder.write('sqlite.wasm', await loadGuest('sqlite'));
  folder.write('ledger.toml', LEDGER_TOML);
  const run = ['run', 'ledger.toml', '--seed', SEED, '--out', 'failed.athanor'];
  expect((await folder.sim(run)).exitCode).toBe(1);
});

/** The place of the first line of the story from `from` on in which the expression matches. */
function placeOf(told: SimResult, expression: RegExp, from: number): number {
  const lines = told.records().filter(({ type }) => type === 'story');
  const place = lines.findIndex(({ role, text }, index) => {
    return index >= from && expression.test(`${String(role)} ${String(text)}`);
  });
  expect([expression, place >= 0, lines]).toEqual([expression, true, lines]);
  return place;
}

describe('a row that SQLite lost to a flush that lied', () => {
  it('CR-37: is shrunk to the flush and the loss of power, told in order, and replayed', async () => {
    const shrunk = await folder.sim([
      ...['shrink', 'failed.athanor', '--jobs', '1', '--out', 'small.athanor'],
      ...['--format', 'jsonl'],
    ]);
    expect([shrunk.exitCode, shrunk.stderr]).toEqual([0, '']);
    const result = shrunk.records().at(-1);
    expect(result).toMatchObject({
      status: 'shrunk',
      signature: expect.stringContaining('members ledger') as string,
      after: { fault_events: 1, single_faults: 1, nodes: 1 },
    });
    let place = -1;
    for (const expression of [
      /^fault lying-flush \/bank\.db$/,
      /^contradicted add ledger \d+ \u2192 ok$/,
      /^fault power loss takes \d+ of \d+ writes to \/bank\.db$/,
      /^fault crash$/,
      /^fault restart$/,
      /^violation members ledger \u2192 /,
    ]) {
      place = placeOf(shrunk, expression, place + 1);
    }
    const lines = shrunk.records().filter(({ type }) => type === 'story');
    const [lost, found] = ['contradicted', 'violation'].map((wanted) => {
      return String(lines.find(({ role }) => role === wanted)?.['text']);
    });
    const row = /add ledger (\d+)/.exec(lost ?? '')?.[1] ?? '';
    expect((found ?? '').replace(/^.* /, '').split(',')).not.toContain(row);
    const replayed = await folder.sim(['replay', 'small.athanor', '--check', 'log']);
    expect(replayed.exitCode).toBe(0);
  });

  it('is bisected over time to what the disk kept when its power was lost', async () => {
    const args = ['bisect', 'failed.athanor', '--jobs', '1', '--format', 'jsonl'];
    const { exitCode, records } = await folder.sim(args);
    expect([exitCode, records().at(-1)]).toMatchObject([0, { exact: true }]);
    const rise = records().find(({ which }) => which === 'rise');
    expect(rise).toMatchObject({ decision: { stream: 'node/bank/disk/crash' } });
  });
});
