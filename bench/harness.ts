/**
 * Measures several ways of doing one job in turn, A B C A B C …, in one process, so that a drift
 * of the machine's speed meets all of them alike. What counts is the ratio of their medians, in
 * processor time of this process, which other load disturbs least.
 */
export interface Contender {
  readonly name: string;
  /** Does the whole job once. */
  run(): void;
}

export interface Timing {
  readonly name: string;
  /** Median, least and greatest processor time of the job, in milliseconds. */
  readonly medianMs: number;
  readonly leastMs: number;
  readonly greatestMs: number;
}

/** One figure with the bar that the project sets itself. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** `at-most` or `at-least` this value; null for a figure that is only reported. */
  readonly bar: { readonly kind: 'at-most' | 'at-least'; readonly value: number } | null;
  /** What it was measured on, in a few words. */
  readonly note: string;
}

/** A benchmark: a group of figures that are measured together. */
export interface Benchmark {
  readonly name: string;
  /** Why it cannot be measured here, or null. */
  missing?(): string | null;
  measure(progress: (text: string) => void): Promise<readonly Figure[]> | readonly Figure[];
}

/** Interleaved rounds after one warm-up round. */
export function interleave(contenders: readonly Contender[], rounds: number): readonly Timing[] {
  const times = contenders.map((): number[] => []);
  for (let round = -1; round < rounds; round++) {
    contenders.forEach((contender, index) => {
      const start = process.cpuUsage();
      contender.run();
      const elapsed = process.cpuUsage(start).user / 1000;
      if (round >= 0) (times[index] as number[]).push(elapsed);
    });
  }
  return contenders.map(({ name }, index) => {
    const sorted = (times[index] as number[]).sort((a, b) => a - b);
    return {
      name,
      medianMs: median(sorted),
      leastMs: sorted[0] as number,
      greatestMs: sorted[sorted.length - 1] as number,
    };
  });
}

/** The median of sorted values. */
function median(sorted: readonly number[]): number {
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

/** The ratio of the medians of two contenders, by name. */
export function ratio(timings: readonly Timing[], of: string, to: string): number {
  const find = (name: string): number => {
    const timing = timings.find((each) => each.name === name);
    if (timing === undefined) throw new Error(`no contender is named ${name}`);
    return timing.medianMs;
  };
  return find(of) / find(to);
}
