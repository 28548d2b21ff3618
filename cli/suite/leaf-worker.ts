import { parentPort, workerData } from 'node:worker_threads';
import { SimError, type PlannedTest } from '../../sim/index.ts';
import { makeEngine } from '../engine.ts';
import type { LeafAnswer, LeafTask, LeafWorkerStart } from './leaf-pool.ts';
import type { LeafRun } from './leaf-report.ts';
import { SuiteRunner } from './run-suite.ts';
import { loadSuite } from './suite.ts';

/** A worker thread of `sim test --jobs`: loads the suite for itself and answers one task after another. */
const { suite, seed, plans, artifactDir } = workerData as LeafWorkerStart;
let runner: SuiteRunner | null = null;

function answer(task: LeafTask): LeafAnswer {
  runner ??= new SuiteRunner({
    load: () => loadSuite(suite),
    makeEngine: () => makeEngine(artifactDir),
    seed,
    plans,
  });
  if (task.kind === 'discover') {
    const tests = task.tests.map((index) => suite.plan.tests[index] as PlannedTest);
    return { kind: 'leaves', leaves: runner.discover(tests) };
  }
  const runs: LeafRun[] = [];
  runner.runAll(task.leaves, (run) => runs.push(run));
  return { kind: 'runs', runs };
}

parentPort?.on('message', (task: LeafTask) => {
  try {
    parentPort?.postMessage(answer(task));
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    const { code, message, place, remedy } = error;
    parentPort?.postMessage({ kind: 'failed', code, message, place, remedy } satisfies LeafAnswer);
  }
});
