import { mix32 } from './draw.ts';

const BLOCK_BYTES = 16;

// Any four different odd-looking words do; these have no meaning.
const SEED_A = 0x2545f491;
const SEED_B = 0x6c62272e;
const SEED_C = 0x561ccd1b;
const SEED_D = 0x0bcaa747;

/**
 * A 64-bit rolling digest over bytes, for chains and fingerprints: four lanes of multiply-rotate
 * mixing, each over every fourth word, folded at the end (after murmur3's 128-bit variant,
 * Appleby, public domain). It finds accidents, not forgery; what must resist forgery is named by
 * SHA-256.
 */
export class RollingDigest {
  private a = SEED_A;
  private b = SEED_B;
  private c = SEED_C;
  private d = SEED_D;
  private byteCount = 0;
  /** The bytes of an unfinished block. */
  private readonly pending = new Uint8Array(BLOCK_BYTES);
  private readonly pendingView = new DataView(this.pending.buffer);
  private pendingCount = 0;

  /** Feeds `bytes[from, to)`. */
  update(bytes: Uint8Array, from = 0, to = bytes.length): void {
    let index = from;
    this.byteCount += to - from;
    if (this.pendingCount > 0) {
      while (this.pendingCount < BLOCK_BYTES && index < to) {
        this.pending[this.pendingCount++] = bytes[index++] as number;
      }
      if (this.pendingCount < BLOCK_BYTES) return;
      this.blocks(this.pendingView, 0, BLOCK_BYTES);
      this.pendingCount = 0;
    }
    const end = index + ((to - index) & -BLOCK_BYTES);
    if (end > index) {
      this.blocks(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), index, end);
    }
    for (index = end; index < to; index++) {
      this.pending[this.pendingCount++] = bytes[index] as number;
    }
  }

  /** Feeds one integer of up to 53 bits, whatever its sign. */
  updateInteger(value: number): void {
    const bytes = new Uint8Array(8);
    const view = new DataView(bytes.buffer);
    view.setInt32(0, value | 0, true);
    view.setInt32(4, Math.floor(value / 0x1_0000_0000) | 0, true);
    this.update(bytes);
  }

  /** Forgets all that was fed. */
  reset(): void {
    this.a = SEED_A;
    this.b = SEED_B;
    this.c = SEED_C;
    this.d = SEED_D;
    this.byteCount = 0;
    this.pendingCount = 0;
  }

  /** The lower 32 bits of the digest of all that was fed; feeding may go on. */
  low(): number {
    return this.fold(0);
  }

  /** The upper 32 bits. */
  high(): number {
    return mix32(this.fold(0x9e3779b9) ^ this.fold(0));
  }

  /** The digest as 16 hexadecimal digits. */
  hex(): string {
    const low = this.low();
    const high = this.high();
    return (high >>> 0).toString(16).padStart(8, '0') + (low >>> 0).toString(16).padStart(8, '0');
  }

  capture(): readonly number[] {
    const { a, b, c, d, byteCount } = this;
    return [a, b, c, d, byteCount, ...this.pending.subarray(0, this.pendingCount)];
  }

  restore(state: readonly number[]): void {
    const [a, b, c, d, byteCount, ...pending] = state as [number, number, number, number, number];
    this.a = a;
    this.b = b;
    this.c = c;
    this.d = d;
    this.byteCount = byteCount;
    this.pending.set(pending);
    this.pendingCount = pending.length;
  }

  /** Mixes the lanes, the unfinished block and the length into 32 bits. */
  private fold(salt: number): number {
    let hash = mix32(this.a ^ this.byteCount ^ salt);
    hash = mix32(hash ^ this.b);
    hash = mix32(hash + this.c);
    hash = mix32(hash ^ this.d);
    for (let index = 0; index < this.pendingCount; index++) {
      hash = Math.imul(hash ^ (this.pending[index] as number), 0x01000193);
    }
    return mix32(hash);
  }

  /** Mixes the whole blocks of `[from, to)`. */
  private blocks(view: DataView, from: number, to: number): void {
    let { a, b, c, d } = this;
    for (let index = from; index < to; index += BLOCK_BYTES) {
      a = lane(a, view.getInt32(index, true));
      b = lane(b, view.getInt32(index + 4, true));
      c = lane(c, view.getInt32(index + 8, true));
      d = lane(d, view.getInt32(index + 12, true));
    }
    this.a = a;
    this.b = b;
    this.c = c;
    this.d = d;
  }
}

/** One step of a lane: a bijection of the lane for each word, and of the word for each lane. */
function lane(state: number, word: number): number {
  const mixed = state ^ Math.imul(word, 0x239b961b);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 0x38b34ae5) + 0x52dce729) | 0;
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
