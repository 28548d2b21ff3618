import { randomConst } from './constants.ts';
import { unsigned } from './encode.ts';
import { plain, zero } from './instructions.ts';
import type {
  Block,
  BlockName,
  ElementModel,
  FunctionShape,
  GlobalModel,
  Handler,
  ImportedFunction,
  Instruction,
  Plain,
  TableClause,
  TableModel,
} from './model.ts';
import type { ValueType } from './opcodes.ts';
import type { Draws } from './random-source.ts';

/** Language features that a generated module may use, beyond the 2.0 core without SIMD. */
export interface Features {
  readonly simd: boolean;
  readonly tailCalls: boolean;
  /** The exceptions of phase 3: try, catch, delegate, rethrow. */
  readonly legacyExceptions: boolean;
  /** try_table and throw_ref; needs an engine with exnref. */
  readonly exnref: boolean;
  /** References may stay in locals and on the stack while a call runs. */
  readonly liveReferences: boolean;
}

/** What every function body may refer to. */
export interface ModuleContext {
  readonly features: Features;
  readonly draws: Draws;
  /** Index of a type; adds it when it is new. */
  typeIndex(shape: FunctionShape): number;
  readonly imports: readonly ImportedFunction[];
  /** Shapes of all functions, imports first. */
  readonly functionShapes: readonly FunctionShape[];
  /** Functions that generated code must not call (the dump and the reset). */
  readonly callableCount: number;
  readonly globals: readonly GlobalModel[];
  readonly tables: readonly TableModel[];
  readonly elements: readonly ElementModel[];
  readonly dataCount: number;
  readonly tags: readonly FunctionShape[];
}

/** An open label: a block whose end has not come yet. */
export interface Frame {
  readonly name: BlockName | 'function' | 'catch';
  /** What a branch to the label takes. */
  readonly labelTypes: readonly ValueType[];
  readonly results: readonly ValueType[];
  /** Height of the operand stack below the frame's own values. */
  readonly base: number;
  dead: boolean;
}

export const NUMBER_TYPES: readonly ValueType[] = ['i32', 'i64', 'f32', 'f64'];

/** Same types in the same order. */
export function sameTypes(a: readonly ValueType[], b: readonly ValueType[]): boolean {
  return a.length === b.length && a.every((type, index) => type === b[index]);
}

/**
 * The state of one function while it is made: typed operand stack, open labels, output. It knows
 * the validation rules (core 2.0, appendix "Validation Algorithm"), not what is worth generating.
 */
export class BodyBuilder {
  readonly module: ModuleContext;
  readonly draws: Draws;
  readonly shape: FunctionShape;
  readonly locals: ValueType[];
  readonly stack: ValueType[] = [];
  readonly frames: Frame[] = [];
  /** Statements and operands that may still be generated. */
  allowance: number;
  #out: Instruction[] = [];

  constructor(
    module: ModuleContext,
    options: { shape: FunctionShape; locals: readonly ValueType[]; allowance: number },
  ) {
    this.module = module;
    this.draws = module.draws;
    this.shape = options.shape;
    this.locals = [...options.shape.params, ...options.locals];
    this.allowance = options.allowance;
  }

  get frame(): Frame {
    return this.frames[this.frames.length - 1];
  }

  /** Operands of the innermost frame that are really there. */
  get height(): number {
    return this.stack.length - this.frame.base;
  }

  /** Appends an instruction; its operands must be on the stack (or the code dead). */
  emit(instruction: Plain): void {
    for (let index = instruction.pops.length - 1; index >= 0; index -= 1) {
      this.pop(instruction.pops[index]);
    }
    this.stack.push(...instruction.pushes);
    this.#out.push(instruction);
    if (instruction.terminal) {
      this.stack.length = this.frame.base;
      this.frame.dead = true;
    }
  }

  pop(expected: ValueType): void {
    if (this.height === 0) {
      if (!this.frame.dead) throw new Error(`no operand for ${expected}`);
      return;
    }
    const type = this.stack.pop();
    if (type !== expected) throw new Error(`operand is ${type}, expected ${expected}`);
  }

  /** True when these types are on top of the stack, in this order. */
  hasOnTop(types: readonly ValueType[]): boolean {
    if (this.height < types.length) return false;
    const start = this.stack.length - types.length;
    return types.every((type, index) => this.stack[start + index] === type);
  }

  /** The innermost function-wide sequence: opens the function's own label. */
  function(fill: () => void): Instruction[] {
    return this.#sequence(
      { name: 'function', labelTypes: this.shape.results },
      [],
      this.shape.results,
      fill,
    );
  }

  #sequence(
    frame: { name: Frame['name']; labelTypes: readonly ValueType[] },
    params: readonly ValueType[],
    results: readonly ValueType[],
    fill: () => void,
  ): Instruction[] {
    const outer = this.#out;
    const base = this.stack.length;
    this.#out = [];
    this.frames.push({ ...frame, results, base, dead: false });
    this.stack.push(...params);
    fill();
    this.finish(results);
    this.frames.pop();
    this.stack.length = base;
    const body = this.#out;
    this.#out = outer;
    return body;
  }

  /** Brings the operands of the innermost frame to exactly `results`. */
  finish(results: readonly ValueType[]): void {
    let keep = 0;
    while (keep < results.length && this.stack[this.frame.base + keep] === results[keep]) keep += 1;
    if (this.frame.dead) keep = 0;
    while (this.height > keep) this.drop();
    if (this.frame.dead && this.draws.chance(50)) return;
    for (let index = keep; index < results.length; index += 1) this.push(results[index]);
  }

  drop(): void {
    const type = this.stack[this.stack.length - 1];
    this.emit(plain('drop', [0x1a], [type], []));
  }

  /** Pushes a cheap value of a type: a constant, a local or a global. */
  push(type: ValueType): void {
    const { draws } = this;
    const local = this.localOf(type);
    if (local !== null && draws.chance(55)) {
      this.emit(plain('local.get', [0x20, ...unsigned(local)], [], [type]));
      return;
    }
    const global = this.globalOf(type, false);
    if (global !== null && draws.chance(30)) {
      this.emit(plain('global.get', [0x23, ...unsigned(global)], [], [type]));
      return;
    }
    if (type === 'funcref' && draws.chance(60)) {
      const index = draws.below(this.module.callableCount);
      this.emit(plain('ref.func', [0xd2, ...unsigned(index)], [], [type]));
      return;
    }
    this.emit(type === 'exnref' ? zero(type) : randomConst(draws, type));
  }

  /** A local of that type, or null. */
  localOf(type: ValueType): number | null {
    const start = this.draws.below(Math.max(1, this.locals.length));
    for (let step = 0; step < this.locals.length; step += 1) {
      const index = (start + step) % this.locals.length;
      if (this.locals[index] === type) return index;
    }
    return null;
  }

  /** A global of that type (never the budget when it is to be written), or null. */
  globalOf(type: ValueType, mutable: boolean): number | null {
    const { globals } = this.module;
    const found: number[] = [];
    for (let index = 1; index < globals.length; index += 1) {
      if (globals[index].type === type && (!mutable || globals[index].mutable)) found.push(index);
    }
    return found.length === 0 ? null : this.draws.pick(found);
  }

  /** Appends a structured instruction whose parameters (and condition) are on the stack. */
  block(options: {
    name: BlockName;
    shape: FunctionShape;
    fill: () => void;
    otherwise?: () => void;
    handlers?: readonly { tag: number | null; fill: () => void }[];
    clauses?: readonly TableClause[];
    delegate?: number;
  }): void {
    const { name, shape } = options;
    if (name === 'if') this.pop('i32');
    for (let index = shape.params.length - 1; index >= 0; index -= 1) this.pop(shape.params[index]);
    const labelTypes = name === 'loop' ? shape.params : shape.results;
    const inside = (kind: Frame['name'], params: readonly ValueType[], fill: () => void) =>
      this.#sequence({ name: kind, labelTypes }, params, shape.results, fill);
    const body = inside(name, shape.params, options.fill);
    const otherwise =
      options.otherwise === undefined ? null : inside(name, shape.params, options.otherwise);
    const handlers: Handler[] = (options.handlers ?? []).map(({ tag, fill }) => ({
      tag,
      body: inside('catch', tag === null ? [] : this.module.tags[tag].params, fill),
    }));
    const short = shape.params.length === 0 && shape.results.length <= 1;
    const block: Block = {
      kind: 'block',
      name,
      typeIndex: short && this.draws.chance(80) ? null : this.module.typeIndex(shape),
      shape,
      body,
      otherwise,
      handlers,
      clauses: options.clauses ?? [],
      delegate: options.delegate ?? 0,
    };
    this.#out.push(block);
    this.stack.push(...shape.results);
  }
}
