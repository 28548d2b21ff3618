import { bitsOfF32, bitsOfF64, type CoreType } from './core-values.ts';
import type { Transfer } from './transfer.ts';
import type { Type } from './type.ts';

interface Integer {
  readonly text: string;
  readonly size: number;
  readonly get: (view: DataView, offset: number) => number;
  readonly set: (view: DataView, offset: number, value: number) => void;
  /** Cuts an i32 to the type's range. */
  readonly wrap: (value: number) => number;
}

function integer(options: Integer): Type<number> {
  const { text, size, get, set, wrap } = options;
  return {
    text,
    size,
    alignment: size,
    flat: ['i32'],
    weight: 1,
    load: (transfer, offset) => get(transfer.view(), offset),
    store: (transfer, offset, value) => set(transfer.view(), offset, value),
    lift: (_, flat) => wrap(flat.i32()),
    lower: (_, flat, value) => void flat.push(wrap(value) | 0),
  };
}

export const U8 = integer({
  text: 'u8',
  size: 1,
  get: (view, offset) => view.getUint8(offset),
  set: (view, offset, value) => view.setUint8(offset, value),
  wrap: (value) => value & 0xff,
});

export const S8 = integer({
  text: 's8',
  size: 1,
  get: (view, offset) => view.getInt8(offset),
  set: (view, offset, value) => view.setInt8(offset, value),
  wrap: (value) => (value << 24) >> 24,
});

export const U16 = integer({
  text: 'u16',
  size: 2,
  get: (view, offset) => view.getUint16(offset, true),
  set: (view, offset, value) => view.setUint16(offset, value, true),
  wrap: (value) => value & 0xffff,
});

export const S16 = integer({
  text: 's16',
  size: 2,
  get: (view, offset) => view.getInt16(offset, true),
  set: (view, offset, value) => view.setInt16(offset, value, true),
  wrap: (value) => (value << 16) >> 16,
});

export const U32 = integer({
  text: 'u32',
  size: 4,
  get: (view, offset) => view.getUint32(offset, true),
  set: (view, offset, value) => view.setUint32(offset, value, true),
  wrap: (value) => value >>> 0,
});

export const S32 = integer({
  text: 's32',
  size: 4,
  get: (view, offset) => view.getInt32(offset, true),
  set: (view, offset, value) => view.setInt32(offset, value, true),
  wrap: (value) => value | 0,
});

function wide(text: string, wrap: (value: bigint) => bigint): Type<bigint> {
  return {
    text,
    size: 8,
    alignment: 8,
    flat: ['i64'],
    weight: 1,
    load: (transfer, offset) => wrap(transfer.view().getBigUint64(offset, true)),
    store: (transfer, offset, value) => transfer.view().setBigUint64(offset, value, true),
    lift: (_, flat) => wrap(flat.i64()),
    lower: (_, flat, value) => void flat.push(value),
  };
}

export const U64 = wide('u64', (value) => BigInt.asUintN(64, value));
export const S64 = wide('s64', (value) => BigInt.asIntN(64, value));

function float(text: string, core: CoreType, size: 4 | 8): Type<number> {
  const canonical = (value: number): number => (Number.isNaN(value) ? NaN : value);
  return {
    text,
    size,
    alignment: size,
    flat: [core],
    weight: 1,
    load: (transfer, offset) => {
      const view = transfer.view();
      return canonical(size === 4 ? view.getFloat32(offset, true) : view.getFloat64(offset, true));
    },
    store: (transfer, offset, value) => {
      const view = transfer.view();
      if (size === 4) view.setUint32(offset, bitsOfF32(value), true);
      else view.setBigUint64(offset, bitsOfF64(value), true);
    },
    lift: (_, flat) => canonical(size === 4 ? flat.f32() : flat.f64()),
    lower: (_, flat, value) => void flat.push(canonical(value)),
  };
}

export const F32 = float('f32', 'f32', 4);
export const F64 = float('f64', 'f64', 8);

export const BOOL: Type<boolean> = {
  text: 'bool',
  size: 1,
  alignment: 1,
  flat: ['i32'],
  weight: 1,
  load: (transfer, offset) => transfer.view().getUint8(offset) !== 0,
  store: (transfer, offset, value) => transfer.view().setUint8(offset, value ? 1 : 0),
  lift: (_, flat) => flat.i32() !== 0,
  lower: (_, flat, value) => void flat.push(value ? 1 : 0),
};

/** A Unicode scalar value, as its number. */
export const CHAR: Type<number> = {
  text: 'char',
  size: 4,
  alignment: 4,
  flat: ['i32'],
  weight: 1,
  load: (transfer, offset) => scalar(transfer, transfer.view().getUint32(offset, true)),
  store: (transfer, offset, value) => transfer.view().setUint32(offset, value, true),
  lift: (transfer, flat) => scalar(transfer, flat.i32() >>> 0),
  lower: (_, flat, value) => void flat.push(value),
};

function scalar(transfer: Transfer, value: number): number {
  if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
    return transfer.trap(`${value} is not a Unicode scalar value`);
  }
  return value;
}
