import type { Body } from '../binary/body.ts';
import { OP } from '../binary/opcodes.ts';

/** How a basic block ends. */
const END = {
  /** Goes on behind the end of `label` (or into a loop, which takes nothing in advance). */
  fall: 0,
  branch: 1,
  /** br_if, or an if without else: to `label`, or to the next block. */
  branchIf: 2,
  /** An if with else. */
  choose: 3,
  /** A call, a return, a br_table: nothing can be charged beyond it. */
  stop: 4,
} as const;

/** Longest code that leaves a function at once. */
const LEAVING_MAX = 4;

/** `label` of a block that goes on where nothing may be charged in advance. */
const NOWHERE = -1;

interface Block {
  /** The instruction behind which its charge stands, -1 for the function's entry. */
  readonly point: number;
  /** Units of its own instructions. */
  cost: number;
  end: number;
  /** Opener of the block whose end is the target, or NOWHERE. For `choose` the `if`. */
  label: number;
  /** The instruction that ends it, or -1. */
  last: number;
  /** Charged before it is entered, and by it for its successors. */
  before: number;
  beyond: number;
}

/**
 * Where to subtract how much from the fuel counter. One unit is one executed instruction; the
 * markers block, loop, else, end, try_table and the like cost nothing.
 *
 * A block that follows a join is charged in advance by the blocks that lead to it, so that it needs
 * no code of its own. A block between a call and a branch to two ways that only it leads to is
 * charged by these.
 *
 * A block may also charge for the way that goes straight on, and the other way gives back what it
 * does not run: behind an `if` that never comes to its end (Go's and C's conditional jumps), and
 * behind a `br_if` that leaves the function at once (Go's look at each call's result). So a chain of
 * conditions is charged once. Where the host can see the counter, at a check, a call or a return,
 * nothing is charged that may not run: the counter is exact there, and never seen to go back.
 */
export class FuelPlan {
  /** Charged at function entry. */
  readonly entry: number;
  /** Charged right after each instruction (a loop's: at its head, in each iteration). */
  readonly after: Int32Array;
  /** What a `br_if` charges when it jumps (a negative amount: gives back); most charge nothing. */
  readonly jumping: ReadonlyMap<number, number>;

  /** `entryCheck`: whether the function looks at the fuel at its entry. */
  constructor(body: Body, entryCheck: boolean) {
    this.after = new Int32Array(body.count);
    const builder = new BlockBuilder(body, entryCheck);
    const { blocks } = builder;
    this.jumping = body.hasTry ? new Map<number, number>() : chargeAhead(builder);
    for (const { point, cost, before, beyond } of blocks) {
      if (point >= 0) this.after[point] = cost - before + beyond;
    }
    this.entry = blocks[0].cost + blocks[0].beyond;
  }
}

/** Walks backward: a block's successors are known before it, as only loops lead backward. */
function chargeAhead(builder: BlockBuilder): Map<number, number> {
  const { blocks, joins, elses, sources, inTable } = builder;
  const jumping = new Map<number, number>();
  /** What every way to the end of an opener has charged for the block behind it. */
  const ahead = new Map<number, number>();
  const total = (block: Block): number => block.cost + block.beyond;
  for (let at = blocks.length - 1; at >= 0; at -= 1) {
    const block = blocks[at];
    switch (block.end) {
      case END.fall:
      case END.branch:
      case END.branchIf:
        block.beyond = ahead.get(block.label) ?? 0;
        if (block.end !== END.branchIf) break;
        if (builder.leavesRarely(at)) {
          jumping.set(block.last, block.beyond - total(blocks[at + 1]));
          block.beyond = total(blocks[at + 1]);
        }
        blocks[at + 1].before = block.beyond;
        break;
      case END.choose: {
        const first = blocks[at + 1];
        const second = blocks[elses.get(block.label) ?? at + 1];
        block.beyond = Math.min(total(first), total(second));
        first.before = block.beyond;
        second.before = block.beyond;
        break;
      }
      default:
    }
    const opener = joins.get(at);
    if (opener === undefined || inTable.has(opener)) continue;
    const amount = total(block);
    if (builder.goesOn(opener)) {
      block.before = amount;
      ahead.set(opener, amount);
      continue;
    }
    const fits = (sources.get(opener) ?? []).every((from) => blocks[from + 1].cost >= amount);
    const owed = fits ? -1 : builder.only(opener);
    if (!fits && owed < 0) continue;
    block.before = fits ? amount : -blocks[owed].cost;
    ahead.set(opener, block.before);
  }
  return jumping;
}

/** Cuts a body into basic blocks. */
class BlockBuilder {
  readonly blocks: Block[] = [];
  /** Block behind an end -> opener. */
  readonly joins = new Map<number, number>();
  /** `if` -> the block of its else. */
  readonly elses = new Map<number, number>();
  /** Opener -> blocks that end in a conditional branch to its end. */
  readonly sources = new Map<number, number[]>();
  /** Openers whose end a br_table names. */
  readonly inTable = new Set<number>();
  private readonly body: Body;
  private readonly targeted: Uint8Array;
  /** Opener -> number of ways to its end. */
  private readonly ways = new Map<number, number>();
  private ended = false;
  private readonly entryCheck: boolean;

  constructor(body: Body, entryCheck: boolean) {
    this.body = body;
    this.entryCheck = entryCheck;
    this.targeted = this.labelTargets();
    this.start(-1);
    for (let index = 0; index < body.count; index += 1) this.visit(index);
  }

  private start(point: number): void {
    const end = END.stop;
    this.blocks.push({ point, cost: 0, end, label: NOWHERE, last: -1, before: 0, beyond: 0 });
    this.ended = false;
  }

  private finish(end: number, label: number, last = -1): void {
    if (this.ended) return;
    const block = this.blocks[this.blocks.length - 1];
    block.end = end;
    block.label = label;
    block.last = last;
    this.ended = true;
    if (label >= 0) this.ways.set(label, (this.ways.get(label) ?? 0) + 1);
    if (end !== END.branchIf || label < 0) return;
    const list = this.sources.get(label);
    if (list) list.push(this.blocks.length - 1);
    else this.sources.set(label, [this.blocks.length - 1]);
  }

  /** Whether the charge of a block stands at a look at the fuel. */
  private isChecked(at: number): boolean {
    const { point } = this.blocks[at];
    return point < 0 ? this.entryCheck : this.body.op[point] === OP.loop;
  }

  /** Whether the only way to an opener's end is its own condition, which may charge for it. */
  goesOn(opener: number): boolean {
    const list = this.sources.get(opener);
    if (list?.length !== 1 || this.ways.get(opener) !== 1) return false;
    return this.blocks[list[0]].last < 0 && !this.isChecked(list[0]);
  }

  /** Whether a block ends in a `br_if` without operands to code that leaves the function at once. */
  leavesRarely(at: number): boolean {
    const { body } = this;
    const { label, last } = this.blocks[at];
    if (label < 0 || last < 0 || this.isChecked(at)) return false;
    if (body.blockType(label).results.length > 0) return false;
    let end = label;
    while (body.op[end] !== OP.end) end = body.peer[end];
    const from = end + 1;
    for (let index = from; index < body.count && index < from + LEAVING_MAX; index += 1) {
      const op = body.op[index];
      if (op === OP.return || op === OP.unreachable) return true;
      if (op === OP.end && body.peer[index] < 0) return true;
      if (op !== OP.i32Const && op !== OP.localGet && op !== OP.end) return false;
    }
    return false;
  }

  /** The block behind a call that alone leads to an opener's end, by a conditional branch; or -1. */
  only(opener: number): number {
    const list = this.sources.get(opener);
    if (list?.length !== 1 || this.ways.get(opener) !== 1) return -1;
    const [from] = list;
    if (from === 0 || this.joins.has(from)) return -1;
    const before = this.blocks[from - 1];
    return before.end === END.stop && this.isCall(this.blocks[from].point) ? from : -1;
  }

  private isCall(index: number): boolean {
    const op = this.body.op[index];
    return op === OP.call || op === OP.callIndirect;
  }

  private visit(index: number): void {
    const { body } = this;
    const op = body.op[index];
    if (!isMarker(op) && (body.counted?.has(body.start[index]) ?? true)) {
      this.blocks[this.blocks.length - 1].cost += 1;
    }
    switch (op) {
      case OP.loop:
        this.finish(END.fall, NOWHERE);
        this.start(index);
        return;
      case OP.if: {
        const hasElse = body.op[body.peer[index]] === OP.else;
        this.finish(hasElse ? END.choose : END.branchIf, index);
        this.start(index);
        return;
      }
      case OP.else:
        this.finish(END.fall, this.openerOf(index));
        this.elses.set(this.openerOf(index), this.blocks.length);
        this.start(index);
        return;
      case OP.br:
        this.blocks[this.blocks.length - 1].cost += body.skipped[index];
        this.finish(END.branch, this.forward(body.peer[index]));
        return;
      case OP.brIf:
        this.finish(END.branchIf, this.forward(body.peer[index]), index);
        this.start(index);
        return;
      case OP.call:
      case OP.callIndirect:
      case OP.try:
      case OP.tryTable:
      case OP.catch:
      case OP.catchAll:
        this.finish(END.stop, NOWHERE);
        this.start(index);
        return;
      case OP.end:
      case OP.delegate:
        this.close(index);
        return;
      default:
        if (leaves(op)) this.finish(END.stop, NOWHERE);
    }
  }

  private close(index: number): void {
    const opener = this.body.peer[index];
    if (opener < 0) {
      this.finish(END.stop, NOWHERE);
      return;
    }
    const opened = this.body.op[opener];
    const joins = opened === OP.if || opened === OP.try || opened === OP.tryTable;
    const isLoop = opened === OP.loop;
    if (!this.ended && !joins && (isLoop || this.targeted[opener] === 0)) return;
    this.finish(END.fall, isLoop ? NOWHERE : opener);
    if (!isLoop) this.joins.set(this.blocks.length, opener);
    this.start(index);
  }

  /** A branch to a loop's head takes nothing along. */
  private forward(opener: number): number {
    return opener >= 0 && this.body.op[opener] !== OP.loop ? opener : NOWHERE;
  }

  /** The `if` of an `else`. */
  private openerOf(index: number): number {
    return this.body.peer[this.body.peer[index]];
  }

  /** Which openers some branch names. */
  private labelTargets(): Uint8Array {
    const { body } = this;
    const targeted = new Uint8Array(body.count);
    const open: number[] = [-1];
    const mark = (label: number, inTable: boolean): void => {
      const opener = open[open.length - 1 - label];
      if (opener < 0) return;
      targeted[opener] = 1;
      if (inTable) this.inTable.add(opener);
    };
    for (let index = 0; index < body.count; index += 1) {
      const op = body.op[index];
      if (op === OP.tryTable) {
        const from = body.b[index];
        for (let clause = 0; clause < body.labels[from]; clause += 1) {
          mark(body.labels[from + 3 + clause * 3], true);
        }
      }
      if (opensBlock(op)) open.push(index);
      else if (op === OP.end || op === OP.delegate) open.pop();
      else if (op === OP.br || op === OP.brIf) mark(body.a[index], false);
      else if (op === OP.brTable) {
        const from = body.a[index];
        for (let at = from; at < from + body.b[index]; at += 1) mark(body.labels[at], true);
      }
    }
    return targeted;
  }
}

function opensBlock(op: number): boolean {
  return (op >= OP.block && op <= OP.if) || op === OP.try || op === OP.tryTable;
}

/** Whether an instruction never goes on to the next. */
function leaves(op: number): boolean {
  switch (op) {
    case OP.unreachable:
    case OP.brTable:
    case OP.return:
    case OP.returnCall:
    case OP.returnCallIndirect:
    case OP.throw:
    case OP.rethrow:
    case OP.throwRef:
      return true;
    default:
      return false;
  }
}

/** Instructions that only mark structure; they cost nothing. */
export function isMarker(op: number): boolean {
  switch (op) {
    case OP.block:
    case OP.loop:
    case OP.else:
    case OP.end:
    case OP.try:
    case OP.catch:
    case OP.catchAll:
    case OP.delegate:
    case OP.tryTable:
      return true;
    default:
      return false;
  }
}
