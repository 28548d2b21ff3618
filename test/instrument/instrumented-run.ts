import { CONTROL, GROWS_IN_PLACE, PAGE_MARK, type Layout } from '../../wasm/instrument/layout.ts';
import type { InstrumentOptions } from '../../wasm/instrument/options.ts';
import { DirtyCheck } from './dirty-check.ts';
import { captureImage, restoreImage } from './instance-image.ts';
import type { ImportedFunction, ModuleModel } from './model.ts';
import type { ValueType } from './opcodes.ts';
import { functionOf, memoryOf } from './plain-run.ts';
import {
  ScriptedHost,
  describe,
  describeFailure,
  fromResult,
  garbage,
  toResult,
} from './scripted-host.ts';
import { describeTable, planCalls, type Trace } from './trace.ts';

/** When the host stops the guest. Ordinals count from 0 in each run. */
export interface Schedule {
  /** Fuel granted at first (0) and at each preemption (from 1). */
  fuelAt(ordinal: number): number;
  /** Whether a preempted guest is suspended, or just given more fuel; and one that grows. */
  readonly suspendsAtPreempt: boolean;
  /** How many times a call of a blocking import stops before it answers. */
  blocksAt(ordinal: number): number;
  /** Whether the guest moves to a fresh instance at this suspension. */
  movesAt(ordinal: number): boolean;
}

/** Memory is shown to a callback while the run goes on: copies would cost more than the run. */
export interface InstrumentedTrace extends Omit<Trace, 'memories'> {
  /** Instructions executed since the start, after each planned call. */
  readonly executed: readonly number[];
  /** The same from the start of a planned call to each completed call of an import. */
  readonly countsAtCalls: readonly number[];
  readonly suspensionCount: number;
  readonly preemptionCount: number;
}

const PLENTY = 0x4000_0000;
const STOPS_MAX = 2_000_000;

/** Never stops the guest. */
export const STRAIGHT: Schedule = {
  fuelAt: () => PLENTY,
  suspendsAtPreempt: false,
  blocksAt: () => 0,
  movesAt: () => false,
};

/** Grants `first` instructions, then all it wants: one preemption. */
export function preemptOnceAt(first: number, moves: boolean): Schedule {
  return {
    fuelAt: (ordinal) => (ordinal === 0 ? first : PLENTY),
    suspendsAtPreempt: true,
    blocksAt: () => 1,
    movesAt: (ordinal) => moves && ordinal === 0,
  };
}

/** Stops at each blocking call and after each `quantum` instructions. */
export function preemptEvery(quantum: number, moveEvery: number): Schedule {
  return {
    fuelAt: () => quantum,
    suspendsAtPreempt: true,
    blocksAt: (ordinal) => 1 + (ordinal % 3 === 2 ? 1 : 0),
    movesAt: (ordinal) => ordinal % moveEvery === moveEvery - 1,
  };
}

export interface Subject {
  readonly module: WebAssembly.Module;
  readonly layout: Layout;
  readonly options: InstrumentOptions;
  readonly model: ModuleModel;
  readonly seed: number;
}

class Runner {
  readonly host: ScriptedHost;
  readonly #subject: Subject;
  readonly #schedule: Schedule;
  readonly #observer: Observer;
  #instance: WebAssembly.Instance;
  #granted = 0;
  #blockOrdinal = 0;
  #blocksLeft = -1;
  #suspended = false;
  /** How many pages a guest that is suspended wants; -1 for one that wants none. */
  #growth = -1;
  #sizeBefore = 0;
  #dirty: DirtyCheck | null = null;
  suspensionCount = 0;
  preemptionCount = 0;
  trapCode = 0;

  constructor(subject: Subject, schedule: Schedule, observer: Observer) {
    this.#subject = subject;
    this.#observer = observer;
    this.#schedule = schedule;
    this.host = new ScriptedHost(subject.model, subject.seed);
    this.#instance = this.#instantiate();
    if (subject.options.fuel) this.#grant(0);
    if (subject.options.dirtyPages) {
      this.#marks().fill(0);
      this.#dirty = new DirtyCheck(this.guestMemory());
    }
  }

  get exports(): Readonly<Record<string, unknown>> {
    return this.#instance.exports;
  }

  get executed(): number {
    return this.#granted - this.#control()[CONTROL.fuel];
  }

  guestMemory(): Uint8Array {
    return new Uint8Array(this.#buffer(), this.#subject.layout.guestBaseBytes);
  }

  /** Lets the host act on memory: after the start function. */
  begin(): void {
    this.host.side = {
      executed: () => this.executed,
      memory: () => this.guestMemory(),
      touched: (address, length) => {
        if (this.#dirty !== null) DirtyCheck.mark(this.#marks(), address, length);
      },
      call: (name) => {
        functionOf(this.exports, name)();
      },
    };
  }

  /** Calls an export until it returns or fails, through all its suspensions. */
  call(exportName: string, args: readonly unknown[], types: readonly ValueType[]): unknown {
    let current = args;
    for (let stop = 0; stop < STOPS_MAX; stop += 1) {
      let result: unknown;
      try {
        result = functionOf(this.exports, exportName)(...current);
      } catch (error) {
        this.#afterFailure(error);
        throw error;
      }
      const state = this.#control()[CONTROL.state];
      if (state === 0) {
        this.#atRest();
        return result;
      }
      if (state !== 1) throw new Error(`state ${state} after a return`);
      this.#suspend();
      current = types.map((type) => garbage(type, stop));
    }
    throw new Error('too many suspensions');
  }

  #suspend(): void {
    this.#checkDirty();
    this.#showStop();
    if (this.#schedule.movesAt(this.suspensionCount)) this.#move();
    if (this.#growth >= 0) this.#enlarge();
    this.suspensionCount += 1;
    this.#suspended = true;
    this.#control()[CONTROL.state] = 2;
  }

  #showStop(): void {
    if (this.#observer.onStop === undefined) return;
    const { layout } = this.#subject;
    if (layout.globalsBytes > 0) functionOf(this.exports, 'athanor:save')();
    const physical = new Uint8Array(this.#buffer());
    const shadowSp = this.#control()[CONTROL.shadowSp];
    this.#observer.onStop(
      physical.subarray(shadowSp, layout.shadowStackTop),
      physical.subarray(layout.controlBase, layout.dirtyMapBase),
    );
  }

  #move(): void {
    const { layout } = this.#subject;
    const image = captureImage(this.exports, layout);
    this.#instance = this.#instantiate();
    restoreImage(this.exports, layout, image);
  }

  #instantiate(): WebAssembly.Instance {
    const env: Record<string, (...args: unknown[]) => unknown> = {};
    for (const imported of this.#subject.model.imports) {
      env[imported.name] = (...args) => toResult(this.#imported(imported, args));
    }
    const athanor = {
      preempt: () => {
        this.#preempted();
      },
      trap: (code: number) => {
        this.trapCode = code;
      },
      grow: (delta: number) => this.#asked(delta >>> 0),
    };
    return new WebAssembly.Instance(this.#subject.module, { env, athanor });
  }

  #imported(imported: ImportedFunction, args: readonly unknown[]): readonly unknown[] {
    const { suspend } = this.#subject.options;
    const blocks = imported.blocking && suspend !== 'none';
    if (blocks && this.#blocksLeft < 0) {
      this.#blocksLeft = this.#schedule.blocksAt(this.#blockOrdinal);
      this.#blockOrdinal += 1;
      this.#args = args;
    }
    this.#resumed(blocks);
    if (blocks && this.#blocksLeft > 0) {
      this.#blocksLeft -= 1;
      this.#control()[CONTROL.state] = 1;
      return this.host.shapeOf(imported).results.map((type, index) => garbage(type, index));
    }
    this.#blocksLeft = -1;
    return this.host.answer(imported, blocks ? this.#args : args);
  }

  /** The arguments of the blocked call: what it is called with again may be anything. */
  #args: readonly unknown[] = [];

  #resumed(allowed: boolean): void {
    const control = this.#control();
    const state = control[CONTROL.state];
    if (state === 2) {
      if (!allowed || !this.#suspended) throw new Error('rewound to a call that did not suspend');
      this.#suspended = false;
      control[CONTROL.state] = 0;
    } else if (state !== 0) {
      throw new Error(`import called in state ${state}`);
    }
  }

  #preempted(): void {
    const control = this.#control();
    const { suspend } = this.#subject.options;
    const rewound = control[CONTROL.state] === 2;
    this.#resumed(true);
    if (!rewound) {
      if (control[CONTROL.fuel] >= 0) throw new Error('preempted with fuel left');
      this.preemptionCount += 1;
      this.#grant(this.preemptionCount);
      const may = suspend === 'anywhere' && !this.host.inReentry;
      if (may && this.#schedule.suspendsAtPreempt) control[CONTROL.state] = 1;
    }
  }

  /** The guest asks for memory, or goes on with what it was given. */
  #asked(delta: number): number {
    const control = this.#control();
    if (control[CONTROL.state] === 2) {
      this.#resumed(true);
      return this.#sizeBefore;
    }
    const pages = this.guestMemory().length / 65536;
    const { guestPagesMax } = this.#subject.layout.memory;
    const stays = this.host.inReentry || !this.#schedule.suspendsAtPreempt;
    if (stays || pages + delta > guestPagesMax) return GROWS_IN_PLACE;
    this.#growth = delta;
    control[CONTROL.state] = 1;
    return 0;
  }

  #enlarge(): void {
    const { layout, options } = this.#subject;
    const memory = memoryOf(this.exports, layout.memory.exportName);
    this.#sizeBefore = this.guestMemory().length / 65536;
    memory.grow(this.#growth);
    this.#growth = -1;
    if (options.dirtyPages) this.#marks().fill(PAGE_MARK.untouched, this.#sizeBefore * 16);
  }

  #grant(ordinal: number): void {
    const amount = this.#schedule.fuelAt(ordinal);
    this.#granted += amount;
    this.#control()[CONTROL.fuel] += amount;
  }

  #afterFailure(error: unknown): void {
    const control = this.#control();
    const state = control[CONTROL.state];
    if (state !== 0) throw new Error(`failed in state ${state}`, { cause: error });
    control[CONTROL.shadowSp] = this.#subject.layout.shadowStackTop;
    control[CONTROL.depth] = this.#subject.layout.depthBudgetBytes;
    this.#checkDirty();
  }

  #atRest(): void {
    const control = this.#control();
    const { layout, options } = this.#subject;
    if (control[CONTROL.shadowSp] !== layout.shadowStackTop) throw new Error('frames are left');
    if (options.depth && control[CONTROL.depth] !== layout.depthBudgetBytes) {
      throw new Error('call depth is not back at its budget');
    }
    this.#checkDirty();
  }

  #checkDirty(): void {
    this.#dirty?.check(this.guestMemory(), this.#marks(), this.#subject.layout.dirtySpillBytes);
  }

  #buffer(): ArrayBuffer {
    return memoryOf(this.exports, this.#subject.layout.memory.exportName).buffer;
  }

  #control(): Int32Array {
    return new Int32Array(this.#buffer(), this.#subject.layout.controlBase, 4);
  }

  #marks(): Uint8Array {
    const { dirtyMapBase } = this.#subject.layout;
    return new Uint8Array(this.#buffer(), dirtyMapBase, this.guestMemory().length / 4096);
  }
}

/** What tables hold of the exported functions: the exports themselves are wrappers. */
function functionNames(
  { layout, model }: Subject,
  exports: Readonly<Record<string, unknown>>,
): Map<unknown, string> {
  const names = new Map<unknown, string>();
  for (const [index, name] of layout.functionExports) {
    const exportName = model.functions.at(index - model.imports.length)?.exportName;
    if (index >= model.imports.length && exportName) names.set(exports[name], exportName);
  }
  return names;
}

/** Who looks at memory while a run goes on; it must not keep the arrays. */
export interface Observer {
  /** Guest memory after each planned call. */
  onMemory(call: number, memory: Uint8Array): void;
  /** The saved frames and the control area at each suspension. */
  onStop?(frames: Uint8Array, control: Uint8Array): void;
}

/** Runs the planned calls of an instrumented module under a schedule. */
export function runInstrumented(
  subject: Subject,
  schedule: Schedule,
  observer: Observer,
): InstrumentedTrace {
  const { model, layout, seed } = subject;
  const runner = new Runner(subject, schedule, observer);
  const { host } = runner;
  const executed: number[] = [];
  const finish = (tables: string[]): InstrumentedTrace => {
    const { suspensionCount, preemptionCount } = runner;
    const { log, countsAtCalls } = host;
    return { log, tables, executed, countsAtCalls, suspensionCount, preemptionCount };
  };
  if (layout.start) {
    try {
      runner.call('athanor:start', [], []);
    } catch (error) {
      host.log.push(`start ! ${describeFailure(error)}`);
      return finish([]);
    }
  }
  runner.begin();
  for (const { exportName, type, args } of planCalls(model, seed)) {
    const shape = model.types[type];
    host.log.push(exportName);
    host.beginCall();
    try {
      const results = fromResult(runner.call(exportName, args, shape.params), shape);
      const texts = shape.results.map((result, index) => describe(results[index], result));
      host.log.push(`${exportName} = ${texts.join(', ')}`);
    } catch (error) {
      host.log.push(`${exportName} ! ${describeFailure(error)}`);
    }
    observer.onMemory(executed.length, runner.guestMemory());
    executed.push(runner.executed);
  }
  const names = functionNames(subject, runner.exports);
  const tables = model.tables.map((_, index) =>
    describeTable(runner.exports[`table${index}`] as WebAssembly.Table, names),
  );
  return finish(tables);
}
