import { Worker } from 'node:worker_threads';
import { assert, SimError, type ErrorCode } from '../sim/index.ts';
import type { Code, WasmEngine } from '../wasm/index.ts';
import { JOBS_MAX, plainError } from './campaign-pool.ts';
import { endWorker } from './end-worker.ts';
import { sharedMachines } from './machines/machine-backend.ts';
import { ThreadMachines } from './machines/thread-machines.ts';
import { runProbe, type Probe, type ProbeResult, type ProbeStart } from './probe.ts';

/** What a worker is told. */
export type ToWorker =
  | {
      readonly kind: 'start';
      readonly id: number;
      readonly start: ProbeStart;
      readonly shared: readonly Code[];
    }
  | { readonly kind: 'drop'; readonly id: number }
  | { readonly kind: 'probe'; readonly ticket: number; readonly probe: Probe }
  /** Ends what it holds, and then itself. */
  | { readonly kind: 'end' };

/** What a worker says. */
export type FromWorker =
  | { readonly kind: 'result'; readonly ticket: number; readonly result: ProbeResult }
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly place: string | undefined;
      readonly remedy: string | undefined;
    };

interface Known {
  readonly start: ProbeStart;
  readonly shared: readonly Code[];
}

/** A worker and the starts that it has been told of. */
interface Hand {
  readonly worker: Worker;
  readonly knows: Set<number>;
}

/**
 * Runs continuations, several at a time in worker threads, or here where `jobs` is 1. Results stand
 * in the order of the questions, whatever the number of workers; a probe's result is a function of
 * its start and of the probe alone.
 */
export class ProbePool {
  private readonly jobs: number;
  private readonly engine: WasmEngine;
  private readonly starts = new Map<number, Known>();
  private readonly hands: Hand[] = [];
  /** For probes that run here. */
  private readonly machines = new ThreadMachines();
  private nextStart = 0;
  private count = 0;

  /** Throws `usage/jobs` for a number of jobs that is not within 1 to 256. */
  constructor(options: { readonly jobs: number; readonly engine: WasmEngine }) {
    const { jobs, engine } = options;
    if (!Number.isInteger(jobs) || jobs < 1 || jobs > JOBS_MAX) {
      throw new SimError({
        code: 'usage/jobs',
        message: `--jobs is ${jobs}, expected 1 to ${JOBS_MAX}`,
      });
    }
    this.jobs = jobs;
    this.engine = engine;
  }

  /** How many probes have been run. */
  get probeCount(): number {
    return this.count;
  }

  /**
   * Makes a start known and compiles its guests; returns its number. Throws `guest/…` for an image
   * that is not acceptable.
   */
  addStart(start: ProbeStart): number {
    for (const { guest, memoryPagesMax } of start.scenario.world.nodes) {
      const image = start.images.get(guest.image);
      if (image === undefined || guest.kind !== 'wasm') continue;
      this.engine.load(guest.image, image, memoryPagesMax);
    }
    const id = this.nextStart++;
    const machines = sharedMachines(start.machines, this.jobs);
    const own = machines === undefined ? start : { ...start, machines };
    this.starts.set(id, { start: own, shared: this.jobs === 1 ? [] : this.engine.shareable() });
    return id;
  }

  /** Forgets a start, here and in the workers. */
  dropStart(id: number): void {
    this.starts.delete(id);
    for (const { worker, knows } of this.hands) {
      if (knows.delete(id)) worker.postMessage({ kind: 'drop', id } satisfies ToWorker);
    }
  }

  /** The results of all probes, in their order. */
  async run(probes: readonly Probe[]): Promise<readonly ProbeResult[]> {
    const results = await this.runSome(probes, () => false);
    return results.map((result) => {
      assert(result !== null, 'every probe has been run');
      return result;
    });
  }

  /**
   * The first probe, in their order, whose result holds; null if none does. Later ones may be run
   * too, in vain, but are never taken.
   */
  async first(
    probes: readonly Probe[],
    holds: (result: ProbeResult) => boolean,
  ): Promise<{ readonly index: number; readonly result: ProbeResult } | null> {
    const results = await this.runSome(probes, holds);
    for (const [index, result] of results.entries()) {
      if (result !== null && holds(result)) return { index, result };
    }
    return null;
  }

  /** Ends the workers, and all machines. */
  async close(): Promise<void> {
    const hands = this.hands.splice(0);
    this.machines.close();
    await Promise.all(hands.map(({ worker }) => endWorker(worker)));
  }

  /** Runs probes in order until one holds; what was not run is null. */
  private async runSome(
    probes: readonly Probe[],
    holds: (result: ProbeResult) => boolean,
  ): Promise<(ProbeResult | null)[]> {
    const results: (ProbeResult | null)[] = probes.map(() => null);
    let given = 0;
    let done = false;
    const next = (): number | null => (done || given >= probes.length ? null : given++);
    const take = (index: number, result: ProbeResult): void => {
      results[index] = result;
      this.count++;
      done ||= holds(result);
    };
    if (this.jobs === 1) {
      for (let index = next(); index !== null; index = next()) {
        const probe = probes[index] as Probe;
        const { start } = this.known(probe);
        const host = this.machines.hostFor(start);
        take(index, runProbe(start, probe, this.engine, undefined, host).result);
        // Lets signals in between runs.
        if (index % 16 === 15) await new Promise((resolve) => setImmediate(resolve));
      }
      return results;
    }
    const wanted = Math.min(this.jobs, probes.length);
    while (this.hands.length < wanted) this.hands.push(newHand());
    await Promise.all(
      this.hands.slice(0, wanted).map((hand) => this.serve(hand, probes, next, take)),
    );
    return results;
  }

  /** Gives a worker probe after probe until there are no more. */
  private serve(
    { worker, knows }: Hand,
    probes: readonly Probe[],
    next: () => number | null,
    take: (index: number, result: ProbeResult) => void,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      // One by one: a worker has listeners of its own, without which it is never heard again.
      const end = (settle: () => void): void => {
        worker.off('message', hear).off('error', fail).off('exit', leave);
        settle();
      };
      const give = (): void => {
        const ticket = next();
        if (ticket === null) return end(resolve);
        const probe = probes[ticket] as Probe;
        if (!knows.has(probe.start)) {
          const { start, shared } = this.known(probe);
          worker.postMessage({ kind: 'start', id: probe.start, start, shared } satisfies ToWorker);
          knows.add(probe.start);
        }
        worker.postMessage({ kind: 'probe', ticket, probe } satisfies ToWorker);
      };
      const hear = (message: FromWorker): void => {
        try {
          if (message.kind === 'failed') throw new SimError(plainError(message));
          take(message.ticket, message.result);
          give();
        } catch (error) {
          fail(error as Error);
        }
      };
      const fail = (error: Error): void => end(() => reject(error));
      const leave = (code: number): void => {
        const message = `a worker ended early with code ${code}`;
        fail(new SimError({ code: 'crash/worker', message }));
      };
      worker.on('message', hear).on('error', fail).on('exit', leave);
      give();
    });
  }

  private known({ start }: Probe): Known {
    const known = this.starts.get(start);
    assert(known !== undefined, 'a probe starts where the pool was told of');
    return known;
  }
}

function newHand(): Hand {
  const worker = new Worker(new URL('./probe-worker.js', import.meta.url));
  return { worker, knows: new Set() };
}
