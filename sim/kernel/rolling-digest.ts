import { mix32 } from './draw.ts';

/**
 * A 64-bit rolling digest over bytes, for chains and fingerprints: two lanes of multiply-rotate
 * mixing with cross-feed (after murmur3's 128-bit variant, Appleby, public domain). It finds
 * accidents, not forgery; what must resist forgery is named by SHA-256.
 */
export class RollingDigest {
  private low: number;
  private high: number;
  private bytesSeen = 0;
  /** Bytes of an unfinished word, least significant first. */
  private tail = 0;

  constructor(low = 0x2545f491, high = 0x6c62272e) {
    this.low = low;
    this.high = high;
  }

  /** Feeds `bytes[from, to)`. */
  update(bytes: Uint8Array, from = 0, to = bytes.length): void {
    let index = from;
    while ((this.bytesSeen & 3) !== 0 && index < to) this.byte(bytes[index++] as number);
    let low = this.low;
    let high = this.high;
    const end = index + ((to - index) & ~3);
    this.bytesSeen += end - index;
    for (; index < end; index += 4) {
      const word =
        (bytes[index] as number) |
        ((bytes[index + 1] as number) << 8) |
        ((bytes[index + 2] as number) << 16) |
        ((bytes[index + 3] as number) << 24);
      const mixed = Math.imul(word, 0x239b961b);
      low = Math.imul(low ^ ((mixed << 15) | (mixed >>> 17)), 0xab0e9789) + high;
      high = Math.imul((high << 13) | (high >>> 19), 5) + (low ^ 0x561ccd1b);
    }
    this.low = low | 0;
    this.high = high | 0;
    while (index < to) this.byte(bytes[index++] as number);
  }

  /** Feeds one integer of up to 53 bits, whatever its sign. */
  updateInteger(value: number): void {
    this.word(value | 0);
    this.word(Math.floor(value / 0x1_0000_0000) | 0);
  }

  /** The digest of all that was fed, as 16 hexadecimal digits; feeding may go on. */
  hex(): string {
    const low = mix32(this.low ^ this.bytesSeen ^ mix32(this.tail));
    const high = mix32(this.high ^ low);
    return (high >>> 0).toString(16).padStart(8, '0') + (low >>> 0).toString(16).padStart(8, '0');
  }

  /** The digest as 32 bits. */
  value32(): number {
    return mix32(this.low ^ this.bytesSeen ^ mix32(this.tail) ^ this.high) >>> 0;
  }

  capture(): readonly number[] {
    return [this.low, this.high, this.bytesSeen, this.tail];
  }

  restore(state: readonly number[]): void {
    this.low = state[0] as number;
    this.high = state[1] as number;
    this.bytesSeen = state[2] as number;
    this.tail = state[3] as number;
  }

  private word(word: number): void {
    this.byte(word & 255);
    this.byte((word >>> 8) & 255);
    this.byte((word >>> 16) & 255);
    this.byte(word >>> 24);
  }

  private byte(byte: number): void {
    const shift = (this.bytesSeen & 3) << 3;
    this.tail |= byte << shift;
    this.bytesSeen++;
    if (shift !== 24) return;
    const mixed = Math.imul(this.tail, 0x239b961b);
    this.low = (Math.imul(this.low ^ ((mixed << 15) | (mixed >>> 17)), 0xab0e9789) + this.high) | 0;
    this.high =
      (Math.imul((this.high << 13) | (this.high >>> 19), 5) + (this.low ^ 0x561ccd1b)) | 0;
    this.tail = 0;
  }
}

/** A 32-bit digest of `bytes[from, to)`: the inputs' digest of an event. */
export function digest32(bytes: Uint8Array, from = 0, to = bytes.length): number {
  let hash = 0x811c9dc5 ^ (to - from);
  let index = from;
  for (const end = from + ((to - from) & ~3); index < end; index += 4) {
    const word =
      (bytes[index] as number) |
      ((bytes[index + 1] as number) << 8) |
      ((bytes[index + 2] as number) << 16) |
      ((bytes[index + 3] as number) << 24);
    const mixed = Math.imul(word, 0xcc9e2d51);
    hash = Math.imul(hash ^ ((mixed << 15) | (mixed >>> 17)), 0x1b873593) + 0x52dce729;
    hash ^= hash >>> 15;
  }
  for (; index < to; index++) hash = Math.imul(hash ^ (bytes[index] as number), 0x01000193);
  return mix32(hash) >>> 0;
}
