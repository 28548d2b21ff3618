import type { Body } from '../binary/body.ts';
import { OP, storedBytes } from '../binary/opcodes.ts';
import { TYPE } from '../binary/types.ts';
import type { CodeWriter } from './code-writer.ts';
import { DIRTY_MAP_BASE, DIRTY_SPILL_BYTES, PAGE_SHIFT } from './layout.ts';
import type { LocalSpace } from './locals.ts';

/** Groups that are looked at at once; the longest unused is forgotten. */
const GROUPS_MAX = 64;
/** Groups that live on behind a site: each is marked again when a frame comes back there. */
const GROUPS_AT_SITE_MAX = 4;
/** Sites in a loop that a mark may be moved out of. */
const SITES_IN_LOOP_MAX = 64;

/** Stores through one unchanged local that one mark serves: the first store's, or a loop's. */
export interface MarkGroup {
  readonly local: number;
  /** The store that marks, or the loop before which the mark stands. */
  readonly lead: number;
  readonly scope: number;
  /** Least offset; the mark is at `local + min`. */
  min: number;
  end: number;
  lastUse: number;
}

interface OpenLoop {
  readonly index: number;
  readonly end: number;
  readonly scope: number;
  /** Sites before the loop. */
  readonly siteCount: number;
}

const NONE: readonly MarkGroup[] = [];

/**
 * Which stores mark their page. A mark covers `DIRTY_SPILL_BYTES` from its address on, so one mark
 * serves all stores with near offsets from the same local that it dominates, as long as the local is
 * not set. A mark whose local a loop does not set stands before the loop: a page that is marked and
 * not written does no harm. The map may be cleared while the guest is suspended: a frame that comes
 * back marks again what the code behind the site relies on.
 */
export class DirtyPlan {
  /** 1 when the store marks before it writes, 2 after. */
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
  private readonly isSite: (index: number) => boolean;
  private readonly lastSet: Int32Array;
  private readonly beforeLoops = new Map<number, MarkGroup[]>();
  private readonly atSites = new Map<number, MarkGroup[]>();
  private readonly sites: number[] = [];
  private readonly loops: OpenLoop[] = [];
  private readonly loopSets: LoopSets | null;
  private groups: MarkGroup[] = [];
  private scope = 0;

  constructor(body: Body, space: LocalSpace, isSite: (index: number) => boolean) {
    this.body = body;
    this.space = space;
    this.isSite = isSite;
    this.mode = new Uint8Array(body.count);
    this.local = new Int32Array(body.count);
    this.offset = new Uint32Array(body.count);
    this.tee = new Int32Array(body.count).fill(-1);
    this.use = new Int32Array(body.count).fill(-1);
    this.lastSet = new Int32Array(body.locals.length).fill(-1);
    this.loopSets = body.hasLoop ? new LoopSets(body) : null;
    for (let index = 0; index < body.count; index += 1) this.visit(index);
  }

  /** Marks to make before a loop. */
  marksBefore(loop: number): readonly MarkGroup[] {
    return this.beforeLoops.get(loop) ?? NONE;
  }

  /** Marks to make again when a frame comes back to a site. */
  marksAt(site: number): readonly MarkGroup[] {
    return this.atSites.get(site) ?? NONE;
  }

  private visit(index: number): void {
    const { body } = this;
    const op = body.op[index];
    switch (op) {
      case OP.localSet:
      case OP.localTee: {
        const local = body.a[index];
        this.lastSet[local] = index;
        if (this.groups.length > 0) {
          this.groups = this.groups.filter((group) => group.local !== local);
        }
        return;
      }
      case OP.loop:
        this.openLoop(index);
        return;
      case OP.block:
      case OP.if:
      case OP.tryTable:
        this.scope += 1;
        return;
      case OP.else:
        this.closeScope();
        this.scope += 1;
        return;
      case OP.end:
        this.closeScope();
        if (body.op[body.peer[index]] === OP.loop) this.loops.pop();
        return;
      case OP.call:
      case OP.callIndirect:
      case OP.memoryGrow:
        if (this.isSite(index)) this.passSite(index);
        return;
      default: {
        const size = storedBytes(op);
        if (size > 0) this.store(index, size);
      }
    }
  }

  private openLoop(index: number): void {
    const end = this.body.peer[index];
    this.groups = this.groups.filter(({ local }) => !this.setsIn(local, index, end));
    this.loops.push({ index, end, scope: this.scope, siteCount: this.sites.length });
    this.scope += 1;
    if (this.isSite(index)) this.passSite(index);
  }

  private setsIn(local: number, from: number, to: number): boolean {
    return this.loopSets?.sets(local, from, to) ?? false;
  }

  private passSite(index: number): void {
    this.sites.push(index);
    if (this.groups.length > GROUPS_AT_SITE_MAX) {
      this.groups.sort((a, b) => b.lastUse - a.lastUse);
      this.groups.length = GROUPS_AT_SITE_MAX;
    }
    if (this.groups.length > 0) this.atSites.set(index, [...this.groups]);
  }

  private closeScope(): void {
    if (this.groups.length > 0) {
      this.groups = this.groups.filter(({ scope }) => scope < this.scope);
    }
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
      group.lastUse = index;
      this.offset[group.lead] = min;
      return;
    }
    const min = range.end <= DIRTY_SPILL_BYTES ? 0 : range.from;
    const loop = this.outermostLoop(local);
    const lead = loop === null ? index : loop.index;
    const scope = loop === null ? this.scope : loop.scope;
    const group = { local, lead, scope, min, end: range.end, lastUse: index };
    if (loop === null) {
      this.mode[index] = 1;
      this.local[index] = local;
      this.offset[index] = min;
      this.use[index] = local;
    } else this.moveOut(group, loop);
    if (this.groups.length === GROUPS_MAX) this.groups.shift();
    this.groups.push(group);
  }

  /** The outermost loop around that does not set a local, nor any between. */
  private outermostLoop(local: number): OpenLoop | null {
    let found: OpenLoop | null = null;
    for (let at = this.loops.length - 1; at >= 0; at -= 1) {
      const loop = this.loops[at];
      if (this.setsIn(local, loop.index, loop.end)) break;
      if (this.sites.length - loop.siteCount > SITES_IN_LOOP_MAX) break;
      found = loop;
    }
    return found;
  }

  /** Puts a group's mark before a loop, and again at the sites that the code has passed since. */
  private moveOut(group: MarkGroup, loop: OpenLoop): void {
    append(this.beforeLoops, loop.index, group);
    for (let at = loop.siteCount; at < this.sites.length; at += 1) {
      append(this.atSites, this.sites[at], group);
    }
  }
}

function append(map: Map<number, MarkGroup[]>, key: number, group: MarkGroup): void {
  const list = map.get(key);
  if (list) list.push(group);
  else map.set(key, [group]);
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
