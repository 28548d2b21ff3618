import type { PlannedTest } from '../../sim/index.ts';
import { makeEngine } from '../engine.ts';
import type { Leaf } from './leaf.ts';
import { LeafPool, type LeafWorkerStart } from './leaf-pool.ts';
import type { LeafRun } from './leaf-report.ts';
import { LostRejections, runLeavesHonestly } from './lost-rejections.ts';
import { SuiteRunner } from './run-suite.ts';
import { loadSuite } from './suite.ts';

/** Who runs leaves. All give the same, in the order of what they were asked. */
export interface LeafCrew {
  discover(tests: readonly PlannedTest[]): Promise<readonly Leaf[]>;
  runAll(leaves: readonly Leaf[], take: (run: LeafRun) => void): Promise<void>;
  close(): Promise<void>;
}

/** So many worker threads, or this one. */
export function openLeafCrew(start: LeafWorkerStart, jobs: number): LeafCrew {
  const { suite, seed, plans, artifactDir, machines } = start;
  if (jobs > 1) {
    const pool = new LeafPool(start, jobs);
    const numbers = new Map(suite.plan.tests.map((test, index) => [test.name, index]));
    return {
      discover: (tests) => pool.discover(tests.map(({ name }) => numbers.get(name) ?? 0)),
      runAll: (leaves, take) => pool.runAll(leaves, take),
      close: () => pool.close(),
    };
  }
  const runner = new SuiteRunner({
    load: () => loadSuite(suite),
    makeEngine: () => makeEngine(artifactDir),
    seed,
    plans,
    machines,
  });
  const lost = new LostRejections();
  return {
    discover: async (tests) => {
      const found = runner.discover(tests);
      await lost.take();
      return found;
    },
    runAll: (leaves, take) => runLeavesHonestly(runner, leaves, lost, take),
    close: () => Promise.resolve(lost.close()),
  };
}
