import { decode as decodeReference } from 'cbor-x';
import { describe, expect, it } from 'vitest';
import { decodeCanonical, draw32, encodeCanonical, SimError, streamKey } from '../../sim/index.ts';
import { failure } from '../support/failure.ts';

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function bytes(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'));
}

/** RFC 8949 appendix A, the rows that exist in the canonical subset. */
const RFC_ROWS: readonly (readonly [unknown, string])[] = [
  [0, '00'],
  [1, '01'],
  [10, '0a'],
  [23, '17'],
  [24, '1818'],
  [25, '1819'],
  [100, '1864'],
  [1000, '1903e8'],
  [1_000_000, '1a000f4240'],
  [1_000_000_000_000, '1b000000e8d4a51000'],
  [18446744073709551616n, 'c249010000000000000000'],
  [-18446744073709551617n, 'c349010000000000000000'],
  [-1, '20'],
  [-10, '29'],
  [-100, '3863'],
  [-1000, '3903e7'],
  [false, 'f4'],
  [true, 'f5'],
  [null, 'f6'],
  [new Uint8Array(0), '40'],
  [Uint8Array.of(1, 2, 3, 4), '4401020304'],
  ['', '60'],
  ['a', '6161'],
  ['IETF', '6449455446'],
  ['"\\', '62225c'],
  ['\u00fc', '62c3bc'],
  ['\u6c34', '63e6b0b4'],
  ['\ud800\udd51', '64f0908591'],
  [[], '80'],
  [[1, 2, 3], '83010203'],
  [[1, [2, 3], [4, 5]], '8301820203820405'],
  [{}, 'a0'],
  [{ a: 1, b: [2, 3] }, 'a26161016162820203'],
  [['a', { b: 'c' }], '826161a161626163'],
];

const REFUSED: readonly (readonly [string, string, string, string])[] = [
  ['nothing', '', 'the data is cut off', 'offset 0'],
  ['a long head', '1817', 'a number is not in its shortest form', 'offset 0'],
  ['a longer head', '190018', 'a number is not in its shortest form', 'offset 0'],
  [
    'eight bytes for four',
    '1b0000000000000001',
    'a number is not in its shortest form',
    'offset 0',
  ],
  ['a number above 2^53', '1b0020000000000000', 'a number is above 2^53 - 1', 'offset 0'],
  ['a half float', 'f93c00', 'floats and other simple values are not canonical', 'offset 0'],
  ['undefined', 'f7', 'floats and other simple values are not canonical', 'offset 0'],
  ['an indefinite array', '9f01ff', 'an indefinite or reserved length', 'offset 0'],
  ['an indefinite text', '7f6161ff', 'an indefinite or reserved length', 'offset 0'],
  ['an unknown tag', 'c11a514b67b0', 'tag 1 is unknown', 'offset 0'],
  ['a padded bignum', 'c2420001', 'a bignum starts with a zero', 'offset 0'],
  ['a bignum of text', 'c26101', 'a bignum is not a byte string', 'offset 0'],
  ['unsorted keys', 'a2616201616102', 'keys are not sorted and unique', 'offset 4'],
  ['a key twice', 'a2616101616102', 'keys are not sorted and unique', 'offset 4'],
  ['long keys first', 'a262616101616202', 'keys are not sorted and unique', 'offset 5'],
  ['a key of another type', 'a10101', 'a key is not text', 'offset 1'],
  ['malformed UTF-8', '61ff', 'text is not UTF-8', 'offset 0'],
  ['a surrogate in UTF-8', '63eda080', 'text is not UTF-8', 'offset 0'],
  ['a huge array', '9b000fffffffffffff', 'an array is cut off', 'offset 0'],
  ['a huge map', 'bb000fffffffffffff', 'a map is cut off', 'offset 0'],
  ['a huge string', '5b000fffffffffffff', 'a string is cut off', 'offset 0'],
  ['trailing bytes', '0000', 'bytes follow the value', 'offset 1'],
  ['an endless nesting', '81'.repeat(10_000), 'it nests deeper than 64', 'offset 65'],
];

describe('canonical CBOR', () => {
  it.each(RFC_ROWS.map(([value, encoded]) => [encoded, value] as const))(
    'writes and reads %s as RFC 8949 appendix A has it',
    (encoded, value) => {
      expect(hex(encodeCanonical(value))).toBe(encoded);
      expect(decodeCanonical(bytes(encoded))).toStrictEqual(value);
    },
  );

  it.each(REFUSED)('refuses %s with its offset', (_name, encoded, why, place) => {
    const error = failure(() => decodeCanonical(bytes(encoded)));
    expect([error.code, error.message, error.place]).toEqual([
      'bundle/cbor',
      `not canonical CBOR: ${why}`,
      place,
    ]);
    expect(error.exitCode).toBe(5);
  });

  it('keeps numbers and bigints apart', () => {
    const value = [5, 5n, -5, -5n, 0n, -1n, 2n ** 64n, Number.MIN_SAFE_INTEGER];
    expect(decodeCanonical(encodeCanonical(value))).toStrictEqual(value);
  });

  it('CR-64: the order in which fields were set is not seen', () => {
    const one = encodeCanonical({ bb: 1, a: 2, ab: 3 });
    const other = encodeCanonical(
      new Map([
        ['ab', 3],
        ['a', 2],
        ['bb', 1],
      ]),
    );
    expect(hex(one)).toBe(hex(other));
    expect(hex(one)).toBe('a3' + '616102' + '62616203' + '62626201');
  });

  it('takes a hostile key as data', () => {
    const value = decodeCanonical(bytes('a1695f5f70726f746f5f5f01'));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(hex(encodeCanonical(value))).toBe('a1695f5f70726f746f5f5f01');
  });

  it.each([
    [1.5],
    [Number.NaN],
    [2 ** 53],
    [undefined],
    [{ a: undefined }],
    ['\ud800'],
    [new Date(0)],
    [new Int32Array(1)],
    [new Map([[1, 2]])],
    [() => 1],
  ])('takes %s for a defect of ours', (value) => {
    expect(failure(() => encodeCanonical(value)).code).toBe('crash/assertion');
  });

  it('round-trips random data, and cbor-x reads it as the same', () => {
    const draws = new Draws(1);
    for (let round = 0; round < 2_000; round++) {
      const value = draws.value(0);
      const encoded = encodeCanonical(value);
      expect(decodeCanonical(encoded)).toStrictEqual(value);
      expect(plain(decodeReference(encoded))).toStrictEqual(plain(value));
    }
  });

  it('gives a coded error or the same bytes again for any flipped bit and any cut', () => {
    const draws = new Draws(2);
    for (let round = 0; round < 200; round++) {
      const encoded = encodeCanonical(draws.value(0));
      for (let at = 0; at < encoded.length; at++) {
        const flipped = encoded.slice();
        flipped[at] = (flipped[at] as number) ^ (1 << draws.below(8));
        expectErrorOrSame(flipped);
        expectErrorOrSame(encoded.slice(0, at));
      }
    }
  });
});

function expectErrorOrSame(input: Uint8Array): void {
  let value: unknown;
  try {
    value = decodeCanonical(input);
  } catch (error) {
    expect(error).toBeInstanceOf(SimError);
    expect((error as SimError).code).toBe('bundle/cbor');
    return;
  }
  expect(hex(encodeCanonical(value))).toBe(hex(input));
}

/** cbor-x gives 64-bit integers as bigints and bytes as Buffers: compare in one form. */
function plain(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value);
  if (value instanceof Uint8Array) return hex(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

class Draws {
  private readonly key;
  private count = 0;

  constructor(seed: number) {
    this.key = streamKey(seed, 'canonical');
  }

  below(limit: number): number {
    return draw32(this.key, this.count++, 0) % limit;
  }

  value(depth: number): unknown {
    switch (this.below(depth > 3 ? 7 : 9)) {
      case 0:
        return null;
      case 1:
        return this.below(2) === 1;
      case 2:
        return (this.below(2) === 1 ? 1 : -1) * Math.floor(2 ** (this.below(5200) / 100));
      case 3:
        return BigInt.asIntN(1 + this.below(200), (BigInt(this.below(2 ** 31)) << 90n) - 77n);
      case 4:
      case 5:
        return this.text();
      case 6:
        return Uint8Array.from({ length: this.below(300) }, () => this.below(256));
      case 7:
        return Array.from({ length: this.below(6) }, () => this.value(depth + 1));
      default:
        return Object.fromEntries(
          Array.from({ length: this.below(6) }, () => [this.text(), this.value(depth + 1)]),
        );
    }
  }

  private text(): string {
    const points = ['a', 'b', 'Z', '\u00e4', '\u6c34', '\ud83d\ude00', '\0'];
    const length = this.below(12);
    return Array.from({ length }, () => points[this.below(points.length)]).join('');
  }
}
