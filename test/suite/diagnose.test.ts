import { describe, expect, it } from 'vitest';
import { SimFolder } from '../cli/sim.ts';

const folder = new SimFolder();

async function diagnostics(text: string, expected = 0): Promise<readonly string[]> {
  folder.write('s.sim.ts', text);
  const command = ['test', 's.sim.ts', '--seed', '1', '--no-types', '--format', 'jsonl'];
  const { exitCode, stderr, records } = await folder.sim(command);
  expect([exitCode, stderr]).toEqual([expected, '']);
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
      'NO_POSITIVE_CONTROL early: no leaf shows that it passes without its faults',
    ]);
  });

  const SERVICE = `import { assert, connect, faultAssumption, faultScenario, listen, scenario, service, sleep, test }
      from 'athanor/spec';
      const db = service('db', { body: async () => { await listen(7000).accept(); } });
      const slow = faultAssumption('slow', { target: db, rules: [{ do: 'degrade', extra_latency: '1ms' }] });
      const late = faultAssumption('late', { target: db, rules: [{ do: 'crash', node: 'db', at: '3600s' }] });`;

  it('FB-72 tells apart why the time of a leaf was up', async () => {
    const found = await diagnostics(
      `${SERVICE}
      const body = async () => { for (;;) await sleep(100); };
      test('plain', { timeout: '1s' }, body);
      test('under', { timeout: '1s', faults: [slow] }, body);
      test('before', { timeout: '1s', faults: [late] }, body);`,
      1,
    );
    expect(found.filter((line) => line.startsWith('TIMEOUT'))).toEqual([
      'TIMEOUT_NO_FAULTS plain: plain: its time was up without any fault',
      'TIMEOUT_DURING_FAULT under: under: its time was up under a fault',
      'TIMEOUT_NO_FAULT_FIRED before: before: its time was up, and no fault had fired',
    ]);
  });

  it('FB-72 names services that broke, faults without an effect, and tests without a control', async () => {
    const found = await diagnostics(
      `${SERVICE}
      service('bad', { body: async () => { throw new Error('no'); } });
      const fine = scenario('fine', async () => { await sleep(5); assert(true); });
      faultScenario('must fail', { scenario: fine, faults: [slow], expect: 'fails' });
      test('alone', { faults: [slow] }, async () => { await sleep(5); assert(true); });`,
      1,
    );
    expect(found).toEqual([
      'SERVICE_CRASHED fine: fine: service bad: it exited with 1',
      'SERVICE_CRASHED must fail: must fail: service bad: it exited with 1',
      'FAULT_FIRED_BUT_SUCCESS must fail: must fail: it passed although slow.1 fired',
      'NO_POSITIVE_CONTROL alone: no leaf shows that it passes without its faults',
      'SERVICE_CRASHED alone: alone: service bad: it exited with 1',
    ]);
  });

  it('FB-11 FB-72 says in a record that there are no tests', async () => {
    folder.write('none.sim.ts', `import { service } from 'athanor/spec';\nservice('db');`);
    const command = ['test', 'none.sim.ts', '--no-types', '--format', 'jsonl'];
    const { exitCode, records } = await folder.sim(command);
    expect([exitCode, records()[0]?.['code']]).toEqual([1, 'NO_TESTS_DISCOVERED']);
    const cost = ['plan', 'none.sim.ts', '--check-cost', '--max-instances', '0'];
    expect((await folder.sim(cost)).exitCode).toBe(0);
  });
});
