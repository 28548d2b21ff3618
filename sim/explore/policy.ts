import type { DecisionSource, Door, Opportunity } from '../kernel/decision.ts';
import { draw32, drawUniform, streamKey, type StreamKey } from '../kernel/draw.ts';

/**
 * How decisions are answered that no recorded answer fits, as plain data that crosses threads. All
 * draws of a policy come from the run's seed and a stream name of the policy's own, so a state of a
 * search is a function of its scenario, seed and policy.
 */
export type Policy =
  /**
   * Priorities with a few change points (Burckhardt et al., "A Randomized Scheduler with
   * Probabilistic Guarantees of Finding Bugs", ASPLOS 2010): a node of low priority waits long for
   * its processor at every resume; `changes` times, within the first `steps` resumes, the node
   * whose turn it is falls to the lowest priority.
   */
  | {
      readonly kind: 'pct';
      readonly seed: number;
      readonly changes: number;
      readonly steps: number;
    }
  /**
   * At most `delays` waits, at drawn places among the first `steps` resumes; nobody waits elsewhere
   * (Emmi et al., "Delay-Bounded Scheduling", POPL 2011).
   */
  | {
      readonly kind: 'delay';
      readonly seed: number;
      readonly delays: number;
      readonly steps: number;
    }
  /** Answers 0, the calm choice, on these streams: nothing lost, nobody delayed. */
  | { readonly kind: 'calm'; readonly streams: readonly string[] };

/** Whether a stream decides how long a guest waits for its processor. */
export function isSchedule(stream: string): boolean {
  return stream.startsWith('node/') && stream.endsWith('/schedule');
}

/** A source of decisions that follows a policy. */
export function policySource(policy: Policy): DecisionSource {
  switch (policy.kind) {
    case 'pct':
      return new PrioritySource(policy);
    case 'delay':
      return new DelaySource(policy);
    case 'calm':
      return new CalmSource(policy.streams);
  }
}

/** Asks one source after the other, and answers in the name of the one that answered. */
export class FirstAnswer implements DecisionSource {
  door: Door;
  private readonly sources: readonly DecisionSource[];

  /** At least one source. */
  constructor(first: DecisionSource, ...others: readonly DecisionSource[]) {
    this.sources = [first, ...others];
    this.door = first.door;
  }

  choose(opportunity: Opportunity): number | undefined {
    for (const source of this.sources) {
      const choice = source.choose(opportunity);
      if (choice === undefined) continue;
      this.door = source.door;
      return choice;
    }
    return undefined;
  }
}

/** Places of `count` steps among `steps`, each once where there is room. */
function drawSteps(key: StreamKey, count: number, steps: number): Set<number> {
  const places = new Set<number>();
  // Twice the count bounds the draws that fall on a place that is taken.
  for (let draw = 0; places.size < Math.min(count, steps) && draw < 2 * count + 8; draw++) {
    places.add(drawUniform(key, draw, Math.max(1, steps)));
  }
  return places;
}

class PrioritySource implements DecisionSource {
  readonly door = 'directive';
  private readonly seed: number;
  private readonly changePoints: Set<number>;
  private readonly lowered = new Set<string>();
  private step = 0;

  constructor({ seed, changes, steps }: Extract<Policy, { kind: 'pct' }>) {
    this.seed = seed;
    this.changePoints = drawSteps(streamKey(seed, 'search/pct/change'), changes, steps);
  }

  choose({ stream, arity }: Opportunity): number | undefined {
    const { name } = stream;
    if (!isSchedule(name)) return undefined;
    if (this.changePoints.has(this.step++)) this.lowered.add(name);
    if (this.lowered.has(name)) return arity - 1;
    return drawUniform(streamKey(this.seed, `search/pct/${name}`), 0, arity);
  }
}

class DelaySource implements DecisionSource {
  readonly door = 'directive';
  private readonly lengths: StreamKey;
  private readonly places: Set<number>;
  private step = 0;

  constructor({ seed, delays, steps }: Extract<Policy, { kind: 'delay' }>) {
    this.lengths = streamKey(seed, 'search/delay/length');
    this.places = drawSteps(streamKey(seed, 'search/delay/place'), delays, steps);
  }

  choose({ stream, arity }: Opportunity): number | undefined {
    if (!isSchedule(stream.name)) return undefined;
    const step = this.step++;
    if (!this.places.has(step)) return 0;
    return 1 + drawUniform(this.lengths, step, arity - 1);
  }
}

class CalmSource implements DecisionSource {
  readonly door = 'override';
  private readonly streams: ReadonlySet<string>;

  constructor(streams: readonly string[]) {
    this.streams = new Set(streams);
  }

  choose({ stream }: Opportunity): number | undefined {
    return this.streams.has(stream.name) ? 0 : undefined;
  }
}

/** One of `arity` choices for feature `name` of a state: keyed like every draw (CR-60). */
export function drawFeature(seed: number, name: string, arity: number): number {
  return draw32(streamKey(seed, `search/${name}`), 0, 0) % arity;
}
