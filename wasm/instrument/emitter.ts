import type { Body } from '../binary/body.ts';
import { IMMEDIATE, OP, OPCODE_IMMEDIATES } from '../binary/opcodes.ts';
import { isReference, TYPE, type FunctionType } from '../binary/types.ts';
import { CodeWriter, DEPTH_LOCAL, FUEL_LOCAL, type LocalMapping } from './code-writer.ts';
import type { DirtyPlan } from './dirty.ts';
import { emitMark } from './dirty.ts';
import type { Frames } from './frames.ts';
import type { FuelPlan } from './fuel.ts';
import {
  CONTROL,
  CONTROL_BASE,
  FUEL_MIN,
  RESERVE_PAGES,
  SHADOW_STACK_TOP,
  UNWINDING_FUEL,
} from './layout.ts';
import type { LocalSpace } from './locals.ts';
import { convention, mappedFunction, referenceIndex, type ModulePlan } from './module-plan.ts';
import { emitCanonical, type NanPlan } from './nan.ts';
import type { Sites } from './sites.ts';

/** Everything that is known of one function before code is written. */
export interface FunctionPlan {
  readonly plan: ModulePlan;
  readonly body: Body;
  readonly locals: LocalSpace;
  readonly fuel: FuelPlan | null;
  readonly nan: NanPlan | null;
  readonly dirty: DirtyPlan | null;
  /** Null when nothing in the function can suspend. */
  readonly sites: Sites | null;
  readonly frames: Frames | null;
  /** Slot of the slow copy in the resume table. */
  readonly slot: number;
  /** Whether the function looks at the fuel at its entry; at loops it always does. */
  readonly entryCheck: boolean;
  /** Stack bytes charged for a call, 0 when depth is not counted here. */
  readonly depthBytes: number;
  /** Address of a frame; also the site on the way to the code that saves. */
  readonly baseLocal: number;
}

/** What both copies of a function have in common. */
export class Emitter {
  readonly code: CodeWriter;
  protected readonly f: FunctionPlan;
  protected readonly body: Body;
  protected readonly plan: ModulePlan;
  /** Blocks open in the output, those around the body included, without the tails. */
  protected nesting = 0;

  constructor(functionPlan: FunctionPlan, mapping: LocalMapping) {
    this.f = functionPlan;
    this.body = functionPlan.body;
    this.plan = functionPlan.plan;
    const { codeStart, end, count } = functionPlan.body;
    const bytes = count > 0 ? end[count - 1] - codeStart : 0;
    this.code = new CodeWriter(256 + 2 * bytes, mapping);
  }

  protected blockType(type: FunctionType): void {
    this.code.blockType(type, this.plan.types);
  }

  /** Copies an instruction byte for byte. */
  protected raw(index: number): void {
    this.code.copy(this.plan.module.bytes, this.body.start[index], this.body.end[index]);
  }

  /** Subtracts from the fuel counter. */
  protected charge(amount: number): void {
    const { code, f } = this;
    if (f.fuel === null || amount === 0) return;
    code.localGet(FUEL_LOCAL);
    code.i32Const(amount);
    code.byte(OP.i32Sub);
    code.localSet(FUEL_LOCAL);
  }

  /** Subtracts and writes back, so that a trap finds the count of the last check. */
  protected chargeAndStore(amount: number): void {
    const { code } = this;
    code.i32Const(0);
    code.localGet(FUEL_LOCAL);
    if (amount !== 0) {
      code.i32Const(amount);
      code.byte(OP.i32Sub);
      code.localTee(FUEL_LOCAL);
    }
    code.access(OP.i32Store, 2, CONTROL_BASE + 4 * CONTROL.fuel);
  }

  protected chargeAfter(index: number): void {
    if (this.f.fuel !== null) this.charge(this.f.fuel.after[index]);
  }

  /** A `br_if`, and what it charges when it jumps or goes on. */
  protected branchIf(index: number, label: number): void {
    const { code, f } = this;
    const jumping = f.fuel?.jumping.get(index) ?? 0;
    if (jumping === 0) code.brIf(label);
    else {
      code.if();
      this.charge(jumping);
      code.br(label + 1);
      code.end();
    }
    this.chargeAfter(index);
  }

  protected storeFuel(): void {
    if (this.f.fuel !== null) this.code.storeControl(CONTROL.fuel, FUEL_LOCAL);
  }

  protected loadFuel(): void {
    this.code.loadControl(CONTROL.fuel);
    this.code.localSet(FUEL_LOCAL);
  }

  protected amountAfter(index: number): number {
    return this.f.fuel?.after[index] ?? 0;
  }

  /** The look at the fuel at a loop's head; `index` is the loop. The counter is written back. */
  protected check(index: number): void {
    const { code } = this;
    this.chargeAndStore(this.amountAfter(index));
    code.localGet(FUEL_LOCAL);
    code.i32Const(0);
    code.byte(OP.i32LtS);
    code.if();
    this.preempt(index);
    code.end();
  }

  /** Calls the host when the fuel is used up; one block is open around it. */
  protected preempt(index: number): void {
    this.code.call(this.plan.preemptIndex);
    const id = this.f.sites?.id(index) ?? 0;
    if (id > 0) this.saveIfState(id, 1);
    this.loadFuel();
  }

  /** After a call of an import (or of who knows what): saves when the state says so. */
  protected saveIfState(id: number, open = 0): void {
    const { code } = this;
    code.loadControl(CONTROL.state);
    code.if();
    this.leaveTo(id, open + 1);
    code.end();
  }

  /** After memory.grow: saves the frame, and its fuel counter, when the guest is to move. */
  private saveIfGrowing(id: number): void {
    const { code, f } = this;
    code.loadControl(CONTROL.state);
    code.if();
    if (f.fuel !== null) code.storeControl(CONTROL.growthFuel, FUEL_LOCAL);
    this.leaveTo(id, 1);
    code.end();
  }

  /** Takes back the counter that `saveIfGrowing` left. */
  protected loadGrowthFuel(): void {
    const { code } = this;
    if (this.f.fuel === null) return;
    code.loadControl(CONTROL.growthFuel);
    code.localSet(FUEL_LOCAL);
    code.i32Const(0);
    code.i32Const(0);
    code.access(OP.i32Store, 2, CONTROL_BASE + 4 * CONTROL.growthFuel);
  }

  /** After a call that may suspend: saves the frame when the callee unwinds. */
  protected saveIfUnwinding(index: number, id: number): void {
    const { code, f } = this;
    if (this.body.op[index] === OP.memoryGrow) {
      this.saveIfGrowing(id);
      return;
    }
    if (f.fuel === null || this.isImport(index)) {
      this.saveIfState(id);
      return;
    }
    code.localGet(FUEL_LOCAL);
    code.i32Const(FUEL_MIN);
    code.byte(OP.i32LtS);
    code.if();
    this.leaveTo(id, 1);
    code.end();
  }

  /** Whether a call goes straight to an import, which has the type that the module says. */
  protected isImport(index: number): boolean {
    const { body, plan } = this;
    const op = body.op[index];
    if (op === OP.callIndirect || op === OP.returnCallIndirect) return false;
    return body.a[index] < plan.module.importedFunctionCount;
  }

  /** Jumps to the code that saves a site's list; `open`: blocks of ours around this place. */
  private leaveTo(id: number, open: number): void {
    const { code, f } = this;
    if (f.frames === null) return;
    const { list, zeroed } = f.frames.frame(id);
    for (const { local, type } of zeroed) {
      code.zero(type);
      code.localSet(local);
    }
    code.i32Const(f.sites?.name(id) ?? 0);
    code.localSet(f.baseLocal);
    code.br(this.nesting + open + list.index);
  }

  /** Opens the blocks whose ends are the saving code, the first list's innermost. */
  protected openTails(): void {
    const count = this.f.frames?.lists.length ?? 0;
    for (let at = 0; at < count; at += 1) this.code.block();
  }

  /** The saving code of each list, behind the body that has returned; then the function's end. */
  protected closeTails(): void {
    const { code, f, plan } = this;
    const lists = f.frames?.lists ?? [];
    for (const list of lists) {
      code.byte(OP.return);
      code.end();
      code.localGet(f.baseLocal);
      code.i32Const(f.slot);
      code.i32Const(list.bytes);
      code.call(plan.helpers.get('push') ?? -1);
      code.localSet(f.baseLocal);
      for (const { local, type, offset, canonical } of list.values) {
        if (isReference(type)) {
          this.referenceSlot(offset);
          code.localGet(local);
          code.call(plan.helpers.get(`keep${type}`) ?? -1);
          continue;
        }
        code.localGet(f.baseLocal);
        code.localGet(local);
        if (canonical !== 0) emitCanonical(code, f.locals, canonical);
        code.storeValue(type, offset);
      }
      code.zeros(this.body.type.results);
      if (f.fuel !== null) code.i32Const(UNWINDING_FUEL);
    }
    code.end();
  }

  /** Pushes the index under which a reference of the current frame is saved; see layout.ts. */
  protected referenceSlot(offset: number): void {
    const { code, f } = this;
    code.i32Const(SHADOW_STACK_TOP - offset);
    code.localGet(f.baseLocal);
    code.byte(OP.i32Sub);
    code.i32Const(REFERENCE_SHIFT);
    code.byte(OP.i32ShrU);
  }

  /** An instruction without special control flow, and what it carries with it. */
  protected plain(index: number): void {
    const { body, f } = this;
    const op = body.op[index];
    if (op === OP.localGet) this.code.localGet(body.a[index]);
    else if (op === OP.localSet) this.code.localSet(body.a[index]);
    else if (op === OP.localTee) this.code.localTee(body.a[index]);
    else if (f.dirty !== null && f.dirty.mode[index] !== 0) this.store(index, op);
    else this.rewritten(index, op);
    if (f.dirty !== null && f.dirty.tee[index] >= 0) this.code.localTee(f.dirty.tee[index]);
    if (f.nan !== null && f.nan.kind[index] !== 0) {
      emitCanonical(this.code, f.locals, f.nan.kind[index]);
    }
  }

  /** Marks that were moved out of a loop. */
  protected marksBefore(loop: number): void {
    for (const { local, min } of this.f.dirty?.marksBefore(loop) ?? []) {
      emitMark(this.code, local, min);
    }
  }

  private store(index: number, op: number): void {
    const { dirty } = this.f;
    if (dirty === null) return;
    if (dirty.mode[index] === 1) emitMark(this.code, dirty.local[index], dirty.offset[index]);
    this.rewritten(index, op);
    if (dirty.mode[index] === 2) emitMark(this.code, dirty.local[index], dirty.offset[index]);
  }

  private rewritten(index: number, op: number): void {
    const { body, code, plan } = this;
    switch (OPCODE_IMMEDIATES[op]) {
      case IMMEDIATE.memoryAccess:
      case IMMEDIATE.memoryLane:
        this.memoryAccess(index, op);
        return;
      case IMMEDIATE.memory:
        this.memory(op);
        return;
      case IMMEDIATE.memoryMemory:
        this.helper('copy');
        return;
      case IMMEDIATE.dataMemory:
        this.helper(`init${body.a[index]}`);
        return;
      case IMMEDIATE.elemTable:
        if (plan.helpers.has(`tableInit${body.a[index]},${body.b[index]}`)) {
          this.helper(`tableInit${body.a[index]},${body.b[index]}`);
        } else this.raw(index);
        return;
      case IMMEDIATE.data:
        this.dropSegment(plan.segmentFlags.get(`data${body.a[index]}`));
        return;
      case IMMEDIATE.elem:
        this.dropSegment(plan.segmentFlags.get(`elem${body.a[index]}`));
        return;
      case IMMEDIATE.func:
        code.opIndex(op, referenceIndex(plan, body.a[index]));
        return;
      default:
        this.raw(index);
    }
  }

  private memoryAccess(index: number, op: number): void {
    const { body, code, plan } = this;
    code.op(op);
    code.u32(body.a[index]);
    // An offset so high that the sum does not fit traps in the plain module too: no memory of ours
    // reaches 2^32 - 1.
    code.u32(Math.min(body.b[index] + plan.memoryShift, 0xffffffff));
    if (OPCODE_IMMEDIATES[op] === IMMEDIATE.memoryLane) {
      code.byte(plan.module.bytes[body.end[index] - 1]);
    }
  }

  private memory(op: number): void {
    const { code } = this;
    if (op === OP.memorySize) {
      code.byte(OP.memorySize);
      code.byte(0);
      code.i32Const(RESERVE_PAGES);
      code.byte(OP.i32Sub);
    } else this.helper(op === OP.memoryGrow ? 'grow' : 'fill');
  }

  protected helper(name: string): void {
    this.code.call(this.plan.helpers.get(name) ?? -1);
  }

  private dropSegment(flag: number | undefined): void {
    if (flag === undefined) return; // Never used again, or dropped from the start.
    this.code.i32Const(0);
    this.code.i32Const(1);
    this.code.access(OP.i32Store8, 0, this.plan.flagsBase + flag);
  }

  /**
   * A call with the counters, or memory.grow; afterwards the results are on the stack, the fuel in its
   * local.
   */
  protected emitCall(index: number): void {
    const { body, code, plan, f } = this;
    if (body.op[index] === OP.memoryGrow) {
      this.helper('grow');
      return;
    }
    if (this.isImport(index)) {
      this.storeCounters();
      code.call(mappedFunction(plan, body.a[index]));
      if (f.fuel !== null) this.loadFuel();
      return;
    }
    this.pushCounters(index, 0);
    if (body.op[index] === OP.callIndirect) this.indirect(OP.callIndirect, index);
    else code.call(mappedFunction(plan, body.a[index]));
    if (f.fuel !== null) code.localSet(FUEL_LOCAL);
  }

  protected indirect(op: number, index: number): void {
    const { body, code, plan } = this;
    code.byte(op);
    code.u32(plan.types.index(convention(plan, plan.module.types[body.a[index]])));
    code.u32(body.b[index]);
  }

  /** What an import, and through it another module, finds in memory. */
  protected storeCounters(): void {
    this.storeFuel();
    if (this.plan.options.depth) this.code.storeControl(CONTROL.depth, DEPTH_LOCAL);
  }

  /** Pushes the counters behind the arguments, below the table index; `back`: stack bytes freed. */
  protected pushCounters(index: number, back: number): void {
    const { body, code, f, plan } = this;
    const { fuel, depth } = plan.options;
    if (!fuel && !depth) return;
    const op = body.op[index];
    const isIndirect = op === OP.callIndirect || op === OP.returnCallIndirect;
    const table = f.locals.scratch(TYPE.i32, 4);
    if (isIndirect) code.localSet(table);
    if (fuel) code.localGet(FUEL_LOCAL);
    if (depth) {
      code.localGet(DEPTH_LOCAL);
      if (back > 0) {
        code.i32Const(back);
        code.byte(OP.i32Add);
      }
    }
    if (isIndirect) code.localGet(table);
  }

  /** A call that cannot suspend. */
  protected coldCall(index: number): void {
    this.emitCall(index);
    this.charge(this.amountAfter(index));
    this.tees(index);
  }

  protected tees(index: number): void {
    const { dirty } = this.f;
    if (dirty !== null && dirty.tee[index] >= 0) this.code.localTee(dirty.tee[index]);
  }

  /** Opens a try_table as the older `try`, which every engine has. */
  protected openTry(type: FunctionType): void {
    this.code.byte(OP.try);
    this.blockType(type);
  }

  /**
   * The clauses of the try_table that began at `opener`; `leave(label)` branches to a label that is
   * counted from outside. Who throws has written the counter back.
   */
  protected catchClauses(opener: number, leave: (label: number) => void): void {
    const { body, code, f } = this;
    const from = body.b[opener];
    for (let clause = 0; clause < body.labels[from]; clause += 1) {
      code.opIndex(OP.catch, body.labels[from + 2 + clause * 3]);
      if (f.fuel !== null) this.loadFuel();
      leave(body.labels[from + 3 + clause * 3]);
    }
  }

  /** Whoever catches takes the counter from memory. */
  protected throw(index: number): void {
    this.storeFuel();
    this.raw(index);
  }

  /** A tail call: the frame, and its stack bytes, are gone before the callee runs. */
  protected tailCall(index: number): void {
    const { body, code, plan, f } = this;
    this.pushCounters(index, f.depthBytes);
    if (body.op[index] === OP.returnCallIndirect) this.indirect(OP.returnCallIndirect, index);
    else code.opIndex(OP.returnCall, mappedFunction(plan, body.a[index]));
  }
}

/** A reference takes 8 bytes of a frame (REFERENCE_BYTES). */
const REFERENCE_SHIFT = 3;
