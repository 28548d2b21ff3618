import { encodeUtf8 } from '../../sim/index.ts';

/** Writes the binary format into a buffer that doubles when full. */
export class ByteWriter {
  bytes: Uint8Array;
  length = 0;

  constructor(capacity = 256) {
    this.bytes = new Uint8Array(Math.max(capacity, 16));
  }

  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, needed));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  byte(value: number): void {
    if (this.length === this.bytes.length) this.reserve(1);
    this.bytes[this.length++] = value;
  }

  u32(value: number): void {
    let rest = value >>> 0;
    while (rest >= 0x80) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  s32(value: number): void {
    let rest = value | 0;
    while (rest < -64 || rest > 63) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>= 7;
    }
    this.byte(rest & 0x7f);
  }

  /** A signed 64-bit LEB128 of `high * 2^32 + low`; both are read as 32-bit patterns. */
  s64(low: number, high: number): void {
    let value = (BigInt(high | 0) << 32n) | BigInt(low >>> 0);
    while (value < -64n || value > 63n) {
      this.byte(Number(value & 0x7fn) | 0x80);
      value >>= 7n;
    }
    this.byte(Number(value & 0x7fn));
  }

  copy(source: Uint8Array, from = 0, to = source.length): void {
    const count = to - from;
    this.reserve(count);
    if (count < 24) {
      for (let at = from; at < to; at += 1) this.bytes[this.length++] = source[at];
      return;
    }
    this.bytes.set(source.subarray(from, to), this.length);
    this.length += count;
  }

  name(text: string): void {
    const bytes = encodeUtf8(text);
    this.u32(bytes.length);
    this.copy(bytes);
  }

  /** What was written; a view that the next write may leave behind. */
  view(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }
}
