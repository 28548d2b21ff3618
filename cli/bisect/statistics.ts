/** A share of failures among continuations, with the interval that it lies in. */
export interface Estimate {
  readonly failures: number;
  readonly samples: number;
  /** 0 to 1; the bounds of Wilson's score interval, which holds for few samples and for 0 and 1. */
  readonly low: number;
  readonly high: number;
}

/** Wilson's interval (Wilson 1927) at two-sided confidence `confidence`, within 0 and 1. */
export function estimate(failures: number, samples: number, confidence: number): Estimate {
  if (samples === 0) return { failures, samples, low: 0, high: 1 };
  const z = normalQuantile((1 + confidence) / 2);
  const share = failures / samples;
  const scale = 1 + (z * z) / samples;
  const middle = (share + (z * z) / (2 * samples)) / scale;
  const spread = share * (1 - share) + (z * z) / (4 * samples);
  const half = (z * Math.sqrt(spread / samples)) / scale;
  return {
    failures,
    samples,
    low: failures === 0 ? 0 : Math.max(0, middle - half),
    high: failures === samples ? 1 : Math.min(1, middle + half),
  };
}

/** The share itself; one half where nothing is known. */
export function shareOf({ failures, samples }: Estimate): number {
  return samples === 0 ? 0.5 : failures / samples;
}

/**
 * The quantile of the standard normal distribution, for `p` within 0 and 1 (exclusive), by bisection
 * of its distribution function: it is asked for a few times a command, so speed is no matter.
 */
export function normalQuantile(p: number): number {
  let low = -10;
  let high = 10;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (normalShareBelow(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The distribution function, by formula 26.2.17 of Abramowitz and Stegun; error below 7.5e-8. */
function normalShareBelow(x: number): number {
  if (x < 0) return 1 - normalShareBelow(-x);
  const t = 1 / (1 + 0.2316419 * x);
  const powers = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const tail = powers.reduceRight((sum, factor) => (sum + factor) * t, 0);
  return 1 - (tail * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

/** How many passes in a row speak against a failure of probability `rate` with `confidence`. */
export function passesNeeded(rate: number, confidence: number): number {
  if (rate >= 1) return 1;
  return Math.max(1, Math.ceil(Math.log(1 - confidence) / Math.log(1 - rate)));
}

/**
 * The exact sign test, one-sided: how likely at least `wins` of `trials` are where each is as likely
 * to be lost (for pairs that differ: McNemar's test). For up to some hundred trials.
 */
export function signTest(wins: number, trials: number): number {
  let term = 0.5 ** trials;
  let sum = 0;
  for (let count = 0; count <= trials; count++) {
    if (count >= wins) sum += term;
    term = (term * (trials - count)) / (count + 1);
  }
  return Math.min(1, sum);
}
