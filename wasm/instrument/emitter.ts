import type { Body } from '../binary/body.ts';
import { IMMEDIATE, OP, OPCODE_IMMEDIATES } from '../binary/opcodes.ts';
import { CodeWriter, needsTypeIndex } from './code-writer.ts';
import type { DirtyPlan } from './dirty.ts';
import { emitMark } from './dirty.ts';
import type { Frames } from './frames.ts';
import type { FuelPlan } from './fuel.ts';
import { CONTROL, CONTROL_BASE, RESERVE_PAGES, SEGMENT_FLAGS_BASE } from './layout.ts';
import type { LocalSpace } from './locals.ts';
import { mappedFunction, type ModulePlan } from './module-plan.ts';
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
  /** Whether the function looks at the fuel at its entry and at loops. */
  readonly entryCheck: boolean;
  readonly loopChecks: boolean;
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
  /** Blocks open in the output. */
  protected nesting = 0;

  constructor(functionPlan: FunctionPlan) {
    this.f = functionPlan;
    this.body = functionPlan.body;
    this.plan = functionPlan.plan;
  }

  /** Whether something must happen between the last instruction and the return. */
  protected get hasEpilogue(): boolean {
    return this.f.fuel !== null || this.f.depthBytes > 0;
  }

  /** Writes counters back; leaves the operands as they are. */
  protected epilogue(): void {
    const { code, f } = this;
    if (f.fuel !== null) code.storeControl(CONTROL.fuel, f.fuelLocal);
    if (f.depthBytes > 0) code.storeControl(CONTROL.depth, f.depthLocal);
  }

  protected blockType(type: Parameters<typeof needsTypeIndex>[0]): void {
    const { code, plan } = this;
    if (needsTypeIndex(type)) code.s32(plan.types.index(type));
    else code.byte(type.results.length === 0 ? 0x40 : type.results[0]);
  }

  /** Copies an instruction byte for byte. */
  protected raw(index: number): void {
    this.code.copy(this.plan.module.bytes, this.body.start[index], this.body.end[index]);
  }

  /** Subtracts from the fuel counter; with `tee` leaves the new value on the stack. */
  protected charge(amount: number, tee = false): void {
    const { code, f } = this;
    if (f.fuel === null || (amount === 0 && !tee)) return;
    code.localGet(f.fuelLocal);
    if (amount !== 0) {
      code.i32Const(amount);
      code.byte(OP.i32Sub);
      if (tee) code.localTee(f.fuelLocal);
      else code.localSet(f.fuelLocal);
    }
  }

  protected storeFuel(): void {
    if (this.f.fuel !== null) this.code.storeControl(CONTROL.fuel, this.f.fuelLocal);
  }

  /** Takes the counter back after a call and charges the code behind it. */
  protected reloadFuel(index: number): void {
    const { code, f } = this;
    if (f.fuel === null) return;
    const amount = index < 0 ? 0 : f.fuel.after[index];
    code.loadControl(CONTROL.fuel);
    if (amount !== 0) {
      code.i32Const(amount);
      code.byte(OP.i32Sub);
    }
    code.localSet(f.fuelLocal);
  }

  /** Calls the host when the fuel is used up. `index` is the loop, or -1 at the entry. */
  protected check(index: number): void {
    const { code, f, plan } = this;
    code.localGet(f.fuelLocal);
    code.i32Const(0);
    code.byte(OP.i32LtS);
    code.if();
    this.storeFuel();
    code.call(plan.preemptIndex);
    if (f.sites !== null) {
      const id = f.sites.id(index);
      if (id > 0) this.saveIfUnwinding(id);
    }
    code.loadControl(CONTROL.fuel);
    code.localSet(f.fuelLocal);
    code.end();
  }

  /** When the host asked to suspend: saves the frame of a site and returns. */
  protected saveIfUnwinding(id: number): void {
    const { code, f } = this;
    if (f.frames === null) return;
    const frame = f.frames.frame(id);
    code.loadControl(CONTROL.state);
    code.if();
    code.i32Const(0);
    code.loadControl(CONTROL.shadowSp);
    code.i32Const(frame.bytes);
    code.byte(OP.i32Sub);
    code.localTee(f.baseLocal);
    code.access(OP.i32Store, 2, this.controlAddress(CONTROL.shadowSp));
    code.localGet(f.baseLocal);
    code.byte(OP.i64Const);
    code.s64(id, f.slot);
    code.access(OP.i64Store, 3, 0);
    for (const { local, type, offset, canonical } of frame.values) {
      code.localGet(f.baseLocal);
      code.localGet(local);
      if (canonical !== 0) emitCanonical(code, f.locals, canonical);
      code.storeValue(type, offset);
    }
    if (f.depthBytes > 0) code.storeControl(CONTROL.depth, f.depthLocal);
    code.zeros(this.body.type.results);
    code.byte(OP.return);
    code.end();
  }

  protected controlAddress(word: number): number {
    return CONTROL_BASE + 4 * word;
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
        code.opIndex(op, mappedFunction(plan, plan.referenceTarget(body.a[index])));
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
    this.code.access(OP.i32Store8, 0, SEGMENT_FLAGS_BASE + flag);
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
    this.reloadFuel(index);
    this.tees(index);
  }

  protected tees(index: number): void {
    const { dirty } = this.f;
    if (dirty !== null && dirty.tee[index] >= 0) this.code.localTee(dirty.tee[index]);
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
