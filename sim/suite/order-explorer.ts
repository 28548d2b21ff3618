import { assert } from '../kernel/assert.ts';
import { SimError } from '../kernel/errors.ts';
import { COUNT_MAX } from './plan-tree.ts';
import { areDependent, type OrderStep, type Touches } from './order-steps.ts';

/** At most so many runs look for the orders of one leaf. */
export const ORDER_RUNS_MAX = 10_000;
/** A run has at most so many steps that have an order: comparing them takes the square of it. */
export const ORDER_STEPS_MAX = 512;
/** Counting the orders that are equal stops at so many states. */
const COUNT_STATES_MAX = 100_000;

/** One order of steps, of those that can differ. */
export interface ExploredOrder {
  /** The answers of the decisions between branches: a place among those that could go on. */
  readonly choices: readonly number[];
  /** The branches as letters, in the order of their steps: `abab`. */
  readonly text: string;
  /** How many orders of the same steps are equal to it, with itself; null for too many to count. */
  readonly equivalent: number | null;
}

/** A point of the order that is explored now. */
interface Node {
  readonly enabled: readonly number[];
  /** Branches to go on with here, found so far. */
  readonly wanted: Set<number>;
  /** Branches that went on here, and what their steps touched. */
  readonly done: Map<number, Touches>;
  /** Branches that need not go on here: what follows would be equal to what was seen. */
  readonly sleeping: ReadonlyMap<number, Touches>;
  chosen: number;
}

/**
 * Explores the orders of branches' steps, one run after another: dynamic partial-order reduction with source
 * sets and sleep sets (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014). Of orders that differ only in steps
 * that touch nothing in common one is kept. Pure: who runs is told which choices to make.
 */
export class OrderExplorer {
  readonly orders: ExploredOrder[] = [];
  /** How many runs it took. */
  runs = 0;
  private readonly path: Node[] = [];

  /** The choices that the next run begins with; null when all is explored. Throws `budget/orders`. */
  next(): readonly number[] | null {
    if (this.runs === 0) return [];
    for (let depth = this.path.length - 1; depth >= 0; depth--) {
      const node = this.path[depth] as Node;
      const open = node.enabled.find((branch) => {
        return node.wanted.has(branch) && !node.done.has(branch) && !node.sleeping.has(branch);
      });
      if (open === undefined) continue;
      node.chosen = open;
      this.path.length = depth + 1;
      if (this.runs < ORDER_RUNS_MAX) return choicesOf(this.path);
      throw tooMany(`its branches have more than ${ORDER_RUNS_MAX} orders that can differ`);
    }
    return null;
  }

  /** Takes the steps of a run that began with those choices, and then took the first branch each time. */
  take(steps: readonly OrderStep[]): void {
    if (steps.length > ORDER_STEPS_MAX) {
      throw tooMany(`its branches take ${steps.length} steps, more than ${ORDER_STEPS_MAX}`);
    }
    this.runs++;
    let known = true;
    for (const [index, step] of steps.entries()) {
      known = this.enter(index, step);
      if (!known) break;
    }
    const seen = steps.slice(0, this.path.length - (known ? 0 : 1));
    const clocks = happenedBefore(seen);
    this.findRaces(seen, clocks);
    // What was cut off never showed what it touches: whatever could have gone before is tried.
    const last = seen.findLastIndex(({ cut }) => cut);
    for (const { enabled, wanted } of this.path.slice(0, last + 1)) {
      for (const branch of enabled) wanted.add(branch);
    }
    if (!known) return;
    const choices = choicesOf(this.path);
    const text = seen.map(({ branch }) => String.fromCharCode(97 + branch)).join('');
    this.orders.push({ choices, text, equivalent: countOrders(seen, clocks) });
  }

  /** Goes over a step; false where what follows is equal to what was seen. */
  private enter(index: number, step: OrderStep): boolean {
    let node = this.path[index];
    if (node === undefined) {
      node = this.newNode(index, step);
      this.path.push(node);
      if (node.sleeping.has(step.branch)) return false;
    }
    assert(node.chosen === step.branch, 'a run with the same choices takes the same steps');
    node.done.set(step.branch, step.touches);
    return true;
  }

  private newNode(index: number, { branch, enabled, exhaustive }: OrderStep): Node {
    const sleeping = new Map<number, Touches>();
    const before = this.path[index - 1];
    if (before !== undefined && !exhaustive) {
      const last = before.done.get(before.chosen) as Touches;
      for (const [other, touches] of [...before.sleeping, ...before.done]) {
        if (other !== before.chosen && !areDependent(touches, last)) sleeping.set(other, touches);
      }
    }
    const awake = enabled.filter((each) => !sleeping.has(each));
    const first = sleeping.has(branch) ? awake.slice(0, 1) : [branch];
    const wanted = new Set(exhaustive ? enabled : first);
    return { enabled, wanted, done: new Map(), sleeping, chosen: branch };
  }

  /**
   * Where two steps of different branches are next to each other in time, for all that matters, and their
   * order may differ, the other order is wanted: a branch by which that one begins.
   */
  private findRaces(steps: readonly OrderStep[], clocks: readonly Uint8Array[]): void {
    for (const [later, step] of steps.entries()) {
      const between = new Uint8Array(later);
      const before = clocks[later] as Uint8Array;
      for (let earlier = later - 1; earlier >= 0; earlier--) {
        if (before[earlier] === 0) continue;
        const other = steps[earlier] as OrderStep;
        const direct = between[earlier] === 0;
        (clocks[earlier] as Uint8Array).forEach((is, index) => {
          if (is === 1) between[index] = 1;
        });
        if (!direct || other.group !== step.group || other.branch === step.branch) continue;
        this.want(earlier, firstBranches(steps, clocks, earlier, later));
      }
    }
  }

  /** Sees to it that one of these branches goes on at that point. */
  private want(index: number, branches: readonly number[]): void {
    const { enabled, wanted } = this.path[index] as Node;
    if (branches.some((branch) => wanted.has(branch))) return;
    const able = branches.find((branch) => enabled.includes(branch));
    // Where none could go on, another branch may make it so: any of them.
    for (const branch of able === undefined ? enabled : [able]) wanted.add(branch);
  }
}

/** The branches by which the steps can begin that lead to `later` and do not need `earlier`. */
function firstBranches(
  steps: readonly OrderStep[],
  clocks: readonly Uint8Array[],
  earlier: number,
  later: number,
): readonly number[] {
  const part: number[] = [];
  for (let index = earlier + 1; index < later; index++) {
    if ((clocks[index] as Uint8Array)[earlier] === 0) part.push(index);
  }
  part.push(later);
  const seen = new Set<number>();
  return part.flatMap((index, place) => {
    const { branch } = steps[index] as OrderStep;
    if (seen.has(branch)) return [];
    seen.add(branch);
    const clock = clocks[index] as Uint8Array;
    return part.slice(0, place).some((other) => clock[other] === 1) ? [] : [branch];
  });
}

/** For each step which earlier ones it cannot be before: its branch's own, and what it depends on. */
function happenedBefore(steps: readonly OrderStep[]): readonly Uint8Array[] {
  const clocks: Uint8Array[] = [];
  for (const [index, step] of steps.entries()) {
    const clock = new Uint8Array(index);
    for (let other = index - 1; other >= 0; other--) {
      if (clock[other] === 1 || !isOrdered(steps[other] as OrderStep, step)) continue;
      clock[other] = 1;
      (clocks[other] as Uint8Array).forEach((is, before) => {
        if (is === 1) clock[before] = 1;
      });
    }
    clocks.push(clock);
  }
  return clocks;
}

function isOrdered(a: OrderStep, b: OrderStep): boolean {
  return a.group !== b.group || a.branch === b.branch || areDependent(a.touches, b.touches);
}

function choicesOf(path: readonly Node[]): readonly number[] {
  return path.flatMap(({ enabled, chosen }) => {
    return enabled.length === 1 ? [] : [enabled.indexOf(chosen)];
  });
}

/** How many orders respect what cannot be before what: those that are equal to this one. */
function countOrders(steps: readonly OrderStep[], clocks: readonly Uint8Array[]): number | null {
  if (steps.some(({ exhaustive }) => exhaustive)) return 1;
  const rows = new Map<string, number[]>();
  steps.forEach(({ group, branch }, index) => {
    const name = `${group}/${branch}`;
    rows.set(name, [...(rows.get(name) ?? []), index]);
  });
  const lanes = [...rows.values()];
  // How many steps of each lane stand before a step.
  const needs = clocks.map((clock) => {
    return lanes.map((lane) => lane.filter((index) => clock[index] === 1).length);
  });
  let states = new Map<string, { readonly at: readonly number[]; readonly count: number }>();
  states.set('', { at: lanes.map(() => 0), count: 1 });
  for (let length = 0; length < steps.length; length++) {
    const next: typeof states = new Map();
    for (const { at, count } of states.values()) {
      lanes.forEach((lane, which) => {
        const index = lane[at[which] as number];
        if (index === undefined) return;
        const need = needs[index] as readonly number[];
        if (need.some((least, other) => (at[other] as number) < least)) return;
        const then = at.map((done, other) => (other === which ? done + 1 : done));
        const key = then.join();
        const sum = Math.min(COUNT_MAX, (next.get(key)?.count ?? 0) + count);
        next.set(key, { at: then, count: sum });
      });
    }
    if (next.size > COUNT_STATES_MAX) return null;
    states = next;
  }
  return [...states.values()][0]?.count ?? 1;
}

function tooMany(message: string): SimError {
  return new SimError({
    code: 'budget/orders',
    message,
    remedy: 'try fewer branches or shorter ones, or a number of launches: interleavings: 6',
  });
}
