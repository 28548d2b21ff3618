import { relative } from 'node:path';
import { afterAll, describe, test as plainTest, type TestAPI, type TestContext } from 'vitest';
import type { FakeClock, FaultProfile, RecordTrace, RecordWorld } from '../../sim/index.ts';
import { shellQuote } from '../host.ts';
import { runSeed } from '../record/served-world.ts';
import { checkMarkers, runCount, type Markers } from './markers.ts';
import { PassRate, repetition, type FailedRun } from './pass-rate.ts';
import { openMarked, WorldServer } from './world-server.ts';
import { WorldProcess } from './world-process.ts';

/** What a test's body is given, besides vitest's own context (FH-42). Only what it names is made. */
export interface Fixtures {
  /** The run's index, from 0. */
  readonly run: number;
  /** A server in this process. */
  readonly server: WorldServer;
  /** Its tables. */
  readonly world: RecordWorld;
  /** Its clock, which stands still but for latency. */
  readonly clock: FakeClock;
  /** What goes wrong, or null. */
  readonly faults: FaultProfile | null;
  /** The attempts so far. */
  readonly trace: RecordTrace;
  /** The same world, served by a process of its own over HTTP. */
  readonly url: WorldProcess;
}

export type SimBody = (fixtures: Fixtures & TestContext) => unknown;

/** Declares tests whose runs differ in nothing but the seed. */
export interface SimTest {
  (name: string, body: SimBody): void;
  (name: string, markers: Markers, body: SimBody): void;
}

type Known = typeof plainTest extends TestAPI<infer Context> ? Context : never;
type Extended = TestAPI<Known & Fixtures>;

/** What a run has made: told where it fails. */
interface Made {
  seed: number | null;
  server: WorldServer | null;
  url: WorldProcess | null;
}

/**
 * Tests of a record world: `simTest({ world: './shop.yaml', runs: 20, minPassRate: 0.95 })` gives a function
 * to declare them with. Each run is an ordinary item of vitest (FH-43). Throws `usage/vitest` for markers
 * that cannot be.
 */
export function simTest(common: Markers = {}): SimTest {
  return (name: string, ...rest: readonly [SimBody] | readonly [Markers, SimBody]) => {
    const [own, body] = rest.length === 1 ? [{}, rest[0]] : rest;
    const markers = { ...common, ...own };
    checkMarkers(markers, name);
    const count = runCount(markers);
    const { minPassRate } = markers;
    if (count === null && minPassRate === undefined) {
      declareRun({ title: name, run: 0, markers, body, rate: null, opened: new Map() });
      return;
    }
    describe(name, () => {
      const opened: Opened = new Map();
      const rate = minPassRate === undefined ? null : new PassRate(name, minPassRate);
      for (let run = 0; run < (count ?? 1); run++) {
        declareRun({ title: `run ${run}`, run, markers, body, rate, opened });
      }
      if (rate === null) return;
      // Only runs of this group that were not filtered out let it come to this.
      afterAll(() => {
        if (rate.isBelow) throw new Error(rate.report());
        console.log(rate.report());
      });
    });
  };
}

interface Run {
  readonly title: string;
  readonly run: number;
  readonly markers: Markers;
  readonly body: SimBody;
  readonly rate: PassRate | null;
  /** The worlds that runs of the test have read, by test file: their files stay as they are. */
  readonly opened: Opened;
}

type Opened = Map<string, ReturnType<typeof openMarked>>;

function declareRun({ title, run, markers, body, rate, opened }: Run): void {
  const made: Made = { seed: null, server: null, url: null };
  const item = extend({ run, markers, opened }, made);
  const whole = async (context: Fixtures & TestContext): Promise<void> => {
    try {
      await body(context);
      rate?.passed();
    } catch (error) {
      if (isSkip(error)) throw error;
      const failed = { ...tellRun(run, made, context), message: firstLine(error) };
      if (rate === null) throw explained(error, failed);
      rate.failedRun(failed);
    }
  };
  // Vitest makes the fixtures that a body's own text names.
  Object.defineProperty(whole, 'toString', { value: () => body.toString() });
  item(title, whole);
}

function extend(
  { run, markers, opened }: Pick<Run, 'run' | 'markers' | 'opened'>,
  made: Made,
): Extended {
  const open = (file: string): ReturnType<typeof openMarked> => {
    const known = opened.get(file) ?? openMarked(markers, file);
    opened.set(file, known);
    return known;
  };
  const serve = (file: string): WorldServer => {
    const { world, faults } = open(file);
    made.server ??= new WorldServer(world, faults, run);
    made.seed = made.server.seed;
    return made.server;
  };
  return plainTest.extend<Fixtures>({
    // A number is used as it is; functions are fixtures.
    run,
    server: async ({ task }, use) => use(serve(task.file.filepath)),
    world: async ({ server }, use) => use(server.world),
    clock: async ({ server }, use) => use(server.clock),
    faults: async ({ server }, use) => use(server.faults),
    trace: async ({ server }, use) => use(server.trace),
    url: async ({ task }, use) => {
      const { world } = open(task.file.filepath);
      made.seed = runSeed(world.def.seed, run);
      made.url = await WorldProcess.start(markers, task.file.filepath, run);
      try {
        await use(made.url);
      } finally {
        await made.url.close();
      }
    },
  }) as Extended;
}

/** How a run is seen again: its trace, its seed and the command for it alone (FH-49). */
function tellRun(run: number, made: Made, { task }: TestContext): Omit<FailedRun, 'message'> {
  const file = relative(process.cwd(), task.file.filepath);
  const names: string[] = [];
  for (let at: typeof task | typeof task.suite = task; at !== undefined; at = at.suite) {
    names.unshift(at.name);
  }
  const pattern = `^${names.join(' ').replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
  const runs = process.env['ATHANOR_RUNS'];
  const given = runs === undefined || runs === '' ? '' : `ATHANOR_RUNS=${runs} `;
  return {
    run,
    seed: made.seed,
    trace: made.url?.summary() ?? made.server?.trace.summary() ?? null,
    replay: `${given}npx vitest run ${shellQuote(file)} -t ${shellQuote(pattern)}`,
  };
}

/** The error with how to see it again: reporters show its message. */
function explained(error: unknown, failed: FailedRun): unknown {
  const text = `\n\n${repetition(failed).join('\n')}`;
  if (!(error instanceof Error)) return new Error(`${String(error)}${text}`);
  error.message += text;
  return error;
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? '';
}

/** Somebody skipped the run: it has not run. */
function isSkip(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'VITEST_PENDING';
}
