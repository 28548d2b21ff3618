import { malformed, tooLarge } from './errors.ts';
import type { ConstExpression, ConstInstruction, ParsedModule } from './module.ts';
import { OP } from './opcodes.ts';
import type { ByteReader } from './reader.ts';
import { TYPE, type ValueType } from './types.ts';

/** Longest constant expression: extended-const sums of linkers have a handful of terms. */
const INSTRUCTIONS_MAX = 1000;

/** Reads a constant expression up to its `end` and checks that it gives one value of `type`. */
export function parseConstExpression(
  reader: ByteReader,
  module: ParsedModule,
  type: ValueType,
): ConstExpression {
  const start = reader.position;
  const instructions: ConstInstruction[] = [];
  const stack: ValueType[] = [];
  let extended = false;
  for (;;) {
    const at = reader.position;
    const op = reader.byte();
    if (op === OP.end) break;
    if (instructions.length === INSTRUCTIONS_MAX) {
      throw tooLarge(at, 'instructions in a constant expression', INSTRUCTIONS_MAX);
    }
    const a = readConstant(reader, module, op, stack);
    if (isArithmetic(op)) extended = true;
    if (op === OP.globalGet && a >= module.importedGlobalCount) extended = true;
    instructions.push({ op, a, start: at, end: reader.position });
  }
  if (stack.length !== 1 || stack[0] !== type) {
    throw malformed(start, 'a constant expression has the wrong type');
  }
  return { instructions, extended, start, end: reader.position };
}

function isArithmetic(op: number): boolean {
  return (op >= 0x6a && op <= 0x6c) || (op >= 0x7c && op <= 0x7e);
}

function readConstant(
  reader: ByteReader,
  module: ParsedModule,
  op: number,
  stack: ValueType[],
): number {
  const at = reader.position - 1;
  switch (op) {
    case OP.i32Const:
      stack.push(TYPE.i32);
      return reader.s32();
    case OP.i64Const:
      stack.push(TYPE.i64);
      reader.skipS64();
      return 0;
    case OP.f32Const:
      stack.push(TYPE.f32);
      reader.skip(4);
      return 0;
    case OP.f64Const:
      stack.push(TYPE.f64);
      reader.skip(8);
      return 0;
    case 0xfd:
      if (reader.u32() !== 12) throw malformed(at, 'an instruction is not constant');
      stack.push(TYPE.v128);
      reader.skip(16);
      return 0;
    case OP.globalGet: {
      const index = reader.u32();
      const global = module.globals[index];
      if (!global || global.mutable) throw malformed(at, 'a constant reads no constant global');
      stack.push(global.type);
      return index;
    }
    case OP.refNull:
      stack.push(reader.byte());
      return 0;
    case OP.refFunc:
      stack.push(TYPE.funcref);
      return readFunction(reader, module);
    default:
      return readArithmetic(op, at, stack);
  }
}

function readFunction(reader: ByteReader, module: ParsedModule): number {
  const at = reader.position;
  const index = reader.u32();
  if (index >= module.functions.length) throw malformed(at, `there is no function ${index}`);
  return index;
}

function readArithmetic(op: number, at: number, stack: ValueType[]): number {
  if (!isArithmetic(op)) throw malformed(at, 'an instruction is not constant');
  const type = op < 0x7c ? TYPE.i32 : TYPE.i64;
  if (stack.pop() !== type || stack.pop() !== type) {
    throw malformed(at, 'a constant expression has the wrong type');
  }
  stack.push(type);
  return 0;
}
