import { Body } from './body.ts';
import { malformed, tooLarge } from './errors.ts';
import { InstructionReader } from './instruction.ts';
import { LIMIT, type ParsedModule, type Range } from './module.ts';
import { OP, OPCODE_NAMES, OPCODE_PARAMS, OPCODE_RESULTS, storedBytes } from './opcodes.ts';
import { isReference, TYPE, functionType, type FunctionType, type ValueType } from './types.ts';

/** Sum of operand types that may be noted at calls and loops of one function. */
const SNAPSHOT_BYTES_MAX = 16 * 1024 * 1024;

/** Opens and closes blocks: what `end` needs to know. */
interface Frame {
  op: number;
  /** Index of the opening instruction, and of the last clause (else, catch). */
  opener: number;
  clause: number;
  height: number;
  type: FunctionType;
}

/**
 * Decodes and type-checks function bodies (core 3.0, appendix "validation algorithm"). Code after an
 * unconditional branch is read but neither checked nor kept: it cannot run.
 */
export class BodyDecoder {
  readonly body = new Body();
  private readonly module: ParsedModule;
  private readonly reader: InstructionReader;
  private readonly valueBlocks = new Map<number, FunctionType>();
  private stack = new Uint8Array(1024);
  private producers = new Int32Array(1024);
  private height = 0;
  private frames: Frame[] = [];
  private dead = false;
  private wantsStacks = false;

  constructor(module: ParsedModule) {
    this.module = module;
    this.reader = new InstructionReader(module.bytes);
  }

  /** Decodes one body; the result is valid until the next call. */
  decode(range: Range, type: FunctionType, wantsStacks: boolean): Body {
    const { body, reader } = this;
    body.reset();
    body.type = type;
    body.counted = this.module.countedOffsets.get(range.start) ?? null;
    this.wantsStacks = wantsStacks;
    this.height = 0;
    this.dead = false;
    reader.position = range.start;
    reader.end = range.end;
    this.readLocals();
    this.frames = [{ op: OP.block, opener: -1, clause: -1, height: 0, type }];
    while (this.frames.length > 0) {
      reader.next();
      this.step();
      if (this.dead) this.skipDead();
    }
    if (reader.position !== range.end) throw malformed(reader.position, 'code after the last end');
    return body;
  }

  private readLocals(): void {
    const { body, reader } = this;
    body.localsStart = reader.position;
    body.paramCount = body.type.params.length;
    body.locals.push(...body.type.params);
    const groups = reader.count();
    for (let group = 0; group < groups; group += 1) {
      const at = reader.position;
      const count = reader.u32();
      if (body.locals.length + count > LIMIT.locals) throw tooLarge(at, 'locals', LIMIT.locals);
      const type = reader.byte();
      if (!(type >= TYPE.v128 && type <= TYPE.i32) && !isReference(type)) {
        throw malformed(reader.position - 1, `unknown value type 0x${type.toString(16)}`);
      }
      for (let item = 0; item < count; item += 1) body.locals.push(type);
    }
    body.codeStart = reader.position;
  }

  /** Appends the instruction just read; returns its index. */
  private keep(): number {
    const { body, reader } = this;
    body.grow();
    const index = body.count++;
    body.op[index] = reader.op;
    body.start[index] = reader.start;
    body.end[index] = reader.position;
    body.a[index] = reader.a;
    body.b[index] = reader.b;
    body.peer[index] = -1;
    body.height[index] = this.height;
    body.snapshot[index] = -1;
    body.consumer[index] = -1;
    body.producer[index] = -1;
    body.skipped[index] = 0;
    return index;
  }

  private fail(what: string): Error {
    return malformed(this.reader.start, `${what} at ${OPCODE_NAMES[this.reader.op]}`);
  }

  private push(type: ValueType, producer: number): void {
    if (this.height === this.stack.length) this.growStack();
    this.stack[this.height] = type;
    this.producers[this.height] = producer;
    this.height += 1;
    if (this.height > this.body.heightMax) this.body.heightMax = this.height;
  }

  private growStack(): void {
    const limit = LIMIT.operandHeight;
    if (this.height >= limit) throw tooLarge(this.reader.start, 'operands', limit);
    const stack = new Uint8Array(this.stack.length * 2);
    stack.set(this.stack);
    this.stack = stack;
    const producers = new Int32Array(stack.length);
    producers.set(this.producers);
    this.producers = producers;
  }

  private popAny(consumer: number): ValueType {
    const frame = this.frames[this.frames.length - 1];
    if (this.height <= frame.height) throw this.fail('too few operands');
    this.height -= 1;
    const producer = this.producers[this.height];
    if (producer >= 0) this.body.consumer[producer] = consumer;
    return this.stack[this.height];
  }

  private pop(type: ValueType, consumer: number): void {
    if (this.popAny(consumer) !== type) throw this.fail('an operand has the wrong type');
  }

  private popAll(types: readonly ValueType[], consumer: number): void {
    for (let index = types.length - 1; index >= 0; index -= 1) this.pop(types[index], consumer);
  }

  private pushAll(types: readonly ValueType[], producer: number): void {
    for (let index = 0; index < types.length; index += 1) this.push(types[index], producer);
  }

  private snapshot(index: number): void {
    if (!this.wantsStacks) return;
    const { body } = this;
    const needed = body.stackTypeCount + this.height;
    if (needed > body.stackTypes.length) {
      if (needed > SNAPSHOT_BYTES_MAX) {
        throw tooLarge(this.reader.start, 'operands below calls', SNAPSHOT_BYTES_MAX);
      }
      const grown = new Uint8Array(Math.max(needed, body.stackTypes.length * 2));
      grown.set(body.stackTypes);
      body.stackTypes = grown;
    }
    body.snapshot[index] = body.stackTypeCount;
    body.stackTypes.set(this.stack.subarray(0, this.height), body.stackTypeCount);
    body.stackTypeCount = needed;
  }

  private step(): void {
    const { op } = this.reader;
    if (op >= 0x28 || op === 0x1a || (op >= 0x20 && op <= 0x24)) this.plain(op);
    else this.control(op);
  }

  private plain(op: number): void {
    const index = this.keep();
    const { a } = this.reader;
    switch (op) {
      case OP.localGet:
        this.push(this.localType(a), index);
        return;
      case OP.localSet:
        this.pop(this.localType(a), index);
        return;
      case OP.localTee:
        this.pop(this.localType(a), index);
        this.push(this.localType(a), index);
        return;
      case OP.globalGet:
        this.push(this.globalType(a), index);
        return;
      case OP.globalSet:
        if (!this.module.globals[a]?.mutable) throw this.fail('a constant global is set');
        this.pop(this.globalType(a), index);
        return;
      case OP.drop:
        this.body.b[index] = this.popAny(index);
        return;
      default:
        if (op >= 0xd0 && op <= 0xd2) this.reference(op, index);
        else if (op >= 0x108 && op < 0x200) this.bulk(op, index);
        else this.simple(op, index);
    }
  }

  private simple(op: number, index: number): void {
    const params = OPCODE_PARAMS[op];
    if (op >= OP.v128Load || (op >= 0x28 && op <= 0x40)) {
      if (this.module.memories.length === 0 && usesMemory(op))
        throw this.fail('there is no memory');
      if (storedBytes(op) > 0 && this.height >= 2) {
        this.body.producer[index] = this.producers[this.height - 2];
      }
    }
    if (op === OP.memoryGrow) this.snapshot(index);
    for (let item = params.length - 1; item >= 0; item -= 1) this.pop(params[item], index);
    const results = OPCODE_RESULTS[op];
    if (results.length > 0) this.push(results[0], index);
  }

  private localType(local: number): ValueType {
    const type = this.body.locals[local];
    if (type === undefined) throw this.fail('there is no such local');
    return type;
  }

  private globalType(global: number): ValueType {
    const entry = this.module.globals[global];
    if (!entry) throw this.fail('there is no such global');
    return entry.type;
  }

  private reference(op: number, index: number): void {
    const { a } = this.reader;
    if (op === OP.refNull) {
      if (!isReference(a)) throw this.fail('an unknown reference type');
      this.push(a, index);
    } else if (op === OP.refFunc) {
      if (a >= this.module.functions.length) throw this.fail('there is no such function');
      this.push(TYPE.funcref, index);
    } else {
      const type = this.popAny(index);
      if (!isReference(type)) throw this.fail('an operand has the wrong type');
      this.body.b[index] = type;
      this.push(TYPE.i32, index);
    }
  }

  private tableType(table: number): ValueType {
    const entry = this.module.tables[table];
    if (!entry) throw this.fail('there is no such table');
    return entry.type;
  }

  private bulk(op: number, index: number): void {
    const { a, b } = this.reader;
    const { module } = this;
    const i32 = TYPE.i32;
    switch (op) {
      case OP.memoryInit:
      case OP.dataDrop:
        if (a >= module.dataCount) throw this.fail('there is no such data segment');
        break;
      case OP.tableInit:
      case OP.elemDrop:
        if (a >= module.elements.length) throw this.fail('there is no such element segment');
        break;
      default:
    }
    switch (op) {
      case OP.dataDrop:
      case OP.elemDrop:
        return;
      case OP.tableInit:
        if (this.tableType(b) !== module.elements[a].type) throw this.fail('table types differ');
        this.popAll([i32, i32, i32], index);
        return;
      case OP.tableCopy:
        if (this.tableType(a) !== this.tableType(b)) throw this.fail('table types differ');
        this.popAll([i32, i32, i32], index);
        return;
      case OP.tableGrow:
        this.popAll([this.tableType(a), i32], index);
        this.push(i32, index);
        return;
      case OP.tableSize:
        this.tableType(a);
        this.push(i32, index);
        return;
      case OP.tableFill:
        this.popAll([i32, this.tableType(a), i32], index);
        return;
      default:
        if (module.memories.length === 0) throw this.fail('there is no memory');
        this.popAll([i32, i32, i32], index);
    }
  }

  private control(op: number): void {
    switch (op) {
      case OP.nop:
        this.keep();
        return;
      case OP.block:
      case OP.loop:
      case OP.if:
      case OP.try:
      case OP.tryTable:
        this.open(op);
        return;
      case OP.else:
      case OP.catch:
      case OP.catchAll:
        this.clause(op);
        return;
      case OP.end:
        this.close();
        return;
      case OP.delegate:
        this.delegate();
        return;
      case OP.br:
      case OP.brIf:
      case OP.brTable:
        this.branch(op);
        return;
      case OP.call:
      case OP.callIndirect:
      case OP.returnCall:
      case OP.returnCallIndirect:
        this.call(op);
        return;
      default:
        this.other(op);
    }
  }

  private other(op: number): void {
    const index = this.keep();
    switch (op) {
      case OP.unreachable:
        this.dead = true;
        return;
      case OP.return:
        this.popAll(this.body.type.results, index);
        this.dead = true;
        return;
      case OP.throw:
        this.popAll(this.tagParams(this.reader.a), index);
        this.dead = true;
        return;
      case OP.rethrow: {
        const frame = this.target(this.reader.a);
        if (frame.op !== OP.catch && frame.op !== OP.catchAll) throw this.fail('no catch');
        this.dead = true;
        return;
      }
      case OP.throwRef:
        this.pop(TYPE.exnref, index);
        this.dead = true;
        return;
      case OP.select:
      case OP.selectTyped:
        this.select(op, index);
        return;
      case OP.tableGet:
        this.pop(TYPE.i32, index);
        this.push(this.tableType(this.reader.a), index);
        return;
      case OP.tableSet:
        this.pop(this.tableType(this.reader.a), index);
        this.pop(TYPE.i32, index);
        return;
      default:
        throw this.fail('unexpected instruction');
    }
  }

  private select(op: number, index: number): void {
    this.pop(TYPE.i32, index);
    const second = this.popAny(index);
    const first = this.popAny(index);
    if (first !== second) throw this.fail('operand types differ');
    if (op === OP.select ? isReference(first) : first !== this.reader.a) {
      throw this.fail('an operand has the wrong type');
    }
    this.body.b[index] = first;
    this.push(first, index);
  }

  private tagParams(tag: number): readonly ValueType[] {
    const type = this.module.tags[tag];
    if (!type) throw this.fail('there is no such tag');
    return type.params;
  }

  private resolveBlockType(code: number): FunctionType {
    if (code >= 0) {
      const type = this.module.types[code];
      if (!type) throw this.fail('there is no such type');
      return type;
    }
    const known = this.valueBlocks.get(code);
    if (known) return known;
    const type = code + 0x80;
    if (code !== -64 && !(type >= TYPE.v128 && type <= TYPE.i32) && !isReference(type)) {
      throw this.fail('an unknown block type');
    }
    const made = functionType([], code === -64 ? [] : [type]);
    this.valueBlocks.set(code, made);
    return made;
  }

  private open(op: number): void {
    const { body, frames, reader } = this;
    const index = this.keep();
    const type = this.resolveBlockType(reader.a);
    if (op === OP.if) this.pop(TYPE.i32, index);
    if (frames.length >= LIMIT.nesting) {
      throw tooLarge(reader.start, 'nested blocks', LIMIT.nesting);
    }
    body.a[index] = body.blockTypes.length;
    body.blockTypes.push(type);
    if (op === OP.loop) {
      body.hasLoop = true;
      this.snapshot(index);
    }
    if (op === OP.tryTable) this.catchClauses(index);
    if (op === OP.try || op === OP.tryTable) body.hasTry = true;
    this.popAll(type.params, index);
    frames.push({ op, opener: index, clause: index, height: this.height, type });
    if (frames.length > body.nestingMax) body.nestingMax = frames.length;
    this.pushAll(type.params, -1);
  }

  /** Keeps the clauses of a try_table: `b` names them in `labels`, first the count. */
  private catchClauses(index: number): void {
    const { body } = this;
    const { labels } = this.reader;
    body.b[index] = body.labels.length;
    body.labels.push(labels.length / 3);
    for (let at = 0; at < labels.length; at += 3) {
      const [kind, tag, label] = labels.slice(at, at + 3);
      const carried = kind < 2 ? [...this.tagParams(tag)] : [];
      if (kind & 1) carried.push(TYPE.exnref);
      if (labelTypes(this.target(label)).join() !== carried.join()) {
        throw this.fail('a catch clause and its label differ in type');
      }
      body.labels.push(kind, tag, label);
    }
  }

  private target(label: number): Frame {
    const frame = this.frames[this.frames.length - 1 - label];
    if (!frame) throw this.fail('there is no such label');
    return frame;
  }

  private clause(op: number): void {
    const frame = this.frames[this.frames.length - 1];
    const opened = frame.op;
    const fits = op === OP.else ? opened === OP.if : opened === OP.try || opened === OP.catch;
    if (!fits) throw this.fail('a clause does not belong here');
    this.finish(frame);
    const index = this.keep();
    this.body.peer[frame.clause] = index;
    frame.clause = index;
    frame.op = op;
    if (op === OP.else) this.pushAll(frame.type.params, -1);
    else if (op === OP.catch) this.pushAll(this.tagParams(this.reader.a), -1);
  }

  /** Checks the operands at the end of a block or clause and drops them. */
  private finish(frame: Frame): void {
    if (this.dead) {
      this.height = frame.height;
    } else {
      this.popAll(frame.type.results, this.body.count);
      if (this.height !== frame.height) throw this.fail('operands are left');
    }
    this.dead = false;
  }

  private close(): void {
    const { body, frames } = this;
    const frame = frames[frames.length - 1];
    if (frame.op === OP.if && frame.type.params.join() !== frame.type.results.join()) {
      throw this.fail('an if without else changes the operands');
    }
    this.finish(frame);
    const index = this.keep();
    body.peer[index] = frame.opener;
    if (frame.clause >= 0) body.peer[frame.clause] = index;
    frames.pop();
    this.pushAll(frame.type.results, index);
  }

  private delegate(): void {
    const frame = this.frames[this.frames.length - 1];
    if (frame.op !== OP.try) throw this.fail('a clause does not belong here');
    this.target(this.reader.a + 1);
    this.close();
  }

  private branch(op: number): void {
    const { body, reader } = this;
    const index = this.keep();
    if (op !== OP.br) this.pop(TYPE.i32, index);
    if (op === OP.brTable) {
      this.branchTable(index);
      return;
    }
    const types = labelTypes(this.target(reader.a));
    this.popAll(types, index);
    if (op === OP.brIf) this.pushAll(types, index);
    else this.dead = true;
    body.peer[index] = this.frames[this.frames.length - 1 - reader.a].opener;
  }

  private branchTable(index: number): void {
    const { body } = this;
    const { labels } = this.reader;
    const types = labelTypes(this.target(labels[labels.length - 1]));
    for (const label of labels) {
      if (labelTypes(this.target(label)).join() !== types.join()) {
        throw this.fail('the labels differ in type');
      }
    }
    this.popAll(types, index);
    body.a[index] = body.labels.length;
    body.b[index] = labels.length;
    for (const label of labels) body.labels.push(label);
    this.dead = true;
  }

  private call(op: number): void {
    const { module, reader, body } = this;
    const index = this.keep();
    const indirect = op === OP.callIndirect || op === OP.returnCallIndirect;
    const type = indirect ? module.types[reader.a] : module.functions[reader.a]?.type;
    if (!type) throw this.fail('there is no such function or type');
    if (indirect && this.tableType(reader.b) !== TYPE.funcref) throw this.fail('no functions');
    body.hasCall = true;
    this.snapshot(index);
    if (indirect) this.pop(TYPE.i32, index);
    this.popAll(type.params, index);
    if (op === OP.call || op === OP.callIndirect) {
      this.pushAll(type.results, index);
    } else {
      if (type.results.join() !== body.type.results.join()) throw this.fail('results differ');
      this.dead = true;
    }
  }

  /** Reads on to the clause or end that closes the innermost block. */
  private skipDead(): void {
    const { reader } = this;
    let nesting = 0;
    for (;;) {
      reader.next();
      const { op } = reader;
      if (
        op === OP.block ||
        op === OP.loop ||
        op === OP.if ||
        op === OP.try ||
        op === OP.tryTable
      ) {
        nesting += 1;
        continue;
      }
      const closes = op === OP.end || op === OP.delegate;
      const clause = op === OP.else || op === OP.catch || op === OP.catchAll;
      if (nesting > 0) {
        if (closes) nesting -= 1;
      } else if (closes || clause) {
        this.control(op);
        return;
      }
    }
  }
}

/** What a branch to a block carries: results, or parameters for a loop. */
export function labelTypes(frame: { op: number; type: FunctionType }): readonly ValueType[] {
  return frame.op === OP.loop ? frame.type.params : frame.type.results;
}

function usesMemory(op: number): boolean {
  if (op < 0x200) return true;
  return op <= 0x20b || (op >= 0x254 && op <= 0x25d);
}
