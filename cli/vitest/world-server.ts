import { dirname, resolve } from 'node:path';
import { loadFaultFile, type LoadedWorld } from '../../scenarios/index.ts';
import {
  Decisions,
  FakeClock,
  FAULT_MESSAGES,
  MALFORMED_JSON,
  RecordService,
  RecordTrace,
  type CallOutcome,
  type FaultKind,
  type FaultProfile,
  type RecordWorld,
} from '../../sim/index.ts';
import { ErrorList } from '../errors.ts';
import { makeHandlers } from '../record/handlers.ts';
import { openFaults, openWorld } from '../record/open-world.ts';
import { runSeed } from '../record/served-world.ts';
import { usageError, type Markers } from './markers.ts';

/** A call that a client saw fail: what was injected, or what the service refused. */
export class CallError extends Error {
  /** A kind of fault such as `timeout`, or of refusal such as `invalid`. */
  readonly kind: string;
  /** Whether it was injected: then the client may try again. */
  readonly injected: boolean;
  /** After how many seconds to come again; 0 where nobody said. */
  readonly retryAfterSeconds: number;

  constructor(kind: string, message: string, injected: boolean, retryAfterSeconds: number) {
    super(message);
    this.name = 'CallError';
    this.kind = kind;
    this.injected = injected;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A world within the test's own process: the server and the test see the same tables. */
export class WorldServer {
  readonly world: RecordWorld;
  readonly clock = new FakeClock();
  readonly trace = new RecordTrace();
  readonly faults: FaultProfile | null;
  /** The seed of this run: a draw of the world's seed by the run's index (FH-34). */
  readonly seed: number;
  private readonly service: RecordService;

  constructor(loaded: LoadedWorld, faults: FaultProfile | null, runIndex: number) {
    const { def, modules } = loaded;
    this.faults = faults;
    this.seed = runSeed(def.seed, runIndex);
    this.service = new RecordService({
      def,
      handlers: makeHandlers(def, modules),
      faults,
      decisions: new Decisions(this.seed, () => undefined),
      scope: `record/${def.name}`,
      runIndex,
      onCall: (event) => {
        this.trace.add(event);
      },
    });
    this.world = this.service.world;
  }

  /** The names of its operations. */
  get tools(): readonly string[] {
    return this.world.def.operations.map(({ name }) => name);
  }

  /** Calls an operation as a client would: its result, or a `CallError`. */
  call(operation: string, args: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    return Promise.resolve().then(() => {
      const { outcome } = this.service.call(operation, args, this.clock);
      // As over a network, what comes back is data of the client's own.
      return JSON.parse(JSON.stringify(valueOf(outcome))) as unknown;
    });
  }
}

function valueOf(outcome: CallOutcome): unknown {
  switch (outcome.kind) {
    case 'result':
      return outcome.value ?? null;
    case 'refusal':
      throw new CallError(outcome.refusal, outcome.message, false, 0);
    case 'fault':
      if (outcome.fault === 'empty_result') return outcome.empty ?? null;
      if (outcome.fault === 'malformed_json') JSON.parse(MALFORMED_JSON);
      throw injected(outcome.fault, outcome.retryAfterSeconds);
  }
}

function injected(kind: FaultKind, retryAfterSeconds: number): CallError {
  return new CallError(kind, FAULT_MESSAGES[kind], true, retryAfterSeconds);
}

/** A world file and its faults, with paths from the test file's folder. */
export function openMarked(
  { world, faults }: Markers,
  testFile: string,
): { readonly world: LoadedWorld; readonly faults: FaultProfile | null } {
  if (world === undefined) {
    throw usageError(
      'a fixture of a world is used, and the test names no world',
      "name one: simTest({ world: './shop.yaml' })",
    );
  }
  const path = (name: string): string => resolve(dirname(testFile), name);
  const loaded = openWorld(world, path);
  if (typeof faults !== 'object') {
    return { world: loaded, faults: openFaults(faults, loaded, path) };
  }
  const result = loadFaultFile(Buffer.from(JSON.stringify(faults)), 'faults', loaded.def);
  if (!result.ok) throw new ErrorList(result.errors);
  return { world: loaded, faults: result.faults };
}
