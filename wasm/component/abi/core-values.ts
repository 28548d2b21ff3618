/** Flat (core WebAssembly) values of the canonical ABI; component model, CanonicalABI.md, "Flattening". */

export type CoreType = 'i32' | 'i64' | 'f32' | 'f64';
export type CoreValue = number | bigint;

/** The core type that can carry either of two flat values of a variant's cases. */
export function joinCore(left: CoreType, right: CoreType): CoreType {
  if (left === right) return left;
  const both32 = (left === 'i32' || left === 'f32') && (right === 'i32' || right === 'f32');
  return both32 ? 'i32' : 'i64';
}

/** The 32 bits of a 32-bit float; every NaN gives the canonical one. */
export function bitsOfF32(value: number): number {
  if (Number.isNaN(value)) return 0x7fc00000;
  return new Uint32Array(new Float32Array([value]).buffer)[0];
}

/** The 64 bits of a float; every NaN gives the canonical one. */
export function bitsOfF64(value: number): bigint {
  if (Number.isNaN(value)) return 0x7ff8000000000000n;
  return new BigUint64Array(new Float64Array([value]).buffer)[0];
}

export function f32OfBits(bits: number): number {
  return new Float32Array(new Uint32Array([bits]).buffer)[0];
}

export function f64OfBits(bits: bigint): number {
  return new Float64Array(new BigUint64Array([bits]).buffer)[0];
}

/** Reads flat values in order; inside a variant they may be carried by a wider core type. */
export class FlatReader {
  private readonly values: readonly CoreValue[];
  private readonly types: readonly CoreType[];
  position = 0;

  constructor(values: readonly CoreValue[], types: readonly CoreType[]) {
    this.values = values;
    this.types = types;
  }

  i32(): number {
    const value = this.values[this.position++];
    return typeof value === 'bigint' ? Number(BigInt.asIntN(32, value)) : value | 0;
  }

  i64(): bigint {
    return BigInt(this.values[this.position++]);
  }

  f32(): number {
    const type = this.types[this.position];
    const value = this.values[this.position++];
    if (typeof value === 'bigint') return f32OfBits(Number(BigInt.asUintN(32, value)));
    return type === 'i32' ? f32OfBits(value) : value;
  }

  f64(): number {
    const value = this.values[this.position++];
    return typeof value === 'bigint' ? f64OfBits(value) : value;
  }
}

/** Converts a flat value of type `from` so that type `to` carries it (see `joinCore`). */
export function widenCore(value: CoreValue, from: CoreType, to: CoreType): CoreValue {
  if (from === to) return value;
  if (from === 'f64') return bitsOfF64(value as number);
  const bits = from === 'f32' ? bitsOfF32(value as number) : (value as number);
  return to === 'i64' ? BigInt.asUintN(64, BigInt(bits >>> 0)) : bits | 0;
}

export function zeroOf(type: CoreType): CoreValue {
  return type === 'i64' ? 0n : 0;
}
