import type { MachineChoice } from '../machines/machine-backend.ts';
import {
  draw53,
  sameFailure,
  streamKey,
  type FailureSignature,
  type ScenarioDef,
} from '../../sim/index.ts';
import type { Probe, ProbeResult } from '../probe.ts';
import type { ProbePool } from '../probe-pool.ts';
import type { Boundary, DecisionLine } from './decision-line.ts';
import type { LineFault } from './line-faults.ts';
import { answersFrom, type Side } from './near-futures.ts';
import { estimate, type Estimate } from './statistics.ts';

/** How many starts the workers keep at once: each holds a whole world. */
const STARTS_MAX = 6;

export interface SamplerOptions {
  readonly line: DecisionLine;
  readonly scenario: ScenarioDef;
  readonly images: ReadonlyMap<string, Uint8Array>;
  /** How machines are run. */
  readonly machines?: MachineChoice | undefined;
  readonly wanted: FailureSignature;
  readonly pool: ProbePool;
  /** At most this many continuations. */
  readonly budget: number;
  /** Of the intervals, within 0 and 1. */
  readonly confidence: number;
  readonly onProgress: (done: number) => void;
}

/** One continuation: the recorded decisions up to a position, then those of another seed. */
export interface Question {
  readonly position: number;
  /** Number of the other future, from 0. */
  readonly future: number;
  /** A fault of the recorded past, and what becomes of it. */
  readonly side?: Side;
}

/**
 * Runs continuations of a failed run and counts how many fail in the same way. The futures are the
 * same at every position: future 3 answers a decision in the same way wherever the recorded past
 * ends. So neighbouring positions differ by what the decisions between them do, not by luck.
 */
export class Sampler {
  private readonly options: SamplerOptions;
  private readonly starts = new Map<number, number>();
  /** Of each position: whether the futures so far failed. */
  private readonly outcomes = new Map<number, boolean[]>();
  /** Of each fault and of each side of it: whether the futures so far failed. */
  private readonly sides = new Map<LineFault, Map<string, boolean[]>>();
  private spent = 0;

  constructor(options: SamplerOptions) {
    this.options = options;
  }

  /** How many continuations may still be run. */
  get budgetLeft(): number {
    return this.options.budget - this.spent;
  }

  get continuations(): number {
    return this.spent;
  }

  /** The seed of a future. */
  futureSeed(future: number): number {
    const key = streamKey(this.options.scenario.seed ?? 0, 'bisect/future');
    return draw53(key, future, 0);
  }

  /** The estimate at a position so far. */
  at(position: number): Estimate {
    const { line } = this.options;
    // The failure itself needs no sample.
    if (position >= line.length) return { failures: 0, samples: 0, low: 1, high: 1 };
    return this.estimateOf(this.outcomes.get(position) ?? []);
  }

  /** The share of failures at a position so far. */
  share(position: number): number {
    if (position >= this.options.line.length) return 1;
    const { failures, samples } = this.at(position);
    return samples === 0 ? 0.5 : failures / samples;
  }

  /** The positions that were sampled, in order. */
  positions(): readonly number[] {
    return [...this.outcomes.keys()].sort((a, b) => a - b);
  }

  /** Runs futures at these positions until each has `count`, as far as the budget goes. */
  async sample(positions: readonly number[], count: number): Promise<void> {
    const questions: Question[] = [];
    for (const position of positions) {
      if (position >= this.options.line.length) continue;
      const known = this.outcomes.get(position)?.length ?? 0;
      for (let future = known; future < count; future++) questions.push({ position, future });
    }
    const results = await this.ask(questions.slice(0, Math.max(0, this.budgetLeft)));
    results.forEach((result, index) => {
      const { position } = questions[index] as Question;
      const outcomes = this.outcomes.get(position) ?? [];
      this.outcomes.set(position, outcomes);
      outcomes.push(this.failed(result));
    });
  }

  /**
   * Runs futures from a fault on until there are `count`; whether each failed. Nothing is run where
   * the budget has no place for all of them.
   */
  async follow(side: Side, count: number): Promise<readonly boolean[]> {
    const { fault, withIt, redrawn } = side;
    const name = `${withIt ? 'with' : 'without'} ${redrawn}`;
    const ofFault = this.sides.get(fault) ?? new Map<string, boolean[]>();
    const known = ofFault.get(name) ?? [];
    this.sides.set(fault, ofFault.set(name, known));
    const questions: Question[] = [];
    for (let future = known.length; future < count; future++) {
      questions.push({ position: fault.position, future, side });
    }
    if (questions.length > this.budgetLeft) return known;
    const results = await this.ask(questions);
    known.push(...results.map((result) => this.failed(result)));
    return known;
  }

  /** The estimate that outcomes give. */
  estimateOf(outcomes: readonly boolean[]): Estimate {
    const failures = outcomes.filter((failed) => failed).length;
    return estimate(failures, outcomes.length, this.options.confidence);
  }

  /** Within 0 and 1. */
  get confidence(): number {
    return this.options.confidence;
  }

  /** Whether a continuation failed in the way that is looked for. */
  failed(result: ProbeResult): boolean {
    return sameFailure(this.options.wanted, result.signature);
  }

  /** Runs continuations, which count against the budget; the results stand in order. */
  async ask(questions: readonly Question[]): Promise<readonly ProbeResult[]> {
    const results: ProbeResult[] = [];
    // In parts, so that the starts of one part fit.
    for (let from = 0; from < questions.length;) {
      const part: Question[] = [];
      const boundaries = new Set<number>();
      for (const question of questions.slice(from)) {
        boundaries.add(this.startOf(question).quanta);
        if (boundaries.size > STARTS_MAX) break;
        part.push(question);
      }
      const probes = part.map((question) => this.probeOf(question));
      results.push(...(await this.options.pool.run(probes)));
      this.forgetBut(boundaries);
      from += part.length;
      this.spent += part.length;
      this.options.onProgress(this.spent);
    }
    return results;
  }

  private startOf({ side, position }: Question): Boundary {
    return side?.fault.from ?? this.options.line.boundaryBefore(position);
  }

  private probeOf(question: Question): Probe {
    const { line, scenario, images, machines, pool, wanted } = this.options;
    const { position, future, side } = question;
    const boundary = this.startOf(question);
    let start = this.starts.get(boundary.quanta);
    if (start === undefined) {
      const checkpoint = line.checkpoint(boundary);
      start = pool.addStart({ scenario, images, machines, checkpoint });
      this.starts.set(boundary.quanta, start);
    }
    const seed = this.futureSeed(future);
    const probe = { start, seed, untilProperty: wanted.property };
    if (side === undefined) return { ...probe, answers: line.answers(boundary, position) };
    const { withheld } = side.fault;
    const answers = answersFrom(line, side, seed);
    return side.withIt || withheld === null
      ? { ...probe, answers }
      : { ...probe, answers, withheld: [withheld] };
  }

  private forgetBut(boundaries: ReadonlySet<number>): void {
    for (const [quanta, start] of this.starts) {
      if (boundaries.has(quanta) && this.starts.size <= STARTS_MAX) continue;
      this.options.pool.dropStart(start);
      this.starts.delete(quanta);
    }
  }
}
