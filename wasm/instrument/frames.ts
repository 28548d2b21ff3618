import type { Body } from '../binary/body.ts';
import { refused } from '../binary/errors.ts';
import { OP } from '../binary/opcodes.ts';
import { typeBytes, typeName, type ValueType } from '../binary/types.ts';
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

export interface SavedFrame {
  readonly bytes: number;
  readonly values: readonly SavedValue[];
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
    default:
      return 0;
  }
}

/** What the frames of one function hold, site by site; made once, used by both copies. */
export class Frames {
  bytesMax = 0;
  private readonly list: (SavedFrame | undefined)[] = [];
  private readonly plan: ModulePlan;
  private readonly body: Body;
  private readonly sites: Sites;
  private readonly liveness: Liveness;
  private readonly locals: LocalSpace;
  private readonly nan: NanPlan | null;

  constructor(
    plan: ModulePlan,
    body: Body,
    parts: { sites: Sites; liveness: Liveness; locals: LocalSpace; nan: NanPlan | null },
  ) {
    this.plan = plan;
    this.body = body;
    this.sites = parts.sites;
    this.liveness = parts.liveness;
    this.locals = parts.locals;
    this.nan = parts.nan;
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
    const known = this.list[id];
    if (known) return known;
    const made = this.make(id);
    this.list[id] = made;
    if (made.bytes > this.bytesMax) this.bytesMax = made.bytes;
    return made;
  }

  private make(id: number): SavedFrame {
    const { body, locals } = this;
    const index = this.sites.instructions[id];
    const values: SavedValue[] = [];
    let offset = FRAME_HEADER_BYTES;
    const save = (local: number, type: ValueType): void => {
      const bytes = typeBytes(type);
      if (bytes === 0) throw this.reference(index, type);
      const canonical = this.nan?.deferred[local] ?? 0;
      values.push({ local, type, offset, canonical });
      offset += bytes;
    };
    for (const local of this.liveness.liveAt(index)) {
      if (index < 0 && local >= body.paramCount) continue;
      save(local, body.locals[local]);
    }
    const kept = this.keptCount(index);
    for (let height = 0; height < kept; height += 1) {
      const type = this.operandType(index, height);
      save(locals.slot(height, type), type);
    }
    return { values, bytes: (offset + 7) & ~7 };
  }

  private reference(index: number, type: ValueType): Error {
    return refused(
      index < 0 ? this.body.codeStart : this.body.start[index],
      `a ${typeName(type)} that lives across a call that may suspend`,
      'keep references in tables, or make the call in a function of its own',
    );
  }
}
