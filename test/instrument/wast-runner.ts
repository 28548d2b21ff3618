import { SimError } from '../../sim/index.ts';
import {
  CONTROL,
  GROWS_IN_PLACE,
  RESERVE_PAGES,
  type Layout,
} from '../../wasm/instrument/layout.ts';
import { instrument } from '../../wasm/instrument/index.ts';
import { EVERYTHING } from './differential.ts';
import { functionOf, memoryOf } from './plain-run.ts';
import type { Wabt } from './wabt.ts';
import type { Action, Command, ModuleSource } from './wast-script.ts';
import {
  bridgeWat,
  bytesOf,
  evaluateConstants,
  toJavaScript,
  type ScriptValue,
} from './wast-values.ts';

/** What became of the commands of one script. */
export interface ScriptReport {
  passed: number;
  readonly failures: string[];
  /** Why commands could not be tried, and how many. */
  readonly skipped: Map<string, number>;
  stopCount: number;
}

/** Marks what neither the assembler nor this engine knows: not a failure of the pass. */
class Skip extends Error {}

const MAGNITUDE = 0x7fff_ffff_ffff_ffffn;
const CANONICAL = 0x7ff8_0000_0000_0000n;
/** Everything on; memory may grow as far as the scripts expect. */
const OPTIONS = { ...EVERYTHING, memoryPagesMax: 65_000 };
const FUEL = 3;
const PLENTY = 0x4000_0000;
/** After so many stops in one call it runs on: some tests count to a million. */
const STOPS_MAX = 2000;

class Loaded {
  readonly exports: Readonly<Record<string, unknown>>;
  /** Null when the module runs as it is. */
  readonly layout: Layout | null;
  stops = 0;

  constructor(exports: Readonly<Record<string, unknown>>, layout: Layout | null) {
    this.exports = exports;
    this.layout = layout;
  }

  control({ memory, controlBase }: Layout): Int32Array {
    return new Int32Array(memoryOf(this.exports, memory.exportName).buffer, controlBase, 4);
  }

  /** Runs `call` until it returns or throws, through all stops. */
  drive(call: () => unknown): unknown {
    const { layout } = this;
    if (layout === null) return call();
    const first = this.control(layout);
    first[CONTROL.fuel] = FUEL;
    first[CONTROL.state] = 0;
    first[CONTROL.depth] = layout.depthBudgetBytes;
    first[CONTROL.shadowSp] = layout.shadowStackTop;
    this.stops = 0;
    for (;;) {
      const result = call();
      const control = this.control(layout);
      if (control[CONTROL.state] === 0) return result;
      control[CONTROL.state] = 2;
    }
  }
}

/** How a script's modules run: as they are, or with everything on and stopped all the time. */
export type Mode = 'plain' | 'instrumented';

/** Runs the commands of one script. */
export class ScriptRunner {
  readonly report: ScriptReport = { passed: 0, failures: [], skipped: new Map(), stopCount: 0 };
  readonly #wabt: Wabt;
  readonly #values: Map<string, ScriptValue>;
  readonly #named = new Map<string, Loaded | null>();
  readonly #registered = new Map<string, Loaded>();
  readonly #bridges = new Map<string, WebAssembly.Module>();
  /** A stop must unwind every frame, so not where modules call one another. */
  readonly #mayStop: boolean;
  readonly #mode: Mode;
  #current: Loaded | null = null;

  constructor(wabt: Wabt, commands: readonly Command[], mode: Mode) {
    this.#wabt = wabt;
    this.#mode = mode;
    const texts = commands.flatMap((command) => {
      if (!('action' in command)) return [];
      const expected = command.kind === 'assert_return' ? command.expected : [];
      return [...command.action.args, ...expected.filter((text) => text !== 'nan')];
    });
    this.#values = evaluateConstants(wabt, texts);
    this.#mayStop = !commands.some(({ kind }) => kind === 'register');
  }

  /** True when the command did what the script says. */
  run(command: Command): boolean {
    try {
      const failure = this.#execute(command);
      if (failure === null) this.report.passed += 1;
      else this.report.failures.push(failure);
      return failure === null;
    } catch (error) {
      if (error instanceof Skip) {
        this.skip(error.message);
      } else {
        const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
        this.report.failures.push(`${JSON.stringify(command).slice(0, 300)}: ${detail}`);
      }
      return false;
    }
  }

  /** Counts a command as not run. */
  skip(reason: string): void {
    const { skipped } = this.report;
    skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  }

  #execute(command: Command): string | null {
    switch (command.kind) {
      case 'module':
        this.#current = null;
        if (command.source.name !== null) this.#named.set(command.source.name, null);
        this.#current = this.#load(command.source);
        if (command.source.name !== null) this.#named.set(command.source.name, this.#current);
        return null;
      case 'register':
        this.#registered.set(command.as, this.#module(command.module));
        return null;
      case 'action':
        this.#perform(command.action);
        return null;
      case 'assert_return':
        return this.#assertReturn(command.action, command.expected);
      case 'assert_trap':
      case 'assert_exhaustion':
      case 'assert_exception':
        return this.#assertFails(() => this.#perform(command.action), command);
      case 'assert_uninstantiable':
        return this.#assertFails(() => this.#load(command.source), command);
      case 'assert_invalid':
        return this.#assertInvalid(command.source);
      case 'other':
        throw new Skip(`command ${command.head}`);
    }
  }

  #module(name: string | null): Loaded {
    const found = name === null ? this.#current : this.#named.get(name);
    if (found === null || found === undefined) throw new Skip('the module could not be loaded');
    return found;
  }

  #binary({ wat, binary }: ModuleSource): Uint8Array {
    if (binary !== null) return binary;
    try {
      return this.#wabt.assemble(wat ?? '');
    } catch {
      throw new Skip('syntax that the assembler does not know');
    }
  }

  #load(source: ModuleSource): Loaded {
    const plain = this.#binary(source);
    if (!WebAssembly.validate(plain)) throw new Skip('a module that this engine rejects');
    const needed = WebAssembly.Module.imports(new WebAssembly.Module(plain));
    const { binary, layout } = this.#prepare(plain);
    const loaded: { instance: Loaded | null } = { instance: null };
    const imports: Record<string, WebAssembly.ModuleImports> = {
      athanor: {
        preempt: () => {
          this.#stop(loaded.instance, true);
        },
        trap: () => undefined,
        grow: () => GROWS_IN_PLACE,
      },
    };
    for (const { module, name } of needed) {
      imports[module] = { ...imports[module] };
      const value = this.#import(module, name, loaded);
      if (value !== undefined) imports[module][name] = value;
    }
    const instance = new WebAssembly.Instance(new WebAssembly.Module(binary), imports);
    const made = new Loaded(instance.exports, layout);
    loaded.instance = made;
    if (layout?.start) made.drive(() => functionOf(made.exports, 'athanor:start')());
    return made;
  }

  #prepare(plain: Uint8Array): { binary: Uint8Array; layout: Layout | null } {
    if (this.#mode === 'plain') return { binary: plain, layout: null };
    try {
      return instrument(plain, OPTIONS, (module) => module === 'spectest');
    } catch (error) {
      if (!(error instanceof SimError) || error.code !== 'guest/feature') throw error;
      throw new Skip(`refused: ${error.message}`);
    }
  }

  #import(
    module: string,
    name: string,
    loaded: { instance: Loaded | null },
  ): WebAssembly.ImportValue | undefined {
    if (module !== 'spectest') {
      const from = this.#registered.get(module);
      return from?.exports[name] as WebAssembly.ImportValue | undefined;
    }
    if (name.startsWith('print')) {
      return () => {
        this.#stop(loaded.instance, false);
      };
    }
    if (name === 'memory') {
      const reserve = this.#mode === 'plain' ? 0 : RESERVE_PAGES;
      return new WebAssembly.Memory({ initial: 1 + reserve, maximum: 2 + reserve });
    }
    if (name === 'table') {
      return new WebAssembly.Table({ element: 'anyfunc', initial: 10, maximum: 20 });
    }
    const numbers: Record<string, [string, number | bigint]> = {
      global_i32: ['i32', 666],
      global_i64: ['i64', 666n],
      global_f32: ['f32', 666.6],
      global_f64: ['f64', 666.6],
    };
    if (!(name in numbers)) return undefined;
    return new WebAssembly.Global({ value: numbers[name][0] }, numbers[name][1]);
  }

  /** At a check or a blocking import: stop, or go on after a stop. */
  #stop(instance: Loaded | null, preempted: boolean): void {
    const layout = instance?.layout ?? null;
    if (instance === null || layout === null) return;
    const control = instance.control(layout);
    if (control[CONTROL.state] === 2) {
      control[CONTROL.state] = 0;
      return;
    }
    instance.stops += 1;
    const go = !this.#mayStop || instance.stops > STOPS_MAX;
    if (preempted) control[CONTROL.fuel] = go ? PLENTY : FUEL;
    if (go) return;
    this.report.stopCount += 1;
    control[CONTROL.state] = 1;
  }

  #value(text: string): ScriptValue {
    const value = this.#values.get(text);
    if (value === undefined) throw new Skip('a constant that the assembler does not know');
    return value;
  }

  #perform({ kind, module, field, args }: Action): unknown {
    const instance = this.#module(module);
    if (kind === 'get') return (instance.exports[field] as WebAssembly.Global).value;
    const values = args.map((text) => this.#value(text));
    if (values.some(({ type }) => type === 'v128')) throw new Skip('a vector argument');
    const target = functionOf(instance.exports, field);
    return instance.drive(() => target(...values.map(toJavaScript)));
  }

  #assertReturn(action: Action, expected: readonly string[]): string | null {
    const wanted = expected.filter((text) => text !== 'nan').map((text) => this.#value(text));
    const args = action.args.map((text) => this.#value(text));
    const numeric = [...wanted, ...args].every(({ type }) => bytesOf(type) > 0);
    if (
      action.kind === 'invoke' &&
      numeric &&
      expected.length === wanted.length &&
      wanted.length > 0
    ) {
      return this.#assertBits(action, args, wanted);
    }
    const result = this.#perform(action);
    if (expected.includes('nan')) {
      return Number.isNaN(result) ? null : `${action.field}: expected a NaN, got ${String(result)}`;
    }
    const results = wanted.length === 1 ? [result] : ((result ?? []) as unknown[]);
    const bad = wanted.findIndex((value, index) => !sameReference(value, results[index]));
    return bad < 0 ? null : `${action.field}(${action.args.join()}): got ${String(results[bad])}`;
  }

  /** Calls through a bridge module, so that all bits of floats and vectors come through. */
  #assertBits(
    { module, field, args: texts }: Action,
    args: readonly ScriptValue[],
    wanted: readonly ScriptValue[],
  ): string | null {
    const instance = this.#module(module);
    const f = functionOf(instance.exports, field);
    const { exports } = this.#bridge(f, args, wanted);
    const memory = new Uint8Array(memoryOf(exports).buffer);
    args.forEach(({ bytes }, index) => {
      memory.set(bytes, index * 16);
    });
    instance.drive(() => functionOf(exports, 'run')());
    for (const [index, value] of wanted.entries()) {
      const start = 1024 + index * 16;
      const got = memory.slice(start, start + bytesOf(value.type));
      if (!matches(value, got)) {
        const hex = Buffer.from(got).toString('hex');
        return `${field}(${texts.join(' ')}): got ${hex} for result ${index}`;
      }
    }
    return null;
  }

  #bridge(
    f: WebAssembly.ImportValue,
    args: readonly ScriptValue[],
    wanted: readonly ScriptValue[],
  ): WebAssembly.Instance {
    const types = (values: readonly ScriptValue[]) => values.map(({ type }) => type);
    const wat = bridgeWat(types(args), types(wanted));
    let module = this.#bridges.get(wat);
    if (module === undefined) {
      module = new WebAssembly.Module(this.#wabt.assemble(wat));
      this.#bridges.set(wat, module);
    }
    return new WebAssembly.Instance(module, { env: { f } });
  }

  #assertFails(run: () => unknown, command: Command): string | null {
    try {
      run();
    } catch (error) {
      if (error instanceof Skip) throw error;
      const known =
        error instanceof WebAssembly.RuntimeError ||
        error instanceof WebAssembly.LinkError ||
        error instanceof WebAssembly.Exception ||
        error instanceof RangeError;
      if (!known) throw error;
      const overflow = error instanceof RangeError;
      return overflow ? `stack overflow of the engine: ${JSON.stringify(command)}` : null;
    }
    return `did not fail: ${JSON.stringify(command).slice(0, 300)}`;
  }

  /** An invalid module is rejected by the engine; the pass must not break on it. */
  #assertInvalid(source: ModuleSource): string | null {
    const binary = this.#binary(source);
    if (WebAssembly.validate(binary)) throw new Skip('a module that this engine accepts');
    try {
      instrument(binary, OPTIONS, () => false);
    } catch (error) {
      if (!(error instanceof SimError)) throw error;
    }
    return null;
  }
}

function sameReference(value: ScriptValue, result: unknown): boolean {
  if (value.reference === 'function') return typeof result === 'function';
  const expected = toJavaScript(value);
  return Object.is(expected, result) || (expected === result && result !== 0);
}

function matches({ type, bytes, anyNan }: ScriptValue, got: Uint8Array): boolean {
  if (!anyNan) return Buffer.compare(bytes, got) === 0;
  const view = new DataView(got.buffer, got.byteOffset, got.byteLength);
  // With canonicalisation on, arithmetic gives no other payload; neg and copysign set the sign.
  if (type === 'f32') return (view.getUint32(0, true) & 0x7fffffff) === 0x7fc00000;
  if (type === 'f64') return (view.getBigUint64(0, true) & MAGNITUDE) === CANONICAL;
  return true;
}
