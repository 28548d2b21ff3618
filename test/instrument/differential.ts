import { SimError } from '../../sim/index.ts';
import { instrument, type InstrumentOptions } from '../../wasm/instrument/index.ts';
import { encode } from './encode.ts';
import {
  STRAIGHT,
  preemptEvery,
  preemptOnceAt,
  runInstrumented,
  type InstrumentedTrace,
  type Schedule,
  type Subject,
} from './instrumented-run.ts';
import type { ModuleModel } from './model.ts';
import { runPlain, type PlainTrace } from './plain-run.ts';
import { canonicaliser, counting, withCount } from './rewriters.ts';
import { difference, memoryDifference } from './trace.ts';

/** The most memory that either side of a comparison may have, in pages of 64 KiB. */
const MEMORY_PAGES_MAX = 64;

const NOTHING: InstrumentOptions = {
  nan: false,
  fuel: false,
  depth: false,
  suspend: 'none',
  dirtyPages: false,
  memoryPagesMax: MEMORY_PAGES_MAX,
};

/** All that the engine of the simulator turns on. */
export const EVERYTHING: InstrumentOptions = {
  nan: true,
  fuel: true,
  depth: true,
  suspend: 'anywhere',
  dirtyPages: true,
  memoryPagesMax: MEMORY_PAGES_MAX,
  asksToGrow: true,
};

/** Growth is asked for or not: nothing else may differ, not even the count at a trap. */
const UNASKED = ' growing unasked';

/** The option sets to try, by name: each part alone, then together. */
export const COMBINATIONS: ReadonlyMap<string, InstrumentOptions> = new Map([
  ['everything', EVERYTHING],
  [`everything${UNASKED}`, { ...EVERYTHING, asksToGrow: false }],
  ['nothing', NOTHING],
  ['nan', { ...NOTHING, nan: true }],
  ['fuel', { ...NOTHING, fuel: true }],
  ['depth', { ...NOTHING, depth: true }],
  ['dirty', { ...NOTHING, dirtyPages: true }],
  ['blocking', { ...NOTHING, suspend: 'blocking' }],
  ['anywhere', { ...NOTHING, fuel: true, suspend: 'anywhere' }],
  ['blocking+fuel+depth', { ...NOTHING, fuel: true, depth: true, suspend: 'blocking' }],
  ['blocking+nan+dirty', { ...NOTHING, nan: true, dirtyPages: true, suspend: 'blocking' }],
  ['anywhere+depth+dirty', { ...EVERYTHING, nan: false }],
  ['anywhere+nan', { ...NOTHING, nan: true, fuel: true, suspend: 'anywhere' }],
]);

/** How hard to try. */
export interface Effort {
  readonly combinations: readonly string[];
  /** Fuel counts at which a run is preempted once; all counts when there are no more than these. */
  readonly sweepMax: number;
}

/** Where an instrumented run differs from the plain one. */
export interface Mismatch {
  readonly combination: string;
  readonly schedule: string;
  readonly detail: string;
}

export interface Outcome {
  readonly mismatch: Mismatch | null;
  /** Option sets that refused the module, with the reason. */
  readonly refusals: readonly string[];
  readonly runCount: number;
  readonly suspensionCount: number;
  readonly executed: number;
}

function sum(list: readonly number[]): number {
  return list.reduce((total, value) => total + value, 0);
}

class Comparison {
  readonly model: ModuleModel;
  readonly seed: number;
  readonly effort: Effort;
  readonly refusals: string[] = [];
  readonly #raw: Uint8Array;
  readonly #canonical: Uint8Array;
  readonly #reference: PlainTrace;
  /** What the raw module (true) and the canonicalised one execute. */
  readonly #exact = new Map<boolean, { calls: readonly number[]; imports: string }>();
  /** Totals after each call, traps included, by option set. */
  readonly #totals = new Map<string, string>();
  runCount = 0;
  suspensionCount = 0;

  constructor(model: ModuleModel, seed: number, effort: Effort) {
    this.model = model;
    this.seed = seed;
    this.effort = effort;
    this.#raw = encode(model);
    this.#canonical = encode(model, canonicaliser(true));
    this.#reference = this.#runPlain(false);
  }

  get executed(): number {
    return sum(this.#exact.get(true)?.calls ?? []);
  }

  /** The canonicalised module, counting the raw module's instructions or all of its own. */
  #runPlain(countsCanonicaliser: boolean): PlainTrace {
    const { model, seed } = this;
    const global = model.globals.length;
    const { min, max } = model.memory;
    const counted = encode(
      // Recursion can grow a memory without a maximum past what the instrumented side may have.
      withCount({ ...model, memory: { min, max: max ?? MEMORY_PAGES_MAX } }),
      counting(canonicaliser(true), { global, countsCanonicaliser }),
    );
    return runPlain(new WebAssembly.Module(counted), model, seed);
  }

  /** The first mismatch of one option set, or null. */
  check(combination: string): Mismatch | null {
    const options = COMBINATIONS.get(combination);
    if (options === undefined) throw new Error(`no combination ${combination}`);
    let schedule = 'instrument';
    try {
      const subject = this.#instrument(options);
      if (subject === null) return null;
      for (const [name, plan] of this.#schedules(subject)) {
        schedule = name;
        const detail = this.#compare(subject, plan, combination.replace(UNASKED, ''));
        if (detail !== null) return { combination, schedule, detail };
      }
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : null;
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const detail = cause === null ? stack : `${stack}\ncaused by ${cause.stack ?? ''}`;
      return { combination, schedule, detail };
    }
    return null;
  }

  #instrument(options: InstrumentOptions): Subject | null {
    const { model, seed } = this;
    const binary = options.nan ? this.#raw : this.#canonical;
    try {
      const result = instrument(binary, options, (_, name) => name.startsWith('block'));
      const module = new WebAssembly.Module(result.binary);
      return { module, layout: result.layout, options, model, seed };
    } catch (error) {
      if (!(error instanceof SimError) || error.code !== 'guest/feature') throw error;
      this.refusals.push(`${error.code}: ${error.message}`);
      return null;
    }
  }

  *#schedules({ options }: Subject): Iterable<readonly [string, Schedule]> {
    yield ['straight', STRAIGHT];
    if (options.suspend === 'none') {
      if (options.fuel)
        yield ['quantum 1 in place', { ...preemptEvery(1, 1), suspendsAtPreempt: false }];
      return;
    }
    yield ['each blocking call', preemptEvery(1_000_000, 2)];
    if (options.suspend !== 'anywhere') return;
    yield ['quantum 1', preemptEvery(1, 997)];
    yield ['quantum 13, moving', preemptEvery(13, 5)];
    const total = sum(this.#exact.get(options.nan)?.calls ?? []);
    const { sweepMax } = this.effort;
    const step = Math.max(1, Math.ceil(total / sweepMax));
    for (let at = this.seed % step; at <= total; at += step) {
      yield [`preempted at ${at}`, preemptOnceAt(at, at % 4 === 0)];
    }
  }

  #compare(subject: Subject, schedule: Schedule, combination: string): string | null {
    const reference = this.#reference;
    let inMemory: string | null = null;
    const trace = runInstrumented(subject, schedule, {
      onMemory: (call, memory) => {
        if (inMemory !== null || call >= reference.memories.length) return;
        const found = memoryDifference(reference.memories[call], memory);
        if (found !== null) inMemory = `memory after call ${call}: ${found}`;
      },
    });
    this.runCount += 1;
    this.suspensionCount += trace.suspensionCount;
    return (
      difference(reference, trace) ?? inMemory ?? this.#compareFuel(subject, trace, combination)
    );
  }

  /**
   * The count is exact for calls that returned and at each call of an import. Where a call trapped
   * it may differ from that, but depends on the option set alone, not on any quantum.
   */
  #compareFuel({ options }: Subject, trace: InstrumentedTrace, key: string): string | null {
    if (!options.fuel) return null;
    const returned = this.#returnedOnly(trace.executed);
    let exact = this.#exact.get(options.nan);
    if (exact === undefined) {
      const counted = options.nan ? this.#reference : this.#runPlain(true);
      const { executed, countsAtCalls } = counted;
      exact = { calls: this.#returnedOnly(executed), imports: countsAtCalls.join() };
      this.#exact.set(options.nan, exact);
    }
    if (exact.calls.join() !== returned.join()) {
      return `executed in each call: exactly ${exact.calls.join()}, got ${returned.join()}`;
    }
    const imports = trace.countsAtCalls.join();
    if (exact.imports !== imports) {
      return `executed at calls of imports: exactly ${exact.imports}, got ${imports}`;
    }
    const all = trace.executed.join();
    const before = this.#totals.get(key);
    this.#totals.set(key, all);
    if (before === undefined || before === all) return null;
    return `executed with another schedule ${before}, now ${all}`;
  }

  /** Instructions of each planned call that returned; 0 for the others. */
  #returnedOnly(totals: readonly number[]): number[] {
    const ends = this.#reference.log.filter((line) => /^[a-z]\w* [=!]/.test(line));
    return totals.map((total, index) => {
      const before = index === 0 ? 0 : totals[index - 1];
      return ends[index].includes('!') ? 0 : total - before;
    });
  }
}

/** Compares a module's plain run with its instrumented ones; stops at the first mismatch. */
export function compareRuns(model: ModuleModel, seed: number, effort: Effort): Outcome {
  const comparison = new Comparison(model, seed, effort);
  let mismatch: Mismatch | null = null;
  for (const combination of effort.combinations) {
    mismatch = comparison.check(combination);
    if (mismatch !== null) break;
  }
  const { refusals, runCount, suspensionCount, executed } = comparison;
  return { mismatch, refusals, runCount, suspensionCount, executed };
}
