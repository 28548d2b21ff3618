import type { VirtualNs } from './units.ts';

/** How many answers a decision about an exponential wait has. */
export const EXPONENTIAL_ARITY = 0x1_0000_0000;

/** Fraction bits of the logarithm below: the wait is exact to 2^-32 of its mean. */
const FRACTION_BITS = 32n;
/** ln 2 times 2^32, rounded to the nearest: 2,977,044,471.8. */
const LN2 = 2_977_044_472n;

/**
 * The wait of an exponential distribution with this mean that `choice` of EXPONENTIAL_ARITY
 * stands for, at least 1 ns (CR-79). Whole numbers only: -log2(u) comes bit by bit, by squaring,
 * for u = (choice + 1) / 2^32; it reaches at most 32, so that a wait is at most 22.2 means.
 */
export function exponentialWaitNs(choice: number, meanNs: VirtualNs): VirtualNs {
  const fraction = BigInt(choice) + 1n;
  let whole = BigInt(fraction.toString(2).length - 1);
  // The mantissa in [1, 2) with 62 fraction bits; squaring doubles its logarithm.
  let mantissa = fraction << (62n - whole);
  for (let bit = 0n; bit < FRACTION_BITS; bit++) {
    mantissa = (mantissa * mantissa) >> 62n;
    const carry = mantissa >> 63n;
    whole = (whole << 1n) | carry;
    mantissa >>= carry;
  }
  const minusLog2 = (32n << FRACTION_BITS) - whole;
  const waitNs = (BigInt(meanNs) * minusLog2 * LN2) >> (2n * FRACTION_BITS);
  const last = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(waitNs < 1n ? 1n : waitNs > last ? last : waitNs);
}
