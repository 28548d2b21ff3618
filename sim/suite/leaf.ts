import { assert } from '../kernel/assert.ts';
import { multiplyCounts } from './plan-tree.ts';

/** What a leaf says of one axis. */
export interface Pin {
  readonly axis: string;
  /** The place among the axis's values. */
  readonly index: number;
}

/**
 * The digits of a leaf's index in the mixed radix of its axes' sizes; the last axis counts
 * fastest. The same index means the same leaf on every machine (FB-46).
 */
export function leafDigits(sizes: readonly number[], index: number): readonly number[] {
  let rest = index;
  const digits = sizes.map(() => 0);
  for (let axis = sizes.length - 1; axis >= 0; axis--) {
    const size = sizes[axis] as number;
    digits[axis] = rest % size;
    rest = Math.floor(rest / size);
  }
  assert(rest === 0, 'a leaf is within its axes');
  return digits;
}

/** How many leaves axes of these sizes have. */
export function leafCount(sizes: readonly number[]): number {
  return sizes.reduce((product, size) => multiplyCounts(product, size), 1);
}

/** The value `index` of a fired-or-not vector over `length` occurrences, such as `01` (FB-39). */
export function vectorText(length: number, index: number): string {
  return index.toString(2).padStart(length, '0');
}
