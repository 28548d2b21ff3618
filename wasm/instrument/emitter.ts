import type { Body } from '../binary/body.ts';
import { IMMEDIATE, OP, OPCODE_IMMEDIATES } from '../binary/opcodes.ts';
import { CodeWriter } from './code-writer.ts';
import { isReference, type FunctionType } from '../binary/types.ts';
import type { DirtyPlan } from './dirty.ts';
import { emitMark } from './dirty.ts';
import type { Frames } from './frames.ts';
import type { FuelPlan } from './fuel.ts';
import { CONTROL, CONTROL_BASE, FUEL_MIN, RESERVE_PAGES } from './layout.ts';
import type { LocalSpace } from './locals.ts';
import { mappedFunction, referenceIndex, referenceTable, type ModulePlan } from './module-plan.ts';
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
  /** Whether each call costs the same and the entry charges it all. */
  readonly constantFuel: boolean;
  /** Stack bytes charged for a call, 0 when depth is not counted here. */
  readonly depthBytes: number;
  readonly fuelLocal: number;
  readonly depthLocal: number;
  readonly baseLocal: number;
}

/** What both copies of a function have in common. */
export class Emitter {
  readonly code = new CodeWriter(1024);
  protected readonly f: FunctionPlan;
  protected readonly body: Body;
  protected readonly plan: ModulePlan;
  /** Blocks open in the output, those around the body included, without the tails. */
  protected nesting = 0;

  constructor(functionPlan: FunctionPlan) {
    this.f = functionPlan;
    this.body = functionPlan.body;
    this.plan = functionPlan.plan;
  }

  /** Whether something must happen between the last instruction and the return. */
  protected get hasEpilogue(): boolean {
    return (this.f.fuel !== null && !this.f.constantFuel) || this.f.depthBytes > 0;
  }

  /** Writes counters back; leaves the operands as they are. */
  protected epilogue(): void {
    const { code, f } = this;
    if (f.fuel !== null && !f.constantFuel) code.storeControl(CONTROL.fuel, f.fuelLocal);
    if (f.depthBytes > 0) code.storeControl(CONTROL.depth, f.depthLocal);
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
    code.localGet(f.fuelLocal);
    code.i32Const(amount);
    code.byte(OP.i32Sub);
    code.localSet(f.fuelLocal);
  }

  /** Subtracts and writes back, so that a trap finds the count of the last check. */
  protected chargeAndStore(amount: number): void {
    const { code, f } = this;
    code.i32Const(0);
    code.localGet(f.fuelLocal);
    if (amount !== 0) {
      code.i32Const(amount);
      code.byte(OP.i32Sub);
      code.localTee(f.fuelLocal);
    }
    code.access(OP.i32Store, 2, CONTROL_BASE + 4 * CONTROL.fuel);
  }

  protected chargeAfter(index: number): void {
    if (this.f.fuel !== null) this.charge(this.f.fuel.after[index]);
  }

  protected storeFuel(): void {
    if (this.f.fuel !== null) this.code.storeControl(CONTROL.fuel, this.f.fuelLocal);
  }

  protected loadFuel(): void {
    this.code.loadControl(CONTROL.fuel);
    this.code.localSet(this.f.fuelLocal);
  }

  /** Takes the counter back after a call and charges the code behind it. */
  protected reloadFuel(amount: number): void {
    const { code, f } = this;
    if (f.fuel === null) return;
    code.loadControl(CONTROL.fuel);
    if (amount !== 0) {
      code.i32Const(amount);
      code.byte(OP.i32Sub);
    }
    code.localSet(f.fuelLocal);
  }

  protected amountAfter(index: number): number {
    return this.f.fuel?.after[index] ?? 0;
  }

  /** The look at the fuel at a loop's head; `index` is the loop. The counter is written back. */
  protected check(index: number): void {
    const { code, f } = this;
    this.chargeAndStore(this.amountAfter(index));
    code.localGet(f.fuelLocal);
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

  /** After a call: saves the frame when the callee is unwinding, else takes the counter back. */
  protected saveOrGoOn(index: number, id: number): void {
    const { code, f } = this;
    const amount = this.amountAfter(index);
    if (f.fuel === null || this.isForeign(index)) {
      this.saveIfState(id);
      this.reloadFuel(amount);
      return;
    }
    code.loadControl(CONTROL.fuel);
    code.localTee(f.fuelLocal);
    code.i32Const(FUEL_MIN);
    code.byte(OP.i32LtS);
    code.if();
    this.leaveTo(id, 1);
    code.end();
    this.charge(amount);
  }

  /** Whether a call goes to an import, whose suspension shows in the state only. */
  private isForeign(index: number): boolean {
    const { body, plan } = this;
    if (body.op[index] === OP.callIndirect) return plan.openTables;
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
    code.i32Const(id);
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
          code.opIndex(OP.tableSet, referenceTable(plan, type));
          continue;
        }
        code.localGet(f.baseLocal);
        code.localGet(local);
        if (canonical !== 0) emitCanonical(code, f.locals, canonical);
        code.storeValue(type, offset);
      }
      if (f.depthBytes > 0) code.storeControl(CONTROL.depth, f.depthLocal);
      code.zeros(this.body.type.results);
    }
    code.end();
  }

  /** Pushes the index under which a reference of the current frame is saved. */
  protected referenceSlot(offset: number): void {
    const { code, f } = this;
    code.localGet(f.baseLocal);
    code.i32Const(offset);
    code.byte(OP.i32Add);
    code.i32Const(REFERENCE_SHIFT);
    code.byte(OP.i32ShrU);
  }

  /** An instruction without special control flow, and what it carries with it. */
  protected plain(index: number): void {
    const { body, f } = this;
    const op = body.op[index];
    if (f.dirty !== null && f.dirty.mode[index] !== 0) this.store(index, op);
    else this.rewritten(index, op);
    if (f.dirty !== null && f.dirty.tee[index] >= 0) this.code.localTee(f.dirty.tee[index]);
    if (f.nan !== null && f.nan.kind[index] !== 0) {
      emitCanonical(this.code, f.locals, f.nan.kind[index]);
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

  private helper(name: string): void {
    this.code.call(this.plan.helpers.get(name) ?? -1);
  }

  private dropSegment(flag: number | undefined): void {
    if (flag === undefined) return; // Never used again, or dropped from the start.
    this.code.i32Const(0);
    this.code.i32Const(1);
    this.code.access(OP.i32Store8, 0, this.plan.flagsBase + flag);
  }

  /** The bare call; a tail call that has become a site is a plain call too. */
  protected emitCall(index: number): void {
    const { body, code, plan } = this;
    const op = body.op[index];
    if (op === OP.callIndirect) this.raw(index);
    else code.call(mappedFunction(plan, body.a[index]));
  }

  /** A call that cannot suspend, with its fuel. */
  protected coldCall(index: number): void {
    this.storeFuel();
    this.emitCall(index);
    this.reloadFuel(this.amountAfter(index));
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
   * counted from outside. The counters are those of the frame that catches.
   */
  protected catchClauses(opener: number, leave: (label: number) => void): void {
    const { body, code, f } = this;
    const from = body.b[opener];
    for (let clause = 0; clause < body.labels[from]; clause += 1) {
      code.opIndex(OP.catch, body.labels[from + 2 + clause * 3]);
      if (f.fuel !== null && !f.constantFuel) this.loadFuel();
      if (f.depthBytes > 0) {
        code.i32Const(0);
        code.localGet(f.depthLocal);
        code.i32Const(f.depthBytes);
        code.byte(OP.i32Sub);
        code.access(OP.i32Store, 2, CONTROL_BASE + 4 * CONTROL.depth);
      }
      leave(body.labels[from + 3 + clause * 3]);
    }
  }

  /** Whoever catches takes the counter from memory. */
  protected throw(index: number): void {
    if (!this.f.constantFuel) this.storeFuel();
    this.raw(index);
  }

  /** A tail call: the frame is gone before the callee runs. */
  protected tailCall(index: number): void {
    const { body, code, plan } = this;
    this.epilogue();
    if (body.op[index] === OP.returnCall) {
      code.opIndex(OP.returnCall, mappedFunction(plan, body.a[index]));
    } else this.raw(index);
  }
}

/** A reference takes 8 bytes of a frame (REFERENCE_BYTES). */
const REFERENCE_SHIFT = 3;
