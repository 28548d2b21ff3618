import { isForeign } from '../foreign-rejections.ts';
import type { Leaf } from './leaf.ts';
import type { LeafRun } from './leaf-report.ts';
import { WATCHED_LEAVES, type SuiteRunner } from './run-suite.ts';

/**
 * Promises of bodies that were rejected and that nobody waited for: an assertion in them has failed, and the body knows
 * nothing of it. The engine tells of them only once our own code has let go of the thread.
 */
export class LostRejections {
  private reasons: unknown[] = [];
  private readonly hear = (reason: unknown, promise: unknown): void => {
    if (isForeign(promise)) this.reasons.push(reason);
  };

  constructor() {
    process.on('unhandledRejection', this.hear);
  }

  /** What they were rejected with, since the last call. */
  async take(): Promise<readonly unknown[]> {
    await new Promise((resolve) => setImmediate(resolve));
    const { reasons } = this;
    this.reasons = [];
    return reasons;
  }

  close(): void {
    process.off('unhandledRejection', this.hear);
  }
}

/** Runs leaves in their order; one that passes and loses a rejection fails. `take` is told of each. */
export async function runLeavesHonestly(
  runner: SuiteRunner,
  leaves: readonly Leaf[],
  lost: LostRejections,
  take: (run: LeafRun) => void,
): Promise<void> {
  for (let from = 0; from < leaves.length; from += WATCHED_LEAVES) {
    const some = leaves.slice(from, from + WATCHED_LEAVES);
    const runs: LeafRun[] = [];
    runner.runAll(some, (run) => runs.push(run));
    const reasons = await lost.take();
    for (const [index, run] of runs.entries()) {
      const leaf = some[index] as Leaf;
      take(reasons.length === 0 ? run : await alone(runner, leaf, lost, run));
    }
  }
}

/** Runs a leaf by itself to see whether it is one that loses a rejection. */
async function alone(
  runner: SuiteRunner,
  leaf: Leaf,
  lost: LostRejections,
  known: LeafRun,
): Promise<LeafRun> {
  if (known.report.outcome !== 'pass') return known;
  runner.runAll([leaf], () => undefined);
  const [first] = await lost.take();
  if (first === undefined) return known;
  const failed = runner.runFailed(
    leaf,
    `nobody waited for a promise that failed: ${runner.describe(first)}`,
  );
  await lost.take();
  return failed;
}
