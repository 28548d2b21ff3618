import type { Body } from '../binary/body.ts';
import { OP } from '../binary/opcodes.ts';

/** A loop that begins with blocks and a jump to the end of one of them, chosen by a local. */
interface Dispatch {
  readonly local: number;
  /** The br_table, which stands behind the local.get. */
  readonly table: number;
  /** Openers of the blocks, the outermost first. */
  readonly blocks: readonly number[];
}

/**
 * Jumps within a dispatch loop, as Go writes all of its jumps: `local.set` a constant, then to the
 * loop's head, where a `br_table` on that local leaves one of the blocks. When that block still is
 * open around the jump, the jump may leave it at once. It costs what the way by the loop's head
 * cost, but is no turn of the loop: nothing is checked there.
 */
export function shortenJumps(body: Body): void {
  if (!body.hasLoop) return;
  const dispatches = new Map<number, Dispatch>();
  /** Open blocks, outermost first, and the place of each among them. */
  const open: number[] = [];
  const place = new Map<number, number>();
  for (let index = 0; index < body.count; index += 1) {
    const op = body.op[index];
    switch (op) {
      case OP.loop:
      case OP.block:
      case OP.if:
      case OP.try:
      case OP.tryTable:
        if (op === OP.loop) addDispatch(body, index, dispatches);
        place.set(index, open.length);
        open.push(index);
        break;
      case OP.end:
      case OP.delegate:
        open.pop();
        break;
      case OP.br: {
        const dispatch = dispatches.get(body.peer[index]);
        if (dispatch === undefined) break;
        const opener = targetOf(body, index, dispatch);
        if (opener < 0 || index > body.peer[opener]) break;
        body.a[index] = open.length - 1 - (place.get(opener) ?? 0);
        body.peer[index] = opener;
        body.skipped[index] = skippedUnits(body, dispatch);
        break;
      }
      default:
    }
  }
}

/** Adds a loop if it is of that kind. */
function addDispatch(body: Body, loop: number, dispatches: Map<number, Dispatch>): void {
  if (!isVoid(body, loop)) return;
  const blocks: number[] = [];
  let at = loop + 1;
  for (; at < body.count && body.op[at] === OP.block && isVoid(body, at); at += 1) blocks.push(at);
  if (at + 1 >= body.count || blocks.length === 0) return;
  if (body.op[at] !== OP.localGet || body.op[at + 1] !== OP.brTable) return;
  dispatches.set(loop, { local: body.a[at], table: at + 1, blocks });
}

/** Whether a block takes nothing, and a jump to its label carries nothing. */
function isVoid(body: Body, opener: number): boolean {
  const { params, results } = body.blockType(opener);
  return params.length === 0 && (results.length === 0 || body.op[opener] === OP.loop);
}

/** The block that a jump to the loop's head leaves in the end, or -1. */
function targetOf(body: Body, jump: number, dispatch: Dispatch): number {
  const { blocks, local, table } = dispatch;
  if (jump < table + 3) return -1;
  if (body.op[jump - 1] !== OP.localSet || body.a[jump - 1] !== local) return -1;
  if (body.op[jump - 2] !== OP.i32Const) return -1;
  const choice = Math.min(body.a[jump - 2] >>> 0, body.b[table] - 1);
  const depth = body.labels[body.a[table] + choice];
  return depth < blocks.length ? blocks[blocks.length - 1 - depth] : -1;
}

/** Executed instructions of the way by the loop's head: local.get and br_table. */
function skippedUnits(body: Body, { table }: Dispatch): number {
  const { counted } = body;
  if (counted === null) return 2;
  return [table - 1, table].filter((index) => counted.has(body.start[index])).length;
}
