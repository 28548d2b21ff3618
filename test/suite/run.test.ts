import { describe, expect, it } from 'vitest';
import { SimFolder } from '../cli/sim.ts';

const folder = new SimFolder();

const ECHO = `
const echo = service('echo', {
  ports: { main: 7000 },
  body: async () => {
    const server = listen(7000);
    for (;;) {
      const peer = await server.accept();
      for (;;) {
        const bytes = await peer.receive();
        if (bytes === null) break;
        await peer.send(bytes);
      }
      peer.close();
    }
  },
});
`;

interface LeafRecord {
  readonly title: string;
  readonly outcome: string;
  readonly detail: string;
  readonly bundle: string | null;
}

async function runSuite(
  text: string,
  args: readonly string[] = [],
): Promise<{ exitCode: number; leaves: readonly LeafRecord[]; stderr: string; stdout: string }> {
  const imports = `import { assert, assertEqual, assume, choose, connect, faultAssumption, faultMatrix,
  faultScenario, halt, listen, parallel, readFile, scenario, service, sleep, test, waitAll, waitFirst, waitN,
  writeFile } from 'athanor/spec';\n`;
  folder.write('s.sim.ts', imports + text);
  const { exitCode, stderr, stdout, records } = await folder.sim([
    'test',
    's.sim.ts',
    '--seed',
    '1',
    '--format',
    'jsonl',
    '--no-types',
    ...args,
  ]);
  const leaves = stdout === '' ? [] : records().filter(({ type }) => type === 'leaf');
  return { exitCode, leaves: leaves as unknown as LeafRecord[], stderr, stdout };
}

const outcomes = (leaves: readonly LeafRecord[]): string[] => leaves.map(({ outcome }) => outcome);

describe('sim test', () => {
  it('FB-36 FB-38 FB-47 runs each option of a choice as a leaf with a stable name', async () => {
    const { exitCode, leaves } = await runSuite(`
      test('t', () => { assert(choose('x', [1, 2, 3]) !== 2, 'two is bad'); });`);
    expect(exitCode).toBe(1);
    expect(leaves.map(({ title, outcome }) => [title, outcome])).toEqual([
      ['t [leaf 0] x=1', 'pass'],
      ['t [leaf 1] x=2', 'fail'],
      ['t [leaf 2] x=3', 'pass'],
    ]);
    expect(leaves[1]?.detail).toContain('AssertionError: two is bad\n    at body (s.sim.ts:');
  });

  it('FB-38 finds the choice of a helper by a recording pass', async () => {
    const { leaves } = await runSuite(`
      function helper() { return choose('hidden', ['a', 'b']); }
      test('t', () => { helper(); });`);
    expect(leaves).toHaveLength(2);
  });

  it('FB-39 FB-42 runs every vector of an exhaustive rule', async () => {
    const { exitCode, leaves } = await runSuite(`${ECHO}
      faultAssumption('lossy', { target: echo, rules: [
        { do: 'degrade', loss: '10%', mode: 'exhaustive', max_fires: 2 } ] });
      const talk = scenario('talk', async () => {
        const peer = await connect(echo, 7000);
        await peer.send('hello');
        assertEqual(await peer.receiveText(), 'hello');
      });
      faultScenario('lossy_talk', { scenario: talk, faults: ['lossy'] });`);
    expect(exitCode).toBe(0);
    expect(leaves.map(({ title }) => title)).toEqual([
      'talk',
      'lossy_talk [leaf 0] lossy.1=00',
      'lossy_talk [leaf 1] lossy.1=01',
      'lossy_talk [leaf 2] lossy.1=10',
      'lossy_talk [leaf 3] lossy.1=11',
    ]);
  });

  it('FB-43 FB-44 starts branches in each order, and what they send arrives in it', async () => {
    const { leaves, exitCode } = await runSuite(`
      const log = service('log', { ports: { main: 7000 }, body: async () => {
        const server = listen(7000);
        let text = '';
        for (;;) {
          const peer = await server.accept();
          text += await peer.receiveText();
          if (text.length === 3) { writeFile('/order', text); await peer.send(text); }
        }
      } });
      test('t', async () => {
        const tell = async (word) => { const peer = await connect(log, 7000); await peer.send(word); return peer; };
        const peers = await parallel(() => tell('a'), () => tell('b'), () => tell('c'), { interleavings: 'all' });
        const texts = await waitFirst(...peers.map((peer) => () => peer.receiveText()));
        throw new Error('order ' + texts);
      });`);
    expect(exitCode).toBe(1);
    const orders = leaves.map(({ detail }) => /order (\w+)/.exec(detail)?.[1]);
    expect(orders).toEqual(['abc', 'acb', 'bac', 'bca', 'cab', 'cba']);
  });

  it('FB-49 runs one leaf alone, and the bundle of a failed one replays', async () => {
    const text = `test('t', async () => { await sleep(choose('x', [1, 2])); throw new Error('no ' + Math.random()); });`;
    const { leaves } = await runSuite(text, ['--test', 't', '--leaf', '1']);
    expect(leaves.map(({ title }) => title)).toEqual(['t [leaf 1] x=2']);
    const replay = await folder.sim(['replay', leaves[0]?.bundle ?? '']);
    expect([replay.exitCode, replay.stderr]).toEqual([0, '']);
  });

  it('FB-49 replays a leaf that failed in a function that its body waits for', async () => {
    const { leaves } = await runSuite(`
      const late = async () => { await sleep(1); throw new Error('late'); };
      test('t', async () => { await sleep(1); await late(); });`);
    expect(leaves[0]?.detail).toMatch(/^Error: late\n {4}at late \(s\.sim\.ts:\d+:\d+\)$/);
    const replay = await folder.sim(['replay', leaves[0]?.bundle ?? '']);
    expect([replay.exitCode, replay.stderr]).toEqual([0, '']);
  });

  it('FB-51 waits for all, for some, for the first', async () => {
    const { exitCode } = await runSuite(`test('t', async () => {
      const after = (ms) => () => sleep(ms).then(() => ms);
      assertEqual(await waitAll(after(3), after(1)), [3, 1]);
      assertEqual(await waitFirst(after(3), after(1)), 1);
      assertEqual(await waitN(2, after(3), after(1), after(2)), [1, 2]);
    });`);
    expect(exitCode).toBe(0);
  });

  it('FB-52 leaves halted and filtered leaves out of the verdict', async () => {
    const { exitCode, leaves } = await runSuite(`
      test('t', () => { const x = choose('x', [1, 2, 3]); assume(x !== 2); if (x === 3) halt('enough'); });`);
    expect([exitCode, outcomes(leaves)]).toEqual([0, ['pass', 'filtered', 'halted']]);
  });

  it('FB-70 calls a run that its time cut off inconclusive', async () => {
    const { exitCode, leaves } = await runSuite(
      `test('t', { timeout: '2s' }, async () => { for (;;) await sleep(100); });`,
    );
    expect([exitCode, outcomes(leaves)]).toEqual([1, ['inconclusive']]);
  });

  it('gives each test of a scenario its own time', async () => {
    const { leaves } = await runSuite(`${ECHO}
      faultAssumption('slow', { target: echo, rules: [{ do: 'degrade', extra_latency: '1ms' }] });
      scenario('s', async () => { await sleep(5_000); });
      faultScenario('short', { scenario: 's', faults: ['slow'], timeout: '2s' });
      faultScenario('long', { scenario: 's', faults: ['slow'], timeout: '20s' });`);
    expect(outcomes(leaves)).toEqual(['pass', 'inconclusive', 'pass']);
  });

  it('FB-74 fails when a filter matches nothing', async () => {
    const { exitCode, stderr } = await runSuite(`test('t', () => {});`, ['--test', 'tt']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('no test is called \\"tt\\"');
  });

  it('splits leaves into shards that are the whole together', async () => {
    const text = `test('t', () => { choose('x', [1, 2, 3, 4, 5]); });`;
    const shards = [
      await runSuite(text, ['--shard', '1/2']),
      await runSuite(text, ['--shard', '2/2']),
    ];
    expect(shards.map(({ leaves }) => leaves.length)).toEqual([3, 2]);
    expect((await runSuite(text, ['--shard', '3/2'])).exitCode).toBe(64);
  });

  it('writes JUnit XML', async () => {
    await runSuite(`test('a<b', () => { assert(false, 'x & y'); });`, ['--junit', 'out.xml']);
    const xml = folder.read('out.xml').toString();
    expect(xml).toContain('<testsuite name="s.sim.ts" tests="1" failures="1"');
    expect(xml).toContain('AssertionError: x &amp; y');
  });
});

describe('the realm of bodies', () => {
  it('has no host: no modules, no process, no code from text', async () => {
    const { exitCode, leaves } = await runSuite(`test('t', () => {
      for (const name of ['process', 'require', 'Buffer', 'WebAssembly', 'SharedArrayBuffer', 'Intl', 'WeakRef', 'eval']) {
        assertEqual(typeof globalThis[name], 'undefined', name);
      }
      let made = null;
      try { made = (() => {}).constructor('return 1'); } catch {}
      assertEqual(made, null);
      assertEqual(typeof assert.constructor, 'function');
    });`);
    expect([exitCode, leaves[0]?.detail]).toEqual([0, '']);
  });

  it('has the clocks, entropy and time zone of the world, whatever the host has', async () => {
    const text = `test('t', async () => {
      await sleep(1500);
      throw new Error([Date.now(), new Date(2026, 0, 1).getTime(), new Date().getHours(), new Date().getTimezoneOffset(),
        Math.random(), crypto.randomUUID(), performance.now()].join(' '));
    });`;
    const first = (await runSuite(text)).leaves[0]?.detail ?? '';
    expect(first).toContain('1767225601500 1767225600000 0 0 0.');
    expect((await runSuite(text)).leaves[0]?.detail).toBe(first);
  });

  it('lets no body leave a trace for another', async () => {
    const { exitCode } = await runSuite(`
      let count = 0;
      test('t', () => {
        choose('x', [1, 2]);
        assertEqual(++count, 1);
        for (const holder of [globalThis, Array.prototype, Object, Math]) {
          let kept = true;
          try { holder.trace = 1; } catch { kept = false; }
          assertEqual(kept, false);
        }
      });`);
    expect(exitCode).toBe(0);
  });

  it('takes no verdict from the time of the host', async () => {
    const { exitCode, leaves, stderr } = await runSuite(`test('t', () => { for (;;); });`);
    expect([exitCode, leaves]).toEqual([5, []]);
    expect(stderr).toContain('guest/spin');
  }, 60_000);

  it('ends a body that never lets time pass', async () => {
    const { leaves } = await runSuite(`test('t', async () => { for (;;) await sleep(0); });`);
    expect(leaves[0]?.outcome).toBe('fail');
  });

  it('resumes a body from a checkpoint', async () => {
    folder.write(
      's.sim.ts',
      `import { test, sleep } from 'athanor/spec';
      test('t', async () => { for (let i = 0; i < 10; i++) { await sleep(100); console.log(i, Math.random()); } throw new Error('end'); });`,
    );
    const run = await folder.sim(['test', 's.sim.ts', '--seed', '1', '--format', 'jsonl']);
    const bundle = run.records().find(({ type }) => type === 'leaf')?.['bundle'] as string;
    const saved = await folder.sim([
      'save',
      bundle,
      '--at',
      'virtual-time=500ms',
      '--out',
      'half.athanor',
    ]);
    expect([saved.exitCode, saved.stderr]).toEqual([0, '']);
    const end = async (...args: string[]): Promise<unknown> => {
      const { records } = await folder.sim([...args, '--format', 'jsonl']);
      const last = records().find(({ type }) => type === 'result');
      return [last?.['verdict'], last?.['decision_chain'], last?.['event_chain'], last?.['end_ns']];
    };
    const whole = await end('run', bundle, '--out', 'whole.athanor');
    expect(whole).toEqual(['fail', expect.any(String), expect.any(String), 1_000_000_000]);
    expect(await end('resume', 'half.athanor', '--out', 'resumed.athanor')).toEqual(whole);
  });
});
