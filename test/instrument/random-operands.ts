import { i32Const } from './constants.ts';
import { TYPE_BYTE, unsigned } from './encode.ts';
import { fromOpcode, opcode, plain } from './instructions.ts';
import {
  MEMORY_OPCODES,
  SCALAR_OPCODES,
  VECTOR_OPCODES,
  type Opcode,
  type ValueType,
} from './opcodes.ts';
import { sameTypes, type BodyBuilder } from './body-builder.ts';
import type { Draws } from './random-source.ts';

const NUMERIC: readonly Opcode[] = [...SCALAR_OPCODES, ...VECTOR_OPCODES];
const LOADS = MEMORY_OPCODES.filter(({ results }) => results.length === 1);
const STORES = MEMORY_OPCODES.filter(({ results }) => results.length === 0);

function usesVectors({ params, results }: Opcode): boolean {
  return params.includes('v128') || results.includes('v128');
}

function byResult(list: readonly Opcode[], type: ValueType, simd: boolean): Opcode[] {
  return list.filter((entry) => entry.results[0] === type && (simd || !usesVectors(entry)));
}

/** Chooses among all opcodes with that result; scalar operands half of the time when both exist. */
function pickOpcode(
  draws: Draws,
  list: readonly Opcode[],
  { type, simd }: { type: ValueType; simd: boolean },
): Opcode | null {
  const scalar = byResult(list, type, false);
  const any = simd && draws.chance(50) ? byResult(list, type, true) : scalar;
  const found = any.length > 0 ? any : byResult(list, type, simd);
  return found.length === 0 ? null : draws.pick(found);
}

/** Immediates of an opcode without memory access. */
export function randomImmediates(draws: Draws, { immediate }: Opcode): number[] {
  switch (immediate.kind) {
    case 'lane':
      return [draws.below(immediate.lanes)];
    case 'shuffle':
      return Array.from({ length: 16 }, () => draws.below(32));
    default:
      return [];
  }
}

const OFFSETS: readonly number[] = [0, 0, 0, 1, 2, 3, 4, 7, 8, 15, 16, 60, 255, 4090, 4095, 4096];

/** Alignment and offset of a memory access, and the lane of a lane access. */
function memoryImmediates(draws: Draws, { immediate }: Opcode): number[] {
  if (immediate.kind !== 'memory' && immediate.kind !== 'memory-lane') return [];
  const natural = Math.log2(immediate.bytes);
  const bytes = [draws.below(natural + 1), ...unsigned(draws.pick(OFFSETS))];
  if (draws.next() % 400 === 0)
    bytes.splice(1, bytes.length, ...unsigned(draws.pick([70000, 0xffffffff])));
  if (immediate.kind === 'memory-lane') bytes.push(draws.below(16 / immediate.bytes));
  return bytes;
}

const NEAR_BORDERS: readonly number[] = [
  0, 8, 4080, 4088, 4092, 4093, 4094, 4095, 4096, 8185, 8190, 8191, 12287, 61432, 65520, 65535,
];

/** Pushes an address; mostly inside the first page of 64 KiB, rarely anywhere. */
export function pushAddress(body: BodyBuilder): void {
  const { draws } = body;
  if (draws.chance(25)) {
    body.emit(i32Const(draws.pick(NEAR_BORDERS)));
    return;
  }
  pushValue(body, 'i32', 2);
  if (draws.next() % 150 === 0) return;
  body.emit(i32Const(draws.pick([0xff, 0xfff, 0x1fff, 0x7fff, 0xefff])));
  body.emit(opcode('i32.and'));
}

/** A store with its operands; half of the time the value is already on the stack. */
export function emitStore(body: BodyBuilder): void {
  const { draws, module } = body;
  const store = draws.pick(STORES.filter((entry) => module.features.simd || !usesVectors(entry)));
  const type = store.params[1];
  const scratch = body.localOf(type);
  if (scratch !== null && body.hasOnTop([type]) && draws.chance(50)) {
    body.emit(plain('local.set', [0x21, ...unsigned(scratch)], [type], []));
    pushAddress(body);
    body.emit(plain('local.get', [0x20, ...unsigned(scratch)], [], [type]));
  } else {
    pushAddress(body);
    pushValue(body, type, 3);
  }
  body.emit(fromOpcode(store, memoryImmediates(draws, store)));
}

function emitLoad(body: BodyBuilder, type: ValueType): boolean {
  const { draws, module } = body;
  const load = pickOpcode(draws, LOADS, { type, simd: module.features.simd });
  if (load === null) return false;
  pushAddress(body);
  for (const param of load.params.slice(1)) pushValue(body, param, 2);
  body.emit(fromOpcode(load, memoryImmediates(draws, load)));
  return true;
}

const TRAPPING_CONVERSION = /trunc_f/;
const DIVISION = /^i\d\d\.(div|rem)/;

function emitNumeric(body: BodyBuilder, type: ValueType, depth: number): boolean {
  const { draws, module } = body;
  const entry = pickOpcode(draws, NUMERIC, { type, simd: module.features.simd });
  if (entry === null) return false;
  if (TRAPPING_CONVERSION.test(entry.name) && draws.chance(85)) return false;
  for (const param of entry.params) pushValue(body, param, depth - 1);
  if (DIVISION.test(entry.name) && draws.chance(90)) {
    // An odd divisor is never 0; -1 with the least dividend stays possible.
    body.emit(type === 'i32' ? i32Const(1) : plain('i64.const', [0x42, 1], [], ['i64']));
    body.emit(opcode(`${type}.or`));
  }
  body.emit(fromOpcode(entry, randomImmediates(draws, entry)));
  return true;
}

const REFERENCE: readonly ValueType[] = ['funcref', 'externref', 'exnref'];

function emitSelect(body: BodyBuilder, type: ValueType, depth: number): boolean {
  const reference = REFERENCE.includes(type);
  const inner = reference && !body.module.features.liveReferences ? 0 : depth - 1;
  pushValue(body, type, inner);
  pushValue(body, type, inner);
  pushValue(body, 'i32', inner);
  const typed = reference || body.draws.chance(20);
  const bytes = typed ? [0x1c, 1, TYPE_BYTE[type]] : [0x1b];
  body.emit(plain(typed ? 'select t' : 'select', bytes, [type, type, 'i32'], [type]));
  return true;
}

function emitTee(body: BodyBuilder, type: ValueType, depth: number): boolean {
  const local = body.localOf(type);
  if (local === null) return false;
  pushValue(body, type, depth - 1);
  body.emit(plain('local.tee', [0x22, ...unsigned(local)], [type], [type]));
  return true;
}

/** Size and growth of memory and tables, tests of references. */
function emitQuery(body: BodyBuilder, type: ValueType): boolean {
  const { draws, module } = body;
  if (type !== 'i32') return emitTableGet(body, type);
  const table = draws.below(module.tables.length);
  switch (draws.below(6)) {
    case 0:
      body.emit(plain('memory.size', [0x3f, 0], [], ['i32']));
      return true;
    case 1:
      body.emit(i32Const(draws.pick([0, 1, 1, 2, 100000])));
      body.emit(plain('memory.grow', [0x40, 0], ['i32'], ['i32']));
      return true;
    case 2:
      body.emit(plain('table.size', [0xfc, 16, table], [], ['i32']));
      return true;
    case 3: {
      const element = module.tables[table].type;
      body.push(element);
      body.emit(i32Const(draws.pick([0, 1, 1, 3, 1000])));
      body.emit(plain('table.grow', [0xfc, 15, table], [element, 'i32'], ['i32']));
      return true;
    }
    default: {
      const reference = draws.pick<ValueType>(['funcref', 'externref']);
      if (!emitTableGet(body, reference)) body.push(reference);
      body.emit(plain('ref.is_null', [0xd1], [reference], ['i32']));
      return true;
    }
  }
}

function emitTableGet(body: BodyBuilder, type: ValueType): boolean {
  const { draws, module } = body;
  const tables = module.tables.flatMap((table, index) => (table.type === type ? [index] : []));
  if (tables.length === 0) return false;
  const table = draws.pick(tables);
  pushTableIndex(body, table);
  body.emit(plain('table.get', [0x25, table], ['i32'], [type]));
  return true;
}

/** Pushes an index into a table, nearly always inside its initial size. */
export function pushTableIndex(body: BodyBuilder, table: number): void {
  const { draws, module } = body;
  const size = module.tables[table].min;
  if (draws.chance(70)) {
    body.emit(i32Const(draws.chance(97) ? draws.below(size) : size + draws.below(3)));
    return;
  }
  pushValue(body, 'i32', 1);
  body.emit(i32Const(size));
  body.emit(opcode('i32.rem_u'));
}

/** A call of a function whose only result is of that type. */
function emitCallFor(body: BodyBuilder, type: ValueType): boolean {
  const { functionShapes, callableCount } = body.module;
  const found: number[] = [];
  for (let index = 0; index < callableCount; index += 1) {
    if (sameTypes(functionShapes[index].results, [type])) found.push(index);
  }
  if (found.length === 0) return false;
  const callee = body.draws.pick(found);
  for (const param of functionShapes[callee].params) pushValue(body, param, 1);
  emitCall(body, callee);
  return true;
}

/** `call` of a function whose arguments are on the stack. */
export function emitCall(body: BodyBuilder, callee: number): void {
  const { params, results } = body.module.functionShapes[callee];
  body.emit(plain('call', [0x10, ...unsigned(callee)], params, results));
}

/** An `if` with both arms, or a block, as an operand: it stands above other operands. */
function emitBlockFor(body: BodyBuilder, type: ValueType, depth: number): boolean {
  const shape = { params: [], results: [type] };
  const fill = () => pushValue(body, type, depth - 1);
  if (body.draws.chance(30)) {
    body.block({ name: 'block', shape, fill });
    return true;
  }
  pushValue(body, 'i32', depth - 1);
  body.block({ name: 'if', shape, fill, otherwise: fill });
  return true;
}

/** Pushes a value of a type, by an expression of at most that depth. */
export function pushValue(body: BodyBuilder, type: ValueType, depth: number): void {
  const { draws } = body;
  body.allowance -= 1;
  if (depth <= 0 || body.allowance <= 0 || type === 'exnref') {
    body.push(type);
    return;
  }
  const done = draws.weighted<() => boolean>([
    [30, () => false],
    [36, () => emitNumeric(body, type, depth)],
    [12, () => emitLoad(body, type)],
    [6, () => emitSelect(body, type, depth)],
    [6, () => emitTee(body, type, depth)],
    [8, () => emitQuery(body, type)],
    [9, () => emitCallFor(body, type)],
    [5, () => emitBlockFor(body, type, depth)],
  ]);
  if (!done()) body.push(type);
}

/** A numeric instruction on operands that are already there; false when none fits. */
export function emitOnStack(body: BodyBuilder): boolean {
  const { draws, module } = body;
  for (let attempt = 0; attempt < 12; attempt += 1) {
    const entry = draws.pick(module.features.simd ? NUMERIC : SCALAR_OPCODES);
    if (!body.hasOnTop(entry.params)) continue;
    if ((TRAPPING_CONVERSION.test(entry.name) || DIVISION.test(entry.name)) && draws.chance(85)) {
      continue;
    }
    body.emit(fromOpcode(entry, randomImmediates(draws, entry)));
    return true;
  }
  return false;
}
