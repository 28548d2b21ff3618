import { TEST_NODE } from '../../scenarios/index.ts';
import type { DecisionSource, Opportunity } from '../../sim/index.ts';

/** A rule that is tried both ways: its first occurrences are answered by a vector (FB-39). */
export interface PinnedRule {
  /** Whether a stream is the rule's. */
  readonly matches: (stream: string) => boolean;
  readonly length: number;
  /** Its bits, the first occurrence highest. */
  readonly vector: number;
}

/**
 * The leaf door: answers a body's choices and the first occurrences of exhaustive rules. What comes after
 * those is left to the seed (FB-42), and so is a choice that no axis pins in a leaf; the pass that
 * looks for axes takes the first option of each.
 */
export class LeafSource implements DecisionSource {
  readonly door = 'leaf';
  /** The choices that were asked for, with their arities. */
  readonly seen = new Map<string, number>();
  private readonly choices: ReadonlyMap<string, number>;
  private readonly rules: readonly PinnedRule[];
  private readonly fired: number[];
  /** Which branch goes on, each time that several can; the first one after those. */
  private readonly order: readonly number[];
  private steps = 0;

  constructor(
    choices: ReadonlyMap<string, number>,
    rules: readonly PinnedRule[],
    order: readonly number[],
  ) {
    this.choices = choices;
    this.rules = rules;
    this.order = order;
    this.fired = rules.map(() => 0);
  }

  choose({ stream, arity }: Opportunity): number | undefined {
    const { name } = stream;
    if (name.startsWith(CHOICES)) {
      const axis = name.slice(CHOICES.length);
      if (/^parallel#\d+\/step$/.test(axis))
        return Math.min(this.order[this.steps++] ?? 0, arity - 1);
      this.seen.set(axis, arity);
      return Math.min(this.choices.get(axis) ?? 0, arity - 1);
    }
    for (const [index, rule] of this.rules.entries()) {
      const before = this.fired[index] as number;
      if (before >= rule.length || !rule.matches(name)) continue;
      this.fired[index] = before + 1;
      return (rule.vector >> (rule.length - 1 - before)) & 1;
    }
    return undefined;
  }
}

const CHOICES = `node/${TEST_NODE}/choose/`;
