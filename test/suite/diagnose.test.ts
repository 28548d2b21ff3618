import { describe, expect, it } from 'vitest';
import { SimFolder } from '../cli/sim.ts';

const folder = new SimFolder();

async function diagnostics(text: string): Promise<readonly string[]> {
  folder.write('s.sim.ts', text);
  const command = ['test', 's.sim.ts', '--seed', '1', '--no-types', '--format', 'jsonl'];
  const { exitCode, stderr, records } = await folder.sim(command);
  expect([exitCode, stderr]).toEqual([0, '']);
  const found = records().filter(({ type }) => type === 'diagnostic');
  return found.map(
    ({ code, test, message }) => `${code as string} ${test as string}: ${message as string}`,
  );
}

describe('green runs that prove nothing', () => {
  it('FB-72 names tests that assert nothing in any leaf', async () => {
    const found = await diagnostics(`import { assert, choose, halt, test } from 'athanor/spec';
      test('silent', () => { choose('x', [1, 2]); });
      test('asserts in one leaf', () => { if (choose('x', [1, 2]) === 2) assert(true); });
      test('halts', () => { halt('enough'); });`);
    expect(found).toEqual(['TEST_NO_ASSERTIONS silent: it passed and asserted nothing']);
  });

  it('FB-72 FB-73 names rules that changed nothing in any leaf of a test', async () => {
    const found =
      await diagnostics(`import { assert, faultAssumption, listen, service, sleep, test } from 'athanor/spec';
      const db = service('db', { body: async () => { await listen(7000).accept(); } });
      const down = faultAssumption('down', { target: db, rules: [
        { do: 'isolate', node: 'db', at: '1ms' }, { do: 'crash', node: 'db', at: '3600s' } ] });
      test('early', { faults: [down] }, async () => { await sleep(10); assert(true); });`);
    expect(found).toEqual([
      expect.stringMatching(/^FAULT_NOT_FIRED early: down\.2 changed nothing: ./),
    ]);
  });
});
