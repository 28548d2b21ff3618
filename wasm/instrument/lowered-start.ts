import { MODE, type ConstExpression, type ParsedModule } from '../binary/module.ts';
import { OP } from '../binary/opcodes.ts';
import { CodeWriter } from './code-writer.ts';
import { CONTROL, RESERVE_BYTES } from './layout.ts';
import { entryIndex, referenceIndex, type ModulePlan } from './module-plan.ts';

/**
 * Initialisers that not every engine evaluates (sums, module-defined globals; an offset that must be
 * raised by the reserve but is a global): they become code that runs first in `athanor:start`, in
 * the order of the specification (core 3.0, 4.5.4): globals, tables, memory.
 */
export interface Lowered {
  /** Globals that get a zero first and their value in the start code. */
  readonly globals: ReadonlySet<number>;
  /** Segments that become passive. */
  readonly elements: ReadonlySet<number>;
  readonly data: ReadonlySet<number>;
}

export function findLowered(module: ParsedModule): Lowered {
  const globals = new Set<number>();
  const elements = new Set<number>();
  const data = new Set<number>();
  module.globals.forEach(({ init }, index) => {
    if (init !== null && (init.extended || readsLowered(init, globals))) globals.add(index);
  });
  module.elements.forEach((segment, index) => {
    const { offset } = segment;
    if (offset !== null && (offset.extended || readsLowered(offset, globals))) elements.add(index);
  });
  module.data.forEach(({ offset }, index) => {
    if (offset !== null && !isPlainConst(offset)) data.add(index);
  });
  return { globals, elements, data };
}

export function isEmpty(lowered: Lowered): boolean {
  return lowered.globals.size + lowered.elements.size + lowered.data.size === 0;
}

function isPlainConst(expression: ConstExpression): boolean {
  return expression.instructions.length === 1 && expression.instructions[0].op === OP.i32Const;
}

function readsLowered(expression: ConstExpression, globals: ReadonlySet<number>): boolean {
  return expression.instructions.some(({ op, a }) => op === OP.globalGet && globals.has(a));
}

/** Writes a constant expression's instructions, function indexes mapped. */
export function writeConst(code: CodeWriter, plan: ModulePlan, expression: ConstExpression): void {
  for (const { op, a, start, end } of expression.instructions) {
    if (op === OP.refFunc) code.opIndex(op, referenceIndex(plan, a));
    else code.copy(plan.module.bytes, start, end);
  }
}

const REWINDING = 2;

/** The body of `athanor:start` before wrapping: lowered initialisers, then the guest's start. */
export function buildStart(plan: ModulePlan, lowered: Lowered): Uint8Array {
  const { module } = plan;
  const code = new CodeWriter(256);
  code.u32(0);
  // A start function that was suspended is entered again; what came before it is done.
  code.block();
  code.loadControl(CONTROL.state);
  code.i32Const(REWINDING);
  code.byte(OP.i32Eq);
  code.brIf(0);
  for (const index of lowered.globals) {
    const { init } = module.globals[index];
    if (init === null) continue;
    writeConst(code, plan, init);
    code.opIndex(OP.globalSet, index);
  }
  for (const index of lowered.elements) {
    const { offset, functions, expressions, table } = module.elements[index];
    if (offset === null) continue;
    writeConst(code, plan, offset);
    code.i32Const(0);
    code.i32Const((functions ?? expressions ?? []).length);
    code.op(OP.tableInit);
    code.u32(index);
    code.u32(table);
    code.opIndex(OP.elemDrop, index);
  }
  for (const index of lowered.data) {
    const { offset, content } = module.data[index];
    if (offset === null) continue;
    // An address that wraps around becomes one that is out of bounds, as in buildFill.
    code.i32Const(-1);
    writeConst(code, plan, offset);
    code.i32Const(RESERVE_BYTES);
    code.byte(OP.i32Add);
    writeConst(code, plan, offset);
    code.i32Const((0xffffffff - RESERVE_BYTES) | 0);
    code.byte(OP.i32GtU);
    code.byte(OP.select);
    code.i32Const(0);
    code.i32Const(content.end - content.start);
    code.op(OP.memoryInit);
    code.u32(index);
    code.byte(0);
    code.opIndex(OP.dataDrop, index);
  }
  code.end();
  if (module.start >= 0) code.call(entryIndex(plan, module.start));
  code.end();
  return code.view();
}

/** Modes in the output: lowered segments are passive. */
export function outputMode(mode: number, lowered: boolean): number {
  return lowered ? MODE.passive : mode;
}
