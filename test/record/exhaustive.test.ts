import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packageRoot } from '../../scenarios/index.ts';
import { SimFolder } from '../cli/sim.ts';

/** Tries a refund twice, and says how many there are in the end. */
const AGENT = `
export function* main() {
  const refund = { order: 3, amount_cents: 5 };
  for (let attempt = 1; attempt <= 2; attempt++) {
    const reply = yield { do: 'call', target: 'shop.issue_refund', args: refund, timeout_ms: 500, call: 1 };
    if (reply.status === 200) break;
  }
  const { body } = yield { do: 'call', target: 'shop.list_refunds', timeout_ms: 500 };
  yield { do: 'log', text: 'refunds ' + JSON.parse(body).length };
  return 0;
}`;

const SCENARIO = `
schema_version = 1
name = "agent"
seed = 1
[guest.shop]
record = "shop.yaml"
faults = "faults.yaml"
[guest.agent]
model = "agent.mjs"
[[node]]
name = "shop"
guest = "shop"
[[node]]
name = "agent"
guest = "agent"
start = "1ms"
[[property]]
name = "paid once"
kind = "never"
console = "refunds 2"
`;

function folderWith(faults: string): SimFolder {
  const folder = new SimFolder();
  const worlds = join(packageRoot(), 'scenarios', 'worlds');
  for (const name of ['shop.yaml', 'shop.ts']) cpSync(join(worlds, name), join(folder.path, name));
  folder.write('agent.mjs', AGENT);
  folder.write('faults.yaml', faults);
  folder.write('s.toml', SCENARIO);
  return folder;
}

const SEARCH = ['search', 's.toml', '--on-violation', 'collect', '--format', 'jsonl'];

describe('FB-50: every answer of a service is tried, however seldom it is', () => {
  test('all kinds of fault of the first two attempts: the pairs that pay twice are found', async () => {
    const folder = folderWith(
      'payments.issue_refund: { errors: { timeout: 0.01, http_500: 0.01 } }',
    );
    const depth = ['--branch-on', '/error', '--max-depth', '2', '--max-states', '100'];
    const { exitCode, records } = await folder.sim([...SEARCH, '--strategy', 'bfs', ...depth]);
    expect(exitCode).toBe(1);
    const result = records().find(({ type }) => type === 'result');
    // None, timeout or 500 first; after none there is no second attempt: 1 + 3 + 3 runs.
    expect(result).toMatchObject({
      states: 7,
      coverage: 'all answers to the first 2 decisions, in 7 runs',
    });
    // A lost answer, then a refund that runs: with its answer, or lost again.
    const findings = records().filter(({ type }) => type === 'finding');
    expect(findings).toMatchObject([
      { what: 'paid once', count: 2, note: 'node/shop/record/payments.issue_refund/error#0=1' },
    ]);
    const replay = await folder.sim(['replay', String(findings[0]?.['bundle'])]);
    expect(replay.exitCode).toBe(0);
  });

  test('an arity is that of the rule: a profile of one kind has two answers, one of none no decision', async () => {
    const states = async (faults: string): Promise<unknown> => {
      const depth = ['--branch-on', '/error', '--max-depth', '1', '--max-states', '100'];
      const run = await folderWith(faults).sim([...SEARCH, '--strategy', 'dfs', ...depth]);
      return run.records().find(({ type }) => type === 'result')?.['states'];
    };
    expect(await states('payments.issue_refund: { errors: { not_found: 0.5 } }')).toBe(2);
    expect(await states('payments.issue_refund: { latency_ms: [1, 2] }')).toBe(1);
  });
});
