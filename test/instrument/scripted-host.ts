import type { FunctionShape, ImportedFunction, ModuleModel } from './model.ts';
import type { ValueType } from './opcodes.ts';
import { Draws } from './random-source.ts';
import { randomArgument } from './random-module.ts';

/** What the host does at one call of an import: the same in every run of a module. */
interface Answer {
  readonly results: readonly unknown[];
  /** Bytes that the host writes to guest memory, or null. */
  readonly write: {
    readonly address: number;
    readonly byte: number;
    readonly length: number;
  } | null;
  /** Export that the host calls from within the import, or null. */
  readonly reenter: string | null;
}

/** What the host needs of the instance that runs; null before it exists. */
export interface HostSide {
  memory(): Uint8Array;
  /** After the host wrote guest memory. */
  touched(address: number, length: number): void;
  call(exportName: string): void;
  /** Instructions executed since the start. */
  executed(): number;
}

/** Calls of one import, of all instances of a run: the n-th completed call gets the n-th answer. */
const EXTERNALS: readonly unknown[] = [null, 'text', 42, true];

/** A value as text: floats by bits, all NaNs alike, functions by export name. */
export function describe(value: unknown, type: ValueType): string {
  switch (type) {
    case 'i32':
    case 'i64':
      return String(value);
    case 'f32':
    case 'f64':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'funcref':
      return value === null ? 'null' : 'function';
    default:
      return value === null ? 'null' : `${typeof value}:${JSON.stringify(value)}`;
  }
}

function describeAll(values: readonly unknown[], types: readonly ValueType[]): string {
  return types.map((type, index) => describe(values[index], type)).join(', ');
}

/** The JavaScript form of a function's results: nothing, one value, or a list. */
export function toResult(results: readonly unknown[]): unknown {
  return results.length <= 1 ? results[0] : [...results];
}

/** The results of a call of an export, as a list. */
export function fromResult(value: unknown, shape: FunctionShape): readonly unknown[] {
  if (shape.results.length === 0) return [];
  return shape.results.length === 1 ? [value] : (value as unknown[]);
}

/** Any value of a type, for arguments and results that nobody may look at. */
export function garbage(type: ValueType, seed: number): unknown {
  switch (type) {
    case 'i32':
      return (0x5eed1234 + seed * 77) | 0;
    case 'i64':
      return 0x0123456789abcdefn + BigInt(seed);
    case 'f32':
    case 'f64':
      return 12345.5 + seed;
    default:
      return null;
  }
}

/** A deterministic world for a generated module; one object for each run. */
export class ScriptedHost {
  readonly log: string[] = [];
  /** Instructions from the start of the planned call to each call of an import. */
  readonly countsAtCalls: number[] = [];
  /** Set once the instance exists and its start function has returned. */
  side: HostSide | null = null;
  #base = 0;
  readonly #model: ModuleModel;
  readonly #seed: number;
  readonly #mayReenter: boolean;
  #answered = 0;
  #reentered = false;

  constructor(model: ModuleModel, seed: number) {
    this.#model = model;
    this.#seed = seed;
    this.#mayReenter = seed % 3 === 0;
  }

  get inReentry(): boolean {
    return this.#reentered;
  }

  shapeOf({ type }: ImportedFunction): FunctionShape {
    return this.#model.types[type];
  }

  /** At the start of a planned call. */
  beginCall(): void {
    this.#base = this.side?.executed() ?? 0;
  }

  /** Completes a call: logs it, acts on memory, returns the results. */
  answer(imported: ImportedFunction, args: readonly unknown[]): readonly unknown[] {
    const shape = this.shapeOf(imported);
    const { results, write, reenter } = this.#next(shape);
    this.log.push(`${imported.name}(${describeAll(args, shape.params)})`);
    const { side } = this;
    if (side !== null) this.countsAtCalls.push(side.executed() - this.#base);
    if (side !== null && write !== null) {
      side.memory().fill(write.byte, write.address, write.address + write.length);
      side.touched(write.address, write.length);
    }
    if (side !== null && reenter !== null && !this.#reentered) {
      this.#reentered = true;
      side.call(reenter);
      this.#reentered = false;
    }
    this.log.push(`  = ${describeAll(results, shape.results)}`);
    return results;
  }

  #next(shape: FunctionShape): Answer {
    const draws = new Draws(this.#seed * 7919 + this.#answered);
    this.#answered += 1;
    const results = shape.results.map((type) => {
      if (type === 'externref') return draws.pick(EXTERNALS);
      const value = randomArgument(draws, type);
      return Number.isNaN(value) ? NaN : value;
    });
    const write = draws.chance(15)
      ? { address: draws.below(0xd000), byte: draws.below(256), length: 1 + draws.below(20) }
      : null;
    const reenter = this.#mayReenter && draws.chance(20) ? 'dump' : null;
    return { results, write, reenter };
  }
}

const TRAPS: readonly (readonly [RegExp, string])[] = [
  // The lowered form of throw_ref ends a null reference with `unreachable`.
  [/unreachable|rethrowing null/, 'unreachable'],
  [/table index|element segment|table or|out of bounds table|table access/i, 'table bounds'],
  [/memory access|data segment|out of bounds memory/, 'memory bounds'],
  [/divide result|overflow/, 'integer overflow'],
  [/zero/, 'divide by zero'],
  [/float unrepresentable/, 'conversion'],
  [/null function|signature|indirect call/, 'indirect call'],
  [/array|allocation/i, 'allocation'],
];

/** What ended a call that did not return: a trap's kind, or an exception. */
export function describeFailure(error: unknown): string {
  if (error instanceof WebAssembly.RuntimeError) {
    const { message } = error;
    const found = TRAPS.find(([pattern]) => pattern.test(message));
    return `trap ${found === undefined ? message : found[1]}`;
  }
  if (error instanceof WebAssembly.Exception) return 'exception';
  throw error;
}
