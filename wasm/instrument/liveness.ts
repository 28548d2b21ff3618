import type { Body } from '../binary/body.ts';
import { OP } from '../binary/opcodes.ts';

/**
 * Backward liveness of the guest's locals at chosen instructions. The body is walked from its end;
 * a loop's head needs the sets of its back edges, so the walk is repeated until no head changes (at
 * most once a nesting level more than two: the code is reducible).
 */

/** Words of bit sets that may be touched in one function before everything counts as live. */
const WORDS_MAX = 24_000_000;

export interface Liveness {
  /** Locals live just after instruction `index` begins to wait, ascending. */
  liveAt(index: number): number[];
}

/**
 * `isSite(i)`: 1 when the set is wanted at instruction i: after it for a call, before the next
 * instruction for a loop. `extraUse[i]`: a local that our code reads at i, or -1.
 */
export function computeLiveness(
  body: Body,
  isSite: (index: number) => boolean,
  extraUse: Int32Array | null,
): Liveness {
  const walker = new Walker(body, isSite, extraUse);
  return walker.run();
}

class Walker implements Liveness {
  private readonly body: Body;
  private readonly isSite: (index: number) => boolean;
  private readonly extraUse: Int32Array | null;
  private readonly words: number;
  private current: Uint32Array;
  /** Of open blocks, outermost first: the set at the label, and the set at the end of the block. */
  private labels: Uint32Array[] = [];
  private ends: Uint32Array[] = [];
  /** Union of the sets of the handlers in force, per open block. */
  private handlers: Uint32Array[] = [];
  private readonly heads = new Map<number, Uint32Array>();
  private readonly sets = new Map<number, Uint32Array>();
  private spent = 0;
  private changed = false;

  constructor(body: Body, isSite: (index: number) => boolean, extraUse: Int32Array | null) {
    this.body = body;
    this.isSite = isSite;
    this.extraUse = extraUse;
    this.words = Math.max(1, (body.locals.length + 31) >>> 5);
    this.current = new Uint32Array(this.words);
  }

  run(): Liveness {
    const everything = (): number[] => this.body.locals.map((_, index) => index);
    do {
      this.changed = false;
      if (!this.pass()) return { liveAt: everything };
    } while (this.changed);
    return this;
  }

  liveAt(index: number): number[] {
    const set = index < 0 ? this.current : this.sets.get(index);
    const live: number[] = [];
    if (!set) return live;
    set.forEach((word, at) => {
      for (let rest = word; rest !== 0; rest &= rest - 1) {
        live.push(at * 32 + (31 - Math.clz32(rest & -rest)));
      }
    });
    return live;
  }

  /** One walk; false when the budget is used up. */
  private pass(): boolean {
    const { body } = this;
    const empty = new Uint32Array(this.words);
    this.current = new Uint32Array(this.words);
    this.labels = [empty];
    this.ends = [empty];
    this.handlers = [empty];
    for (let index = body.count - 1; index >= 0; index -= 1) {
      this.visit(index);
      if (this.spent > WORDS_MAX) return false;
    }
    return true;
  }

  private copy(set: Uint32Array): Uint32Array {
    this.spent += this.words;
    return set.slice();
  }

  private join(source: Uint32Array): void {
    const { current, words } = this;
    this.spent += words;
    for (let word = 0; word < words; word += 1) current[word] |= source[word];
  }

  private label(depth: number): Uint32Array {
    return this.labels[this.labels.length - 1 - depth];
  }

  private visit(index: number): void {
    const { body } = this;
    const op = body.op[index];
    switch (op) {
      case OP.localGet:
        this.current[body.a[index] >>> 5] |= 1 << (body.a[index] & 31);
        break;
      case OP.localSet:
      case OP.localTee:
        this.current[body.a[index] >>> 5] &= ~(1 << (body.a[index] & 31));
        break;
      case OP.call:
      case OP.callIndirect:
        if (this.isSite(index)) this.sets.set(index, this.copy(this.current));
        this.throwing();
        break;
      case OP.memoryGrow:
        if (this.isSite(index)) this.sets.set(index, this.copy(this.current));
        break;
      default:
        if (op < OP.localGet) this.control(index, op);
    }
    if (this.extraUse !== null) {
      const local = this.extraUse[index];
      if (local >= 0) this.current[local >>> 5] |= 1 << (local & 31);
    }
  }

  /** What may raise an exception may go on in a handler. */
  private throwing(): void {
    if (this.body.hasTry) this.join(this.handlers[this.handlers.length - 1]);
  }

  private control(index: number, op: number): void {
    const { body } = this;
    switch (op) {
      case OP.end:
        if (body.peer[index] >= 0) this.enter(index);
        return;
      case OP.else:
        this.elseSets.push(this.current);
        this.current = this.copy(this.ends[this.ends.length - 1]);
        return;
      case OP.block:
      case OP.loop:
      case OP.if:
      case OP.tryTable:
        this.leave(index, op);
        return;
      case OP.br:
        this.current = this.copy(this.label(body.a[index]));
        return;
      case OP.brIf:
        this.join(this.label(body.a[index]));
        return;
      case OP.brTable:
        this.branchTable(index);
        return;
      case OP.throw:
      case OP.throwRef:
      case OP.rethrow:
        this.current = new Uint32Array(this.words);
        this.throwing();
        return;
      case OP.return:
      case OP.unreachable:
      case OP.returnCall:
      case OP.returnCallIndirect:
        this.current = new Uint32Array(this.words);
        return;
      default:
    }
  }

  private readonly elseSets: Uint32Array[] = [];

  private branchTable(index: number): void {
    const { body } = this;
    const from = body.a[index];
    const seen = new Set<number>();
    this.current = new Uint32Array(this.words);
    for (let at = from; at < from + body.b[index]; at += 1) {
      const label = body.labels[at];
      if (seen.has(label)) continue;
      seen.add(label);
      this.join(this.label(label));
    }
  }

  /** At an `end`, walking backward: a block opens. */
  private enter(index: number): void {
    const { body } = this;
    const opener = body.peer[index];
    const after = this.current;
    this.ends.push(after);
    let label = after;
    if (body.op[opener] === OP.loop) {
      label = this.heads.get(opener) ?? new Uint32Array(this.words);
      this.heads.set(opener, label);
    }
    let handler = this.handlers[this.handlers.length - 1];
    if (body.op[opener] === OP.tryTable) handler = this.handlerSet(opener, handler);
    this.labels.push(label);
    this.handlers.push(handler);
    this.current = this.copy(after);
  }

  /** The sets at the labels of a try_table's clauses, joined with those outside. */
  private handlerSet(opener: number, outer: Uint32Array): Uint32Array {
    const { body } = this;
    const kept = this.current;
    this.current = this.copy(outer);
    const from = body.b[opener];
    for (let clause = 0; clause < body.labels[from]; clause += 1) {
      this.join(this.label(body.labels[from + 3 + clause * 3]));
    }
    const joined = this.current;
    this.current = kept;
    return joined;
  }

  /** At an opening instruction, walking backward: the block closes. */
  private leave(index: number, op: number): void {
    const { body } = this;
    const head = this.labels.pop();
    const after = this.ends.pop();
    this.handlers.pop();
    if (op === OP.loop && head !== undefined) {
      for (let word = 0; word < this.words; word += 1) {
        if ((this.current[word] & ~head[word]) !== 0) this.changed = true;
        head[word] |= this.current[word];
      }
      this.spent += this.words;
      if (this.isSite(index)) this.sets.set(index, this.copy(this.current));
    } else if (op === OP.if) {
      const other = body.op[body.peer[index]] === OP.else ? this.elseSets.pop() : after;
      if (other !== undefined) this.join(other);
    }
  }
}
