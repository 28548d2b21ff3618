import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inFolder, readState, ToolClient } from './served.ts';

/**
 * The acceptance story of FH-55: an agent is asked to refund an order. Its tool calls are scripted,
 * which is what a recorded agent is; all else is real: the command, its process, the protocol.
 */
async function agent(client: ToolClient, key: string | null): Promise<void> {
  const order = JSON.parse((await client.call('get_order', { id: 3 })).text) as {
    total_cents: number;
  };
  const refund = { order: 3, amount_cents: order.total_cents, ...(key === null ? {} : { key }) };
  for (let attempt = 0; attempt < 4; attempt++) {
    if (!(await client.call('issue_refund', refund)).isError) return;
  }
}

interface Run {
  readonly index: number;
  readonly refunds: number;
  readonly trace: string;
}

async function runOnce(index: number, key: string | null): Promise<Run> {
  return inFolder(async (folder) => {
    const state = join(folder, 'state.json');
    const profile = join(folder, 'faults.yaml');
    writeFileSync(profile, 'payments.issue_refund: { errors: { timeout: 0.10 } }\n');
    const client = await ToolClient.spawn([
      'shop',
      '--faults',
      profile,
      '--run-index',
      String(index),
      '--state-file',
      state,
    ]);
    await agent(client, key);
    await client.close();
    const { tables, trace } = readState(state);
    return { index, refunds: tables['refunds']?.length ?? 0, trace };
  });
}

async function campaign(key: string | null): Promise<readonly Run[]> {
  const runs: Run[] = [];
  // Two processes at a time; each has its own world, and its own file of state.
  for (let index = 0; index < 20; index += 2) {
    const batch = [0, 1].map((more) => runOnce(index + more, key));
    runs.push(...(await Promise.all(batch)));
  }
  return runs;
}

test('FH-55: 20 runs go red, one replayed pays twice, a key turns them green', async () => {
  const red = await campaign(null);
  const failing = red.filter(({ refunds }) => refunds !== 1);
  const rate = (20 - failing.length) / 20;
  expect(rate).toBeLessThan(0.95);
  expect(failing.map(({ index, trace }) => `${index}: ${trace}`)).toEqual([
    '0: get_order → issue_refund!timeout → issue_refund',
    '3: get_order → issue_refund!timeout → issue_refund',
    '13: get_order → issue_refund!timeout → issue_refund',
  ]);

  const first = failing[0];
  const again = await runOnce(first?.index ?? -1, null);
  expect(again).toEqual(first);
  expect(again.refunds).toBe(2);
  expect(again.trace).toBe('get_order → issue_refund!timeout → issue_refund');

  const green = await campaign('refund-of-order-3');
  expect(green.filter(({ refunds }) => refunds !== 1)).toEqual([]);
  // The same faults as before: only what they lead to is another.
  expect(green.map(({ trace }) => trace)).toEqual(red.map(({ trace }) => trace));
});
