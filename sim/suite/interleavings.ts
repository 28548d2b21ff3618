import { assert } from '../kernel/assert.ts';
import { COUNT_MAX, multiplyCounts } from './plan-tree.ts';

/**
 * How many orders of `parallel`'s branches are tried (FB-43): 1, all N!, the first n in canonical
 * order, or the 2N - 1 at the boundary.
 */
export type Interleavings = number | 'all' | 'critical';

/** N!, at most `COUNT_MAX`. */
export function factorial(count: number): number {
  let product = 1;
  for (let factor = 2; factor <= count && product < COUNT_MAX; factor++) {
    product = multiplyCounts(product, factor);
  }
  return product;
}

/** How many leaves so many branches make. */
export function interleavingCount(branches: number, policy: Interleavings): number {
  const all = factorial(branches);
  if (policy === 'all') return all;
  if (policy === 'critical') return Math.min(Math.max(1, 2 * branches - 1), all);
  return Math.min(policy, all);
}

/**
 * The order of this index among those of the policy: branch numbers, first to launch first.
 * Orders of `all` and of a number are in lexicographic order; `critical` lets each branch go
 * first, then each but the one that stands last already go last.
 */
export function interleavingOrder(
  branches: number,
  policy: Interleavings,
  index: number,
): readonly number[] {
  assert(index < interleavingCount(branches, policy), 'an order is within its policy');
  const plain = Array.from({ length: branches }, (_, branch) => branch);
  if (policy === 'critical' && 2 * branches - 1 <= factorial(branches)) {
    if (index < branches) return [index, ...plain.filter((branch) => branch !== index)];
    const last = index - branches;
    return [...plain.filter((branch) => branch !== last), last];
  }
  return permutation(plain, index);
}

/** The permutation of this index in lexicographic order (factorial number system). */
function permutation(items: readonly number[], index: number): readonly number[] {
  const left = items.slice();
  let rest = index;
  return items.map((_, at) => {
    const below = factorial(items.length - 1 - at);
    const chosen = Math.floor(rest / below);
    rest -= chosen * below;
    return left.splice(chosen, 1)[0] as number;
  });
}
