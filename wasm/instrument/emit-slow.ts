import { OP } from '../binary/opcodes.ts';
import { functionType, isReference, TYPE, type FunctionType } from '../binary/types.ts';
import { ByteWriter } from '../binary/writer.ts';
import { DEPTH_LOCAL, FUEL_LOCAL } from './code-writer.ts';
import { emitMark } from './dirty.ts';
import { Emitter, type FunctionPlan } from './emitter.ts';
import { keepsTableIndex, type Frames, type SaveList } from './frames.ts';
import { CONTROL } from './layout.ts';
import { mappedFunction, referenceTable, slowType } from './module-plan.ts';
import { emitSiteNumber } from './site-names.ts';
import type { Sites, Stop } from './sites.ts';

/** A block of the original that is open in the output. */
interface OpenBlock {
  readonly opener: number;
  /** Height of the operands below the block's own. */
  readonly base: number;
  /** Its label: how many blocks were open in the output when it was opened. */
  readonly position: number;
  /** Parameters travel in locals, so that the block can be entered in its middle. */
  readonly lowered: boolean;
  /** Stops of the current sequence, and how many were passed. */
  stops: readonly Stop[];
  passed: number;
}

/** Longest dispatch by comparisons; beyond it a br_table is smaller. */
const COMPARISONS_MAX = 6;

/**
 * The copy that runs a frame which was saved: `() -> results`. It reads the site from the shadow
 * stack, jumps to it through the blocks on the way, restores what the site had saved, calls on, and
 * then goes on as the fast copy would. Operands that live across a stop travel in locals.
 */
export class SlowEmitter extends Emitter {
  private readonly sites: Sites;
  private readonly frames: Frames;
  private readonly resume: number;
  private open: OpenBlock[] = [];

  constructor(functionPlan: FunctionPlan, sites: Sites, frames: Frames) {
    const { fuel, depth } = functionPlan.plan.options;
    const { paramCount } = functionPlan.body;
    const shift = depth ? 1 : 0;
    super(functionPlan, {
      paramCount,
      shiftParams: shift,
      shiftLocals: shift + (fuel ? 1 : 0),
      fuelIndex: shift + paramCount,
      depthIndex: 0,
    });
    this.sites = sites;
    this.frames = frames;
    this.resume = functionPlan.locals.scratch(TYPE.i32, 2);
  }

  emit(): Uint8Array {
    const { code, body, f } = this;
    this.openTails();
    this.prologue();
    code.byte(OP.block);
    this.blockType(functionType([], body.type.results));
    this.nesting = 1;
    this.open = [{ opener: -1, base: 0, position: 0, lowered: false, stops: [], passed: 0 }];
    this.beginSequence(-1);
    if (this.sites.id(-1) > 0) this.checkStop(-1);
    for (let index = 0; index < body.count; index += 1) this.instruction(index);
    code.end();
    if (f.fuel !== null) code.localGet(FUEL_LOCAL);
    this.closeTails();
    const out = new ByteWriter(code.length + 64);
    f.locals.writeSlowDeclarations(out, f.fuel !== null);
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
    code.loadControl(CONTROL.shadowSp);
    code.localTee(f.baseLocal);
    code.access(OP.i32Load, 2, 0);
    code.localSet(this.resume);
    emitSiteNumber(code, this.sites, this.resume);
    this.restoreLists();
    code.storeControl(CONTROL.shadowSp, f.baseLocal);
  }

  /** Restores the list of the waiting site and leaves the callee's frame in `baseLocal`. */
  private restoreLists(): void {
    const { code } = this;
    const { lists } = this.frames;
    if (lists.length > 1) {
      for (let at = 0; at <= lists.length; at += 1) code.block();
      code.localGet(this.resume);
      code.byte(OP.brTable);
      const { count } = this.sites;
      code.u32(count);
      for (let id = 0; id <= count; id += 1) {
        code.u32(id === 0 ? 0 : this.frames.frame(id).list.index);
      }
      code.end();
    }
    lists.forEach((list, at) => {
      this.restore(list);
      if (lists.length === 1) return;
      code.br(lists.length - 1 - at);
      code.end();
    });
  }

  private restore(list: SaveList): void {
    const { code, f } = this;
    for (const { local, type, offset } of list.values) {
      if (isReference(type)) {
        this.referenceSlot(offset);
        code.opIndex(OP.tableGet, referenceTable(this.plan, type));
      } else {
        code.localGet(f.baseLocal);
        code.loadValue(type, offset);
      }
      code.localSet(local);
    }
    code.localGet(f.baseLocal);
    code.i32Const(list.bytes);
    code.byte(OP.i32Add);
    code.localSet(f.baseLocal);
  }

  private top(): OpenBlock {
    return this.open[this.open.length - 1];
  }

  /** Opens a block for each stop and jumps to the one that the resumed frame waits in. */
  private beginSequence(key: number): void {
    const { code } = this;
    const block = this.top();
    const stops = this.sites.stopsOf(key);
    block.stops = stops;
    block.passed = 0;
    if (stops.length === 0) return;
    for (let count = stops.length; count > 0; count -= 1) code.block();
    this.nesting += stops.length;
    if (stops.length === 1) {
      code.localGet(this.resume);
      code.brIf(0);
      return;
    }
    code.block();
    const range = stops[stops.length - 1].hi - stops[0].lo + 1;
    if (stops.length > COMPARISONS_MAX && range <= stops.length * 7) this.dispatchTable(stops);
    else this.dispatchChain(stops);
    code.end();
  }

  private dispatchChain(stops: readonly Stop[]): void {
    const { code } = this;
    code.localGet(this.resume);
    code.byte(OP.i32Eqz);
    code.brIf(0);
    stops.forEach(({ hi }, at) => {
      if (at === stops.length - 1) {
        code.br(at + 1);
        return;
      }
      code.localGet(this.resume);
      code.i32Const(hi);
      code.byte(OP.i32LeU);
      code.brIf(at + 1);
    });
  }

  private dispatchTable(stops: readonly Stop[]): void {
    const { code } = this;
    const first = stops[0].lo;
    code.localGet(this.resume);
    code.i32Const(first);
    code.byte(OP.i32Sub);
    code.byte(OP.brTable);
    code.u32(stops[stops.length - 1].hi - first + 1);
    stops.forEach(({ lo, hi }, at) => {
      for (let id = lo; id <= hi; id += 1) code.u32(at + 1);
    });
    code.u32(0);
  }

  /** Arrives at the next stop of the sequence: all operands are in locals by now. */
  private passStop(): void {
    this.code.end();
    this.nesting -= 1;
    this.top().passed += 1;
  }

  /** Pops operands down to a height into their locals. */
  private popTo(site: number, from: number, to: number): void {
    for (let at = from - 1; at >= to; at -= 1) {
      this.code.localSet(this.f.locals.slot(at, this.frames.operandType(site, at)));
    }
  }

  private pushFrom(site: number, from: number, to: number): void {
    for (let at = from; at < to; at += 1) {
      this.code.localGet(this.f.locals.slot(at, this.frames.operandType(site, at)));
    }
  }

  private instruction(index: number): void {
    const { body, code } = this;
    const op = body.op[index];
    switch (op) {
      case OP.block:
      case OP.loop:
      case OP.if:
      case OP.tryTable:
        this.openBlock(index, op);
        return;
      case OP.throw:
        this.throw(index);
        return;
      case OP.else: {
        code.else();
        this.beginSequence(index);
        this.pushParams(this.top().opener);
        this.chargeAfter(index);
        return;
      }
      case OP.end:
        if (body.peer[index] >= 0) this.closeBlock(index);
        return;
      case OP.br:
      case OP.brIf:
        this.branch(index, op);
        return;
      case OP.brTable:
        this.branchTable(index);
        return;
      case OP.return:
        code.br(this.nesting - 1);
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

  private openBlock(index: number, op: number): void {
    const { body } = this;
    const type = body.blockType(index);
    const own = type.params.length + (op === OP.if ? 1 : 0);
    const base = body.height[index] - own;
    const hasSites = this.sites.inBlock(body, index);
    if (op === OP.loop) this.marksBefore(index);
    if (hasSites) this.enterStop(index, op, base, type);
    else if (op === OP.tryTable) this.openTry(type);
    else this.raw(index);
    const position = this.nesting;
    this.nesting += 1;
    const lowered = hasSites && type.params.length > 0;
    this.open.push({ opener: index, base, position, lowered, stops: [], passed: 0 });
    this.beginSequence(hasSites ? index : NO_SEQUENCE);
    if (hasSites) this.pushParams(index);
    if (op !== OP.loop || this.f.fuel === null) {
      this.chargeAfter(index);
      return;
    }
    const id = this.sites.id(index);
    if (id > 0) this.checkStop(index);
    else this.check(index);
  }

  /** The block is a stop: what is below it and its parameters go to locals, then it opens bare. */
  private enterStop(index: number, op: number, base: number, type: FunctionType): void {
    const { body, code, f } = this;
    const site = this.sites.firstIn(body, index);
    const condition = f.locals.scratch(TYPE.i32, 1);
    if (op === OP.if) code.localSet(condition);
    for (let item = type.params.length - 1; item >= 0; item -= 1) {
      code.localSet(f.locals.slot(base + item, type.params[item]));
    }
    this.popTo(site, base, this.top().base);
    this.passStop();
    if (op === OP.if) this.ifCondition(index, condition);
    const bare = functionType([], type.results);
    if (op === OP.tryTable) this.openTry(bare);
    else {
      code.byte(op);
      this.blockType(bare);
    }
  }

  /** The branch that holds the waiting site, or what the guest computed. */
  private ifCondition(index: number, condition: number): void {
    const { body, code } = this;
    const thenRange = this.sites.range(index);
    const other = body.peer[index];
    const elseRange = body.op[other] === OP.else ? this.sites.range(other) : null;
    if (elseRange === null) {
      code.localGet(condition);
      code.localGet(this.resume);
      code.byte(OP.i32Or);
      return;
    }
    if (thenRange === null) code.i32Const(0);
    else {
      code.localGet(this.resume);
      code.i32Const(thenRange.hi);
      code.byte(OP.i32LeU);
    }
    code.localGet(condition);
    code.localGet(this.resume);
    code.byte(OP.select);
  }

  private pushParams(opener: number): void {
    if (opener < 0) return;
    const block = this.top();
    if (!block.lowered) return;
    this.body.blockType(opener).params.forEach((type, item) => {
      this.code.localGet(this.f.locals.slot(block.base + item, type));
    });
  }

  private closeBlock(index: number): void {
    const { body, code, f } = this;
    const block = this.open.pop();
    if (!block) return;
    if (body.op[block.opener] === OP.tryTable) {
      this.catchClauses(block.opener, (label) => this.leaveHandler(label));
    }
    code.end();
    this.nesting -= 1;
    const outer = this.top();
    if (this.sites.inBlock(body, block.opener) && block.base > outer.base) {
      const { results } = body.blockType(block.opener);
      for (let item = results.length - 1; item >= 0; item -= 1) {
        code.localSet(f.locals.slot(block.base + item, results[item]));
      }
      this.pushFrom(this.sites.firstIn(body, block.opener), outer.base, block.base);
      results.forEach((type, item) => code.localGet(f.locals.slot(block.base + item, type)));
    }
    this.tees(index);
    this.chargeAfter(index);
  }

  private target(label: number): OpenBlock {
    return this.open[this.open.length - 1 - label];
  }

  private labelOf(block: OpenBlock): number {
    return this.nesting - 1 - block.position;
  }

  private isLoweredLoop(block: OpenBlock): boolean {
    return block.lowered && this.body.op[block.opener] === OP.loop;
  }

  private branch(index: number, op: number): void {
    const { body, code, f } = this;
    const block = this.target(body.a[index]);
    if (!this.isLoweredLoop(block)) {
      if (op === OP.brIf) this.branchIf(index, this.labelOf(block));
      else code.br(this.labelOf(block));
      return;
    }
    const { params } = body.blockType(block.opener);
    const condition = f.locals.scratch(TYPE.i32, 1);
    if (op === OP.brIf) code.localSet(condition);
    this.setParams(block);
    if (op === OP.br) {
      code.br(this.labelOf(block));
      return;
    }
    code.localGet(condition);
    code.brIf(this.labelOf(block));
    params.forEach((type, item) => code.localGet(f.locals.slot(block.base + item, type)));
    this.chargeAfter(index);
  }

  private leaveHandler(label: number): void {
    const block = this.target(label);
    if (this.isLoweredLoop(block)) this.setParams(block);
    this.code.br(this.labelOf(block));
  }

  private setParams(block: OpenBlock): void {
    const { params } = this.body.blockType(block.opener);
    for (let item = params.length - 1; item >= 0; item -= 1) {
      this.code.localSet(this.f.locals.slot(block.base + item, params[item]));
    }
  }

  private branchTable(index: number): void {
    const { body, code } = this;
    const from = body.a[index];
    const labels = body.labels.slice(from, from + body.b[index]);
    const blocks = labels.map((label) => this.target(label));
    const lowered = [...new Set(blocks.filter((block) => this.isLoweredLoop(block)))];
    if (lowered.length > 0) {
      this.branchTableLowered(blocks, lowered);
      return;
    }
    code.byte(OP.brTable);
    code.u32(blocks.length - 1);
    for (const block of blocks) code.u32(this.labelOf(block));
  }

  /** Labels of loops whose parameters travel in locals are reached through blocks that set them. */
  private branchTableLowered(blocks: readonly OpenBlock[], lowered: readonly OpenBlock[]): void {
    const { code, f } = this;
    const { params } = this.body.blockType(lowered[0].opener);
    const index = f.locals.scratch(TYPE.i32, 1);
    const operands = params.map((type, item) => f.locals.scratch(type, 16 + item));
    code.localSet(index);
    for (let item = params.length - 1; item >= 0; item -= 1) code.localSet(operands[item]);
    const carried = functionType([], params);
    for (let count = lowered.length; count > 0; count -= 1) {
      code.byte(OP.block);
      this.blockType(carried);
    }
    this.nesting += lowered.length;
    for (const operand of operands) code.localGet(operand);
    code.localGet(index);
    code.byte(OP.brTable);
    code.u32(blocks.length - 1);
    for (const block of blocks) {
      const at = lowered.indexOf(block);
      code.u32(at >= 0 ? at : this.labelOf(block));
    }
    for (const block of lowered) {
      code.end();
      this.nesting -= 1;
      this.setParams(block);
      code.br(this.labelOf(block));
    }
  }

  private call(index: number): void {
    const id = this.sites.id(index);
    if (id === 0) {
      this.coldCall(index);
      return;
    }
    this.site(index, id);
    this.charge(this.amountAfter(index));
    this.pushResults(index);
    this.tees(index);
  }

  /** The call itself, for the first time or again; the results go to their locals. */
  private site(index: number, id: number): void {
    const { body, code } = this;
    this.popTo(index, body.height[index], this.top().base);
    this.passStop();
    code.localGet(this.resume);
    code.if();
    this.arrive(index);
    this.callAgain(index);
    this.popResults(index);
    code.else();
    this.pushFrom(index, this.frames.keptCount(index), body.height[index]);
    this.emitCall(index);
    this.popResults(index);
    code.end();
    this.saveIfUnwinding(index, id);
  }

  /** The way down is over: the frame is back, and marks what the code behind relies on. */
  private arrive(index: number): void {
    this.code.i32Const(0);
    this.code.localSet(this.resume);
    const { list } = this.frames.frame(this.sites.id(index));
    for (const { local, min } of this.f.dirty?.marksAt(index) ?? []) {
      if (list.values.some((value) => value.local === local)) emitMark(this.code, local, min);
    }
  }

  private callee(index: number): FunctionType {
    const { body, plan } = this;
    const { module } = plan;
    if (body.op[index] === OP.callIndirect) return module.types[body.a[index]];
    if (body.op[index] === OP.memoryGrow) return GROWTH;
    return module.functions[body.a[index]].type;
  }

  /** Enters the callee's own saved frame, or calls the import that suspended. */
  private callAgain(index: number): void {
    const { body, code, plan, f } = this;
    const type = this.callee(index);
    if (body.op[index] === OP.memoryGrow) {
      code.zeros(type.params);
      this.helper('grow');
      this.loadGrowthFuel();
      return;
    }
    if (this.isImport(index)) {
      code.zeros(type.params);
      code.call(mappedFunction(plan, body.a[index]));
      if (f.fuel !== null) this.loadFuel();
      return;
    }
    if (keepsTableIndex(plan, body, index)) {
      code.zeros(type.params);
      code.localGet(f.locals.slot(body.height[index] - 1, TYPE.i32));
      this.emitCall(index);
      return;
    }
    if (plan.options.depth) code.localGet(DEPTH_LOCAL);
    code.localGet(f.baseLocal);
    code.access(OP.i32Load, 2, 4);
    code.byte(OP.callIndirect);
    code.u32(plan.types.index(slowType(plan, type)));
    code.u32(plan.resumeTable);
    if (f.fuel !== null) code.localSet(FUEL_LOCAL);
  }

  private popResults(index: number): void {
    const { results } = this.callee(index);
    const kept = this.frames.keptCount(index);
    for (let item = results.length - 1; item >= 0; item -= 1) {
      this.code.localSet(this.f.locals.slot(kept + item, results[item]));
    }
  }

  private pushResults(index: number): void {
    const kept = this.frames.keptCount(index);
    this.pushFrom(index, this.top().base, kept);
    this.callee(index).results.forEach((type, item) => {
      this.code.localGet(this.f.locals.slot(kept + item, type));
    });
  }

  /** The look at the fuel at a loop's head or at the entry. */
  private checkStop(index: number): void {
    const { body, code } = this;
    const height = index < 0 ? 0 : body.height[index];
    if (index >= 0) this.chargeAndStore(this.amountAfter(index));
    this.popTo(index, height, this.top().base);
    this.passStop();
    code.block();
    code.block();
    code.localGet(this.resume);
    code.if();
    this.arrive(index);
    code.br(1);
    code.end();
    code.localGet(FUEL_LOCAL);
    code.i32Const(0);
    code.byte(OP.i32GeS);
    code.brIf(1);
    code.end();
    this.preempt(index);
    code.end();
    if (index >= 0) this.pushFrom(index, this.top().base, height);
  }

  private tail(index: number): void {
    if (!this.isImport(index)) {
      this.tailCall(index);
      return;
    }
    const id = this.sites.id(index);
    if (id > 0) {
      this.site(index, id);
      this.pushResults(index);
    } else this.emitCall(index);
    this.code.br(this.nesting - 1);
  }
}

/** The type of memory.grow. */
const GROWTH = functionType([TYPE.i32], [TYPE.i32]);
/** A key that names no sequence. */
const NO_SEQUENCE = -2;
