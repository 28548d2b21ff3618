import type { Body } from '../binary/body.ts';
import { OP, storedBytes } from '../binary/opcodes.ts';
import { TYPE } from '../binary/types.ts';
import type { CodeWriter } from './code-writer.ts';
import { DIRTY_MAP_BASE, DIRTY_SPILL_BYTES, PAGE_SHIFT } from './layout.ts';
import type { LocalSpace } from './locals.ts';

/** Groups of stores that are looked at at once; older ones are forgotten. */
const GROUPS_MAX = 64;

/** Stores through one unchanged local whose first one marks for all that it dominates. */
interface Group {
  readonly local: number;
  readonly lead: number;
  readonly scope: number;
  min: number;
  end: number;
}

/**
 * Which stores mark their page. A mark covers `DIRTY_SPILL_BYTES` from its address on, so one mark
 * serves all stores with near offsets from the same local that it dominates, as long as the local is
 * not set and no suspension is possible in between (the map may be cleared there).
 */
export class DirtyPlan {
  /** 1 when the store marks before it writes. */
  readonly mode: Uint8Array;
  /** Local that holds the address, and what to add to it. */
  readonly local: Int32Array;
  readonly offset: Uint32Array;
  /** Local to copy an instruction's result to, or -1. */
  readonly tee: Int32Array;
  /** Guest local that a mark reads at an instruction, or -1: a use for liveness. */
  readonly use: Int32Array;
  private readonly body: Body;
  private readonly space: LocalSpace;
  private readonly lastSet: Int32Array;
  private groups: Group[] = [];
  private scope = 0;

  constructor(body: Body, space: LocalSpace, isSite: (index: number) => boolean) {
    this.body = body;
    this.space = space;
    this.mode = new Uint8Array(body.count);
    this.local = new Int32Array(body.count);
    this.offset = new Uint32Array(body.count);
    this.tee = new Int32Array(body.count).fill(-1);
    this.use = new Int32Array(body.count).fill(-1);
    this.lastSet = new Int32Array(body.locals.length).fill(-1);
    const loopSets = body.hasLoop ? new LoopSets(body) : null;
    for (let index = 0; index < body.count; index += 1) {
      if (isSite(index)) this.groups = [];
      this.visit(index, loopSets);
    }
  }

  private visit(index: number, loopSets: LoopSets | null): void {
    const { body } = this;
    const op = body.op[index];
    switch (op) {
      case OP.localSet:
      case OP.localTee: {
        const local = body.a[index];
        this.lastSet[local] = index;
        this.groups = this.groups.filter((group) => group.local !== local);
        return;
      }
      case OP.loop:
        if (loopSets !== null) {
          const end = body.peer[index];
          this.groups = this.groups.filter(({ local }) => !loopSets.sets(local, index, end));
        }
        this.scope += 1;
        return;
      case OP.block:
      case OP.if:
      case OP.try:
      case OP.tryTable:
        this.scope += 1;
        return;
      case OP.else:
      case OP.catch:
      case OP.catchAll:
        this.closeScope();
        this.scope += 1;
        return;
      case OP.end:
      case OP.delegate:
        this.closeScope();
        return;
      default: {
        const size = storedBytes(op);
        if (size > 0) this.store(index, size);
      }
    }
  }

  private closeScope(): void {
    this.groups = this.groups.filter(({ scope }) => scope < this.scope);
    this.scope -= 1;
  }

  private store(index: number, size: number): void {
    const { body } = this;
    const producer = body.producer[index];
    const from = body.b[index];
    const end = from + size;
    if (producer >= 0 && body.op[producer] === OP.localGet) {
      const local = body.a[producer];
      if (this.lastSet[local] < producer) {
        this.storeAt(index, local, { from, end });
        return;
      }
    }
    // Only an instruction that leaves one result has it on top, where it can be copied.
    const height = body.height[index] - 2;
    const slot = this.space.slot(height, TYPE.i32);
    if (producer >= 0 && leavesOne(body, producer)) {
      this.tee[producer] = slot;
      this.mode[index] = 1;
    } else this.mode[index] = 2;
    this.local[index] = slot;
    this.offset[index] = end <= DIRTY_SPILL_BYTES ? 0 : from;
  }

  private storeAt(index: number, local: number, range: { from: number; end: number }): void {
    for (const group of this.groups) {
      if (group.local !== local) continue;
      const end = Math.max(group.end, range.end);
      const min = end <= DIRTY_SPILL_BYTES ? 0 : Math.min(group.min, range.from);
      if (end - min > DIRTY_SPILL_BYTES) continue;
      group.min = min;
      group.end = end;
      this.offset[group.lead] = min;
      return;
    }
    const min = range.end <= DIRTY_SPILL_BYTES ? 0 : range.from;
    this.mode[index] = 1;
    this.local[index] = local;
    this.offset[index] = min;
    this.use[index] = local;
    if (this.groups.length === GROUPS_MAX) this.groups.shift();
    this.groups.push({ local, lead: index, scope: this.scope, min, end: range.end });
  }
}

function leavesOne(body: Body, producer: number): boolean {
  const op = body.op[producer];
  if (op === OP.end) {
    const opener = body.peer[producer];
    return opener >= 0 && body.blockType(opener).results.length === 1;
  }
  // Calls may leave several results, and br_if keeps its operands in place.
  return op !== OP.call && op !== OP.callIndirect && op !== OP.brIf;
}

/** Where each local is set, to ask whether a loop sets it. */
class LoopSets {
  private readonly positions = new Map<number, number[]>();

  constructor(body: Body) {
    for (let index = 0; index < body.count; index += 1) {
      if (body.op[index] !== OP.localSet && body.op[index] !== OP.localTee) continue;
      const list = this.positions.get(body.a[index]);
      if (list) list.push(index);
      else this.positions.set(body.a[index], [index]);
    }
  }

  sets(local: number, from: number, to: number): boolean {
    const list = this.positions.get(local) ?? [];
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (list[middle] < from) low = middle + 1;
      else high = middle;
    }
    return low < list.length && list[low] < to;
  }
}

/** Marks the page of `local + offset`. */
export function emitMark(code: CodeWriter, local: number, offset: number): void {
  code.localGet(local);
  if (offset !== 0) {
    code.i32Const(offset);
    code.byte(OP.i32Add);
  }
  code.i32Const(PAGE_SHIFT);
  code.byte(OP.i32ShrU);
  code.i32Const(1);
  code.access(OP.i32Store8, 0, DIRTY_MAP_BASE);
}
