import type { Body } from '../binary/body.ts';
import { OP } from '../binary/opcodes.ts';
import { isReference, TYPE, typeBytes, type ValueType } from '../binary/types.ts';
import type { Liveness } from './liveness.ts';
import type { LocalSpace } from './locals.ts';
import type { ModulePlan } from './module-plan.ts';
import type { NanPlan } from './nan.ts';
import type { Sites } from './sites.ts';

/** Frame header: i32 site number, i32 slot of the slow copy in the resume table. */
export const FRAME_HEADER_BYTES = 8;

export interface SavedValue {
  readonly local: number;
  readonly type: ValueType;
  readonly offset: number;
  /** CANONICAL of a local whose NaN bits were left as the engine chose them: fixed when saved. */
  readonly canonical: number;
}

/** What a group of sites saves: one piece of code for saving and one for restoring. */
export interface SaveList {
  /** Place in `Frames.lists`. */
  readonly index: number;
  readonly bytes: number;
  readonly values: readonly SavedValue[];
}

/** A site's list, and those of its values that are dead there: they are zeroed before saving. */
export interface SavedFrame {
  readonly list: SaveList;
  readonly zeroed: readonly SavedValue[];
}

/** Operands of a call: arguments, and the table index of an indirect call. */
export function argumentCount(plan: ModulePlan, body: Body, index: number): number {
  const { module } = plan;
  switch (body.op[index]) {
    case OP.call:
    case OP.returnCall:
      return module.functions[body.a[index]].type.params.length;
    case OP.callIndirect:
    case OP.returnCallIndirect:
      return module.types[body.a[index]].params.length + 1;
    case OP.memoryGrow:
      return 1;
    default:
      return 0;
  }
}

/** A reference takes this much of a frame; it stands in a table at the address over this. */
export const REFERENCE_BYTES = 8;

/** Lists that are compared with a site's before it gets its own. */
const CANDIDATES_MAX = 24;

/** What the frames of one function hold, site by site; made once, used by both copies. */
export class Frames {
  bytesMax = 0;
  readonly lists: SaveList[] = [];
  private readonly sites: SavedFrame[] = [];
  private readonly plan: ModulePlan;
  private readonly body: Body;

  constructor(
    plan: ModulePlan,
    body: Body,
    parts: { sites: Sites; liveness: Liveness; locals: LocalSpace; nan: NanPlan | null },
  ) {
    this.plan = plan;
    this.body = body;
    const needs = parts.sites.instructions.map((index, id) =>
      id === 0 ? [] : this.needed(index, parts),
    );
    const growing = parts.sites.instructions.flatMap((index, id) => {
      return body.op[index] === OP.memoryGrow ? [id] : [];
    });
    this.group(needs, new Set(growing));
  }

  /** Operands that stay below the call, from the function's first on. */
  keptCount(index: number): number {
    if (index < 0) return 0;
    return this.body.height[index] - argumentCount(this.plan, this.body, index);
  }

  /** Type of the operand at a height, as it is at a site. */
  operandType(index: number, height: number): ValueType {
    return this.body.stackTypes[this.body.snapshot[index] + height];
  }

  frame(id: number): SavedFrame {
    return this.sites[id];
  }

  /** The locals that a site needs back. */
  private needed(
    index: number,
    parts: { liveness: Liveness; locals: LocalSpace; nan: NanPlan | null },
  ): Needed[] {
    const { body } = this;
    const needed: Needed[] = [];
    const add = (local: number, type: ValueType): void => {
      if (isReference(type)) this.plan.references.add(type);
      needed.push({ local, type, canonical: parts.nan?.deferred[local] ?? 0 });
    };
    for (const local of parts.liveness.liveAt(index)) {
      if (index >= 0 || local < body.paramCount) add(local, body.locals[local]);
    }
    const kept = this.keptCount(index);
    for (let height = 0; height < kept; height += 1) {
      const type = this.operandType(index, height);
      add(parts.locals.slot(height, type), type);
    }
    if (index >= 0 && keepsTableIndex(this.plan, body, index)) {
      add(parts.locals.slot(body.height[index] - 1, TYPE.i32), TYPE.i32);
    }
    return needed;
  }

  /** Gives each site a list: its own, or a larger one that costs less than a new one. */
  private group(needs: readonly Needed[][], growing: ReadonlySet<number>): void {
    // Those at memory.grow come last, so that they change nothing for the others.
    const order = needs.map((_, id) => id).slice(1);
    const last = (id: number): number => (growing.has(id) ? 1 : 0);
    order.sort((a, b) => last(a) - last(b) || needs[b].length - needs[a].length || a - b);
    const members: ReadonlySet<number>[] = [];
    for (const id of order) {
      const need = needs[id];
      const at = this.findList(need, members);
      const list = at >= 0 ? this.lists[at] : this.addList(need);
      if (at < 0) members.push(new Set(need.map(({ local }) => local)));
      this.sites[id] = { list, zeroed: unneeded(list, need) };
    }
  }

  private findList(need: readonly Needed[], members: readonly ReadonlySet<number>[]): number {
    const spareMax = 1 + (need.length >> 2);
    let best = -1;
    let bestSize = need.length + spareMax + 1;
    const from = Math.max(0, members.length - CANDIDATES_MAX);
    for (let at = members.length - 1; at >= from; at -= 1) {
      const set = members[at];
      if (set.size >= bestSize) continue;
      if (need.every(({ local }) => set.has(local))) {
        best = at;
        bestSize = set.size;
      }
    }
    return best;
  }

  private addList(need: readonly Needed[]): SaveList {
    let offset = FRAME_HEADER_BYTES;
    const values: SavedValue[] = [];
    for (const value of need) {
      if (isReference(value.type)) offset = (offset + 7) & ~7;
      const { local, type, canonical } = value;
      values.push({ local, type, canonical, offset });
      offset += typeBytes(value.type) || REFERENCE_BYTES;
    }
    const list = { index: this.lists.length, values, bytes: (offset + 7) & ~7 };
    this.lists.push(list);
    if (list.bytes > this.bytesMax) this.bytesMax = list.bytes;
    return list;
  }
}

const NONE: readonly SavedValue[] = [];

/** The values of a list that a site does not need; it has all that the site needs. */
function unneeded(list: SaveList, need: readonly Needed[]): readonly SavedValue[] {
  if (list.values.length === need.length) return NONE;
  const wanted = new Set(need.map(({ local }) => local));
  return list.values.filter(({ local }) => !wanted.has(local));
}

type Needed = Omit<SavedValue, 'offset'>;

/** Whether an indirect call is made again through the table: the callee may be another module's. */
export function keepsTableIndex(plan: ModulePlan, body: Body, index: number): boolean {
  return plan.openTables && body.op[index] === OP.callIndirect;
}
