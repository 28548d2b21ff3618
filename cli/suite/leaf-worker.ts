import { parentPort, workerData } from 'node:worker_threads';
import { SimError, type PlannedTest } from '../../sim/index.ts';
import { makeEngine } from '../engine.ts';
import { ignoreForeignRejections } from '../foreign-rejections.ts';
import type { LeafAnswer, LeafTask, LeafWorkerStart } from './leaf-pool.ts';
import type { LeafRun } from './leaf-report.ts';
import { LostRejections, runLeavesHonestly } from './lost-rejections.ts';
import { SuiteRunner } from './run-suite.ts';
import { loadSuite } from './suite.ts';

/** A worker thread of `sim test --jobs`: loads the suite for itself and answers one task after another. */
const { suite, seed, plans, artifactDir, machines } = workerData as LeafWorkerStart;
let runner: SuiteRunner | null = null;
ignoreForeignRejections();
const lost = new LostRejections();

async function answer(task: LeafTask): Promise<LeafAnswer> {
  runner ??= new SuiteRunner({
    load: () => loadSuite(suite),
    makeEngine: () => makeEngine(artifactDir),
    seed,
    plans,
    machines,
  });
  if (task.kind === 'discover') {
    const tests = task.tests.map((index) => suite.plan.tests[index] as PlannedTest);
    const leaves = runner.discover(tests);
    await lost.take();
    return { kind: 'leaves', leaves };
  }
  const runs: LeafRun[] = [];
  await runLeavesHonestly(runner, task.leaves, lost, (run) => runs.push(run));
  return { kind: 'runs', runs };
}

parentPort?.on('message', (task: LeafTask) => {
  void answer(task)
    .catch((error: unknown): LeafAnswer => {
      if (!(error instanceof SimError)) throw error;
      const { code, message, place, remedy } = error;
      return { kind: 'failed', code, message, place, remedy };
    })
    .then((found) => parentPort?.postMessage(found));
});
