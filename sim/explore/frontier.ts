import type { Decision } from '../kernel/decision.ts';
import type { Answer } from './answers.ts';

/** A state of an exhaustive search: the answers to the first decisions that are branched on. */
export type Prefix = readonly Answer[];

/** A decision of few answers has all of them tried; one of many has this many, evenly spread. */
export const BRANCHES_MAX = 8;

/**
 * The answers of a decision that a search tries: all if there are at most `BRANCHES_MAX`, else so
 * many evenly spread ones from the first to the last. None is invented (CR-84).
 */
export function branchesOf(arity: number): readonly number[] {
  const count = Math.min(arity, BRANCHES_MAX);
  if (count === 1) return [0];
  return Array.from({ length: count }, (_, index) => {
    return Math.floor((index * (arity - 1)) / (count - 1));
  });
}

/**
 * The tree of all runs within a depth, walked by running prefixes (CR-31, CR-103): each run shows
 * which decisions follow its prefix and how many answers each has, and each other answer is a new
 * prefix. No two prefixes lead to the same run. `bfs` takes the shortest prefix first, `dfs` the
 * longest.
 */
export class Frontier {
  private readonly order: 'bfs' | 'dfs';
  private readonly depthMax: number;
  private readonly waitingMax: number;
  private waiting: Prefix[] = [[]];
  private taken = 0;
  private beyond = 0;
  private sampled = false;

  /** At most `waitingMax` prefixes wait; further ones are counted as left out. */
  constructor(options: {
    readonly order: 'bfs' | 'dfs';
    readonly depthMax: number;
    readonly waitingMax: number;
  }) {
    this.order = options.order;
    this.depthMax = options.depthMax;
    this.waitingMax = options.waitingMax;
  }

  /** The next prefixes to run, at most `count`; none when the tree is walked. */
  take(count: number): readonly Prefix[] {
    if (this.order === 'dfs') return this.waiting.splice(-count).reverse();
    const next = this.waiting.slice(this.taken, this.taken + count);
    this.taken += next.length;
    // Taken ones are dropped in one go now and then: a queue without a shift for each.
    if (this.taken > 1024) {
      this.waiting = this.waiting.slice(this.taken);
      this.taken = 0;
    }
    return next;
  }

  /** Tells which decisions, in their order, the run of a prefix was branched on. */
  expand(prefix: Prefix, decisions: readonly Decision[]): void {
    const children: Prefix[] = [];
    const end = Math.min(decisions.length, this.depthMax);
    const path: Answer[] = prefix.slice();
    for (let index = prefix.length; index < end; index++) {
      const { stream, ordinal, arity, choice } = decisions[index] as Decision;
      if (arity > BRANCHES_MAX) this.sampled = true;
      for (const other of branchesOf(arity)) {
        if (other !== choice) children.push([...path, { stream, ordinal, arity, choice: other }]);
      }
      path.push({ stream, ordinal, arity, choice });
    }
    for (const child of children) {
      if (this.waiting.length - this.taken < this.waitingMax) this.waiting.push(child);
      else this.beyond++;
    }
  }

  /** Whether every prefix within the depth has been taken. */
  get isWalked(): boolean {
    return this.waiting.length === this.taken && this.beyond === 0;
  }

  /** Whether some decision had more answers than are tried. */
  get isSampled(): boolean {
    return this.sampled;
  }
}
