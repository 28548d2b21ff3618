import { OP } from '../binary/opcodes.ts';
import { functionType } from '../binary/types.ts';
import { ByteWriter } from '../binary/writer.ts';
import { DEPTH_LOCAL, FUEL_LOCAL } from './code-writer.ts';
import { Emitter, type FunctionPlan } from './emitter.ts';
import { argumentCount, keepsTableIndex } from './frames.ts';
import { TRAP } from './layout.ts';

/**
 * The copy that normally runs: the function's own code, with counters, marks, and after each call
 * that may suspend a look at the state. Structure and labels are those of the original.
 */
export class FastEmitter extends Emitter {
  /** Height of the operands at the start of each open sequence. */
  private bases: number[] = [0];

  constructor(functionPlan: FunctionPlan) {
    const { fuel, depth } = functionPlan.plan.options;
    const { paramCount } = functionPlan.body;
    super(functionPlan, {
      paramCount,
      shiftParams: 0,
      shiftLocals: (fuel ? 1 : 0) + (depth ? 1 : 0),
      fuelIndex: paramCount,
      depthIndex: paramCount + (fuel ? 1 : 0),
    });
  }

  /** The whole body, without its size. */
  emit(): Uint8Array {
    const { code, body, f } = this;
    this.openTails();
    const wrapped = f.fuel !== null || f.frames !== null;
    this.prologue();
    if (wrapped) {
      code.byte(OP.block);
      this.blockType(functionType([], body.type.results));
      this.nesting += 1;
    }
    for (let index = 0; index < body.count; index += 1) this.instruction(index, wrapped);
    if (wrapped) code.end();
    if (f.fuel !== null) code.localGet(FUEL_LOCAL);
    this.closeTails();
    const out = new ByteWriter(code.length + 64);
    f.locals.writeDeclarations(out);
    out.copy(code.view());
    return out.view();
  }

  private prologue(): void {
    const { code, f } = this;
    if (f.depthBytes > 0) {
      code.localGet(DEPTH_LOCAL);
      code.i32Const(f.depthBytes);
      code.byte(OP.i32Sub);
      code.localSet(DEPTH_LOCAL);
    }
    if (f.entryCheck) this.chargeAndStore(f.fuel?.entry ?? 0);
    else this.charge(f.fuel?.entry ?? 0);
    if (f.entryCheck || f.depthBytes > 0) this.entryChecks(f.entryCheck);
  }

  /** One branch for both: depth and fuel below zero show in the sign of their union. */
  private entryChecks(fuel: boolean): void {
    const { code, f, plan } = this;
    const depth = f.depthBytes > 0;
    if (depth) code.localGet(DEPTH_LOCAL);
    if (fuel) code.localGet(FUEL_LOCAL);
    if (depth && fuel) code.byte(OP.i32Or);
    code.i32Const(0);
    code.byte(OP.i32LtS);
    code.if();
    if (depth) {
      code.localGet(DEPTH_LOCAL);
      code.i32Const(0);
      code.byte(OP.i32LtS);
      code.if();
      code.i32Const(TRAP.depth);
      code.call(plan.trapIndex);
      code.byte(OP.unreachable);
      code.end();
    }
    if (fuel) this.preempt(-1);
    code.end();
  }

  private instruction(index: number, wrapped: boolean): void {
    const { body, code } = this;
    const op = body.op[index];
    switch (op) {
      case OP.block:
      case OP.loop:
      case OP.if:
      case OP.tryTable:
        this.open(index, op);
        return;
      case OP.throw:
        this.throw(index);
        return;
      case OP.else:
        code.else();
        this.chargeAfter(index);
        return;
      case OP.end:
        if (body.peer[index] < 0) {
          return;
        }
        if (body.op[body.peer[index]] === OP.tryTable) {
          this.catchClauses(body.peer[index], (label) => code.br(label + 1));
        }
        this.nesting -= 1;
        this.bases.pop();
        code.end();
        this.tees(index);
        this.chargeAfter(index);
        return;
      case OP.br:
        code.opIndex(OP.br, body.a[index]);
        return;
      case OP.brIf:
        this.branchIf(index, body.a[index]);
        return;
      case OP.brTable:
        this.raw(index);
        return;
      case OP.return:
        if (wrapped) code.br(this.nesting - 1);
        else this.raw(index);
        return;
      case OP.call:
      case OP.callIndirect:
      case OP.memoryGrow:
        this.call(index);
        return;
      case OP.returnCall:
      case OP.returnCallIndirect:
        this.tail(index);
        return;
      default:
        this.plain(index);
    }
  }

  private open(index: number, op: number): void {
    const { body, f } = this;
    const { sites } = f;
    const type = body.blockType(index);
    const base = body.height[index] - type.params.length - (op === OP.if ? 1 : 0);
    if (sites?.inBlock(body, index)) this.spill(sites.firstIn(body, index), index, base);
    if (op === OP.loop) this.marksBefore(index);
    if (op === OP.tryTable) this.openTry(type);
    else this.raw(index);
    this.nesting += 1;
    this.bases.push(base);
    if (op !== OP.loop || f.fuel === null) {
      this.chargeAfter(index);
      return;
    }
    if (sites !== null && sites.id(index) > 0) this.spillOwn(index, body.height[index]);
    this.check(index);
  }

  /**
   * Copies the operands below a block (and of its own sequence) to their locals, so that a frame
   * saved inside can hold them. The site tells their types.
   */
  private spill(site: number, opener: number, height: number): void {
    const base = this.bases[this.bases.length - 1];
    if (height <= base) return;
    const { body, code, f } = this;
    const isIf = body.op[opener] === OP.if;
    const params = body.blockType(opener).params;
    const condition = isIf ? f.locals.scratch(0x7f, 1) : -1;
    if (isIf) code.localSet(condition);
    for (let item = params.length - 1; item >= 0; item -= 1) {
      code.localSet(f.locals.slot(height + item, params[item]));
    }
    this.cycle(site, base, height);
    params.forEach((type, item) => code.localGet(f.locals.slot(height + item, type)));
    if (isIf) code.localGet(condition);
  }

  /** Copies the operands of the current sequence up to `height` to their locals. */
  private spillOwn(site: number, height: number): void {
    this.cycle(site, this.bases[this.bases.length - 1], height);
  }

  private cycle(site: number, base: number, height: number): void {
    const { code, f } = this;
    if (f.frames === null) return;
    for (let at = height - 1; at >= base; at -= 1) {
      code.localSet(f.locals.slot(at, f.frames.operandType(site, at)));
    }
    for (let at = base; at < height; at += 1) {
      code.localGet(f.locals.slot(at, f.frames.operandType(site, at)));
    }
  }

  private call(index: number): void {
    const { sites, frames } = this.f;
    const id = sites?.id(index) ?? 0;
    if (id === 0 || frames === null) {
      this.coldCall(index);
      return;
    }
    this.site(index, id);
    this.charge(this.amountAfter(index));
    this.tees(index);
  }

  private site(index: number, id: number): void {
    const { body, plan } = this;
    const base = this.bases[this.bases.length - 1];
    const kept = body.height[index] - argumentCount(plan, body, index);
    if (kept > base || keepsTableIndex(plan, body, index)) {
      this.cycle(index, base, body.height[index]);
    }
    this.emitCall(index);
    this.saveIfUnwinding(index, id);
  }

  /** A tail call of an import is a call: it lacks our results, and a frame to resume it. */
  private tail(index: number): void {
    if (!this.isImport(index)) {
      this.tailCall(index);
      return;
    }
    const id = this.f.sites?.id(index) ?? 0;
    if (id > 0) this.site(index, id);
    else this.emitCall(index);
    if (this.f.fuel !== null || this.f.frames !== null) this.code.br(this.nesting - 1);
    else this.code.byte(OP.return);
  }
}
