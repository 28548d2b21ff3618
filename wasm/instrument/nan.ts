import type { Body } from '../binary/body.ts';
import { OP } from '../binary/opcodes.ts';
import { TYPE, type ValueType } from '../binary/types.ts';
import type { CodeWriter } from './code-writer.ts';
import type { LocalSpace } from './locals.ts';

/** How a result is made canonical: by its type, lanes apart. */
export const CANONICAL = { none: 0, f32: 1, f64: 2, f32x4: 3, f64x2: 4 } as const;

/**
 * Which results may be a NaN whose bits the engine chose (core 3.0, 4.3.3 "NaN propagation"): those
 * of arithmetic. abs, neg, copysign, loads, moves and constants keep the bits they are given.
 */
export function arithmeticKind(op: number): number {
  if ((op >= 0x8d && op <= 0x97) || op === 0xb6) return CANONICAL.f32;
  if ((op >= 0x9b && op <= 0xa5) || op === 0xbb) return CANONICAL.f64;
  if (op < 0x200) return CANONICAL.none;
  if ((op >= 0x267 && op <= 0x26a) || (op >= 0x2e3 && op <= 0x2e9) || op === 0x25e) {
    return CANONICAL.f32x4;
  }
  const f64x2 =
    op === 0x25f ||
    op === 0x274 ||
    op === 0x275 ||
    op === 0x27a ||
    op === 0x294 ||
    (op >= 0x2ef && op <= 0x2f5);
  return f64x2 ? CANONICAL.f64x2 : CANONICAL.none;
}

/** Whether an instruction gives the same result for every NaN in its operands, or makes it new. */
function ignoresBits(op: number, kind: number): boolean {
  if (op === OP.drop) return true;
  if (kind === CANONICAL.f32 || kind === CANONICAL.f64) {
    const compares = op >= 0x5b && op <= 0x66;
    const truncates = (op >= 0xa8 && op <= 0xab) || (op >= 0xae && op <= 0xb1);
    const saturates = op >= 0x100 && op <= 0x107;
    return compares || truncates || saturates || (op < 0x200 && arithmeticKind(op) !== 0);
  }
  if (kind === CANONICAL.f32x4) {
    const compares = op >= 0x241 && op <= 0x246;
    const converts = op === 0x2f8 || op === 0x2f9 || op === 0x25f;
    return compares || converts || (arithmeticKind(op) === kind && op !== 0x25e);
  }
  const compares = op >= 0x247 && op <= 0x24c;
  const converts = op === 0x2fc || op === 0x2fd || op === 0x25e;
  return compares || converts || (arithmeticKind(op) === kind && op !== 0x25f);
}

/** abs and neg pass a NaN on with only its sign changed. */
function passesOn(op: number, kind: number): boolean {
  if (op === OP.select || op === OP.selectTyped) return true;
  if (kind === CANONICAL.f32) return op === 0x8b || op === 0x8c;
  return kind === CANONICAL.f64 && (op === 0x99 || op === 0x9a);
}

/**
 * Where results are made canonical. A result that only goes to arithmetic, comparisons or locals of
 * that kind waits: its bits cannot be seen there.
 */
export class NanPlan {
  /** CANONICAL of each instruction whose result must be made canonical at once. */
  readonly kind: Uint8Array;
  /** CANONICAL of each local that may hold any NaN bits. */
  readonly deferred: Uint8Array;
  private readonly body: Body;
  private readonly safe: Uint8Array;
  /** Number of sites before each instruction. */
  private readonly sitesBefore: Uint32Array;

  constructor(body: Body, isSite: (index: number) => boolean) {
    this.body = body;
    this.kind = new Uint8Array(body.count);
    this.safe = new Uint8Array(body.count);
    this.deferred = new Uint8Array(body.locals.length);
    this.sitesBefore = new Uint32Array(body.count + 1);
    for (let index = 0; index < body.count; index += 1) {
      this.sitesBefore[index + 1] = this.sitesBefore[index] + (isSite(index) ? 1 : 0);
    }
    const producers = this.setProducers();
    this.chooseDeferred(producers);
    this.findSafe();
    if (this.dropCostly(producers)) this.findSafe();
    for (let index = 0; index < body.count; index += 1) {
      const kind = this.resultKind(index);
      if (kind !== 0 && this.safe[index] === 0) this.kind[index] = kind;
    }
  }

  /** CANONICAL of a result that may be any NaN. */
  private resultKind(index: number): number {
    const { body } = this;
    const op = body.op[index];
    if (op === OP.localGet) return this.deferred[body.a[index]];
    return op >= 0x8b ? arithmeticKind(op) : CANONICAL.none;
  }

  /** For each local.set and local.tee the instruction that made its value. */
  private setProducers(): Map<number, number> {
    const { body } = this;
    const producers = new Map<number, number>();
    for (let index = 0; index < body.count; index += 1) {
      const consumer = body.consumer[index];
      if (consumer < 0) continue;
      const op = body.op[consumer];
      if (op === OP.localSet || op === OP.localTee) producers.set(consumer, index);
    }
    return producers;
  }

  /** Locals that are only ever set to results of arithmetic or constants. */
  private chooseDeferred(producers: ReadonlyMap<number, number>): void {
    const { body, deferred } = this;
    const refused = new Uint8Array(body.locals.length);
    for (let index = 0; index < body.count; index += 1) {
      const op = body.op[index];
      if (op !== OP.localSet && op !== OP.localTee) continue;
      const local = body.a[index];
      const kind = scalarKind(body.locals[local]);
      const producer = producers.get(index) ?? -1;
      const made = producer < 0 ? -1 : body.op[producer];
      if (kind === 0 || local < body.paramCount || made < 0) refused[local] = 1;
      else if (arithmeticKind(made) !== 0) deferred[local] = kind;
      else if (made !== OP.f32Const && made !== OP.f64Const) refused[local] = 1;
    }
    for (let local = 0; local < refused.length; local += 1) {
      if (refused[local] === 1) deferred[local] = 0;
    }
  }

  /** Walks backward: consumers stand behind producers. */
  private findSafe(): void {
    const { body, safe } = this;
    for (let index = body.count - 1; index >= 0; index -= 1) {
      safe[index] = this.isSafe(index) ? 1 : 0;
    }
  }

  private isSafe(index: number): boolean {
    const { body } = this;
    const consumer = body.consumer[index];
    if (consumer < 0) return false;
    if (this.sitesBefore[consumer] !== this.sitesBefore[index]) return false;
    const op = body.op[consumer];
    if (op === OP.localSet) return this.deferred[body.a[consumer]] !== 0;
    if (op === OP.localTee) {
      return this.deferred[body.a[consumer]] !== 0 && this.safe[consumer] === 1;
    }
    const kind = this.resultKind(index) || this.passedKind(index);
    if (kind === 0) return false;
    return ignoresBits(op, kind) || (passesOn(op, kind) && this.safe[consumer] === 1);
  }

  /** What kind of value abs, neg, select and local.tee pass on. */
  private passedKind(index: number): number {
    const op = this.body.op[index];
    if (op === 0x8b || op === 0x8c) return CANONICAL.f32;
    if (op === 0x99 || op === 0x9a) return CANONICAL.f64;
    if (op === OP.localTee) return scalarKind(this.body.locals[this.body.a[index]]);
    return CANONICAL.none;
  }

  /** A local that is read unsafely more often than it is set, loops weighed, is not worth it. */
  private dropCostly(producers: ReadonlyMap<number, number>): boolean {
    const { body, deferred, safe } = this;
    const balance = new Float64Array(body.locals.length);
    let weight = 1;
    const weights: number[] = [];
    for (let index = 0; index < body.count; index += 1) {
      const op = body.op[index];
      if (op === OP.block || op === OP.if || op === OP.loop || op === OP.tryTable) {
        weights.push(weight);
        if (op === OP.loop) weight = Math.min(weight * 8, 1e9);
      } else if (op === OP.end) weight = weights.pop() ?? 1;
      else if (op === OP.localGet && deferred[body.a[index]] !== 0) {
        if (safe[index] === 0) balance[body.a[index]] += weight;
      } else if ((op === OP.localSet || op === OP.localTee) && deferred[body.a[index]] !== 0) {
        const producer = producers.get(index) ?? -1;
        if (producer >= 0 && arithmeticKind(body.op[producer]) !== 0) {
          balance[body.a[index]] -= weight;
        }
      }
    }
    let dropped = false;
    for (let local = 0; local < balance.length; local += 1) {
      if (deferred[local] === 0 || balance[local] <= 0) continue;
      deferred[local] = 0;
      dropped = true;
    }
    return dropped;
  }
}

function scalarKind(type: ValueType): number {
  if (type === TYPE.f32) return CANONICAL.f32;
  return type === TYPE.f64 ? CANONICAL.f64 : CANONICAL.none;
}

const TYPE_OF: readonly ValueType[] = [0, TYPE.f32, TYPE.f64, TYPE.v128, TYPE.v128];

/** Makes the value on the stack canonical. */
export function emitCanonical(code: CodeWriter, locals: LocalSpace, kind: number): void {
  const local = locals.scratch(TYPE_OF[kind], 8);
  code.localTee(local);
  code.localGet(local);
  switch (kind) {
    case CANONICAL.f32:
      code.byte(OP.f32Ne);
      break;
    case CANONICAL.f64:
      code.byte(OP.f64Ne);
      break;
    default:
      code.op(kind === CANONICAL.f32x4 ? 0x242 : 0x248);
      code.op(0x253); // v128.any_true
  }
  code.if();
  emitNan(code, kind, local);
  code.localSet(local);
  code.end();
  code.localGet(local);
}

function emitNan(code: CodeWriter, kind: number, local: number): void {
  if (kind === CANONICAL.f32) {
    code.byte(OP.f32Const);
    for (const byte of F32_NAN) code.byte(byte);
  } else if (kind === CANONICAL.f64) {
    code.byte(OP.f64Const);
    for (const byte of F64_NAN) code.byte(byte);
  } else {
    const lane = kind === CANONICAL.f32x4 ? F32_NAN : F64_NAN;
    code.op(OP.v128Const);
    for (let at = 0; at < 16; at += 1) code.byte(lane[at % lane.length]);
    code.localGet(local);
    code.localGet(local);
    code.localGet(local);
    code.op(kind === CANONICAL.f32x4 ? 0x242 : 0x248);
    code.op(0x252); // v128.bitselect
  }
}

/** 0x7fc00000 and 0x7ff8000000000000, little end first. */
const F32_NAN: readonly number[] = [0, 0, 0xc0, 0x7f];
const F64_NAN: readonly number[] = [0, 0, 0, 0, 0, 0, 0xf8, 0x7f];
