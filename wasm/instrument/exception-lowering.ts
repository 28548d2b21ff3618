import type { Body } from '../binary/body.ts';
import type { ParsedModule } from '../binary/module.ts';
import { OP } from '../binary/opcodes.ts';
import { TYPE, type FunctionType, type ValueType } from '../binary/types.ts';
import { ByteWriter } from '../binary/writer.ts';
import { CodeWriter } from './code-writer.ts';
import type { ExceptionValues } from './exception-values.ts';
import type { GrowingTypes } from './exceptions.ts';
import { isMarker } from './fuel.ts';
import { scanTries, type TryScan } from './try-scan.ts';

/** Where one tag's exceptions arrive. */
interface Landing {
  readonly tag: number;
  /** try_table: 0 catch, 1 catch_ref, 2 catch_all, 3 catch_all_ref. try: 0, or 2 for catch_all. */
  readonly kind: number;
  /** try_table: the label, from outside. try: the index of the clause's instruction. */
  readonly target: number;
}

/** A block of the input that is open. */
interface Open {
  readonly opener: number;
  /** Blocks open in the output when its label was opened. */
  readonly position: number;
  readonly type: FunctionType;
  /** Of a try: what remains to be closed. */
  landings: Landing[];
  /** Position of the block where catch_all begins, or -1. */
  readonly allPosition: number;
  /** First cell of the exception that rethrow or a delegate throws again, or -1. */
  readonly caught: number;
  readonly delegated: number;
  /** Position of the block in which delegates arrive, or -1. */
  delegatePosition: number;
  inBody: boolean;
}

/** Rewrites one body; see exceptions.ts. */
export class ExceptionLowering {
  private readonly module: ParsedModule;
  private readonly body: Body;
  private readonly values: ExceptionValues;
  private readonly types: GrowingTypes;
  private readonly code = new CodeWriter(1024);
  private readonly scan: TryScan;
  /** New index of each local, and the types of all. */
  private readonly localBase: number[] = [];
  private readonly locals: ValueType[];
  private readonly paramCount: number;
  private readonly scratch: number;
  private open: Open[] = [];
  private nesting = 0;
  private readonly counted: number[] = [];

  constructor(
    module: ParsedModule,
    body: Body,
    parts: { values: ExceptionValues; types: GrowingTypes },
  ) {
    this.module = module;
    this.body = body;
    this.values = parts.values;
    this.types = parts.types;
    this.scan = scanTries(body);
    let next = 0;
    for (const type of body.locals) {
      this.localBase.push(next);
      next += type === TYPE.exnref ? this.values.types.length : 1;
    }
    this.locals = this.values.expand(body.locals);
    this.paramCount = this.values.expand(body.type.params).length;
    this.scratch = this.addCells();
  }

  get isNeeded(): boolean {
    return this.scan.hasExceptions || this.body.locals.includes(TYPE.exnref);
  }

  private addCells(): number {
    const first = this.locals.length;
    this.locals.push(...this.values.types);
    return first;
  }

  /** The new body, and where in it the instructions of the input stand: only those count. */
  lower(): { bytes: Uint8Array; counted: number[] } {
    const { code, body } = this;
    const type = this.values.expandType(body.type);
    const outside = this.openFunction(type);
    for (let index = 0; index < body.count - 1; index += 1) this.instruction(index);
    if (outside.delegatePosition >= 0) this.closeDelegates(outside);
    code.end();
    const out = new ByteWriter(code.length + 64);
    const own = this.locals.slice(this.paramCount);
    out.u32(own.length);
    for (const local of own) {
      out.u32(1);
      out.byte(local);
    }
    const head = out.length;
    out.copy(code.view());
    return { bytes: out.view(), counted: this.counted.map((offset) => offset + head) };
  }

  private openFunction(type: FunctionType): Open {
    const frame = this.frame(-1, { ...type, params: [] }, { position: -1 });
    this.open = [frame];
    if (this.scan.delegateTargets.has(-1)) this.openDelegates(frame);
    return frame;
  }

  private frame(
    opener: number,
    type: FunctionType,
    parts: { position: number; landings?: Landing[]; allPosition?: number },
  ): Open {
    const wantsDelegates = this.scan.delegateTargets.has(opener);
    return {
      opener,
      type,
      position: parts.position,
      landings: parts.landings ?? [],
      allPosition: parts.allPosition ?? -1,
      caught: this.scan.rethrown.has(opener) ? this.addCells() : -1,
      delegated: wantsDelegates ? this.addCells() : -1,
      delegatePosition: -1,
      inBody: true,
    };
  }

  private block(params: readonly ValueType[], results: readonly ValueType[]): void {
    this.code.byte(OP.block);
    this.code.s32(this.types.index(params, results));
    this.nesting += 1;
  }

  private end(): void {
    this.code.end();
    this.nesting -= 1;
  }

  /** A branch to the block that was opened when `position` others were open. */
  private brTo(position: number): void {
    this.code.br(this.nesting - 1 - position);
  }

  private labelOf(frame: Open): number {
    return this.nesting - 1 - frame.position;
  }

  private openDelegates(frame: Open): void {
    const { params, results } = frame.type;
    this.block(params, results);
    frame.delegatePosition = this.nesting;
    this.block(params, []);
  }

  private closeDelegates(frame: Open): void {
    this.brTo(frame.delegatePosition - 1);
    this.end();
    this.values.throwStored(this.code, frame.delegated);
    this.end();
  }

  private raw(index: number): void {
    this.code.copy(this.module.bytes, this.body.start[index], this.body.end[index]);
  }

  private instruction(index: number): void {
    const { body, code, open } = this;
    const op = body.op[index];
    if (!isMarker(op)) this.counted.push(code.length);
    switch (op) {
      case OP.block:
      case OP.loop:
      case OP.if:
        this.plainBlock(index, op);
        return;
      case OP.else:
        code.else();
        return;
      case OP.tryTable:
        this.tryTable(index);
        return;
      case OP.try:
        this.legacyTry(index);
        return;
      case OP.catch:
      case OP.catchAll:
        this.clause(index, open[open.length - 1]);
        return;
      case OP.end:
      case OP.delegate:
        this.close(index, op);
        return;
      case OP.br:
      case OP.brIf:
        code.opIndex(op, this.labelOf(open[open.length - 1 - body.a[index]]));
        return;
      case OP.brTable:
        this.branchTable(index);
        return;
      case OP.rethrow:
        this.values.throwStored(code, open[open.length - 1 - body.a[index]].caught);
        return;
      case OP.throwRef:
        this.values.set(code, this.scratch);
        this.values.throwStored(code, this.scratch);
        return;
      default:
        this.valueInstruction(index, op);
    }
  }

  private branchTable(index: number): void {
    const { body, code, open } = this;
    const from = body.a[index];
    code.byte(OP.brTable);
    code.u32(body.b[index] - 1);
    for (let at = from; at < from + body.b[index]; at += 1) {
      code.u32(this.labelOf(open[open.length - 1 - body.labels[at]]));
    }
  }

  /** Instructions that move values: an exnref is several of them. */
  private valueInstruction(index: number, op: number): void {
    const { body, code, values } = this;
    const { a, b } = body;
    switch (op) {
      case OP.localGet:
      case OP.localSet:
      case OP.localTee: {
        const local = this.localBase[a[index]];
        if (body.locals[a[index]] !== TYPE.exnref) code.opIndex(op, local);
        else {
          if (op !== OP.localGet) values.set(code, local);
          if (op !== OP.localSet) values.load(code, local);
        }
        return;
      }
      case OP.refNull:
        if (a[index] === TYPE.exnref) code.zeros(values.types);
        else this.raw(index);
        return;
      case OP.drop:
      case OP.refIsNull:
        if (b[index] !== TYPE.exnref) this.raw(index);
        else {
          values.set(code, this.scratch);
          if (op === OP.drop) return;
          code.localGet(this.scratch);
          code.byte(OP.i32Eqz);
        }
        return;
      case OP.select:
      case OP.selectTyped:
        if (b[index] === TYPE.exnref) this.selectException();
        else this.raw(index);
        return;
      default:
        this.raw(index);
    }
  }

  private selectException(): void {
    const { code, values } = this;
    const condition = this.locals.push(TYPE.i32) - 1;
    const first = this.addCells();
    code.localSet(condition);
    values.set(code, this.scratch);
    values.set(code, first);
    values.types.forEach((_, cell) => {
      code.localGet(first + cell);
      code.localGet(this.scratch + cell);
      code.localGet(condition);
      if (values.types[cell] === TYPE.externref || values.types[cell] === TYPE.funcref) {
        code.byte(OP.selectTyped);
        code.u32(1);
        code.byte(values.types[cell]);
      } else code.byte(OP.select);
    });
  }

  private plainBlock(index: number, op: number): void {
    const type = this.values.expandType(this.body.blockType(index));
    this.code.byte(op);
    this.code.s32(this.types.index(type.params, type.results));
    this.open.push(this.frame(index, type, { position: this.nesting }));
    this.nesting += 1;
  }

  /** Opens a block for each landing, the first one's innermost; each ends with the tag's values. */
  private openLandings(landings: readonly Landing[], params: readonly ValueType[]): void {
    for (let at = landings.length - 1; at >= 0; at -= 1) {
      this.block(params, this.values.params(landings[at].tag));
    }
  }

  /** A try_table whose every clause names a tag. `labels`: per landing, from outside. */
  private openTryTable(
    type: FunctionType,
    landings: readonly { tag: number; label: number }[],
  ): void {
    const { code } = this;
    code.byte(OP.tryTable);
    code.s32(this.types.index(type.params, type.results));
    code.u32(landings.length);
    for (const { tag, label } of landings) {
      code.byte(0);
      code.u32(tag);
      code.u32(label);
    }
    this.nesting += 1;
  }

  private tryTable(index: number): void {
    const { body } = this;
    const type = this.values.expandType(body.blockType(index));
    const landings = this.tableLandings(index);
    const position = this.nesting;
    this.block(type.params, type.results);
    this.openLandings(landings, type.params);
    this.openTryTable(
      type,
      landings.map(({ tag }, at) => ({ tag, label: at })),
    );
    this.open.push(this.frame(index, type, { position, landings }));
  }

  private tableLandings(index: number): Landing[] {
    const { labels } = this.body;
    const from = this.body.b[index];
    const landings: Landing[] = [];
    const seen = new Set<number>();
    const add = (tag: number, kind: number, target: number): void => {
      if (seen.has(tag)) return;
      seen.add(tag);
      landings.push({ tag, kind, target });
    };
    for (let clause = 0; clause < labels[from]; clause += 1) {
      const [kind, tag, label] = labels.slice(from + 1 + clause * 3, from + 4 + clause * 3);
      if (kind < 2) add(tag, kind, label);
      else for (let every = 0; every < this.values.tagCount; every += 1) add(every, kind, label);
    }
    return landings;
  }

  private closeTryTable(frame: Open): void {
    const { code, values } = this;
    this.end();
    this.brTo(frame.position);
    for (const { tag, kind, target } of frame.landings) {
      this.end();
      values.store(code, tag, this.scratch);
      if (kind < 2) values.loadParams(code, tag, this.scratch);
      if (kind === 1 || kind === 3) values.load(code, this.scratch);
      code.br(this.labelOf(this.open[this.open.length - 1 - target]));
    }
    this.end();
  }

  private legacyTry(index: number): void {
    const type = this.values.expandType(this.body.blockType(index));
    const { landings, hasAll } = this.legacyLandings(index);
    const position = this.nesting;
    this.block(type.params, type.results);
    const allPosition = hasAll ? this.nesting : -1;
    if (hasAll) this.block(type.params, []);
    this.openLandings(landings, type.params);
    this.openTryTable(
      type,
      landings.map(({ tag }, at) => ({ tag, label: at })),
    );
    const frame = this.frame(index, type, { position, landings, allPosition });
    this.open.push(frame);
    if (frame.delegated >= 0) this.openDelegates(frame);
  }

  private legacyLandings(index: number): { landings: Landing[]; hasAll: boolean } {
    const { body } = this;
    const landings: Landing[] = [];
    const seen = new Set<number>();
    let hasAll = false;
    for (let at = body.peer[index]; body.op[at] !== OP.end; at = body.peer[at]) {
      const op = body.op[at];
      if (op === OP.catch) {
        // A tag that an earlier clause names cannot arrive, but its clause must have a landing.
        seen.add(body.a[at]);
        landings.push({ tag: body.a[at], kind: 0, target: at });
        continue;
      }
      hasAll = op === OP.catchAll;
      for (let tag = 0; tag < this.values.tagCount; tag += 1) {
        if (!seen.has(tag)) landings.push({ tag, kind: 2, target: at });
      }
      if (op === OP.delegate) break;
    }
    return { landings, hasAll };
  }

  /** Ends the part before a clause and begins the clause's code. */
  private clause(index: number, frame: Open): void {
    const { code, values, body } = this;
    this.endPart(frame);
    if (body.op[index] === OP.catch) {
      const landing = frame.landings.shift();
      this.end();
      if (frame.caught < 0 || !landing) return;
      values.store(code, landing.tag, frame.caught);
      values.loadParams(code, landing.tag, frame.caught);
      return;
    }
    for (const { tag } of frame.landings.splice(0)) {
      this.end();
      values.store(code, tag, frame.caught >= 0 ? frame.caught : this.scratch);
      this.brTo(frame.allPosition);
    }
    this.end();
  }

  private endPart(frame: Open): void {
    if (frame.inBody) {
      if (frame.delegatePosition >= 0) this.closeDelegates(frame);
      this.end();
      frame.inBody = false;
    }
    this.brTo(frame.position);
  }

  private close(index: number, op: number): void {
    const frame = this.open[this.open.length - 1];
    if (op === OP.delegate) {
      this.closeDelegate(index, frame);
      return;
    }
    this.open.pop();
    const opened = this.body.op[frame.opener];
    if (opened === OP.tryTable) this.closeTryTable(frame);
    else {
      if (opened === OP.try && frame.inBody) this.endPart(frame);
      this.end();
    }
  }

  /** What the body throws goes to where the label says. */
  private closeDelegate(index: number, frame: Open): void {
    const { code, values } = this;
    this.endPart(frame);
    this.open.pop();
    const target = this.delegateTarget(this.body.a[index]);
    for (const { tag } of frame.landings) {
      this.end();
      values.store(code, tag, target.delegated);
      this.brTo(target.delegatePosition);
    }
    this.end();
  }

  /** The innermost try around a label whose body (not a handler) holds it, or the function. */
  private delegateTarget(label: number): Open {
    for (let at = this.open.length - 1 - label; at > 0; at -= 1) {
      const frame = this.open[at];
      if (this.body.op[frame.opener] === OP.try && frame.inBody) return frame;
    }
    return this.open[0];
  }
}
