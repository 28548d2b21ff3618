import { signed } from './encode.ts';
import { plain, zero } from './instructions.ts';
import type { Plain } from './model.ts';
import type { ValueType } from './opcodes.ts';
import type { Draws } from './random-source.ts';

/** Edge values of i32: page and word borders, shift counts, limits of the conversions. */
export const I32_EDGES: readonly number[] = [
  0, 1, 2, 7, 8, 31, 32, 33, 63, 127, 128, 255, 256, 4088, 4095, 4096, 32767, 32768, 65528, 65535,
  65536, 0x7fffffff, -0x80000000, -1, -2, -31, -128, -129, -32768, -65536, 0x55555555,
];

export const I64_EDGES: readonly bigint[] = [
  0n,
  1n,
  2n,
  31n,
  32n,
  63n,
  64n,
  65n,
  127n,
  255n,
  65535n,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  0x1_0000_0000n,
  0x7fff_ffff_ffff_ffffn,
  -0x8000_0000_0000_0000n,
  -1n,
  -2n,
  -64n,
  -0x80000000n,
  -0x80000001n,
  0x5555_5555_5555_5555n,
  0x20_0000_0000_0001n,
];

/** Bit patterns of f32: zeros, ones, limits, subnormals, infinities, quiet and signalling NaNs. */
export const F32_EDGES: readonly number[] = [
  0, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000, 0x00000001,
  0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
  0xffc00000, 0x7fc00001, 0xffc12345, 0x7fa00000, 0xff800001, 0x4f000000, 0xcf000000, 0x4f800000,
  0x5f000000, 0xdf000000, 0x5f800000, 0x4b000001, 0x40490fdb,
];

/** Bit patterns of f64, the same kinds. */
export const F64_EDGES: readonly bigint[] = [
  0n,
  0x8000000000000000n,
  0x3ff0000000000000n,
  0xbff0000000000000n,
  0x3fe0000000000000n,
  0xbfe0000000000000n,
  0x3ff8000000000000n,
  0x4004000000000000n,
  0x0000000000000001n,
  0x8000000000000001n,
  0x000fffffffffffffn,
  0x0010000000000000n,
  0x7fefffffffffffffn,
  0xffefffffffffffffn,
  0x7ff0000000000000n,
  0xfff0000000000000n,
  0x7ff8000000000000n,
  0xfff8000000000000n,
  0x7ff8000000000001n,
  0xfff8123456789abcn,
  0x7ff4000000000000n,
  0xfff0000000000001n,
  0x41e0000000000000n,
  0xc1e0000000000000n,
  0x41dfffffffc00000n,
  0x41f0000000000000n,
  0x43e0000000000000n,
  0xc3e0000000000000n,
  0x43f0000000000000n,
  0x36a0000000000000n,
  0x47efffffe0000000n,
  0x400921fb54442d18n,
];

/** Little-endian bytes of a bit pattern. */
export function littleEndian(bits: bigint, byteCount: number): number[] {
  const bytes: number[] = [];
  for (let index = 0; index < byteCount; index += 1) {
    bytes.push(Number((bits >> BigInt(8 * index)) & 0xffn));
  }
  return bytes;
}

/** `i32.const`. */
export function i32Const(value: number): Plain {
  return plain('i32.const', [0x41, ...signed(value | 0)], [], ['i32']);
}

/** Sixteen bytes that are interesting in one or another lane shape. */
export function randomVectorBytes(draws: Draws): number[] {
  const lanes = (count: number, lane: () => number[]): number[] =>
    Array.from({ length: count }, lane).flat();
  switch (draws.below(5)) {
    case 0:
      return lanes(16, () => [draws.pick([0, 1, 127, 128, 255, draws.below(256)])]);
    case 1:
      return lanes(4, () => littleEndian(BigInt(draws.pick(F32_EDGES)), 4));
    case 2:
      return lanes(2, () => littleEndian(draws.pick(F64_EDGES), 8));
    case 3:
      return lanes(4, () => littleEndian(BigInt(draws.pick(I32_EDGES) >>> 0), 4));
    default:
      return lanes(16, () => [draws.below(256)]);
  }
}

/** A constant of a type: an edge value two times of three, else any bits. */
export function randomConst(draws: Draws, type: ValueType): Plain {
  const edge = draws.chance(66);
  const wide = () => (BigInt(draws.next()) << 32n) | BigInt(draws.next());
  switch (type) {
    case 'i32':
      return i32Const(edge ? draws.pick(I32_EDGES) : draws.next());
    case 'i64':
      return plain(
        'i64.const',
        [0x42, ...signed(edge ? draws.pick(I64_EDGES) : wide())],
        [],
        [type],
      );
    case 'f32': {
      const bits = BigInt(edge ? draws.pick(F32_EDGES) : draws.next());
      return plain('f32.const', [0x43, ...littleEndian(bits, 4)], [], [type]);
    }
    case 'f64': {
      const bits = edge ? draws.pick(F64_EDGES) : wide();
      return plain('f64.const', [0x44, ...littleEndian(bits, 8)], [], [type]);
    }
    case 'v128':
      return plain('v128.const', [0xfd, 0x0c, ...randomVectorBytes(draws)], [], [type]);
    default:
      return zero(type);
  }
}
