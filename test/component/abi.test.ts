import { describe, expect, it } from 'vitest';
import { FlatReader, type CoreValue } from '../../wasm/component/abi/core-values.ts';
import {
  BLOCKED,
  functionType,
  lowerImport,
  planLowering,
} from '../../wasm/component/abi/function.ts';
import { HandleTable } from '../../wasm/component/abi/handle-table.ts';
import { borrow, own, resource } from '../../wasm/component/abi/handles.ts';
import * as primitive from '../../wasm/component/abi/primitives.ts';
import { flags, record, tuple } from '../../wasm/component/abi/products.ts';
import { BYTES, STRING, list } from '../../wasm/component/abi/sequences.ts';
import { enumeration, option, result, variant } from '../../wasm/component/abi/sums.ts';
import { LIFTED_BYTES_MAX, Transfer } from '../../wasm/component/abi/transfer.ts';
import type { StringEncoding } from '../../wasm/component/abi/transfer.ts';
import type { Type } from '../../wasm/component/abi/type.ts';

const { BOOL, CHAR, F32, F64, S16, S32, S64, S8, U16, U32, U64, U8 } = primitive;

/** 64 KiB of guest memory with an allocator that never frees. */
function makeTransfer(encoding: StringEncoding = 'utf8'): Transfer {
  const buffer = new ArrayBuffer(65_536);
  let next = 4096;
  const guest = {
    memory: () => new DataView(buffer),
    bytes: () => new Uint8Array(buffer),
    memoryBytes: () => buffer.byteLength,
    touched: () => undefined,
    trap: (code: string, message: string): never => {
      throw new Error(`${code}: ${message}`);
    },
  };
  return new Transfer(guest, new HandleTable(), encoding, (_, __, alignment, size) => {
    const at = Math.ceil(next / alignment) * alignment;
    next = at + size;
    return at;
  });
}

const DATETIME = record({ seconds: U64, nanoseconds: U32 });
const MIXED = variant({ a: U8, b: F32, c: U64, d: F64, e: null, f: tuple(F32, U32) });
const ADDRESS = variant({ v4: tuple(U8, U8), v6: tuple(U16, U32, U16) });

/** Types with their size, alignment and flat form as CanonicalABI.md gives them, and values. */
const CASES: readonly [Type<unknown>, string, readonly unknown[]][] = [
  [BOOL, '1 1 i32', [true, false]],
  [U8, '1 1 i32', [0, 255]],
  [S8, '1 1 i32', [-128, 127]],
  [U16, '2 2 i32', [0, 65_535]],
  [S16, '2 2 i32', [-32_768, 32_767]],
  [U32, '4 4 i32', [0, 4_294_967_295]],
  [S32, '4 4 i32', [-2_147_483_648, 2_147_483_647]],
  [U64, '8 8 i64', [0n, 2n ** 64n - 1n]],
  [S64, '8 8 i64', [-(2n ** 63n), 2n ** 63n - 1n]],
  [F32, '4 4 f32', [0.5, -Infinity, NaN]],
  [F64, '8 8 f64', [0.1, Infinity, NaN]],
  [CHAR, '4 4 i32', [0x10ffff, 0xd7ff]],
  [STRING, '8 4 i32,i32', ['', 'größe 🌍']],
  [BYTES, '8 4 i32,i32', [new Uint8Array(0), Uint8Array.of(1, 2, 255)]],
  [list(U16), '8 4 i32,i32', [[], [1, 2, 65_535]]],
  [list(STRING), '8 4 i32,i32', [['a', '', 'ccc']]],
  [list(list(U64)), '8 4 i32,i32', [[[1n], [], [2n, 3n]]]],
  [DATETIME, '16 8 i64,i32', [{ seconds: 5n, nanoseconds: 7 }]],
  [tuple(U8, U32, U8), '12 4 i32,i32,i32', [[1, 2, 3]]],
  [tuple(U8, U16, BOOL), '6 2 i32,i32,i32', [[1, 2, true]]],
  [enumeration(['x', 'y', 'z']), '1 1 i32', ['x', 'z']],
  [enumeration(Array.from({ length: 257 }, (_, at) => `n${at}`)), '2 2 i32', ['n0', 'n256']],
  [flags(['a']), '1 1 i32', [0, 1]],
  [flags(Array.from({ length: 9 }, (_, at) => `n${at}`)), '2 2 i32', [0, 511]],
  [flags(Array.from({ length: 32 }, (_, at) => `n${at}`)), '4 4 i32', [0, 0xffff_ffff]],
  [option(U8), '2 1 i32,i32', [null, 0, 9]],
  [option(U64), '16 8 i32,i64', [null, 7n]],
  [option(STRING), '12 4 i32,i32,i32', [null, 'text']],
  [result(null, null), '1 1 i32', [{ ok: true }, { ok: false }]],
  [
    result(U64, enumeration(['p', 'q'])),
    '16 8 i32,i64',
    [
      { ok: true, value: 2n ** 64n - 1n },
      { ok: false, error: 'q' },
    ],
  ],
  [
    ADDRESS,
    '16 4 i32,i32,i32,i32',
    [
      { tag: 'v4', value: [1, 2] },
      { tag: 'v6', value: [1, 2, 3] },
    ],
  ],
  [
    MIXED,
    '16 8 i32,i64,i32',
    [
      { tag: 'a', value: 200 },
      { tag: 'b', value: -1.5 },
      { tag: 'b', value: NaN },
      { tag: 'c', value: 2n ** 63n },
      { tag: 'd', value: Math.PI },
      { tag: 'd', value: NaN },
      { tag: 'e' },
      { tag: 'f', value: [0.25, 4_000_000_000] },
    ],
  ],
];

describe('types of the canonical ABI', () => {
  it.each(CASES.map(([type, shape, values]) => ({ text: type.text, type, shape, values })))(
    '$text',
    ({ type, shape, values }) => {
      expect(`${type.size} ${type.alignment} ${type.flat.join()}`).toBe(shape);
      for (const value of values) {
        const transfer = makeTransfer();
        type.store(transfer, 64, value);
        expect(type.load(transfer, 64)).toEqual(value);
        const flat: CoreValue[] = [];
        type.lower(transfer, flat, value);
        expect(flat).toHaveLength(type.flat.length);
        flat.forEach((core, at) => {
          expect(typeof core).toBe(type.flat[at] === 'i64' ? 'bigint' : 'number');
        });
        const reader = new FlatReader(flat, type.flat);
        expect(type.lift(transfer, reader)).toEqual(value);
        expect(reader.position).toBe(flat.length);
      }
    },
  );

  it('floats cross as canonical NaNs only', () => {
    const transfer = makeTransfer();
    F32.store(transfer, 0, NaN);
    F64.store(transfer, 8, NaN);
    expect(transfer.view().getUint32(0, true)).toBe(0x7fc00000);
    expect(transfer.view().getBigUint64(8, true)).toBe(0x7ff8000000000000n);
    const flat: CoreValue[] = [];
    MIXED.lower(transfer, flat, { tag: 'b', value: NaN });
    expect(flat).toEqual([1, 0x7fc00000n, 0]);
  });

  it('small integers are cut, booleans are anything but 0, unknown flags are ignored', () => {
    const transfer = makeTransfer();
    const lift = (type: Type<unknown>, core: CoreValue): unknown =>
      type.lift(transfer, new FlatReader([core], type.flat));
    expect(lift(U8, 0x1ff)).toBe(255);
    expect(lift(S8, 0x180)).toBe(-128);
    expect(lift(U16, -1)).toBe(65_535);
    expect(lift(S16, 0x18000)).toBe(-32_768);
    expect(lift(BOOL, 2)).toBe(true);
    expect(lift(flags(['a', 'b']), 7)).toBe(3);
    expect(lift(U64, -1n)).toBe(2n ** 64n - 1n);
  });
});

describe('strings', () => {
  const texts = ['', 'plain', 'é ÿ', 'größe 🌍', '\0'];

  it.each(['utf8', 'utf16', 'latin1+utf16'] as const)('in %s', (encoding) => {
    for (const text of texts) {
      const transfer = makeTransfer(encoding);
      STRING.store(transfer, 0, text);
      expect(STRING.load(transfer, 0)).toBe(text);
    }
  });

  it('in latin1+utf16 say by their length which it is', () => {
    const transfer = makeTransfer('latin1+utf16');
    const lengths = ['é', '🌍'].map((text) => {
      STRING.store(transfer, 0, text);
      return transfer.view().getUint32(4, true);
    });
    expect(lengths).toEqual([1, 0x8000_0002]);
  });

  it.each([
    ['utf8', [0xff], 1, 'not valid UTF-8'],
    ['utf8', [0xed, 0xa0, 0x80], 3, 'not valid UTF-8'],
    ['utf16', [0x00, 0xd8], 1, 'not valid UTF-16'],
    ['utf16', [0, 0], 40_000, 'outside of the memory'],
    ['latin1+utf16', [0x00, 0xdc], 0x8000_0001, 'not valid UTF-16'],
  ] as const)('in %s the bytes %j are a trap', (encoding, bytes, length, message) => {
    const transfer = makeTransfer(encoding);
    transfer.bytes().set(bytes, 16);
    const lift = (): string => STRING.lift(transfer, new FlatReader([16, length], ['i32', 'i32']));
    expect(lift).toThrow(message);
  });
});

describe('traps', () => {
  const lift = (type: Type<unknown>, core: CoreValue[]): (() => unknown) => {
    return () => type.lift(makeTransfer(), new FlatReader(core, type.flat));
  };

  it.each([
    ['a char in the surrogates', CHAR, [0xd800], 'not a Unicode scalar value'],
    ['a char above Unicode', CHAR, [0x110000], 'not a Unicode scalar value'],
    ['an enum out of range', enumeration(['x']), [1], 'case 1 of 1'],
    ['an option of neither', option(U8), [2, 0], 'case 2 of 2'],
    ['a variant with a negative case', MIXED, [-1, 0n, 0], 'case 4294967295 of 6'],
    ['a list past the memory', list(U32), [65_532, 2], 'outside of the memory'],
    ['a list of more than there is', BYTES, [0, -1], 'outside of the memory'],
    ['a list that is not aligned', list(U32), [2, 1], 'pointer 2 is not aligned to 4'],
    ['a handle of nothing', own(resource('r')), [1], '1 is not a handle for own<r>'],
    ['a borrow of nothing', borrow(resource('r')), [0], '0 is not a handle for borrow<r>'],
  ] as const)('%s', (_, type, core, message) => {
    expect(lift(type as Type<unknown>, [...core])).toThrow(`canonical-abi: `);
    expect(lift(type as Type<unknown>, [...core])).toThrow(message);
  });

  it('a list that names the same bytes over and over', () => {
    const transfer = makeTransfer();
    const view = transfer.view();
    const count = 8000;
    for (let at = 0; at < count; at++) view.setUint32(at * 8 + 4, 60_000, true);
    transfer.begin();
    const reader = new FlatReader([0, count], ['i32', 'i32']);
    expect(() => list(BYTES).lift(transfer, reader)).toThrow(`over ${LIFTED_BYTES_MAX} bytes`);
  });

  it('an allocator that gives what is not there', () => {
    const transfer = makeTransfer();
    expect(() => transfer.allocate(70_000, 1)).toThrow('outside of the memory');
    expect(() => transfer.allocate(2 ** 31, 1)).toThrow('is too long');
  });
});

describe('handles', () => {
  const RESOURCE = resource<{ name: string }>('r');

  it('own moves, borrow leaves; the last freed index is used first', () => {
    const transfer = makeTransfer();
    const { handles } = transfer;
    const lower = (name: string): CoreValue => {
      const flat: CoreValue[] = [];
      own(RESOURCE).lower(transfer, flat, { name });
      return flat[0];
    };
    const lift = (type: Type<{ name: string }>, core: CoreValue): string =>
      type.lift(transfer, new FlatReader([core], ['i32'])).name;
    expect([lower('a'), lower('b'), lower('c')]).toEqual([1, 2, 3]);
    expect(lift(borrow(RESOURCE), 2)).toBe('b');
    expect(lift(own(RESOURCE), 2)).toBe('b');
    expect(lift(own(RESOURCE), 1)).toBe('a');
    expect(() => lift(own(RESOURCE), 1)).toThrow('is not a handle');
    expect(handles.size).toBe(1);
    expect([lower('d'), lower('e'), lower('f')]).toEqual([1, 2, 4]);
    expect(() => lift(borrow(resource<{ name: string }>('other')), 1)).toThrow('is not a handle');
  });
});

describe('lowered functions', () => {
  it('up to 16 flat parameters are passed as they are, more by a pointer', () => {
    for (const count of [16, 17]) {
      const transfer = makeTransfer();
      const params = Array.from({ length: count }, () => U16);
      const seen: unknown[] = [];
      const call = lowerImport(planLowering(functionType(params, null)), transfer, (values) => {
        seen.push(...values);
        return undefined;
      });
      const expected = params.map((_, at) => at * 3);
      if (count === 16) call(...expected);
      else {
        expected.forEach((value, at) => transfer.view().setUint16(128 + at * 2, value, true));
        call(128);
        expect(() => call(129)).toThrow('not aligned');
      }
      expect(seen).toEqual(expected);
    }
  });

  it('one flat result is returned, more are stored at the last parameter', () => {
    const transfer = makeTransfer();
    const direct = lowerImport(planLowering(functionType([], U64)), transfer, () => 5n);
    expect(direct()).toBe(5n);
    const stored = lowerImport(planLowering(functionType([U8], DATETIME)), transfer, ([at]) => {
      return { seconds: BigInt(at as number), nanoseconds: 3 };
    });
    expect(stored(7, 256)).toBe(undefined);
    expect(DATETIME.load(transfer, 256)).toEqual({ seconds: 7n, nanoseconds: 3 });
    expect(() => stored(7, 252)).toThrow('not aligned');
    expect(() => stored(7, 65_528)).toThrow('outside of the memory');
  });

  it('a blocked call writes nothing and returns a value of its type', () => {
    const transfer = makeTransfer();
    expect(lowerImport(planLowering(functionType([], U64)), transfer, () => BLOCKED)()).toBe(0n);
    expect(lowerImport(planLowering(functionType([], U8)), transfer, () => BLOCKED)()).toBe(0);
    expect(
      lowerImport(planLowering(functionType([], DATETIME)), transfer, () => BLOCKED)(256),
    ).toBe(undefined);
    expect(DATETIME.load(transfer, 256)).toEqual({ seconds: 0n, nanoseconds: 0 });
  });
});
