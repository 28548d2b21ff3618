/**
 * Draws for generated tests: a counter hash of (seed, position), so that equal seeds give equal
 * modules on every engine and every version of Node.
 */
export class Draws {
  readonly #seed: number;
  #position = 0;

  /** `seed` is any unsigned 32-bit integer. */
  constructor(seed: number) {
    this.#seed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  }

  /** The next draw, uniform in 0 .. 2^32 - 1. */
  next(): number {
    this.#position += 1;
    let x = (this.#seed + Math.imul(this.#position, 0x9e3779b9)) | 0;
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    return (x ^ (x >>> 15)) >>> 0;
  }

  /** Uniform in 0 .. count - 1; `count` is at least 1. */
  below(count: number): number {
    return Math.floor((this.next() / 0x1_0000_0000) * count);
  }

  /** True `percent` times of a hundred. */
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  /** One element of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('nothing to pick from');
    return list[this.below(list.length)];
  }

  /** One key, as often as its weight (a non-negative integer) says. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let total = 0;
    for (const [weight] of choices) total += weight;
    let rest = this.below(total);
    for (const [weight, choice] of choices) {
      rest -= weight;
      if (rest < 0) return choice;
    }
    throw new Error('weights sum to nothing');
  }
}
