import type { FunctionType, ValueType } from './types.ts';

/**
 * One function's live instructions as parallel arrays; instructions that can never run are left out.
 * The arrays are reused from function to function and grow by doubling.
 */
export class Body {
  count = 0;
  /** Types of parameters and locals. */
  locals: ValueType[] = [];
  paramCount = 0;
  type: FunctionType = { params: [], results: [], key: '>' };
  /** Offsets of the instructions that count as executed; null when all do. */
  counted: ReadonlySet<number> | null = null;
  /** Source range of the local declarations. */
  localsStart = 0;
  codeStart = 0;
  op = new Uint16Array(1024);
  /** Source range of each instruction. */
  start = new Uint32Array(1024);
  end = new Uint32Array(1024);
  a = new Int32Array(1024);
  /** Second immediate; of drop, select and ref.is_null the operand's type. */
  b = new Uint32Array(1024);
  /** block, loop, if, try: the next clause or end. else, catch: the same. end: the opener, or -1. */
  peer = new Int32Array(1024);
  /** Operand height before the instruction. */
  height = new Uint32Array(1024);
  /** Offset in `stackTypes` of the operand types before calls and loops, or -1. */
  snapshot = new Int32Array(1024);
  /** The instruction that takes this one's (single) result, or -1. */
  consumer = new Int32Array(1024);
  /** Stores: the instruction that made the address. */
  producer = new Int32Array(1024);
  /** Of jumps that were made shorter: units of the instructions that they pass over. */
  skipped = new Uint8Array(1024);
  /** Of block-like instructions: `a` is an index into this. */
  blockTypes: FunctionType[] = [];
  /** Labels of br_table and clauses of try_table: `a` is the first, `b` the count. */
  labels: number[] = [];
  stackTypes = new Uint8Array(4096);
  stackTypeCount = 0;
  /** Greatest operand height. */
  heightMax = 0;
  hasLoop = false;
  hasCall = false;
  hasTry = false;
  /** Deepest nesting of blocks. */
  nestingMax = 0;

  reset(): void {
    this.count = 0;
    this.locals = [];
    this.blockTypes = [];
    this.labels = [];
    this.stackTypeCount = 0;
    this.heightMax = 0;
    this.hasLoop = false;
    this.hasCall = false;
    this.hasTry = false;
    this.nestingMax = 0;
  }

  /** Makes room for one more instruction. */
  grow(): void {
    if (this.count < this.op.length) return;
    const size = this.op.length * 2;
    this.op = copyInto(new Uint16Array(size), this.op);
    this.start = copyInto(new Uint32Array(size), this.start);
    this.end = copyInto(new Uint32Array(size), this.end);
    this.a = copyInto(new Int32Array(size), this.a);
    this.b = copyInto(new Uint32Array(size), this.b);
    this.peer = copyInto(new Int32Array(size), this.peer);
    this.height = copyInto(new Uint32Array(size), this.height);
    this.snapshot = copyInto(new Int32Array(size), this.snapshot);
    this.consumer = copyInto(new Int32Array(size), this.consumer);
    this.producer = copyInto(new Int32Array(size), this.producer);
    this.skipped = copyInto(new Uint8Array(size), this.skipped);
  }

  blockType(index: number): FunctionType {
    return this.blockTypes[this.a[index]];
  }
}

function copyInto<T extends { set(source: T): void }>(target: T, source: T): T {
  target.set(source);
  return target;
}
