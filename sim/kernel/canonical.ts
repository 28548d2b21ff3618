import { assert } from './assert.ts';
import { SimError } from './errors.ts';
import { decodeUtf8, encodeUtf8, isUtf8 } from './utf8.ts';

/**
 * Canonical CBOR: one value has one encoding and one encoding has one value (RFC 8949 section
 * 4.2.1, core deterministic encoding: shortest heads, definite lengths, keys sorted by their
 * encoded bytes). Floats, `undefined`, other tags and simple values do not exist here.
 *
 * One rule differs from the RFC's preferred serialisation (3.4.3): a bigint is always a bignum (tag
 * 2 or 3), also where it would fit a plain integer, so that what was a bigint comes back as one.
 */
export type Canonical =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly Canonical[]
  | { readonly [key: string]: Canonical };

/** Arrays, maps and tags nest at most this deep. */
export const CANONICAL_DEPTH_MAX = 64;
/** A bignum has at most this many bytes. */
export const BIGNUM_BYTES_MAX = 64;

const MAJOR_UNSIGNED = 0;
const MAJOR_NEGATIVE = 1;
const MAJOR_BYTES = 2;
const MAJOR_TEXT = 3;
const MAJOR_ARRAY = 4;
const MAJOR_MAP = 5;
const MAJOR_TAG = 6;
const TAG_POSITIVE = 2;
const TAG_NEGATIVE = 3;
const FALSE = 0xf4;
const TRUE = 0xf5;
const NULL = 0xf6;
const TWO_32 = 0x1_0000_0000;
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/**
 * Encodes plain data: null, booleans, safe integers, bigints, well-formed strings, Uint8Array,
 * arrays, and maps with string keys (plain objects or `Map`). Anything else is our own bug.
 */
export function encodeCanonical(value: unknown): Uint8Array {
  const encoder = new Encoder();
  encoder.value(value, 0);
  return encoder.take();
}

/**
 * Decodes exactly one canonical value from all of `bytes`; maps come back as plain objects.
 * Whatever is not canonical is refused (`bundle/cbor`) with its offset. Byte strings are copies.
 */
export function decodeCanonical(bytes: Uint8Array): Canonical {
  const decoder = new Decoder(bytes);
  const value = decoder.value(0);
  decoder.end();
  return value;
}

class Encoder {
  private bytes = new Uint8Array(1024);
  private length = 0;

  value(value: unknown, depth: number): void {
    assert(depth <= CANONICAL_DEPTH_MAX, 'canonical data nests at most 64 deep');
    switch (typeof value) {
      case 'boolean':
        return this.byte(value ? TRUE : FALSE);
      case 'number':
        return this.integer(value);
      case 'bigint':
        return this.bignum(value);
      case 'string':
        return this.text(value);
      default:
        return this.object(value, depth);
    }
  }

  take(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }

  private object(value: unknown, depth: number): void {
    if (value === null) return this.byte(NULL);
    if (value instanceof Uint8Array) {
      this.head(MAJOR_BYTES, value.length);
      return this.raw(value);
    }
    if (Array.isArray(value)) {
      this.head(MAJOR_ARRAY, value.length);
      for (let index = 0; index < value.length; index++) this.value(value[index], depth + 1);
      return;
    }
    assert(typeof value === 'object', 'canonical data holds no functions, symbols or undefined');
    if (value instanceof Map) {
      const keys: unknown[] = [...value.keys()];
      assert(keys.every(isText), 'canonical maps have string keys');
      return this.map(keys, (key) => value.get(key), depth);
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    const plain = prototype === Object.prototype || prototype === null;
    assert(plain, 'canonical data holds plain objects only');
    const fields = value as Readonly<Record<string, unknown>>;
    this.map(Object.keys(fields), (key) => fields[key], depth);
  }

  private map(keys: readonly string[], get: (key: string) => unknown, depth: number): void {
    this.head(MAJOR_MAP, keys.length);
    const entries = keys.map((key) => ({ key, bytes: wellFormed(key) }));
    entries.sort((a, b) => compareKeys(a.bytes, b.bytes));
    for (const { key, bytes } of entries) {
      this.head(MAJOR_TEXT, bytes.length);
      this.raw(bytes);
      this.value(get(key), depth + 1);
    }
  }

  private integer(value: number): void {
    assert(Number.isSafeInteger(value), 'a canonical number is an integer within 2^53');
    if (value >= 0) this.head(MAJOR_UNSIGNED, value);
    else this.head(MAJOR_NEGATIVE, -1 - value);
  }

  private bignum(value: bigint): void {
    this.head(MAJOR_TAG, value >= 0n ? TAG_POSITIVE : TAG_NEGATIVE);
    const magnitude = value >= 0n ? value : -1n - value;
    const digits = magnitude === 0n ? '' : magnitude.toString(16);
    const hex = digits.length % 2 === 0 ? digits : `0${digits}`;
    assert(hex.length <= 2 * BIGNUM_BYTES_MAX, 'a canonical bigint has at most 64 bytes');
    this.head(MAJOR_BYTES, hex.length / 2);
    for (let at = 0; at < hex.length; at += 2) {
      this.byte(Number.parseInt(hex.slice(at, at + 2), 16));
    }
  }

  private text(value: string): void {
    const bytes = wellFormed(value);
    this.head(MAJOR_TEXT, bytes.length);
    this.raw(bytes);
  }

  private head(major: number, argument: number): void {
    const lead = major << 5;
    if (argument < 24) return this.byte(lead | argument);
    if (argument < 0x100) {
      this.byte(lead | 24);
      return this.byte(argument);
    }
    if (argument < 0x1_0000) {
      this.byte(lead | 25);
      return this.big(argument, 2);
    }
    if (argument < TWO_32) {
      this.byte(lead | 26);
      return this.big(argument, 4);
    }
    this.byte(lead | 27);
    this.big(Math.floor(argument / TWO_32), 4);
    this.big(argument % TWO_32, 4);
  }

  /** Writes up to 32 bits, most significant byte first. */
  private big(value: number, count: number): void {
    for (let shift = 8 * (count - 1); shift >= 0; shift -= 8) this.byte((value >>> shift) & 255);
  }

  private byte(byte: number): void {
    if (this.length === this.bytes.length) this.grow(1);
    this.bytes[this.length++] = byte;
  }

  private raw(bytes: Uint8Array): void {
    if (this.length + bytes.length > this.bytes.length) this.grow(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  private grow(more: number): void {
    const grown = new Uint8Array(Math.max(2 * this.bytes.length, this.length + more));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }
}

function isText(key: unknown): key is string {
  return typeof key === 'string';
}

function wellFormed(text: string): Uint8Array {
  assert(!LONE_SURROGATE.test(text), 'canonical text has no lone surrogates');
  return encodeUtf8(text);
}

/** The order of encoded text keys: the head comes first, thus the length, then the bytes. */
function compareKeys(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) return a.length - b.length;
  for (let index = 0; index < a.length; index++) {
    if (a[index] !== b[index]) return (a[index] as number) - (b[index] as number);
  }
  return 0;
}

class Decoder {
  private readonly bytes: Uint8Array;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  value(depth: number): Canonical {
    const start = this.at;
    if (depth > CANONICAL_DEPTH_MAX) this.refuse(start, 'it nests deeper than 64');
    const initial = this.byte();
    if (initial === FALSE) return false;
    if (initial === TRUE) return true;
    if (initial === NULL) return null;
    const major = initial >> 5;
    if (major > MAJOR_TAG) this.refuse(start, 'floats and other simple values are not canonical');
    const argument = this.argument(initial & 31, start);
    switch (major) {
      case MAJOR_UNSIGNED:
        return argument;
      case MAJOR_NEGATIVE:
        if (argument === Number.MAX_SAFE_INTEGER) this.refuse(start, 'an integer is below -2^53');
        return -1 - argument;
      case MAJOR_BYTES:
        return new Uint8Array(this.take(argument, start));
      case MAJOR_TEXT:
        return this.text(argument, start);
      case MAJOR_ARRAY:
        return this.array(argument, depth, start);
      case MAJOR_MAP:
        return this.map(argument, depth, start);
      default:
        return this.bignum(argument, start);
    }
  }

  end(): void {
    if (this.at !== this.bytes.length) this.refuse(this.at, 'bytes follow the value');
  }

  private array(count: number, depth: number, start: number): Canonical[] {
    // Each element takes at least a byte, so a hostile count cannot reserve memory.
    if (count > this.bytes.length - this.at) this.refuse(start, 'an array is cut off');
    const items: Canonical[] = [];
    for (let index = 0; index < count; index++) items.push(this.value(depth + 1));
    return items;
  }

  private map(count: number, depth: number, start: number): Canonical {
    if (count > (this.bytes.length - this.at) / 2) this.refuse(start, 'a map is cut off');
    const fields: Record<string, Canonical> = {};
    let previous: Uint8Array | undefined;
    for (let index = 0; index < count; index++) {
      const keyStart = this.at;
      const initial = this.byte();
      if (initial >> 5 !== MAJOR_TEXT) this.refuse(keyStart, 'a key is not text');
      const length = this.argument(initial & 31, keyStart);
      const bytes = this.take(length, keyStart);
      if (previous !== undefined && compareKeys(previous, bytes) >= 0) {
        this.refuse(keyStart, 'keys are not sorted and unique');
      }
      previous = bytes;
      const key = this.utf8(bytes, keyStart);
      const value = this.value(depth + 1);
      // Defined, not assigned: a key such as `__proto__` is data like any other.
      const own = { value, enumerable: true, writable: true, configurable: true };
      Object.defineProperty(fields, key, own);
    }
    return fields;
  }

  private bignum(tag: number, start: number): bigint {
    if (tag !== TAG_POSITIVE && tag !== TAG_NEGATIVE) this.refuse(start, `tag ${tag} is unknown`);
    const initial = this.byte();
    if (initial >> 5 !== MAJOR_BYTES) this.refuse(start, 'a bignum is not a byte string');
    const length = this.argument(initial & 31, start);
    if (length > BIGNUM_BYTES_MAX) this.refuse(start, 'a bignum has more than 64 bytes');
    const bytes = this.take(length, start);
    if (length > 0 && bytes[0] === 0) this.refuse(start, 'a bignum starts with a zero');
    let magnitude = 0n;
    for (const byte of bytes) magnitude = (magnitude << 8n) | BigInt(byte);
    return tag === TAG_POSITIVE ? magnitude : -1n - magnitude;
  }

  private text(length: number, start: number): string {
    return this.utf8(this.take(length, start), start);
  }

  private utf8(bytes: Uint8Array, start: number): string {
    if (!isUtf8(bytes)) this.refuse(start, 'text is not UTF-8');
    return decodeUtf8(bytes);
  }

  /** The argument of a head: shortest form only, at most 2^53 - 1. */
  private argument(low: number, start: number): number {
    if (low < 24) return low;
    if (low > 27) this.refuse(start, 'an indefinite or reserved length');
    const count = 1 << (low - 24);
    let value = 0;
    for (let index = 0; index < count; index++) value = value * 256 + this.byte();
    if (value > Number.MAX_SAFE_INTEGER) this.refuse(start, 'a number is above 2^53 - 1');
    const least = low === 24 ? 24 : 2 ** (4 * count);
    if (value < least) this.refuse(start, 'a number is not in its shortest form');
    return value;
  }

  private byte(): number {
    if (this.at >= this.bytes.length) this.refuse(this.at, 'the data is cut off');
    return this.bytes[this.at++] as number;
  }

  private take(length: number, start: number): Uint8Array {
    if (length > this.bytes.length - this.at) this.refuse(start, 'a string is cut off');
    const from = this.at;
    this.at += length;
    return this.bytes.subarray(from, this.at);
  }

  private refuse(offset: number, why: string): never {
    throw new SimError({
      code: 'bundle/cbor',
      message: `not canonical CBOR: ${why}`,
      place: `offset ${offset}`,
    });
  }
}
