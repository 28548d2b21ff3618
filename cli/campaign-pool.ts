import { Worker } from 'node:worker_threads';
import { sharedMachines, type MachineChoice } from './machines/machine-backend.ts';
import { encodeScenario, SimError, type ErrorCode, type ScenarioDef } from '../sim/index.ts';
import type { Code } from '../wasm/index.ts';
import type { SeedResult } from './campaign-run.ts';
import { endWorker } from './end-worker.ts';

/** At most this many workers: a memory each, and no machine has more cores to give. */
export const JOBS_MAX = 256;
/** Workers are given so many chunks each, so that they end at about the same time. */
const CHUNKS_PER_JOB = 8;
const CHUNK_MAX = 64;

/** What a worker starts with; code and images are shared, not copied, where that is possible. */
export interface WorkerStart {
  readonly scenario: Uint8Array;
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly shared: readonly Code[];
  readonly machines: MachineChoice | undefined;
}

/** Seeds to run: from the first, so many. */
export interface Chunk {
  readonly first: number;
  readonly count: number;
}

/** What a worker is told. */
export type ToWorker = ({ readonly kind: 'chunk' } & Chunk) | { readonly kind: 'end' };

/** What a worker says: a result, the end of its chunk, or that it gives up. */
export type WorkerMessage =
  | { readonly kind: 'result'; readonly result: SeedResult }
  | { readonly kind: 'done' }
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly place: string | undefined;
      readonly remedy: string | undefined;
    };

/** Worker threads that run seeds of one scenario. */
export class CampaignPool {
  private readonly start: WorkerStart;
  private readonly jobs: number;

  constructor(options: {
    readonly scenario: ScenarioDef;
    readonly images: ReadonlyMap<string, Uint8Array>;
    readonly shared: readonly Code[];
    readonly machines?: MachineChoice | undefined;
    readonly jobs: number;
  }) {
    const { images, shared, machines, jobs } = options;
    this.start = {
      scenario: encodeScenario(options.scenario),
      images,
      shared,
      machines: sharedMachines(machines, jobs),
    };
    this.jobs = jobs;
  }

  /** Runs `count` seeds from `first` on; results come in no order. */
  async run(first: number, count: number, take: (result: SeedResult) => void): Promise<void> {
    let given = 0;
    const next = (): Chunk | null => {
      const left = count - given;
      if (left === 0) return null;
      const share = Math.ceil(left / (this.jobs * CHUNKS_PER_JOB));
      const chunk = { first: first + given, count: Math.min(share, CHUNK_MAX, left) };
      given += chunk.count;
      return chunk;
    };
    const workers: Worker[] = [];
    try {
      await Promise.all(
        Array.from({ length: Math.min(this.jobs, count) }, () => {
          const worker = new Worker(new URL('./campaign-worker.js', import.meta.url), {
            workerData: this.start,
          });
          workers.push(worker);
          return serve(worker, next, take);
        }),
      );
    } finally {
      await Promise.all(workers.map(endWorker));
    }
  }
}

/** Gives a worker chunks until there are no more. */
function serve(
  worker: Worker,
  next: () => Chunk | null,
  take: (result: SeedResult) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const give = (): void => {
      const chunk = next();
      if (chunk === null) resolve();
      else worker.postMessage({ kind: 'chunk', ...chunk } satisfies ToWorker);
    };
    worker.on('message', (message: WorkerMessage) => {
      try {
        if (message.kind === 'result') take(message.result);
        else if (message.kind === 'done') give();
        else reject(new SimError(plainError(message)));
      } catch (error) {
        reject(error as Error);
      }
    });
    worker.on('error', reject);
    worker.on('exit', (code) => {
      const message = `a worker ended early with code ${code}`;
      reject(new SimError({ code: 'crash/worker', message }));
    });
    give();
  });
}

/** The options of an error that a worker has told of: what it does not have is left out. */
export function plainError(message: {
  readonly code: ErrorCode;
  readonly message: string;
  readonly place: string | undefined;
  readonly remedy: string | undefined;
}): {
  code: ErrorCode;
  message: string;
  place?: string;
  remedy?: string;
} {
  const { code, message: text, place, remedy } = message;
  return {
    code,
    message: text,
    ...(place === undefined ? {} : { place }),
    ...(remedy === undefined ? {} : { remedy }),
  };
}
