import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SuiteRunner } from '../cli/suite/run-suite.ts';
import { loadSuite, planSuite } from '../cli/suite/suite.ts';
import { countPlan, planDocument } from '../sim/index.ts';
import { loadSpec, makePlan } from '../scenarios/spec/index.ts';
import { WasmEngine } from '../wasm/index.ts';
import type { Benchmark, Figure } from './harness.ts';
import { threadTimeMs } from './thread-time.ts';

const TESTS = 1_000;
const PLAN_ROUNDS = 40;
const LEAVES = 500;
const LEAF_ROUNDS = 12;

/** Suites: what a plan costs, and how many leaves of a trivial body run on one core. */
export const suiteBenchmark: Benchmark = {
  name: 'suite',
  async measure(progress): Promise<readonly Figure[]> {
    progress('plans');
    const plans = planTimesMs();
    const sorted = plans.toSorted((a, b) => a - b);
    progress('leaves');
    const leaves = await leavesASecond();
    const note = `${TESTS} tests of 10 leaves, from text to document, ${PLAN_ROUNDS} times in one process`;
    return [
      {
        name: 'plan of 10,000 leaves, p95',
        value: sorted[Math.ceil(0.95 * PLAN_ROUNDS) - 1] as number,
        unit: 'ms',
        bar: { kind: 'at-most', value: 100 },
        note,
      },
      { name: 'the same, the first', value: plans[0] as number, unit: 'ms', bar: null, note },
      {
        name: 'leaves of a trivial body',
        value: leaves,
        unit: '/s',
        bar: { kind: 'at-least', value: 2_000 },
        note: `processor time of all threads, best of ${LEAF_ROUNDS} rounds of ${LEAVES}`,
      },
    ];
  },
};

/** Processor time of the main thread: the parser's compilers work on threads of their own. */
function planTimesMs(): readonly number[] {
  const text = planSpec();
  return Array.from({ length: PLAN_ROUNDS }, () => {
    const start = threadTimeMs();
    const plan = makePlan(
      loadSpec('bench.sim.ts', () => text),
      1,
    );
    JSON.stringify(planDocument(plan));
    const taken = threadTimeMs() - start;
    if (countPlan(plan).instances !== 10 * TESTS) throw new Error('the plan misses leaves');
    return taken;
  });
}

function planSpec(): string {
  const tests = Array.from({ length: TESTS }, (_, index) => {
    return `test('test ${index}', async () => {
  const retries = choose('retries', [0, 1, 2, 3, 4]);
  const wal = choose('wal', ['on', 'off']);
  if (retries > 3) throw new Error(wal);
});`;
  });
  return `import { choose, test } from 'athanor/spec';\n${tests.join('\n')}\n`;
}

async function leavesASecond(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'sim-bench-'));
  const spec = `import { assert, choose, test } from 'athanor/spec';
test('t', () => {
  const a = choose('a', Array.from({ length: ${LEAVES / 10} }, (_, i) => i));
  assert(a + choose('b', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) < ${LEAVES});
});\n`;
  try {
    writeFileSync(join(folder, 'bench.sim.ts'), spec);
    const where = { path: (name: string) => join(folder, name) };
    const suite = await planSuite('bench.sim.ts', { types: false, seed: 1 }, where);
    const runner = new SuiteRunner({
      load: () => loadSuite(suite),
      makeEngine: () => new WasmEngine(),
      seed: 1,
      plans: true,
    });
    const leaves = runner.discover(suite.plan.tests);
    if (leaves.length !== LEAVES) throw new Error('the suite misses leaves');
    const rates = Array.from({ length: LEAF_ROUNDS }, () => {
      const start = process.cpuUsage();
      let passed = 0;
      runner.runAll(leaves, ({ report }) => (passed += report.outcome === 'pass' ? 1 : 0));
      const { user, system } = process.cpuUsage(start);
      if (passed !== LEAVES) throw new Error('a leaf failed');
      return (LEAVES * 1e6) / (user + system);
    });
    return Math.max(...rates);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
