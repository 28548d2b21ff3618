/**
 * Keyed draws: a value is a function of (seed, stream name, ordinal), never of a generator's
 * position, so that adding a stream shifts no other stream's draws (CR-60, CR-114).
 *
 * Two 32-bit lanes are mixed by the murmur3 finaliser (Appleby, public domain; constants from
 * "MurmurHash3"), which is a bijection of each lane with full avalanche.
 */

/** Mixes 32 bits so that each input bit changes about half of the output bits. */
export function mix32(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** A stream's key: 64 bits in two lanes, made of the run's seed and the stream's name. */
export interface StreamKey {
  readonly low: number;
  readonly high: number;
}

/** The key of stream `name` under `seed` (a non-negative integer below 2^53). */
export function streamKey(seed: number, name: string): StreamKey {
  let low = mix32((seed % 0x1_0000_0000) ^ 0x9e3779b9);
  let high = mix32(Math.trunc(seed / 0x1_0000_0000) ^ 0x7f4a7c15 ^ low);
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    low = mix32(low ^ unit);
    high = mix32(high + Math.imul(unit + 1, 0x27d4eb2f) + low);
  }
  return { low, high };
}

/** 32 unsigned bits: draw number `lane` of ordinal `ordinal` in the stream. */
export function draw32(key: StreamKey, ordinal: number, lane: number): number {
  const low = ordinal | 0;
  const high = ordinal > 0xffffffff ? Math.trunc(ordinal / 0x1_0000_0000) | 0 : 0;
  let h = mix32(key.low ^ Math.imul(low, 0x9e3779b1));
  h = mix32(h ^ key.high ^ Math.imul(high, 0x85ebca77));
  return mix32(h + Math.imul(lane + 1, 0xc2b2ae3d) + (key.high ^ low)) >>> 0;
}

/** 53 unsigned bits of one draw. */
export function draw53(key: StreamKey, ordinal: number, lane: number): number {
  const high = draw32(key, ordinal, 2 * lane) >>> 11;
  return high * 0x1_0000_0000 + draw32(key, ordinal, 2 * lane + 1);
}

/**
 * A uniform integer in 0 to `arity` - 1 without modulo bias, `arity` 1 to 2^53 - 1: draws above
 * the largest multiple of `arity` are drawn again in the next lane (rejection sampling).
 */
export function drawUniform(key: StreamKey, ordinal: number, arity: number): number {
  if (arity <= 1) return 0;
  if (arity < 0x1_0000_0000) {
    for (let lane = 0; ; lane++) {
      const value = draw32(key, ordinal, lane);
      // Below 2^32 - arity a value is surely below the limit, which is dear to compute.
      if (value < 0x1_0000_0000 - arity || value < 0x1_0000_0000 - (0x1_0000_0000 % arity)) {
        // The outer shift keeps the remainder whole for the compiler: else it calls fprem.
        return ((value >>> 0) % (arity >>> 0)) >>> 0;
      }
    }
  }
  if (arity === 0x1_0000_0000) return draw32(key, ordinal, 0);
  const limit = 2 ** 53 - (2 ** 53 % arity);
  for (let lane = 0; ; lane++) {
    const value = draw53(key, ordinal, lane);
    if (value < limit) return value % arity;
  }
}
