import type { FunctionType, ValueType } from './types.ts';

/** A module's structure; code and data stay in `bytes`, named by offsets. */
export interface ParsedModule {
  readonly bytes: Uint8Array;
  readonly types: FunctionType[];
  readonly imports: Import[];
  /** Of all functions, imported ones first. */
  readonly functions: FunctionEntry[];
  importedFunctionCount: number;
  readonly tables: TableType[];
  importedTableCount: number;
  readonly memories: MemoryType[];
  importedMemoryCount: number;
  readonly globals: GlobalType[];
  importedGlobalCount: number;
  /** Type of each tag, imported ones first. */
  readonly tags: FunctionType[];
  importedTagCount: number;
  readonly exports: Export[];
  /** Function index, or -1. */
  start: number;
  readonly elements: ElementSegment[];
  /** From the data count section, or -1. */
  dataCount: number;
  readonly data: DataSegment[];
  /** Of the module-defined functions. */
  readonly bodies: Range[];
  readonly customs: CustomSection[];
  /** Offset of each section's head, for messages. */
  readonly sectionOffsets: ReadonlyMap<number, number>;
  /**
   * Of bodies that were rewritten, by their start: the offsets of the instructions that count as
   * executed. In all other bodies every instruction does.
   */
  readonly countedOffsets: ReadonlyMap<number, ReadonlySet<number>>;
}

/** Bytes `start .. end` of the module. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export const KIND = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;
export const KIND_NAMES = ['function', 'table', 'memory', 'global', 'tag'] as const;

export interface Import extends Range {
  readonly module: string;
  readonly name: string;
  readonly kind: number;
  /** Index in the index space of its kind. */
  readonly index: number;
}

export interface FunctionEntry {
  readonly typeIndex: number;
  readonly type: FunctionType;
}

export interface Limits {
  readonly min: number;
  /** -1 when there is none. */
  readonly max: number;
}

export interface TableType extends Limits {
  readonly type: ValueType;
}

export type MemoryType = Limits;

export interface GlobalType {
  readonly type: ValueType;
  readonly mutable: boolean;
  /** Null for an imported global. */
  readonly init: ConstExpression | null;
}

/** A constant expression, its instructions taken apart; the final `end` is left out. */
export interface ConstExpression extends Range {
  readonly instructions: readonly ConstInstruction[];
  /** Uses arithmetic or module-defined globals: engines without extended-const refuse it. */
  readonly extended: boolean;
}

export interface ConstInstruction extends Range {
  readonly op: number;
  /** An index, or the value of an i32.const. */
  readonly a: number;
}

export interface Export {
  readonly name: string;
  readonly kind: number;
  readonly index: number;
}

export const MODE = { active: 0, passive: 1, declarative: 2 } as const;

export interface ElementSegment {
  readonly mode: number;
  readonly table: number;
  readonly offset: ConstExpression | null;
  readonly type: ValueType;
  /** Function indexes, or null when the items are expressions. */
  readonly functions: readonly number[] | null;
  readonly expressions: readonly ConstExpression[] | null;
}

export interface DataSegment {
  readonly mode: number;
  readonly offset: ConstExpression | null;
  readonly content: Range;
}

export interface CustomSection extends Range {
  readonly name: string;
  /** Id of the section before it, 0 for none. */
  readonly after: number;
}

/** Limits of V8 and of ours (V8: src/wasm/wasm-limits.h), checked before anything is allocated. */
export const LIMIT = {
  moduleBytes: 256 * 1024 * 1024,
  types: 1_000_000,
  functions: 1_000_000,
  imports: 100_000,
  exports: 100_000,
  globals: 1_000_000,
  tables: 100,
  tags: 100_000,
  segments: 100_000,
  tableElements: 10_000_000,
  bodyBytes: 7_654_321,
  locals: 49_000,
  params: 990,
  results: 990,
  nesting: 50_000,
  operandHeight: 60_000,
  pages: 65_536,
} as const;
