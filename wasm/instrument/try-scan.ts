import type { Body } from '../binary/body.ts';
import { OP } from '../binary/opcodes.ts';

/** What must be known of a body's tries before they are opened. */
export interface TryScan {
  /** Whether the body must be rewritten at all. */
  readonly hasExceptions: boolean;
  /** Openers of tries in whose handlers a rethrow names them. */
  readonly rethrown: ReadonlySet<number>;
  /** Openers of tries that catch what a delegate passes on; -1 is the function. */
  readonly delegateTargets: ReadonlySet<number>;
}

interface OpenBlock {
  readonly opener: number;
  readonly isTry: boolean;
  inBody: boolean;
}

export function scanTries(body: Body): TryScan {
  const rethrown = new Set<number>();
  const delegateTargets = new Set<number>();
  const open: OpenBlock[] = [{ opener: -1, isTry: false, inBody: true }];
  let hasExceptions = false;
  const target = (label: number): number => {
    for (let at = open.length - 1 - label; at > 0; at -= 1) {
      if (open[at].isTry && open[at].inBody) return open[at].opener;
    }
    return -1;
  };
  for (let index = 0; index < body.count; index += 1) {
    const op = body.op[index];
    switch (op) {
      case OP.try:
      case OP.tryTable:
      case OP.block:
      case OP.loop:
      case OP.if:
        hasExceptions ||= op === OP.try || op === OP.tryTable;
        open.push({ opener: index, isTry: op === OP.try, inBody: true });
        break;
      case OP.catch:
      case OP.catchAll:
        open[open.length - 1].inBody = false;
        break;
      case OP.delegate:
        open.pop();
        delegateTargets.add(target(body.a[index]));
        break;
      case OP.end:
        open.pop();
        break;
      case OP.rethrow:
        rethrown.add(open[open.length - 1 - body.a[index]].opener);
        break;
      case OP.throwRef:
        hasExceptions = true;
        break;
      case OP.drop:
      case OP.select:
      case OP.selectTyped:
      case OP.refIsNull:
      case OP.refNull:
        hasExceptions ||= body.b[index] === EXNREF || body.a[index] === EXNREF;
        break;
      default:
    }
  }
  return { hasExceptions, rethrown, delegateTargets };
}

const EXNREF = 0x69;
