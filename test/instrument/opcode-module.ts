import { i32Const } from './constants.ts';
import { fromOpcode, plain } from './instructions.ts';
import type { DefinedFunction, Instruction, ModuleModel } from './model.ts';
import { MEMORY_OPCODES, type Opcode, type ValueType } from './opcodes.ts';

/** Where the operands of a row are, 16 bytes each, and where the result goes. */
export const OPERANDS_ADDRESS = 1024;
export const RESULT_ADDRESS = 2048;

const LOAD: Partial<Record<ValueType, string>> = {
  i32: 'i32.load',
  i64: 'i64.load',
  f32: 'f32.load',
  f64: 'f64.load',
  v128: 'v128.load',
};

function access(kind: 'load' | 'store', type: ValueType): Instruction {
  const name = LOAD[type]?.replace('load', kind);
  const entry = MEMORY_OPCODES.find((other) => other.name === name);
  if (entry === undefined) throw new Error(`no ${kind} of ${type}`);
  return fromOpcode(entry, [0, 0]);
}

/** One opcode with fixed immediates. */
export interface OpcodeCase {
  readonly opcode: Opcode;
  readonly immediates: readonly number[];
}

/** The immediates worth trying: each lane, two shuffles, two offsets. */
export function casesOf(opcode: Opcode): OpcodeCase[] {
  const { immediate } = opcode;
  const make = (immediates: readonly number[]) => ({ opcode, immediates });
  switch (immediate.kind) {
    case 'none':
      return [make([])];
    case 'lane':
      return Array.from({ length: immediate.lanes }, (_, lane) => make([lane]));
    case 'shuffle':
      return [
        make([0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23]),
        make([31, 3, 3, 30, 0, 15, 16, 9, 8, 22, 25, 1, 2, 12, 13, 28]),
      ];
    case 'memory':
      return [make([0, 0]), make([Math.log2(immediate.bytes), 5])];
    case 'memory-lane':
      return [make([0, 0, 0]), make([0, 3, 16 / immediate.bytes - 1])];
  }
}

/**
 * The function of a case: push the result's address and the operands from memory, call the import
 * that may suspend (so all of them must survive in the saved frame), run the opcode, store.
 */
function caseFunction({ opcode, immediates }: OpcodeCase, index: number): DefinedFunction {
  const body: Instruction[] = [];
  if (opcode.results.length > 0) body.push(i32Const(RESULT_ADDRESS));
  opcode.params.forEach((type, at) => {
    body.push(i32Const(OPERANDS_ADDRESS + 16 * at), access('load', type));
  });
  body.push(plain('call', [0x10, 0], [], []));
  body.push(fromOpcode(opcode, immediates));
  for (const type of opcode.results) body.push(access('store', type));
  return { type: 0, locals: [], body, guarded: false, exportName: `case${index}` };
}

/** A module with one export `case<n>` for each case; its only import may suspend. */
export function opcodeModule(cases: readonly OpcodeCase[]): ModuleModel {
  return {
    types: [{ params: [], results: [] }],
    imports: [{ name: 'block', type: 0, blocking: true }],
    functions: cases.map(caseFunction),
    tables: [],
    memory: { min: 1, max: 1 },
    globals: [{ type: 'i32', mutable: true, init: [0x41, 0] }],
    tags: [],
    elements: [],
    data: [],
    start: null,
  };
}
