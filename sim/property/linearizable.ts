import { assert } from '../kernel/assert.ts';
import type { VirtualNs } from '../kernel/units.ts';
import type { Model } from './models.ts';
import type { Operation } from './operation.ts';

/** Counts the work of a search down, over all parts of a history. */
export interface StepBudget {
  left: number;
}

export type LinearizableResult =
  | { readonly kind: 'linearizable' }
  /** The budget was used up before there was an answer. */
  | { readonly kind: 'exhausted' }
  | { readonly kind: 'violated'; readonly violation: Violation };

/** Why a history has no order. */
export interface Violation {
  /** The smallest failing prefix of the history ends with this operation's reply. */
  readonly blamed: Operation;
  /** The end of an order that explains every reply before the blamed one. */
  readonly order: readonly Operation[];
  /** How many operations that order has. */
  readonly orderCount: number;
  /** The state after that order. */
  readonly state: string;
}

/** So much of the best order is kept for people. */
const ORDER_TAIL_LENGTH = 16;

/**
 * Whether the operations of one object have an order that its model could have answered, in which
 * an operation that returned before another was called comes first.
 *
 * The search is that of Wing and Gong (1993) with the memory of Lowe (2017), as in Porcupine: it
 * walks a list of calls and replies in time order, lifts out a call that may come next, and goes
 * back when it meets the reply of an operation that it has not placed. A configuration, the first
 * missing reply with the operations placed beyond it and the state, is never entered twice. An
 * operation that only looks is placed as soon as it fits, which loses nothing.
 *
 * Calls and replies of equal times count as overlapping. Operations that failed are not given;
 * open ones may take effect at any time after their call, or never.
 */
export function checkLinearizable(
  operations: readonly Operation[],
  model: Model,
  budget: StepBudget,
): LinearizableResult {
  const search = new Search(operations, model, budget);
  const answer = search.run();
  if (answer !== 'violated') return { kind: answer };
  return { kind: 'violated', violation: narrow(operations, model, budget, search) };
}

/**
 * Finds the smallest failing prefix. The search knows how operations will be answered that are
 * open at the end of a prefix, so that it fails at the prefix's last reply or before it: never
 * after. Bisection over the replies from there on is right, since a history whose prefix fails
 * fails. With the budget used up the smallest that is known to fail is taken.
 */
function narrow(
  operations: readonly Operation[],
  model: Model,
  budget: StepBudget,
  whole: Search,
): Violation {
  const replies = operations
    .filter((each) => each.status === 'ok')
    .sort((a, b) => endOf(a) - endOf(b) || a.index - b.index);
  let least = replies.findIndex((each) => each.index === whole.missing.index);
  let most = replies.length - 1;
  let best = whole.best;
  // The first guess is the likeliest.
  for (let middle = least; least < most; middle = (least + most) >> 1) {
    const last = replies[middle] as Operation;
    const search = new Search(prefixUntil(operations, endOf(last)), model, budget);
    const answer = search.run();
    if (answer === 'exhausted') break;
    if (answer === 'violated') {
      most = middle;
    } else {
      least = middle + 1;
      best = search.best;
    }
  }
  const blamed = replies[most];
  assert(blamed !== undefined, 'a history that fails has a reply');
  return { blamed, order: best.order, orderCount: best.orderCount, state: best.state };
}

/** The history as it was known at that time. */
function prefixUntil(operations: readonly Operation[], endNs: VirtualNs): readonly Operation[] {
  return operations.flatMap((each): Operation[] => {
    if (each.calledNs > endNs) return [];
    if (endOf(each) <= endNs) return [each];
    return [{ ...each, status: 'open', result: [], returnedNs: null }];
  });
}

/** When an operation returned, or `Infinity`. */
function endOf({ status, returnedNs }: Operation): VirtualNs {
  return status === 'ok' ? (returnedNs ?? Infinity) : Infinity;
}

/** A placed operation, and what was before it. */
interface Frame {
  readonly item: number;
  readonly state: string;
  readonly open: bigint;
  readonly rank: number;
  /** Whether trying another operation in its place is pointless. */
  readonly forced: boolean;
}

/** Items are operations in order of call; entry 0 is the head of the list and its end. */
class Search {
  private readonly items: readonly Operation[];
  private readonly model: Model;
  private readonly budget: StepBudget;
  private readonly looks: readonly boolean[];
  /** For each entry, its item; the entries of an item; the list. */
  private readonly itemOf: Int32Array;
  private readonly isReply: Uint8Array;
  private readonly callOf: Int32Array;
  private readonly replyOf: Int32Array;
  private readonly next: Int32Array;
  private readonly previous: Int32Array;
  /** Items in the order of their replies, and the inverse (-1 without a reply). */
  private readonly replies: readonly number[];
  private readonly rankOf: Int32Array;
  /** The bit that stands for an item while it is open. */
  private readonly bits: readonly bigint[];
  private readonly placed: Uint8Array;
  private readonly frames: Frame[] = [];
  private readonly seen = new Set<string>();
  private readonly stateIds = new Map<string, number>();
  private state: string;
  /** The bits of placed items whose replies are still to come. */
  private open = 0n;
  /** The rank of the first reply whose item is not placed. */
  private rank = 0;
  /** The furthest that the search came. */
  best: Omit<Violation, 'blamed'> & { readonly rank: number };

  constructor(operations: readonly Operation[], model: Model, budget: StepBudget) {
    const items = operations
      .filter((each) => each.status === 'ok' || !model.looks(each))
      .sort((a, b) => a.calledNs - b.calledNs || a.index - b.index);
    const entries = sortEntries(items);
    const count = entries.length;
    this.items = items;
    this.model = model;
    this.budget = budget;
    this.looks = items.map((item) => model.looks(item));
    this.itemOf = new Int32Array(count + 1);
    this.isReply = new Uint8Array(count + 1);
    this.callOf = new Int32Array(items.length);
    this.replyOf = new Int32Array(items.length);
    this.rankOf = new Int32Array(items.length).fill(-1);
    this.placed = new Uint8Array(items.length);
    const replies: number[] = [];
    entries.forEach(({ item, reply }, index) => {
      const entry = index + 1;
      this.itemOf[entry] = item;
      this.isReply[entry] = reply ? 1 : 0;
      (reply ? this.replyOf : this.callOf)[item] = entry;
      if (!reply) return;
      this.rankOf[item] = replies.length;
      replies.push(item);
    });
    this.replies = replies;
    this.bits = assignBits(entries, items.length);
    this.next = Int32Array.from({ length: count + 1 }, (_, at) => (at === count ? 0 : at + 1));
    this.previous = Int32Array.from({ length: count + 1 }, (_, at) => (at === 0 ? count : at - 1));
    this.state = model.initial;
    this.best = { rank: -1, order: [], orderCount: 0, state: model.initial };
  }

  run(): LinearizableResult['kind'] {
    this.noteProgress();
    let entry = this.begin();
    while (this.rank < this.replies.length) {
      if (this.budget.left <= 0) return 'exhausted';
      if (entry !== 0 && this.isReply[entry] === 0) {
        const item = this.itemOf[entry] as number;
        entry = this.place(item, false) ? this.begin() : (this.next[entry] as number);
        continue;
      }
      entry = this.back();
      if (entry < 0) return 'violated';
    }
    return 'linearizable';
  }

  /** The operation of the first reply that the search could not pass. */
  get missing(): Operation {
    const missing = this.items[this.replies[this.best.rank] as number];
    assert(missing !== undefined, 'a search that fails met a reply that it could not pass');
    return missing;
  }

  /** Places every open item that only looks and fits; the entry from which to try the others. */
  private begin(): number {
    for (let entry = this.next[0] as number; this.isOpenCall(entry);) {
      const item = this.itemOf[entry] as number;
      const before = this.previous[entry] as number;
      const placed = (this.looks[item] ?? false) && this.place(item, true);
      entry = this.next[placed ? before : entry] as number;
    }
    return this.next[0] as number;
  }

  private isOpenCall(entry: number): boolean {
    return entry !== 0 && this.isReply[entry] === 0;
  }

  /** Places an item next, unless the model forbids it or it leads to a known configuration. */
  private place(item: number, forced: boolean): boolean {
    this.budget.left--;
    const operation = this.items[item] as Operation;
    const after = this.model.step(this.state, operation);
    if (after === null) return false;
    const frame: Frame = { item, state: this.state, open: this.open, rank: this.rank, forced };
    this.placed[item] = 1;
    this.open |= this.bits[item] as bigint;
    this.advance();
    const key = `${this.rank} ${this.open} ${this.stateId(after)}`;
    if (this.seen.has(key) && !forced) {
      this.placed[item] = 0;
      this.open = frame.open;
      this.rank = frame.rank;
      return false;
    }
    this.seen.add(key);
    this.state = after;
    this.frames.push(frame);
    this.lift(item);
    this.noteProgress();
    return true;
  }

  /** Moves past the replies of placed items, and gives their bits back. */
  private advance(): void {
    for (; this.rank < this.replies.length; this.rank++) {
      const item = this.replies[this.rank] as number;
      if (this.placed[item] === 0) return;
      this.open &= ~(this.bits[item] as bigint);
    }
  }

  /** Takes back the last choice: the entry after it, or -1 if there is none. */
  private back(): number {
    for (;;) {
      const frame = this.frames.pop();
      if (frame === undefined) return -1;
      this.placed[frame.item] = 0;
      this.state = frame.state;
      this.open = frame.open;
      this.rank = frame.rank;
      this.unlift(frame.item);
      if (!frame.forced) return this.next[this.callOf[frame.item] as number] as number;
    }
  }

  private lift(item: number): void {
    this.unlink(this.callOf[item] as number);
    if (this.rankOf[item] !== -1) this.unlink(this.replyOf[item] as number);
  }

  private unlift(item: number): void {
    if (this.rankOf[item] !== -1) this.relink(this.replyOf[item] as number);
    this.relink(this.callOf[item] as number);
  }

  private unlink(entry: number): void {
    const [before, after] = [this.previous[entry] as number, this.next[entry] as number];
    this.next[before] = after;
    this.previous[after] = before;
  }

  private relink(entry: number): void {
    this.next[this.previous[entry] as number] = entry;
    this.previous[this.next[entry] as number] = entry;
  }

  private stateId(state: string): number {
    const known = this.stateIds.get(state);
    if (known !== undefined) return known;
    this.stateIds.set(state, this.stateIds.size);
    return this.stateIds.size - 1;
  }

  private noteProgress(): void {
    if (this.rank <= this.best.rank) return;
    const tail = this.frames.slice(-ORDER_TAIL_LENGTH);
    this.best = {
      rank: this.rank,
      order: tail.map((frame) => this.items[frame.item] as Operation),
      orderCount: this.frames.length,
      state: this.state,
    };
  }
}

interface Entry {
  readonly item: number;
  readonly reply: boolean;
  readonly atNs: VirtualNs;
}

/** Calls and replies in time order, at equal times calls first. */
function sortEntries(items: readonly Operation[]): readonly Entry[] {
  const entries = items.flatMap((operation, item): Entry[] => {
    const call = { item, reply: false, atNs: operation.calledNs };
    if (operation.status !== 'ok' || operation.returnedNs === null) return [call];
    return [call, { item, reply: true, atNs: operation.returnedNs }];
  });
  return entries.sort((a, b) => {
    return a.atNs - b.atNs || Number(a.reply) - Number(b.reply) || a.item - b.item;
  });
}

/** Gives each item the lowest bit that no other open item has. */
function assignBits(entries: readonly Entry[], itemCount: number): readonly bigint[] {
  const bits: bigint[] = Array.from({ length: itemCount }, () => 0n);
  const free: bigint[] = [];
  let used = 0n;
  for (const { item, reply } of entries) {
    if (reply) free.push(bits[item] as bigint);
    else bits[item] = free.pop() ?? 1n << used++;
  }
  return bits;
}
