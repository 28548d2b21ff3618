import { decodeUtf8, isUtf8 } from '../../sim/index.ts';
import { malformed } from './errors.ts';

/** Reads the binary format; each failure is a typed error with the offset. Never reads past `end`. */
export class ByteReader {
  readonly bytes: Uint8Array;
  position: number;
  end: number;

  constructor(bytes: Uint8Array, position = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = position;
    this.end = end;
  }

  byte(): number {
    if (this.position >= this.end) throw malformed(this.position, 'unexpected end');
    return this.bytes[this.position++];
  }

  /** Unsigned LEB128 of at most 32 bits. */
  u32(): number {
    const first = this.byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let shift = 7; shift < 35; shift += 7) {
      const byte = this.byte();
      if (shift === 28 && byte > 0x0f) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw malformed(this.position, 'an integer of 32 bits is too long');
  }

  /** Signed LEB128 of at most 32 bits. */
  s32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      if (shift === 28 && !fits(byte, 4)) break;
      return shift < 28 && byte & 0x40 ? value | (-1 << (shift + 7)) : value;
    }
    throw malformed(this.position, 'an integer of 32 bits is too long');
  }

  /** Signed LEB128 of 33 bits, as block types are; returns a number. */
  s33(): number {
    let value = 0;
    for (let shift = 0, scale = 1; shift < 35; shift += 7, scale *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte >= 0x80) continue;
      if (shift === 28 && !fits(byte, 5)) break;
      return byte & 0x40 ? value - scale * 128 : value;
    }
    throw malformed(this.position, 'an integer of 33 bits is too long');
  }

  /** Skips a signed LEB128 of at most 64 bits. */
  skipS64(): void {
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.byte();
      if (byte >= 0x80) continue;
      if (shift === 63 && !fits(byte, 1)) break;
      return;
    }
    throw malformed(this.position, 'an integer of 64 bits is too long');
  }

  skip(count: number): void {
    if (count > this.end - this.position) throw malformed(this.end, 'unexpected end');
    this.position += count;
  }

  /** A vector's length; each element takes at least `bytesMin` bytes, so hostile counts fail here. */
  count(bytesMin = 1): number {
    const at = this.position;
    const count = this.u32();
    if (count * bytesMin > this.end - this.position) throw malformed(at, 'a vector is too long');
    return count;
  }

  name(): string {
    const at = this.position;
    const length = this.u32();
    const from = this.position;
    this.skip(length);
    const bytes = this.bytes.subarray(from, this.position);
    if (!isUtf8(bytes)) throw malformed(at, 'a name is not UTF-8');
    return decodeUtf8(bytes);
  }
}

/** Whether the last byte of a signed LEB128 holds only `bits` bits and their sign. */
function fits(byte: number, bits: number): boolean {
  const high = byte >> (bits - 1);
  return high === 0 || high === 0x7f >> (bits - 1);
}
