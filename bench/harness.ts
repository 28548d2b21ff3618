import { threadTimeMs } from './thread-time.ts';

/** One way of doing a job. */
export interface Contender {
  readonly name: string;
  /** Does the whole job once. */
  run(): void;
}

export interface Timing {
  readonly name: string;
  /** Median, least and greatest time of the job, in milliseconds. */
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

/** A first measurement may take so many rounds to warm up: two tiers of code, and the heap. */
const WARM_ROUNDS_MAX = 8;
/** A job is warm when two rounds in a row are at most this much faster than the best before. */
const WARM_GAIN = 0.03;

/**
 * Measures several ways of doing one job in turn, A B C A B C …, in one process, so that a drift
 * of the machine's speed meets all of them alike. What counts is the ratio of their medians, in
 * processor time of the main thread: other load disturbs it least, and V8's compiling threads are
 * not in it. Before that each job is repeated until it gets no faster, since V8 runs a function in
 * its quick tier first, and how long it does depends on what else its compilers have to do.
 */
export function interleave(contenders: readonly Contender[], rounds: number): readonly Timing[] {
  const time = ({ run }: Contender): number => {
    const start = threadTimeMs();
    run();
    return threadTimeMs() - start;
  };
  for (const contender of contenders) warmUp(() => time(contender));
  const times = contenders.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    contenders.forEach((contender, index) => times[index]?.push(time(contender)));
  }
  return contenders.map(({ name }, index) => summary(name, times[index] ?? []));
}

function warmUp(time: () => number): void {
  let best = Infinity;
  let steady = 0;
  for (let round = 0; round < WARM_ROUNDS_MAX && steady < 2; round++) {
    const taken = time();
    steady = taken > best * (1 - WARM_GAIN) ? steady + 1 : 0;
    best = Math.min(best, taken);
  }
}

/** A way of doing a job that takes other threads or processes. */
export interface WallContender {
  readonly name: string;
  run(): Promise<void> | void;
}

/**
 * The same in wall time after one round to warm up: for jobs of several threads or processes,
 * whose point is when they end.
 */
export async function interleaveWall(
  contenders: readonly WallContender[],
  rounds: number,
): Promise<readonly Timing[]> {
  const times = contenders.map((): number[] => []);
  for (let round = -1; round < rounds; round++) {
    for (const [index, contender] of contenders.entries()) {
      const start = performance.now();
      await contender.run();
      if (round >= 0) times[index]?.push(performance.now() - start);
    }
  }
  return contenders.map(({ name }, index) => summary(name, times[index] ?? []));
}

function summary(name: string, times: readonly number[]): Timing {
  const sorted = times.toSorted((a, b) => a - b);
  return {
    name,
    medianMs: median(times),
    leastMs: sorted[0] ?? NaN,
    greatestMs: sorted[sorted.length - 1] ?? NaN,
  };
}

/** The median of values in any order; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

/** The median time of a contender, by name. */
export function medianMs(timings: readonly Timing[], name: string): number {
  const timing = timings.find((each) => each.name === name);
  if (timing === undefined) throw new Error(`no contender is named ${name}`);
  return timing.medianMs;
}

/** The ratio of the medians of two contenders, by name. */
export function ratio(timings: readonly Timing[], of: string, to: string): number {
  return medianMs(timings, of) / medianMs(timings, to);
}
