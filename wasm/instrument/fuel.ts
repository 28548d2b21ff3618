import type { Body } from '../binary/body.ts';
import { OP } from '../binary/opcodes.ts';

/**
 * Where to subtract how much from the fuel counter. One unit is one executed instruction; the
 * markers block, loop, else, end, try_table cost nothing.
 */
export class FuelPlan {
  /** Charged at function entry. */
  entry = 0;
  /** Charged right after each instruction (a loop's: at its head, in each iteration). */
  readonly after: Int32Array;
  /** Whether any charge or check happens in the function. */
  readonly isConstant: boolean;

  constructor(body: Body) {
    this.after = new Int32Array(body.count);
    const targeted = labelTargets(body);
    let point = -1;
    let cost = 0;
    let constant = true;
    const settle = (next: number): void => {
      if (point < 0) this.entry = cost;
      else this.after[point] = cost;
      point = next;
      cost = 0;
      constant = false;
    };
    for (let index = 0; index < body.count; index += 1) {
      const op = body.op[index];
      if (!isMarker(op)) cost += 1;
      if (op === OP.end) {
        const opener = body.peer[index];
        if (opener < 0) break;
        const opened = body.op[opener];
        const joins = opened === OP.if || (opened !== OP.loop && targeted[opener] === 1);
        if (joins || opened === OP.tryTable) settle(index);
      } else if (startsBlock(op)) settle(index);
    }
    if (point < 0) this.entry = cost;
    else this.after[point] = cost;
    this.isConstant = constant;
  }
}

function isMarker(op: number): boolean {
  return (
    op === OP.block ||
    op === OP.loop ||
    op === OP.else ||
    op === OP.end ||
    op === OP.tryTable ||
    op === OP.try ||
    op === OP.catch ||
    op === OP.catchAll
  );
}

function startsBlock(op: number): boolean {
  switch (op) {
    case OP.loop:
    case OP.if:
    case OP.else:
    case OP.brIf:
    case OP.call:
    case OP.callIndirect:
    case OP.try:
    case OP.catch:
    case OP.catchAll:
      return true;
    default:
      return false;
  }
}

/** Which openers some branch names. */
function labelTargets(body: Body): Uint8Array {
  const targeted = new Uint8Array(body.count);
  const open: number[] = [-1];
  const mark = (label: number): void => {
    const opener = open[open.length - 1 - label];
    if (opener >= 0) targeted[opener] = 1;
  };
  for (let index = 0; index < body.count; index += 1) {
    const op = body.op[index];
    if (op === OP.block || op === OP.loop || op === OP.if || op === OP.try) open.push(index);
    else if (op === OP.tryTable) {
      const from = body.b[index];
      for (let clause = 0; clause < body.labels[from]; clause += 1) {
        mark(body.labels[from + 3 + clause * 3]);
      }
      open.push(index);
    } else if (op === OP.end) open.pop();
    else if (op === OP.br || op === OP.brIf) mark(body.a[index]);
    else if (op === OP.brTable) {
      const from = body.a[index];
      for (let at = from; at < from + body.b[index]; at += 1) mark(body.labels[at]);
    }
  }
  return targeted;
}
