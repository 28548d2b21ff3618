import { i32Const } from './constants.ts';
import { unsigned } from './encode.ts';
import { plain } from './instructions.ts';
import { BodyBuilder, type ModuleContext } from './body-builder.ts';
import type { DefinedFunction, FunctionShape } from './model.ts';
import type { ValueType } from './opcodes.ts';
import {
  emitOnStack,
  emitStore,
  pushAddress,
  pushTableIndex,
  pushValue,
} from './random-operands.ts';
import {
  carriedTypes,
  emitAnyCall,
  emitConditionalBranch,
  emitStructured,
  emitTerminal,
  emitThrow,
  emitTry,
  emitTryTable,
} from './random-control.ts';

/** Nesting of blocks; validators and engines allow far more. */
const DEPTH_MAX = 9;

function settableType(body: BodyBuilder): ValueType {
  const { locals, draws } = body;
  return locals.length > 0 ? draws.pick(locals) : 'i32';
}

function emitLocalSet(body: BodyBuilder): void {
  const type = settableType(body);
  const local = body.localOf(type);
  if (local === null) return;
  if (!body.hasOnTop([type]) || body.draws.chance(60)) pushValue(body, type, 4);
  body.emit(plain('local.set', [0x21, ...unsigned(local)], [type], []));
}

function emitGlobalSet(body: BodyBuilder): void {
  const { draws, module } = body;
  const type = draws.pick(module.globals).type;
  const global = body.globalOf(type, true);
  if (global === null) return;
  pushValue(body, type, type.endsWith('ref') ? 1 : 3);
  body.emit(plain('global.set', [0x24, ...unsigned(global)], [type], []));
}

/** memory.copy, fill, init and data.drop; lengths are small, rarely out of bounds. */
function emitBulkMemory(body: BodyBuilder): void {
  const { draws, module } = body;
  const length = () => {
    if (draws.chance(97)) body.emit(i32Const(draws.pick([0, 1, 7, 16, 300, 4096, 5000])));
    else pushValue(body, 'i32', 2);
  };
  const kind = draws.pick(
    module.dataCount > 0 ? ['copy', 'fill', 'init', 'drop'] : ['copy', 'fill'],
  );
  const segment = module.dataCount > 0 ? draws.below(module.dataCount) : 0;
  if (kind === 'drop') {
    if (draws.chance(30)) body.emit(plain('data.drop', [0xfc, 9, segment], [], []));
    return;
  }
  pushAddress(body);
  if (kind === 'fill') pushValue(body, 'i32', 1);
  else if (kind === 'copy') pushAddress(body);
  else body.emit(i32Const(draws.below(8)));
  if (kind === 'init') body.emit(i32Const(draws.below(8)));
  else length();
  const code = { copy: [10, 0, 0], fill: [11, 0], init: [8, segment, 0] }[kind] ?? [];
  body.emit(plain(`memory.${kind}`, [0xfc, ...code], ['i32', 'i32', 'i32'], []));
}

/** table.set, copy, fill, init and elem.drop. */
function emitTableChange(body: BodyBuilder): void {
  const { draws, module } = body;
  const table = draws.below(module.tables.length);
  const { type, min } = module.tables[table];
  const same = module.tables.flatMap((other, index) => (other.type === type ? [index] : []));
  const small = () => {
    body.emit(i32Const(draws.below(Math.max(1, min - 2))));
  };
  const passive = module.elements.flatMap(({ mode }, index) => (mode === 'passive' ? [index] : []));
  switch (draws.below(6)) {
    case 0:
      small();
      small();
      body.emit(i32Const(draws.below(3)));
      body.emit(
        plain('table.copy', [0xfc, 14, table, draws.pick(same)], ['i32', 'i32', 'i32'], []),
      );
      break;
    case 1:
      small();
      body.push(type);
      body.emit(i32Const(draws.below(3)));
      body.emit(plain('table.fill', [0xfc, 17, table], ['i32', type, 'i32'], []));
      break;
    case 2:
      if (passive.length === 0 || type !== 'funcref') break;
      small();
      body.emit(i32Const(0));
      body.emit(i32Const(draws.below(3)));
      body.emit(
        plain('table.init', [0xfc, 12, draws.pick(passive), table], ['i32', 'i32', 'i32'], []),
      );
      break;
    case 3:
      if (passive.length === 0 || draws.chance(70)) break;
      body.emit(plain('elem.drop', [0xfc, 13, draws.pick(passive)], [], []));
      break;
    default:
      pushTableIndex(body, table);
      body.push(type);
      body.emit(plain('table.set', [0x26, table], ['i32', type], []));
      break;
  }
}

function emitDrop(body: BodyBuilder): void {
  if (body.height > 0) body.drop();
  else body.emit(plain('nop', [0x01], [], []));
}

/** One statement; what it leaves on the stack becomes operands below the next ones. */
function emitStatement(body: BodyBuilder): void {
  const { draws, module } = body;
  const { features } = module;
  const deep = body.frames.length >= DEPTH_MAX;
  const exceptions = module.tags.length > 0;
  const run = draws.weighted<() => void>([
    [
      16,
      () => {
        emitLocalSet(body);
      },
    ],
    [
      8,
      () => {
        emitGlobalSet(body);
      },
    ],
    [
      15,
      () => {
        emitStore(body);
      },
    ],
    [
      15,
      () => {
        pushValue(body, draws.pick(carriedTypes(body)), 4);
      },
    ],
    [
      8,
      () => {
        emitOnStack(body);
      },
    ],
    [
      6,
      () => {
        emitBulkMemory(body);
      },
    ],
    [
      6,
      () => {
        emitTableChange(body);
      },
    ],
    [
      18,
      () => {
        emitAnyCall(body);
      },
    ],
    [
      deep ? 0 : 22,
      () => {
        emitStructured(body, emitStatements);
      },
    ],
    [
      10,
      () => {
        emitConditionalBranch(body);
      },
    ],
    [
      3,
      () => {
        emitDrop(body);
      },
    ],
    [
      deep ? 1 : 3,
      () => {
        emitTerminal(body);
      },
    ],
    [
      features.legacyExceptions && !deep ? 9 : 0,
      () => {
        emitTry(body, emitStatements);
      },
    ],
    [
      features.exnref && !deep ? 9 : 0,
      () => {
        emitTryTable(body, emitStatements);
      },
    ],
    [
      exceptions ? 1 : 0,
      () => {
        emitThrow(body);
      },
    ],
  ]);
  run();
}

function emitStatements(body: BodyBuilder, count: number): void {
  for (let index = 0; index < count; index += 1) {
    body.allowance -= 1;
    if (body.allowance <= 0) return;
    // Dead code is worth a little of it: it must be typed and passed over correctly.
    if (body.frame.dead && body.draws.chance(75)) return;
    emitStatement(body);
  }
}

/** A random body for a function of that shape. */
export function randomFunction(
  module: ModuleContext,
  options: { type: number; shape: FunctionShape; exportName: string | null },
): DefinedFunction {
  const { draws, features } = module;
  const { type, shape, exportName } = options;
  const pool: ValueType[] = ['i32', 'i32', 'i64', 'f32', 'f64'];
  if (features.simd) pool.push('v128');
  if (features.liveReferences) pool.push('funcref', 'externref');
  const locals = Array.from({ length: draws.below(7) }, () => draws.pick(pool));
  const body = new BodyBuilder(module, { shape, locals, allowance: 12 + draws.below(60) });
  const instructions = body.function(() => {
    emitStatements(body, 2 + draws.below(8));
  });
  return { type, locals, body: instructions, guarded: true, exportName };
}
