/** The value types that the generator knows, by their names in the text format. */
export type ValueType = 'i32' | 'i64' | 'f32' | 'f64' | 'v128' | 'funcref' | 'externref' | 'exnref';

/** Lanes in which an instruction may produce a NaN by arithmetic (not by moving bits). */
export type NanShape = 'f32' | 'f64' | 'f32x4' | 'f64x2';

/** What the immediates of an instruction are. */
export type Immediate =
  | { readonly kind: 'none' }
  | { readonly kind: 'memory'; readonly bytes: number }
  | { readonly kind: 'memory-lane'; readonly bytes: number }
  | { readonly kind: 'lane'; readonly lanes: number }
  | { readonly kind: 'shuffle' };

/** One instruction whose type depends on nothing but itself. */
export interface Opcode {
  readonly name: string;
  /** Prefix byte, if any, and the opcode proper. */
  readonly prefix: number | null;
  readonly code: number;
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
  readonly immediate: Immediate;
  readonly nan: NanShape | null;
}

const LETTERS: Readonly<Record<string, ValueType>> = {
  i: 'i32',
  l: 'i64',
  f: 'f32',
  d: 'f64',
  v: 'v128',
};

const SIMD_PREFIX = 0xfd;
const BULK_PREFIX = 0xfc;

/** Prefix, first opcode, type in letters, names in opcode order ('-' leaves a gap). */
type Row = readonly [prefix: number | null, first: number, type: string, names: string];

/** WebAssembly 2.0 core specification, appendix "Index of Instructions". */
const SCALAR: readonly Row[] = [
  [null, 0x45, 'i>i', 'i32.eqz'],
  [null, 0x46, 'ii>i', 'i32.eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u'],
  [null, 0x50, 'l>i', 'i64.eqz'],
  [null, 0x51, 'll>i', 'i64.eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u'],
  [null, 0x5b, 'ff>i', 'f32.eq ne lt gt le ge'],
  [null, 0x61, 'dd>i', 'f64.eq ne lt gt le ge'],
  [null, 0x67, 'i>i', 'i32.clz ctz popcnt'],
  [
    null,
    0x6a,
    'ii>i',
    'i32.add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr',
  ],
  [null, 0x79, 'l>l', 'i64.clz ctz popcnt'],
  [
    null,
    0x7c,
    'll>l',
    'i64.add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr',
  ],
  [null, 0x8b, 'f>f', 'f32.abs neg'],
  [null, 0x8d, 'f>f!f32', 'f32.ceil floor trunc nearest sqrt'],
  [null, 0x92, 'ff>f!f32', 'f32.add sub mul div min max'],
  [null, 0x98, 'ff>f', 'f32.copysign'],
  [null, 0x99, 'd>d', 'f64.abs neg'],
  [null, 0x9b, 'd>d!f64', 'f64.ceil floor trunc nearest sqrt'],
  [null, 0xa0, 'dd>d!f64', 'f64.add sub mul div min max'],
  [null, 0xa6, 'dd>d', 'f64.copysign'],
  [null, 0xa7, 'l>i', 'i32.wrap_i64'],
  [null, 0xa8, 'f>i', 'i32.trunc_f32_s trunc_f32_u'],
  [null, 0xaa, 'd>i', 'i32.trunc_f64_s trunc_f64_u'],
  [null, 0xac, 'i>l', 'i64.extend_i32_s extend_i32_u'],
  [null, 0xae, 'f>l', 'i64.trunc_f32_s trunc_f32_u'],
  [null, 0xb0, 'd>l', 'i64.trunc_f64_s trunc_f64_u'],
  [null, 0xb2, 'i>f', 'f32.convert_i32_s convert_i32_u'],
  [null, 0xb4, 'l>f', 'f32.convert_i64_s convert_i64_u'],
  [null, 0xb6, 'd>f!f32', 'f32.demote_f64'],
  [null, 0xb7, 'i>d', 'f64.convert_i32_s convert_i32_u'],
  [null, 0xb9, 'l>d', 'f64.convert_i64_s convert_i64_u'],
  [null, 0xbb, 'f>d!f64', 'f64.promote_f32'],
  [null, 0xbc, 'f>i', 'i32.reinterpret_f32'],
  [null, 0xbd, 'd>l', 'i64.reinterpret_f64'],
  [null, 0xbe, 'i>f', 'f32.reinterpret_i32'],
  [null, 0xbf, 'l>d', 'f64.reinterpret_i64'],
  [null, 0xc0, 'i>i', 'i32.extend8_s extend16_s'],
  [null, 0xc2, 'l>l', 'i64.extend8_s extend16_s extend32_s'],
  [BULK_PREFIX, 0, 'f>i', 'i32.trunc_sat_f32_s trunc_sat_f32_u'],
  [BULK_PREFIX, 2, 'd>i', 'i32.trunc_sat_f64_s trunc_sat_f64_u'],
  [BULK_PREFIX, 4, 'f>l', 'i64.trunc_sat_f32_s trunc_sat_f32_u'],
  [BULK_PREFIX, 6, 'd>l', 'i64.trunc_sat_f64_s trunc_sat_f64_u'],
];

const COMPARE = 'eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u';

const VECTOR: readonly Row[] = [
  [SIMD_PREFIX, 13, 'vv>v@shuffle', 'i8x16.shuffle'],
  [SIMD_PREFIX, 14, 'vv>v', 'i8x16.swizzle'],
  [SIMD_PREFIX, 15, 'i>v', 'i8x16.splat'],
  [SIMD_PREFIX, 16, 'i>v', 'i16x8.splat'],
  [SIMD_PREFIX, 17, 'i>v', 'i32x4.splat'],
  [SIMD_PREFIX, 18, 'l>v', 'i64x2.splat'],
  [SIMD_PREFIX, 19, 'f>v', 'f32x4.splat'],
  [SIMD_PREFIX, 20, 'd>v', 'f64x2.splat'],
  [SIMD_PREFIX, 21, 'v>i@16', 'i8x16.extract_lane_s extract_lane_u'],
  [SIMD_PREFIX, 23, 'vi>v@16', 'i8x16.replace_lane'],
  [SIMD_PREFIX, 24, 'v>i@8', 'i16x8.extract_lane_s extract_lane_u'],
  [SIMD_PREFIX, 26, 'vi>v@8', 'i16x8.replace_lane'],
  [SIMD_PREFIX, 27, 'v>i@4', 'i32x4.extract_lane'],
  [SIMD_PREFIX, 28, 'vi>v@4', 'i32x4.replace_lane'],
  [SIMD_PREFIX, 29, 'v>l@2', 'i64x2.extract_lane'],
  [SIMD_PREFIX, 30, 'vl>v@2', 'i64x2.replace_lane'],
  [SIMD_PREFIX, 31, 'v>f@4', 'f32x4.extract_lane'],
  [SIMD_PREFIX, 32, 'vf>v@4', 'f32x4.replace_lane'],
  [SIMD_PREFIX, 33, 'v>d@2', 'f64x2.extract_lane'],
  [SIMD_PREFIX, 34, 'vd>v@2', 'f64x2.replace_lane'],
  [SIMD_PREFIX, 35, 'vv>v', `i8x16.${COMPARE}`],
  [SIMD_PREFIX, 45, 'vv>v', `i16x8.${COMPARE}`],
  [SIMD_PREFIX, 55, 'vv>v', `i32x4.${COMPARE}`],
  [SIMD_PREFIX, 65, 'vv>v', 'f32x4.eq ne lt gt le ge'],
  [SIMD_PREFIX, 71, 'vv>v', 'f64x2.eq ne lt gt le ge'],
  [SIMD_PREFIX, 77, 'v>v', 'v128.not'],
  [SIMD_PREFIX, 78, 'vv>v', 'v128.and andnot or xor'],
  [SIMD_PREFIX, 82, 'vvv>v', 'v128.bitselect'],
  [SIMD_PREFIX, 83, 'v>i', 'v128.any_true'],
  [SIMD_PREFIX, 94, 'v>v!f32x4', 'f32x4.demote_f64x2_zero'],
  [SIMD_PREFIX, 95, 'v>v!f64x2', 'f64x2.promote_low_f32x4'],
  [SIMD_PREFIX, 96, 'v>v', 'i8x16.abs neg popcnt'],
  [SIMD_PREFIX, 99, 'v>i', 'i8x16.all_true bitmask'],
  [SIMD_PREFIX, 101, 'vv>v', 'i8x16.narrow_i16x8_s narrow_i16x8_u'],
  [SIMD_PREFIX, 103, 'v>v!f32x4', 'f32x4.ceil floor trunc nearest'],
  [SIMD_PREFIX, 107, 'vi>v', 'i8x16.shl shr_s shr_u'],
  [SIMD_PREFIX, 110, 'vv>v', 'i8x16.add add_sat_s add_sat_u sub sub_sat_s sub_sat_u'],
  [SIMD_PREFIX, 116, 'v>v!f64x2', 'f64x2.ceil floor'],
  [SIMD_PREFIX, 118, 'vv>v', 'i8x16.min_s min_u max_s max_u'],
  [SIMD_PREFIX, 122, 'v>v!f64x2', 'f64x2.trunc'],
  [SIMD_PREFIX, 123, 'vv>v', 'i8x16.avgr_u'],
  [SIMD_PREFIX, 124, 'v>v', 'i16x8.extadd_pairwise_i8x16_s extadd_pairwise_i8x16_u'],
  [SIMD_PREFIX, 126, 'v>v', 'i32x4.extadd_pairwise_i16x8_s extadd_pairwise_i16x8_u'],
  [SIMD_PREFIX, 128, 'v>v', 'i16x8.abs neg'],
  [SIMD_PREFIX, 130, 'vv>v', 'i16x8.q15mulr_sat_s'],
  [SIMD_PREFIX, 131, 'v>i', 'i16x8.all_true bitmask'],
  [SIMD_PREFIX, 133, 'vv>v', 'i16x8.narrow_i32x4_s narrow_i32x4_u'],
  [
    SIMD_PREFIX,
    135,
    'v>v',
    'i16x8.extend_low_i8x16_s extend_high_i8x16_s extend_low_i8x16_u extend_high_i8x16_u',
  ],
  [SIMD_PREFIX, 139, 'vi>v', 'i16x8.shl shr_s shr_u'],
  [SIMD_PREFIX, 142, 'vv>v', 'i16x8.add add_sat_s add_sat_u sub sub_sat_s sub_sat_u'],
  [SIMD_PREFIX, 148, 'v>v!f64x2', 'f64x2.nearest'],
  [SIMD_PREFIX, 149, 'vv>v', 'i16x8.mul min_s min_u max_s max_u - avgr_u'],
  [
    SIMD_PREFIX,
    156,
    'vv>v',
    'i16x8.extmul_low_i8x16_s extmul_high_i8x16_s extmul_low_i8x16_u extmul_high_i8x16_u',
  ],
  [SIMD_PREFIX, 160, 'v>v', 'i32x4.abs neg'],
  [SIMD_PREFIX, 163, 'v>i', 'i32x4.all_true bitmask'],
  [
    SIMD_PREFIX,
    167,
    'v>v',
    'i32x4.extend_low_i16x8_s extend_high_i16x8_s extend_low_i16x8_u extend_high_i16x8_u',
  ],
  [SIMD_PREFIX, 171, 'vi>v', 'i32x4.shl shr_s shr_u'],
  [SIMD_PREFIX, 174, 'vv>v', 'i32x4.add - - sub - - - mul min_s min_u max_s max_u dot_i16x8_s'],
  [
    SIMD_PREFIX,
    188,
    'vv>v',
    'i32x4.extmul_low_i16x8_s extmul_high_i16x8_s extmul_low_i16x8_u extmul_high_i16x8_u',
  ],
  [SIMD_PREFIX, 192, 'v>v', 'i64x2.abs neg'],
  [SIMD_PREFIX, 195, 'v>i', 'i64x2.all_true bitmask'],
  [
    SIMD_PREFIX,
    199,
    'v>v',
    'i64x2.extend_low_i32x4_s extend_high_i32x4_s extend_low_i32x4_u extend_high_i32x4_u',
  ],
  [SIMD_PREFIX, 203, 'vi>v', 'i64x2.shl shr_s shr_u'],
  [SIMD_PREFIX, 206, 'vv>v', 'i64x2.add - - sub - - - mul eq ne lt_s gt_s le_s ge_s'],
  [
    SIMD_PREFIX,
    220,
    'vv>v',
    'i64x2.extmul_low_i32x4_s extmul_high_i32x4_s extmul_low_i32x4_u extmul_high_i32x4_u',
  ],
  [SIMD_PREFIX, 224, 'v>v', 'f32x4.abs neg'],
  [SIMD_PREFIX, 227, 'v>v!f32x4', 'f32x4.sqrt'],
  [SIMD_PREFIX, 228, 'vv>v!f32x4', 'f32x4.add sub mul div min max'],
  [SIMD_PREFIX, 234, 'vv>v', 'f32x4.pmin pmax'],
  [SIMD_PREFIX, 236, 'v>v', 'f64x2.abs neg'],
  [SIMD_PREFIX, 239, 'v>v!f64x2', 'f64x2.sqrt'],
  [SIMD_PREFIX, 240, 'vv>v!f64x2', 'f64x2.add sub mul div min max'],
  [SIMD_PREFIX, 246, 'vv>v', 'f64x2.pmin pmax'],
  [SIMD_PREFIX, 248, 'v>v', 'i32x4.trunc_sat_f32x4_s trunc_sat_f32x4_u'],
  [SIMD_PREFIX, 250, 'v>v', 'f32x4.convert_i32x4_s convert_i32x4_u'],
  [SIMD_PREFIX, 252, 'v>v', 'i32x4.trunc_sat_f64x2_s_zero trunc_sat_f64x2_u_zero'],
  [SIMD_PREFIX, 254, 'v>v', 'f64x2.convert_low_i32x4_s convert_low_i32x4_u'],
];

const MEMORY: readonly Row[] = [
  [null, 0x28, 'i>i#4', 'i32.load'],
  [null, 0x29, 'i>l#8', 'i64.load'],
  [null, 0x2a, 'i>f#4', 'f32.load'],
  [null, 0x2b, 'i>d#8', 'f64.load'],
  [null, 0x2c, 'i>i#1', 'i32.load8_s load8_u'],
  [null, 0x2e, 'i>i#2', 'i32.load16_s load16_u'],
  [null, 0x30, 'i>l#1', 'i64.load8_s load8_u'],
  [null, 0x32, 'i>l#2', 'i64.load16_s load16_u'],
  [null, 0x34, 'i>l#4', 'i64.load32_s load32_u'],
  [null, 0x36, 'ii>#4', 'i32.store'],
  [null, 0x37, 'il>#8', 'i64.store'],
  [null, 0x38, 'if>#4', 'f32.store'],
  [null, 0x39, 'id>#8', 'f64.store'],
  [null, 0x3a, 'ii>#1', 'i32.store8'],
  [null, 0x3b, 'ii>#2', 'i32.store16'],
  [null, 0x3c, 'il>#1', 'i64.store8'],
  [null, 0x3d, 'il>#2', 'i64.store16'],
  [null, 0x3e, 'il>#4', 'i64.store32'],
  [SIMD_PREFIX, 0, 'i>v#16', 'v128.load'],
  [SIMD_PREFIX, 1, 'i>v#8', 'v128.load8x8_s load8x8_u load16x4_s load16x4_u load32x2_s load32x2_u'],
  [SIMD_PREFIX, 7, 'i>v#1', 'v128.load8_splat'],
  [SIMD_PREFIX, 8, 'i>v#2', 'v128.load16_splat'],
  [SIMD_PREFIX, 9, 'i>v#4', 'v128.load32_splat'],
  [SIMD_PREFIX, 10, 'i>v#8', 'v128.load64_splat'],
  [SIMD_PREFIX, 11, 'iv>#16', 'v128.store'],
  [SIMD_PREFIX, 84, 'iv>v%1', 'v128.load8_lane'],
  [SIMD_PREFIX, 85, 'iv>v%2', 'v128.load16_lane'],
  [SIMD_PREFIX, 86, 'iv>v%4', 'v128.load32_lane'],
  [SIMD_PREFIX, 87, 'iv>v%8', 'v128.load64_lane'],
  [SIMD_PREFIX, 88, 'iv>%1', 'v128.store8_lane'],
  [SIMD_PREFIX, 89, 'iv>%2', 'v128.store16_lane'],
  [SIMD_PREFIX, 90, 'iv>%4', 'v128.store32_lane'],
  [SIMD_PREFIX, 91, 'iv>%8', 'v128.store64_lane'],
  [SIMD_PREFIX, 92, 'i>v#4', 'v128.load32_zero'],
  [SIMD_PREFIX, 93, 'i>v#8', 'v128.load64_zero'],
];

function letters(text: string): ValueType[] {
  return Array.from(text, (letter) => LETTERS[letter]);
}

function immediateOf(mark: string, value: string): Immediate {
  switch (mark) {
    case '#':
      return { kind: 'memory', bytes: Number(value) };
    case '%':
      return { kind: 'memory-lane', bytes: Number(value) };
    case '@':
      return value === 'shuffle' ? { kind: 'shuffle' } : { kind: 'lane', lanes: Number(value) };
    default:
      return { kind: 'none' };
  }
}

function expand(rows: readonly Row[]): Opcode[] {
  const opcodes: Opcode[] = [];
  for (const [prefix, first, type, names] of rows) {
    const match = /^([ilfdv]*)>([ilfdv]?)([!#%@]?)(\w*)$/.exec(type);
    if (match === null) throw new Error(`bad row ${type}`);
    const [, params, results, mark, value] = match;
    const parts = names.split(' ');
    const group = parts[0].split('.')[0];
    parts.forEach((part, index) => {
      if (part === '-') return;
      opcodes.push({
        name: part.includes('.') ? part : `${group}.${part}`,
        prefix,
        code: first + index,
        params: letters(params),
        results: letters(results),
        immediate: immediateOf(mark, value),
        nan: mark === '!' ? (value as NanShape) : null,
      });
    });
  }
  return opcodes;
}

/** Scalar numeric instructions: 2.0 core, without constants. */
export const SCALAR_OPCODES: readonly Opcode[] = expand(SCALAR);
/** Fixed-width SIMD instructions without memory access and without v128.const. */
export const VECTOR_OPCODES: readonly Opcode[] = expand(VECTOR);
/** Loads and stores, scalar and SIMD. */
export const MEMORY_OPCODES: readonly Opcode[] = expand(MEMORY);
