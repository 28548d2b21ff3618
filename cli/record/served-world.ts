import { appendFileSync, writeFileSync } from 'node:fs';
import {
  Decisions,
  draw53,
  FakeClock,
  RecordService,
  streamKey,
  summarise,
  type CallOutcome,
  type FaultProfile,
  type HandlerArgs,
  type TraceEvent,
} from '../../sim/index.ts';
import type { LoadedWorld } from '../../scenarios/index.ts';
import { writeAtomically, writeError } from '../atomic-write.ts';
import { makeHandlers } from './handlers.ts';

export interface ServedWorldOptions {
  readonly world: LoadedWorld;
  readonly faults: FaultProfile | null;
  readonly runIndex: number;
  /** How far the clock goes on with each call, besides latency. */
  readonly stepNs: number;
  /** Where the state goes after every attempt, or null. */
  readonly stateFile: string | null;
  /** Where the trace goes, a line an attempt, or null. */
  readonly traceFile: string | null;
}

/** The state tells the line of at most so many attempts, so that writing it costs what it holds. */
const SUMMARY_CALLS_MAX = 200;

/**
 * The seed of a run of a world that is served by itself: a draw of the world's seed on the stream
 * `record/run` with the run's index as ordinal (FH-34).
 */
export function runSeed(worldSeed: number, runIndex: number): number {
  return draw53(streamKey(worldSeed, 'record/run'), runIndex, 0);
}

/** A world that clients outside of any simulation call. Calls are answered one after another. */
export class ServedWorld {
  readonly service: RecordService;
  readonly clock = new FakeClock();
  private readonly options: ServedWorldOptions;
  private readonly recent: TraceEvent[] = [];
  private callCount = 0;

  constructor(options: ServedWorldOptions) {
    const { world, faults, runIndex } = options;
    this.options = options;
    this.service = new RecordService({
      def: world.def,
      handlers: makeHandlers(world.def, world.modules),
      faults,
      decisions: new Decisions(runSeed(world.def.seed, runIndex), () => undefined),
      scope: `record/${world.def.name}`,
      runIndex,
      onCall: (event) => {
        this.tell(event);
      },
    });
    if (options.traceFile !== null) guard(options.traceFile, (path) => writeFileSync(path, ''));
    this.mirror();
  }

  /** Answers a call; the state has been mirrored when it returns, whatever became of it (FH-23). */
  call(operation: string, args: HandlerArgs): CallOutcome {
    this.clock.advance(this.options.stepNs);
    const { outcome } = this.service.call(operation, args, this.clock);
    this.mirror();
    return outcome;
  }

  private tell(event: TraceEvent): void {
    this.callCount++;
    this.recent.push(event);
    if (this.recent.length > SUMMARY_CALLS_MAX) this.recent.shift();
    const { traceFile } = this.options;
    if (traceFile === null) return;
    guard(traceFile, (path) => {
      appendFileSync(path, `${JSON.stringify(event)}\n`);
    });
  }

  private mirror(): void {
    const { stateFile, runIndex } = this.options;
    if (stateFile === null) return;
    const { world } = this.service;
    const state = {
      schema_version: 1,
      world: world.name,
      seed: world.def.seed,
      run: runIndex,
      now: this.clock.now(),
      revision: world.revision,
      calls: this.callCount,
      trace: summarise(this.recent),
      tables: world.snapshot(),
    };
    writeAtomically(stateFile, Buffer.from(`${JSON.stringify(state)}\n`));
  }
}

function guard(path: string, write: (path: string) => void): void {
  try {
    write(path);
  } catch (error) {
    throw writeError(path, error);
  }
}
