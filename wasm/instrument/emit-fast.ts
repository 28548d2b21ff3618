import { OP } from '../binary/opcodes.ts';
import { ByteWriter } from '../binary/writer.ts';
import { Emitter } from './emitter.ts';
import { argumentCount } from './frames.ts';
import { CONTROL, TRAP } from './layout.ts';

/**
 * The copy that normally runs: the function's own code, with counters, marks, and after each call
 * that may suspend a look at the state. Structure and labels are those of the original.
 */
export class FastEmitter extends Emitter {
  /** Height of the operands at the start of each open sequence. */
  private bases: number[] = [0];

  /** The whole body, without its size. */
  emit(): Uint8Array {
    const { code, body, f } = this;
    this.prologue();
    const wrapped = this.hasEpilogue;
    if (wrapped) {
      code.byte(OP.block);
      this.blockType({ ...body.type, params: [] });
    }
    for (let index = 0; index < body.count; index += 1) this.instruction(index, wrapped);
    if (wrapped) {
      code.end();
      this.epilogue();
    }
    code.end();
    const out = new ByteWriter(code.length + 64);
    f.locals.writeDeclarations(out, false);
    out.copy(code.view());
    return out.view();
  }

  private prologue(): void {
    const { code, f, plan } = this;
    if (f.depthBytes > 0) {
      const left = f.baseLocal;
      code.loadControl(CONTROL.depth);
      code.localTee(f.depthLocal);
      code.i32Const(f.depthBytes);
      code.byte(OP.i32Sub);
      code.localTee(left);
      code.i32Const(0);
      code.byte(OP.i32LtS);
      code.if();
      code.i32Const(TRAP.depth);
      code.call(plan.trapIndex);
      code.byte(OP.unreachable);
      code.end();
      code.storeControl(CONTROL.depth, left);
    }
    if (f.fuel === null) return;
    code.loadControl(CONTROL.fuel);
    code.localSet(f.fuelLocal);
    this.charge(f.fuel.entry);
    if (f.entryCheck) this.check(-1);
  }

  private instruction(index: number, wrapped: boolean): void {
    const { body, code } = this;
    const op = body.op[index];
    switch (op) {
      case OP.block:
      case OP.loop:
      case OP.if:
        this.open(index, op);
        return;
      case OP.else:
        code.else();
        this.chargeAfter(index);
        return;
      case OP.end:
        if (body.peer[index] < 0) {
          return;
        }
        this.nesting -= 1;
        this.bases.pop();
        code.end();
        this.tees(index);
        this.chargeAfter(index);
        return;
      case OP.br:
      case OP.brIf:
      case OP.brTable:
        this.raw(index);
        if (op === OP.brIf) this.chargeAfter(index);
        return;
      case OP.return:
        if (wrapped) code.br(this.nesting);
        else this.raw(index);
        return;
      case OP.call:
      case OP.callIndirect:
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

  private chargeAfter(index: number): void {
    if (this.f.fuel !== null) this.charge(this.f.fuel.after[index]);
  }

  private open(index: number, op: number): void {
    const { body, f } = this;
    const { sites } = f;
    const type = body.blockType(index);
    const base = body.height[index] - type.params.length - (op === OP.if ? 1 : 0);
    if (sites?.inBlock(body, index)) this.spill(sites.firstIn(body, index), index, base);
    this.raw(index);
    this.nesting += 1;
    this.bases.push(base);
    this.chargeAfter(index);
    if (op !== OP.loop || f.fuel === null || !f.loopChecks) return;
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
    this.reloadFuel(index);
    this.tees(index);
  }

  private site(index: number, id: number): void {
    const { body, plan } = this;
    const base = this.bases[this.bases.length - 1];
    const kept = body.height[index] - argumentCount(plan, body, index);
    if (kept > base) this.cycle(index, base, body.height[index]);
    this.storeFuel();
    this.emitCall(index);
    this.saveIfUnwinding(id);
  }

  /** A tail call of a suspending import is a call: its frame must be there to resume it. */
  private tail(index: number): void {
    const id = this.f.sites?.id(index) ?? 0;
    if (id === 0) {
      this.tailCall(index);
      return;
    }
    this.site(index, id);
    const { code } = this;
    if (this.hasEpilogue) {
      if (this.f.fuel !== null) {
        code.loadControl(CONTROL.fuel);
        code.localSet(this.f.fuelLocal);
      }
      code.br(this.nesting);
    } else code.byte(OP.return);
  }
}
