import type { NanShape, ValueType } from './opcodes.ts';

export interface FunctionShape {
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
}

/** An instruction without a body; its bytes are final (indexes do not move). */
export interface Plain {
  readonly kind: 'plain';
  readonly name: string;
  readonly bytes: readonly number[];
  readonly pops: readonly ValueType[];
  readonly pushes: readonly ValueType[];
  /** Control never reaches the next instruction. */
  readonly terminal: boolean;
  readonly nan: NanShape | null;
}

/** A catch clause of the legacy `try`; tag null is `catch_all`. */
export interface Handler {
  readonly tag: number | null;
  readonly body: readonly Instruction[];
}

/** A clause of `try_table`: 0 catch, 1 catch_ref, 2 catch_all, 3 catch_all_ref. */
export interface TableClause {
  readonly code: 0 | 1 | 2 | 3;
  readonly tag: number;
  readonly label: number;
}

export type BlockName = 'block' | 'loop' | 'if' | 'try' | 'try-delegate' | 'try_table';

/** A structured instruction. `pops` holds the block's parameters, plus the condition of an `if`. */
export interface Block {
  readonly kind: 'block';
  readonly name: BlockName;
  /** Index into the module's types, or null for the short forms. */
  readonly typeIndex: number | null;
  readonly shape: FunctionShape;
  readonly body: readonly Instruction[];
  readonly otherwise: readonly Instruction[] | null;
  readonly handlers: readonly Handler[];
  readonly clauses: readonly TableClause[];
  /** Only for 'try-delegate'. */
  readonly delegate: number;
}

export type Instruction = Plain | Block;

export interface ImportedFunction {
  readonly name: string;
  readonly type: number;
  /** Calls of it may suspend. */
  readonly blocking: boolean;
}

export interface DefinedFunction {
  readonly type: number;
  readonly locals: readonly ValueType[];
  readonly body: readonly Instruction[];
  /** Whether the encoder puts the budget guard at its entry; see guard.ts. */
  readonly guarded: boolean;
  /** Export name, or null. */
  readonly exportName: string | null;
}

export interface GlobalModel {
  readonly type: ValueType;
  readonly mutable: boolean;
  /** Constant expression without its `end`. */
  readonly init: readonly number[];
}

export interface TableModel {
  readonly type: 'funcref' | 'externref';
  readonly min: number;
  readonly max: number;
}

export interface ElementModel {
  readonly mode: 'active' | 'passive' | 'declared';
  readonly table: number;
  readonly offset: number;
  /** Function indexes; null is a null reference (and needs the expression form). */
  readonly functions: readonly (number | null)[];
}

export interface DataModel {
  readonly mode: 'active' | 'passive';
  readonly offset: number;
  readonly bytes: readonly number[];
}

/** A module, complete and valid, in a form that a shrinker can edit. */
export interface ModuleModel {
  readonly types: readonly FunctionShape[];
  readonly imports: readonly ImportedFunction[];
  readonly functions: readonly DefinedFunction[];
  readonly tables: readonly TableModel[];
  readonly memory: { readonly min: number; readonly max: number | null };
  /** Global 0 is the budget of the guards: a mutable i32. */
  readonly globals: readonly GlobalModel[];
  readonly tags: readonly number[];
  readonly elements: readonly ElementModel[];
  readonly data: readonly DataModel[];
  /** Index of the start function, or null. */
  readonly start: number | null;
}

/** The instruction sequences directly inside a block. */
export function bodiesOf(block: Block): readonly (readonly Instruction[])[] {
  const bodies = [block.body];
  if (block.otherwise !== null) bodies.push(block.otherwise);
  for (const handler of block.handlers) bodies.push(handler.body);
  return bodies;
}

/** Instructions in a sequence, nested ones included. */
export function countInstructions(body: readonly Instruction[]): number {
  let count = 0;
  for (const instruction of body) {
    count += 1;
    if (instruction.kind === 'block') {
      for (const inner of bodiesOf(instruction)) count += countInstructions(inner);
    }
  }
  return count;
}

/** Instructions of all functions of a module. */
export function moduleSize(module: ModuleModel): number {
  return module.functions.reduce((sum, { body }) => sum + countInstructions(body), 0);
}
