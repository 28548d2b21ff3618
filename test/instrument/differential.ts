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
import { difference } from './trace.ts';

const NOTHING: InstrumentOptions = {
  nan: false,
  fuel: false,
  depth: false,
  suspend: 'none',
  dirtyPages: false,
  memoryPagesMax: 64,
};

/** All that the engine of the simulator turns on. */
export const EVERYTHING: InstrumentOptions = {
  nan: true,
  fuel: true,
  depth: true,
  suspend: 'anywhere',
  dirtyPages: true,
  memoryPagesMax: 64,
};

/** The option sets to try, by name: each part alone, then together. */
export const COMBINATIONS: ReadonlyMap<string, InstrumentOptions> = new Map([
  ['everything', EVERYTHING],
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

class Comparison {
  readonly model: ModuleModel;
  readonly seed: number;
  readonly effort: Effort;
  readonly refusals: string[] = [];
  readonly #raw: Uint8Array;
  readonly #canonical: Uint8Array;
  readonly #reference: PlainTrace;
  /** Instructions executed after each call: of the raw module (true) and the canonicalised one. */
  readonly #executed = new Map<boolean, readonly number[]>();
  runCount = 0;
  suspensionCount = 0;

  constructor(model: ModuleModel, seed: number, effort: Effort) {
    this.model = model;
    this.seed = seed;
    this.effort = effort;
    this.#raw = encode(model);
    this.#canonical = encode(model, canonicaliser(true));
    const counted = encode(withCount(model), counting(canonicaliser(true), model.globals.length));
    this.#reference = runPlain(new WebAssembly.Module(counted), model, seed);
  }

  get executed(): number {
    return this.#executed.get(true)?.at(-1) ?? 0;
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
        const detail = this.#compare(subject, plan);
        if (detail !== null) return { combination, schedule, detail };
      }
    } catch (error) {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
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
      if (!(error instanceof SimError)) throw error;
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
    const total = this.#executed.get(options.nan)?.at(-1) ?? 0;
    const { sweepMax } = this.effort;
    const step = Math.max(1, Math.ceil(total / sweepMax));
    for (let at = this.seed % step; at <= total; at += step) {
      yield [`preempted at ${at}`, preemptOnceAt(at, at % 4 === 0)];
    }
  }

  #compare(subject: Subject, schedule: Schedule): string | null {
    const trace = runInstrumented(subject, schedule);
    this.runCount += 1;
    this.suspensionCount += trace.suspensionCount;
    return difference(this.#reference, trace) ?? this.#compareFuel(subject, trace);
  }

  /** The count depends on the module alone: not on quanta, nor on the other options. */
  #compareFuel({ options }: Subject, { executed }: InstrumentedTrace): string | null {
    if (!options.fuel) return null;
    const expected = this.#executed.get(options.nan);
    if (expected !== undefined) {
      if (expected.join() === executed.join()) return null;
      return `executed: expected ${expected.join()}, got ${executed.join()}`;
    }
    this.#executed.set(options.nan, executed);
    return options.nan ? this.#compareExact(executed) : null;
  }

  /** Exact in each call that returned; where a call trapped the count may be ahead a little. */
  #compareExact(executed: readonly number[]): string | null {
    const exact = this.#reference.executed;
    const ends = this.#reference.log.filter((line) => /^[a-z]\w* [=!]/.test(line));
    for (const [index, total] of exact.entries()) {
      const expected = total - (index === 0 ? 0 : exact[index - 1]);
      const actual = executed[index] - (index === 0 ? 0 : executed[index - 1]);
      const trapped = ends[index]?.includes('!') ?? false;
      if (trapped ? actual >= expected : actual === expected) continue;
      return `call ${index} executed ${actual} instructions, exactly ${expected} expected`;
    }
    return null;
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
