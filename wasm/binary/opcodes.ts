import { TYPE, type ValueType } from './types.ts';

/**
 * Every instruction that we know, in one table: name, immediates, operand and result types. An
 * opcode is its byte, `0x100 | sub` for the 0xfc prefix and `0x200 | sub` for the 0xfd prefix.
 * Source: WebAssembly core 3.0, 5.4 and the appendix "index of instructions".
 */
export const OPCODE_COUNT = 0x300;

export const IMMEDIATE = {
  /** Not an opcode we know. */
  unknown: 0,
  none: 1,
  blockType: 2,
  label: 3,
  labelTable: 4,
  func: 5,
  typeTable: 6,
  selectTypes: 7,
  local: 8,
  global: 9,
  table: 10,
  memoryAccess: 11,
  memory: 12,
  i32: 13,
  i64: 14,
  f32: 15,
  f64: 16,
  heapType: 17,
  dataMemory: 18,
  data: 19,
  memoryMemory: 20,
  elemTable: 21,
  elem: 22,
  tableTable: 23,
  lane: 24,
  bytes16: 25,
  memoryLane: 26,
  tag: 27,
  tryTable: 28,
} as const;

export const OP = {
  unreachable: 0x00,
  nop: 0x01,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  try: 0x06,
  catch: 0x07,
  throw: 0x08,
  rethrow: 0x09,
  throwRef: 0x0a,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  brTable: 0x0e,
  return: 0x0f,
  call: 0x10,
  callIndirect: 0x11,
  returnCall: 0x12,
  returnCallIndirect: 0x13,
  delegate: 0x18,
  catchAll: 0x19,
  drop: 0x1a,
  select: 0x1b,
  selectTyped: 0x1c,
  tryTable: 0x1f,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  tableGet: 0x25,
  tableSet: 0x26,
  i32Load: 0x28,
  i64Load: 0x29,
  f32Load: 0x2a,
  f64Load: 0x2b,
  i32Load8U: 0x2d,
  i32Store: 0x36,
  i64Store: 0x37,
  f32Store: 0x38,
  f64Store: 0x39,
  i32Store8: 0x3a,
  i64Store32: 0x3e,
  memorySize: 0x3f,
  memoryGrow: 0x40,
  i32Const: 0x41,
  i64Const: 0x42,
  f32Const: 0x43,
  f64Const: 0x44,
  i32Eqz: 0x45,
  i32Eq: 0x46,
  i32Ne: 0x47,
  i32LtS: 0x48,
  i32LtU: 0x49,
  i32GtU: 0x4b,
  i32LeU: 0x4d,
  i32GeS: 0x4e,
  i32GeU: 0x4f,
  f32Eq: 0x5b,
  f32Ne: 0x5c,
  f64Eq: 0x61,
  f64Ne: 0x62,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i32And: 0x71,
  i32Or: 0x72,
  i32Shl: 0x74,
  i32ShrU: 0x76,
  i64Or: 0x84,
  refNull: 0xd0,
  refIsNull: 0xd1,
  refFunc: 0xd2,
  memoryInit: 0x108,
  dataDrop: 0x109,
  memoryCopy: 0x10a,
  memoryFill: 0x10b,
  tableInit: 0x10c,
  elemDrop: 0x10d,
  tableCopy: 0x10e,
  tableGrow: 0x10f,
  tableSize: 0x110,
  tableFill: 0x111,
  v128Load: 0x200,
  v128Store: 0x20b,
  v128Const: 0x20c,
  v128Load8Lane: 0x254,
  v128Store8Lane: 0x258,
  v128Store64Lane: 0x25b,
} as const;

const NO_TYPES: readonly ValueType[] = [];
const names: string[] = new Array<string>(OPCODE_COUNT).fill('');
const immediates = new Uint8Array(OPCODE_COUNT);
const params: (readonly ValueType[])[] = new Array<readonly ValueType[]>(OPCODE_COUNT).fill(
  NO_TYPES,
);
const results: (readonly ValueType[])[] = new Array<readonly ValueType[]>(OPCODE_COUNT).fill(
  NO_TYPES,
);

const LETTER: ReadonlyMap<string, ValueType> = new Map([
  ['i', TYPE.i32],
  ['l', TYPE.i64],
  ['f', TYPE.f32],
  ['d', TYPE.f64],
  ['v', TYPE.v128],
]);

function typesOf(letters: string): readonly ValueType[] {
  return Array.from(letters, (letter) => LETTER.get(letter) ?? 0);
}

/** Defines consecutive opcodes that share a signature, such as `ii>i`, and their immediates. */
function define(from: number, signature: string, immediate: number, list: string): void {
  const [operands, outcome] = signature.split('>');
  list.split(' ').forEach((name, index) => {
    if (name === '-') return;
    names[from + index] = name;
    immediates[from + index] = immediate;
    params[from + index] = typesOf(operands);
    results[from + index] = typesOf(outcome);
  });
}

/** Prefixes each name of a list. */
function prefix(head: string, list: string): string {
  return list
    .split(' ')
    .map((name) => (name === '-' ? name : head + name))
    .join(' ');
}

const I = IMMEDIATE;

function defineControl(): void {
  define(0x00, '>', I.none, 'unreachable nop');
  define(0x02, '>', I.blockType, 'block loop');
  define(0x04, 'i>', I.blockType, 'if');
  define(0x05, '>', I.none, 'else');
  define(0x06, '>', I.blockType, 'try');
  define(0x07, '>', I.tag, 'catch throw');
  define(0x09, '>', I.label, 'rethrow');
  define(0x0a, '>', I.none, 'throw_ref end');
  define(0x0c, '>', I.label, 'br br_if');
  define(0x0e, '>', I.labelTable, 'br_table');
  define(0x0f, '>', I.none, 'return');
  define(0x10, '>', I.func, 'call');
  define(0x11, '>', I.typeTable, 'call_indirect');
  define(0x12, '>', I.func, 'return_call');
  define(0x13, '>', I.typeTable, 'return_call_indirect');
  define(0x18, '>', I.label, 'delegate');
  define(0x19, '>', I.none, 'catch_all drop select');
  define(0x1c, '>', I.selectTypes, 'select');
  define(0x1f, '>', I.tryTable, 'try_table');
  define(0x20, '>', I.local, prefix('local.', 'get set tee'));
  define(0x23, '>', I.global, prefix('global.', 'get set'));
  define(0x25, '>', I.table, prefix('table.', 'get set'));
  define(0xd0, '>', I.heapType, 'ref.null');
  define(0xd1, '>i', I.none, 'ref.is_null');
  define(0xd2, '>', I.func, 'ref.func');
}

function defineMemory(): void {
  const access = I.memoryAccess;
  define(0x28, 'i>i', access, 'i32.load');
  define(0x29, 'i>l', access, 'i64.load');
  define(0x2a, 'i>f', access, 'f32.load');
  define(0x2b, 'i>d', access, 'f64.load');
  define(0x2c, 'i>i', access, prefix('i32.load', '8_s 8_u 16_s 16_u'));
  define(0x30, 'i>l', access, prefix('i64.load', '8_s 8_u 16_s 16_u 32_s 32_u'));
  define(0x36, 'ii>', access, 'i32.store');
  define(0x37, 'il>', access, 'i64.store');
  define(0x38, 'if>', access, 'f32.store');
  define(0x39, 'id>', access, 'f64.store');
  define(0x3a, 'ii>', access, prefix('i32.store', '8 16'));
  define(0x3c, 'il>', access, prefix('i64.store', '8 16 32'));
  define(0x3f, '>i', I.memory, 'memory.size');
  define(0x40, 'i>i', I.memory, 'memory.grow');
  define(0x108, 'iii>', I.dataMemory, 'memory.init');
  define(0x109, '>', I.data, 'data.drop');
  define(0x10a, 'iii>', I.memoryMemory, 'memory.copy');
  define(0x10b, 'iii>', I.memory, 'memory.fill');
  define(0x10c, 'iii>', I.elemTable, 'table.init');
  define(0x10d, '>', I.elem, 'elem.drop');
  define(0x10e, 'iii>', I.tableTable, 'table.copy');
  define(0x10f, '>', I.table, prefix('table.', 'grow size fill'));
}

const INTEGER_COMPARE = 'eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u';
const INTEGER_BINARY = 'add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr';
const FLOAT_COMPARE = 'eq ne lt gt le ge';
const FLOAT_UNARY = 'abs neg ceil floor trunc nearest sqrt';
const FLOAT_BINARY = 'add sub mul div min max copysign';

function defineScalar(): void {
  define(0x41, '>i', I.i32, 'i32.const');
  define(0x42, '>l', I.i64, 'i64.const');
  define(0x43, '>f', I.f32, 'f32.const');
  define(0x44, '>d', I.f64, 'f64.const');
  define(0x45, 'i>i', I.none, 'i32.eqz');
  define(0x46, 'ii>i', I.none, prefix('i32.', INTEGER_COMPARE));
  define(0x50, 'l>i', I.none, 'i64.eqz');
  define(0x51, 'll>i', I.none, prefix('i64.', INTEGER_COMPARE));
  define(0x5b, 'ff>i', I.none, prefix('f32.', FLOAT_COMPARE));
  define(0x61, 'dd>i', I.none, prefix('f64.', FLOAT_COMPARE));
  define(0x67, 'i>i', I.none, prefix('i32.', 'clz ctz popcnt'));
  define(0x6a, 'ii>i', I.none, prefix('i32.', INTEGER_BINARY));
  define(0x79, 'l>l', I.none, prefix('i64.', 'clz ctz popcnt'));
  define(0x7c, 'll>l', I.none, prefix('i64.', INTEGER_BINARY));
  define(0x8b, 'f>f', I.none, prefix('f32.', FLOAT_UNARY));
  define(0x92, 'ff>f', I.none, prefix('f32.', FLOAT_BINARY));
  define(0x99, 'd>d', I.none, prefix('f64.', FLOAT_UNARY));
  define(0xa0, 'dd>d', I.none, prefix('f64.', FLOAT_BINARY));
  defineConversions();
}

function defineConversions(): void {
  define(0xa7, 'l>i', I.none, 'i32.wrap_i64');
  define(0xa8, 'f>i', I.none, 'i32.trunc_f32_s i32.trunc_f32_u');
  define(0xaa, 'd>i', I.none, 'i32.trunc_f64_s i32.trunc_f64_u');
  define(0xac, 'i>l', I.none, 'i64.extend_i32_s i64.extend_i32_u');
  define(0xae, 'f>l', I.none, 'i64.trunc_f32_s i64.trunc_f32_u');
  define(0xb0, 'd>l', I.none, 'i64.trunc_f64_s i64.trunc_f64_u');
  define(0xb2, 'i>f', I.none, 'f32.convert_i32_s f32.convert_i32_u');
  define(0xb4, 'l>f', I.none, 'f32.convert_i64_s f32.convert_i64_u');
  define(0xb6, 'd>f', I.none, 'f32.demote_f64');
  define(0xb7, 'i>d', I.none, 'f64.convert_i32_s f64.convert_i32_u');
  define(0xb9, 'l>d', I.none, 'f64.convert_i64_s f64.convert_i64_u');
  define(0xbb, 'f>d', I.none, 'f64.promote_f32');
  define(0xbc, 'f>i', I.none, 'i32.reinterpret_f32');
  define(0xbd, 'd>l', I.none, 'i64.reinterpret_f64');
  define(0xbe, 'i>f', I.none, 'f32.reinterpret_i32');
  define(0xbf, 'l>d', I.none, 'f64.reinterpret_i64');
  define(0xc0, 'i>i', I.none, 'i32.extend8_s i32.extend16_s');
  define(0xc2, 'l>l', I.none, 'i64.extend8_s i64.extend16_s i64.extend32_s');
  define(0x100, 'f>i', I.none, 'i32.trunc_sat_f32_s i32.trunc_sat_f32_u');
  define(0x102, 'd>i', I.none, 'i32.trunc_sat_f64_s i32.trunc_sat_f64_u');
  define(0x104, 'f>l', I.none, 'i64.trunc_sat_f32_s i64.trunc_sat_f32_u');
  define(0x106, 'd>l', I.none, 'i64.trunc_sat_f64_s i64.trunc_sat_f64_u');
}

function defineVectorMemory(): void {
  const loads = '8x8_s 8x8_u 16x4_s 16x4_u 32x2_s 32x2_u 8_splat 16_splat 32_splat 64_splat';
  define(0x200, 'i>v', I.memoryAccess, 'v128.load');
  define(0x201, 'i>v', I.memoryAccess, prefix('v128.load', loads));
  define(0x20b, 'iv>', I.memoryAccess, 'v128.store');
  define(0x20c, '>v', I.bytes16, 'v128.const');
  define(0x20d, 'vv>v', I.bytes16, 'i8x16.shuffle');
  define(0x20e, 'vv>v', I.none, 'i8x16.swizzle');
  define(0x20f, 'i>v', I.none, 'i8x16.splat i16x8.splat i32x4.splat');
  define(0x212, 'l>v', I.none, 'i64x2.splat');
  define(0x213, 'f>v', I.none, 'f32x4.splat');
  define(0x214, 'd>v', I.none, 'f64x2.splat');
  define(0x215, 'v>i', I.lane, 'i8x16.extract_lane_s i8x16.extract_lane_u');
  define(0x217, 'vi>v', I.lane, 'i8x16.replace_lane');
  define(0x218, 'v>i', I.lane, 'i16x8.extract_lane_s i16x8.extract_lane_u');
  define(0x21a, 'vi>v', I.lane, 'i16x8.replace_lane');
  define(0x21b, 'v>i', I.lane, 'i32x4.extract_lane');
  define(0x21c, 'vi>v', I.lane, 'i32x4.replace_lane');
  define(0x21d, 'v>l', I.lane, 'i64x2.extract_lane');
  define(0x21e, 'vl>v', I.lane, 'i64x2.replace_lane');
  define(0x21f, 'v>f', I.lane, 'f32x4.extract_lane');
  define(0x220, 'vf>v', I.lane, 'f32x4.replace_lane');
  define(0x221, 'v>d', I.lane, 'f64x2.extract_lane');
  define(0x222, 'vd>v', I.lane, 'f64x2.replace_lane');
  define(0x254, 'iv>v', I.memoryLane, prefix('v128.load', '8_lane 16_lane 32_lane 64_lane'));
  define(0x258, 'iv>', I.memoryLane, prefix('v128.store', '8_lane 16_lane 32_lane 64_lane'));
  define(0x25c, 'i>v', I.memoryAccess, 'v128.load32_zero v128.load64_zero');
}

function defineVectorArithmetic(): void {
  const binary = (from: number, list: string): void => define(from, 'vv>v', I.none, list);
  const unary = (from: number, list: string): void => define(from, 'v>v', I.none, list);
  const shift = (from: number, list: string): void => define(from, 'vi>v', I.none, list);
  const test = (from: number, list: string): void => define(from, 'v>i', I.none, list);
  for (const [index, shape] of ['i8x16.', 'i16x8.', 'i32x4.'].entries()) {
    binary(0x223 + index * 10, prefix(shape, INTEGER_COMPARE));
  }
  binary(0x241, prefix('f32x4.', FLOAT_COMPARE));
  binary(0x247, prefix('f64x2.', FLOAT_COMPARE));
  unary(0x24d, 'v128.not');
  binary(0x24e, prefix('v128.', 'and andnot or xor'));
  define(0x252, 'vvv>v', I.none, 'v128.bitselect');
  test(0x253, 'v128.any_true');
  unary(0x25e, 'f32x4.demote_f64x2_zero f64x2.promote_low_f32x4');
  unary(0x260, prefix('i8x16.', 'abs neg popcnt'));
  test(0x263, prefix('i8x16.', 'all_true bitmask'));
  binary(0x265, prefix('i8x16.', 'narrow_i16x8_s narrow_i16x8_u'));
  unary(0x267, prefix('f32x4.', 'ceil floor trunc nearest'));
  shift(0x26b, prefix('i8x16.', 'shl shr_s shr_u'));
  binary(0x26e, prefix('i8x16.', 'add add_sat_s add_sat_u sub sub_sat_s sub_sat_u'));
  unary(0x274, 'f64x2.ceil f64x2.floor');
  binary(0x276, prefix('i8x16.', 'min_s min_u max_s max_u'));
  unary(0x27a, 'f64x2.trunc');
  binary(0x27b, 'i8x16.avgr_u');
  unary(0x27c, prefix('i16x8.extadd_pairwise_i8x16_', 's u'));
  unary(0x27e, prefix('i32x4.extadd_pairwise_i16x8_', 's u'));
  unary(0x280, 'i16x8.abs i16x8.neg');
  binary(0x282, 'i16x8.q15mulr_sat_s');
  test(0x283, prefix('i16x8.', 'all_true bitmask'));
  binary(0x285, prefix('i16x8.narrow_i32x4_', 's u'));
  unary(0x287, prefix('i16x8.extend_', 'low_i8x16_s high_i8x16_s low_i8x16_u high_i8x16_u'));
  shift(0x28b, prefix('i16x8.', 'shl shr_s shr_u'));
  binary(0x28e, prefix('i16x8.', 'add add_sat_s add_sat_u sub sub_sat_s sub_sat_u'));
  unary(0x294, 'f64x2.nearest');
  binary(0x295, prefix('i16x8.', 'mul min_s min_u max_s max_u - avgr_u'));
  binary(0x29c, prefix('i16x8.extmul_', 'low_i8x16_s high_i8x16_s low_i8x16_u high_i8x16_u'));
  unary(0x2a0, 'i32x4.abs i32x4.neg');
  test(0x2a3, prefix('i32x4.', 'all_true bitmask'));
  unary(0x2a7, prefix('i32x4.extend_', 'low_i16x8_s high_i16x8_s low_i16x8_u high_i16x8_u'));
  shift(0x2ab, prefix('i32x4.', 'shl shr_s shr_u'));
  binary(0x2ae, 'i32x4.add');
  binary(0x2b1, 'i32x4.sub');
  binary(0x2b5, prefix('i32x4.', 'mul min_s min_u max_s max_u dot_i16x8_s'));
  binary(0x2bc, prefix('i32x4.extmul_', 'low_i16x8_s high_i16x8_s low_i16x8_u high_i16x8_u'));
  unary(0x2c0, 'i64x2.abs i64x2.neg');
  test(0x2c3, prefix('i64x2.', 'all_true bitmask'));
  unary(0x2c7, prefix('i64x2.extend_', 'low_i32x4_s high_i32x4_s low_i32x4_u high_i32x4_u'));
  shift(0x2cb, prefix('i64x2.', 'shl shr_s shr_u'));
  binary(0x2ce, 'i64x2.add');
  binary(0x2d1, 'i64x2.sub');
  binary(0x2d5, prefix('i64x2.', 'mul eq ne lt_s gt_s le_s ge_s'));
  binary(0x2dc, prefix('i64x2.extmul_', 'low_i32x4_s high_i32x4_s low_i32x4_u high_i32x4_u'));
  unary(0x2e0, prefix('f32x4.', 'abs neg - sqrt'));
  binary(0x2e4, prefix('f32x4.', 'add sub mul div min max pmin pmax'));
  unary(0x2ec, prefix('f64x2.', 'abs neg - sqrt'));
  binary(0x2f0, prefix('f64x2.', 'add sub mul div min max pmin pmax'));
  unary(0x2f8, prefix('i32x4.trunc_sat_f32x4_', 's u'));
  unary(0x2fa, prefix('f32x4.convert_i32x4_', 's u'));
  unary(0x2fc, 'i32x4.trunc_sat_f64x2_s_zero i32x4.trunc_sat_f64x2_u_zero');
  unary(0x2fe, 'f64x2.convert_low_i32x4_s f64x2.convert_low_i32x4_u');
}

defineControl();
defineMemory();
defineScalar();
defineVectorMemory();
defineVectorArithmetic();
params[0xd1] = NO_TYPES; // ref.is_null takes any reference: the decoder types it.

/** The text name, or '' when the opcode is unknown. */
export const OPCODE_NAMES: readonly string[] = names;
/** IMMEDIATE of each opcode. */
export const OPCODE_IMMEDIATES: Readonly<Uint8Array> = immediates;
/** Operand types; empty for the polymorphic ones, which the decoder types itself. */
export const OPCODE_PARAMS: readonly (readonly ValueType[])[] = params;
export const OPCODE_RESULTS: readonly (readonly ValueType[])[] = results;

/** Bytes that a plain or vector store writes, 0 for everything else. */
export function storedBytes(op: number): number {
  if (op >= OP.i32Store && op <= OP.i64Store32)
    return [4, 8, 4, 8, 1, 2, 1, 2, 4][op - OP.i32Store];
  if (op === OP.v128Store) return 16;
  if (op >= OP.v128Store8Lane && op <= OP.v128Store64Lane) return 1 << (op - OP.v128Store8Lane);
  return 0;
}

/** Appends an opcode's bytes, the prefix included. */
export function opcodeBytes(op: number): readonly number[] {
  if (op < 0x100) return [op];
  const sub = op & 0xff;
  const head = op < 0x200 ? 0xfc : 0xfd;
  return sub < 0x80 ? [head, sub] : [head, (sub & 0x7f) | 0x80, 1];
}
