import {
  drawFeature,
  Frontier,
  SCHEDULING_CHOICES_DEFAULT,
  type Policy,
  type Prefix,
  type ScenarioDef,
} from '../sim/index.ts';
import type { Probe, ProbeResult } from './probe.ts';

export const STRATEGIES = ['random', 'pct', 'delay', 'swarm', 'bfs', 'dfs'] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** One run that a search makes: a function of the scenario, the strategy and its number. */
export interface SearchState {
  /** From 0. */
  readonly index: number;
  /** Its seed is the run's. */
  readonly scenario: ScenarioDef;
  readonly probe: Omit<Probe, 'start'>;
  /** What the strategy chose, for people: `3 waits`. */
  readonly note: string;
}

/** Where the states of a search come from. */
export interface StateSource {
  /** The next states, at most `count`; none when there are no more. */
  take(count: number): readonly SearchState[];
  /** Tells what became of a state. */
  tell(state: SearchState, result: ProbeResult): void;
  /** What can be said of how much was searched. */
  coverage(): string;
}

export interface SearchOptions {
  readonly strategy: Strategy;
  /** Its seed is that of the first state. */
  readonly scenario: ScenarioDef;
  /** Change points and one more (pct), waits (delay), decisions (bfs, dfs). */
  readonly depth: number;
  /** How many resumes a run has in which somebody may wait. */
  readonly steps: number;
  readonly branchOn: readonly string[];
  readonly statesMax: number;
}

/** What each strategy takes for `--max-depth` where nobody says. */
export const DEPTH_DEFAULT: Readonly<Record<Strategy, number>> = {
  random: 1,
  pct: 3,
  delay: 3,
  swarm: 3,
  bfs: 8,
  dfs: 8,
};

/** What an exhaustive search branches on where nobody says: events of the plan, and schedules. */
export const BRANCH_ON_DEFAULT: readonly string[] = ['plan/', '/schedule'];

/** Whether a strategy decides who waits for a processor. */
export function schedules(strategy: Strategy): boolean {
  return strategy === 'pct' || strategy === 'delay' || strategy === 'swarm';
}

/** The scenario with waits for the processor, if it has none of its own. */
export function withScheduling(scenario: ScenarioDef, delayNsMax: number): ScenarioDef {
  const { plan } = scenario;
  const scheduling = plan.scheduling ?? { delayNsMax, choices: SCHEDULING_CHOICES_DEFAULT };
  return { ...scenario, plan: { ...plan, scheduling } };
}

export function makeStates(options: SearchOptions): StateSource {
  switch (options.strategy) {
    case 'bfs':
    case 'dfs':
      return new TreeStates(options, options.strategy);
    default:
      return new SeededStates(options, options.strategy);
  }
}

/** States that differ in their seed: everything else is drawn from it. */
class SeededStates implements StateSource {
  private readonly options: SearchOptions;
  private readonly strategy: 'random' | 'pct' | 'delay' | 'swarm';
  private given = 0;

  constructor(options: SearchOptions, strategy: 'random' | 'pct' | 'delay' | 'swarm') {
    this.options = options;
    this.strategy = strategy;
  }

  take(count: number): readonly SearchState[] {
    const left = Math.min(count, this.options.statesMax - this.given);
    return Array.from({ length: left }, () => this.state(this.given++));
  }

  tell(): void {
    // A state depends on its number alone. Coverage guidance would listen here.
  }

  coverage(): string {
    return `${this.given} seeds`;
  }

  private state(index: number): SearchState {
    const seed = (this.options.scenario.seed ?? 0) + index;
    const policy = this.policy(seed);
    const probe: SearchState['probe'] = {
      seed,
      answers: [],
      untilProperty: null,
      ...(policy === null ? {} : { policy }),
    };
    return {
      index,
      scenario: this.options.scenario,
      probe,
      note: policy === null ? '' : noteOf(policy),
    };
  }

  private policy(seed: number): Policy | null {
    const { depth, steps } = this.options;
    const pct: Policy = { kind: 'pct', seed, changes: depth - 1, steps };
    const delay: Policy = { kind: 'delay', seed, delays: depth, steps };
    switch (this.strategy) {
      case 'random':
        return null;
      case 'pct':
        return pct;
      case 'delay':
        return delay;
      case 'swarm':
        // The way of scheduling is one more feature: at once, with few waits, by priorities.
        return (
          [{ ...delay, delays: 0 }, delay, pct][drawFeature(seed, 'swarm/schedule', 3)] ?? null
        );
    }
  }
}

function noteOf(policy: Policy): string {
  switch (policy.kind) {
    case 'pct':
      return `priorities, ${policy.changes} changes`;
    case 'delay':
      return policy.delays === 0 ? '' : `${policy.delays} waits`;
    case 'calm':
      return 'calm';
  }
}

/** At most this many prefixes wait to be run: each is a list of at most `depth` answers. */
const PREFIXES_MAX = 100_000;

/** All answers to the first decisions of one seed's run. */
class TreeStates implements StateSource {
  private readonly options: SearchOptions;
  private readonly frontier: Frontier;
  private readonly prefixes = new Map<number, Prefix>();
  private given = 0;

  constructor(options: SearchOptions, order: 'bfs' | 'dfs') {
    this.options = options;
    this.frontier = new Frontier({ order, depthMax: options.depth, waitingMax: PREFIXES_MAX });
  }

  take(count: number): readonly SearchState[] {
    const { scenario, depth, branchOn, statesMax } = this.options;
    const prefixes = this.frontier.take(Math.min(count, statesMax - this.given));
    return prefixes.map((answers) => {
      const index = this.given++;
      this.prefixes.set(index, answers);
      const probe = {
        seed: scenario.seed ?? 0,
        answers,
        untilProperty: null,
        branchOn: { patterns: branchOn, countMax: depth },
      };
      const note = answers.map(({ stream, ordinal, choice }) => `${stream}#${ordinal}=${choice}`);
      return { index, scenario, probe, note: note.slice(-1).join('') };
    });
  }

  tell({ index }: SearchState, { branches }: ProbeResult): void {
    const prefix = this.prefixes.get(index);
    this.prefixes.delete(index);
    if (prefix !== undefined) this.frontier.expand(prefix, branches);
  }

  coverage(): string {
    const { depth } = this.options;
    if (!this.frontier.isWalked) return `${this.given} runs of the tree of depth ${depth}`;
    const of = this.frontier.isSampled ? 'the tried answers' : 'all answers';
    return `${of} to the first ${depth} decisions, in ${this.given} runs`;
  }
}
