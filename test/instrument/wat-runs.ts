import {
  CONTROL,
  instrument,
  type InstrumentOptions,
  type Layout,
} from '../../wasm/instrument/index.ts';
import type { Wabt } from './wabt.ts';

/** What is seen of one run of `run(argument)`: result or trap, memory, numbers asked for. */
export interface WatRun {
  readonly result: string;
  readonly memory: Uint8Array;
  readonly asked: number;
  /** Instructions executed; 0 without fuel. */
  readonly executed: number;
  readonly suspensions: number;
}

export interface WatSchedule {
  /** Suspend at each call of `env.ask`. */
  readonly atAsk: boolean;
  /** Fuel granted at a time. */
  readonly quantum: number;
}

export const ALL_ON: InstrumentOptions = {
  nan: true,
  fuel: true,
  depth: true,
  suspend: 'anywhere',
  dirtyPages: true,
  memoryPagesMax: 16,
};

const ARGUMENT = 5;
const STEPS_MAX = 100_000;

type GuestFunction = (...parameters: readonly number[]) => unknown;
type Exports = Readonly<Record<string, GuestFunction | WebAssembly.Memory | undefined>>;

/** `env.ask` answers 1, 4, 9, …, so that a repeated or lost call shows in results. */
function answer(count: number): number {
  return count * count;
}

function outcome(call: () => unknown): string {
  try {
    return String(call());
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return `trap: ${error.message}`;
    throw error;
  }
}

function memoryOf(exports: Exports, name: string): Uint8Array {
  const memory = exports[name];
  return memory instanceof WebAssembly.Memory ? new Uint8Array(memory.buffer) : new Uint8Array();
}

function functionOf(exports: Exports, name: string): GuestFunction {
  const found = exports[name];
  if (typeof found !== 'function') throw new Error(`no function ${name}`);
  return found;
}

/** Runs a module as it is. */
export function runPlainWat(binary: Uint8Array): WatRun {
  let asked = 0;
  const ask = (): number => answer(++asked);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(binary), { env: { ask } });
  const exports = instance.exports as Exports;
  const result = outcome(() => functionOf(exports, 'run')(ARGUMENT));
  const memory = memoryOf(exports, 'memory').slice();
  return { result, memory, asked, executed: 0, suspensions: 0 };
}

/** Runs a module instrumented, suspended as the schedule says. */
export function runInstrumentedWat(
  binary: Uint8Array,
  options: InstrumentOptions,
  schedule: WatSchedule,
): WatRun {
  const done = instrument(binary, options, (_, name) => name === 'ask');
  return new Session(done.binary, done.layout, schedule).run();
}

class Session {
  private readonly layout: Layout;
  private readonly schedule: WatSchedule;
  private readonly exports: Exports;
  private asked = 0;
  private granted = 0;
  private suspensions = 0;

  constructor(binary: Uint8Array, layout: Layout, schedule: WatSchedule) {
    this.layout = layout;
    this.schedule = schedule;
    const module = new WebAssembly.Module(binary);
    const instance = new WebAssembly.Instance(module, {
      env: { ask: () => this.ask() },
      athanor: { preempt: () => this.preempt(), trap: () => undefined },
    });
    this.exports = instance.exports as Exports;
  }

  private control(): Int32Array {
    const bytes = memoryOf(this.exports, this.layout.memory.exportName);
    return new Int32Array(bytes.buffer, this.layout.controlBase, 4);
  }

  private ask(): number {
    const control = this.control();
    if (this.schedule.atAsk && control[CONTROL.state] === 0) {
      control[CONTROL.state] = 1;
      return -1;
    }
    control[CONTROL.state] = 0;
    return answer(++this.asked);
  }

  private preempt(): void {
    const control = this.control();
    if (control[CONTROL.state] === 0 && this.schedule.quantum < 1000) {
      control[CONTROL.state] = 1;
      return;
    }
    control[CONTROL.state] = 0;
    control[CONTROL.fuel] += this.schedule.quantum;
    this.granted += this.schedule.quantum;
  }

  run(): WatRun {
    if (this.layout.start) functionOf(this.exports, 'athanor:start')();
    const result = outcome(() => this.toEnd());
    const { guestBaseBytes, memory } = this.layout;
    const bytes = memoryOf(this.exports, memory.exportName).slice(guestBaseBytes);
    const executed = this.granted - this.control()[CONTROL.fuel];
    return { result, memory: bytes, asked: this.asked, executed, suspensions: this.suspensions };
  }

  private toEnd(): unknown {
    let value: unknown = functionOf(this.exports, 'run')(ARGUMENT);
    for (let step = 0; step < STEPS_MAX; step += 1) {
      const control = this.control();
      if (control[CONTROL.state] === 0) return value;
      this.suspensions += 1;
      control[CONTROL.state] = 2;
      value = functionOf(this.exports, 'run')(-7);
    }
    throw new Error('too many suspensions');
  }
}

/** The binary of a module body in the text format, with `env.ask` imported as `$ask`. */
export function assembleGuest(wabt: Wabt, body: string): Uint8Array {
  return wabt.assemble(`(module (import "env" "ask" (func $ask (result i32))) ${body})`);
}
