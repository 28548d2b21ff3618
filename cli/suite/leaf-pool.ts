import { Worker } from 'node:worker_threads';
import { SimError, type ErrorCode } from '../../sim/index.ts';
import { plainError } from '../campaign-pool.ts';
import { sharedMachines, type MachineChoice } from '../machines/machine-backend.ts';
import type { Leaf } from './leaf.ts';
import type { LeafRun } from './leaf-report.ts';
import type { PlannedSuite } from './suite.ts';

/** What a worker starts with. */
export interface LeafWorkerStart {
  readonly suite: PlannedSuite;
  readonly seed: number;
  readonly plans: boolean;
  readonly artifactDir: string;
  /** How machines are run; undefined where no service is one. */
  readonly machines: MachineChoice | undefined;
}

/** What a worker is asked: the leaves of some tests, by their numbers in the plan, or to run some. */
export type LeafTask =
  | { readonly kind: 'discover'; readonly tests: readonly number[] }
  | { readonly kind: 'run'; readonly leaves: readonly Leaf[] };

export type LeafAnswer =
  | { readonly kind: 'leaves'; readonly leaves: readonly Leaf[] }
  | { readonly kind: 'runs'; readonly runs: readonly LeafRun[] }
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly place: string | undefined;
      readonly remedy: string | undefined;
    };

/** Workers are given so many parts each, so that they end at about the same time; a part is at most so long. */
const PARTS_PER_JOB = 8;
const PART_MAX = 16;

/** Worker threads that run leaves of a suite. What they answer is taken in the order of what was asked. */
export class LeafPool {
  private readonly workers: readonly Worker[];

  constructor(start: LeafWorkerStart, jobs: number) {
    const workerData: LeafWorkerStart = {
      ...start,
      machines: sharedMachines(start.machines, jobs),
    };
    this.workers = Array.from({ length: jobs }, () => {
      return new Worker(new URL('./leaf-worker.js', import.meta.url), { workerData });
    });
  }

  /** The leaves of the plan's tests of these numbers. */
  async discover(tests: readonly number[]): Promise<readonly Leaf[]> {
    const found: Leaf[] = [];
    const tasks = this.parts(tests).map((part) => ({ kind: 'discover' as const, tests: part }));
    await this.work(tasks, (answer) => {
      if (answer.kind === 'leaves') for (const leaf of answer.leaves) found.push(leaf);
    });
    return found;
  }

  /** Runs leaves; `take` is told of each, in their order. */
  async runAll(leaves: readonly Leaf[], take: (run: LeafRun) => void): Promise<void> {
    const tasks = this.parts(leaves).map((part) => ({ kind: 'run' as const, leaves: part }));
    await this.work(tasks, (answer) => {
      if (answer.kind === 'runs') answer.runs.forEach(take);
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }

  private parts<T>(items: readonly T[]): (readonly T[])[] {
    const share = Math.ceil(items.length / (this.workers.length * PARTS_PER_JOB));
    const length = Math.max(1, Math.min(share, PART_MAX));
    return Array.from({ length: Math.ceil(items.length / length) }, (_, part) => {
      return items.slice(part * length, (part + 1) * length);
    });
  }

  private async work(
    tasks: readonly LeafTask[],
    take: (answer: LeafAnswer) => void,
  ): Promise<void> {
    const early = new Map<number, LeafAnswer>();
    let given = 0;
    let taken = 0;
    await Promise.all(
      this.workers.map(async (worker) => {
        while (given < tasks.length) {
          const index = given++;
          early.set(index, await ask(worker, tasks[index] as LeafTask));
          for (let next = early.get(taken); next !== undefined; next = early.get(taken)) {
            early.delete(taken++);
            take(next);
          }
        }
      }),
    );
  }
}

/** One question to a worker that is at rest. */
function ask(worker: Worker, task: LeafTask): Promise<LeafAnswer> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void): void => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      end();
    };
    const onMessage = (answer: LeafAnswer): void => {
      settle(() => {
        if (answer.kind === 'failed') reject(new SimError(plainError(answer)));
        else resolve(answer);
      });
    };
    const onError = (error: Error): void => {
      settle(() => {
        reject(error);
      });
    };
    const onExit = (code: number): void => {
      settle(() => {
        const message = `a worker ended early with code ${code}`;
        reject(new SimError({ code: 'crash/worker', message }));
      });
    };
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    worker.postMessage(task);
  });
}
