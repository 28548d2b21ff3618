import { NUMBER_TYPES, sameTypes, type Features, type ModuleContext } from './body-builder.ts';
import { i32Const, littleEndian, randomConst } from './constants.ts';
import { unsigned } from './encode.ts';
import { fromOpcode, plain } from './instructions.ts';
import type {
  DataModel,
  DefinedFunction,
  ElementModel,
  FunctionShape,
  GlobalModel,
  ImportedFunction,
  Instruction,
  ModuleModel,
  TableModel,
} from './model.ts';
import { MEMORY_OPCODES, type ValueType } from './opcodes.ts';
import { randomFunction } from './random-body.ts';
import { Draws } from './random-source.ts';

/** Where the exported `dump` writes the globals: the last 4 KiB of the first 64 KiB. */
export const DUMP_ADDRESS = 0xf000;
/** Export that sets the budget of the guards. */
export const RESET_EXPORT = 'reset';
/** Export that writes the globals to memory. */
export const DUMP_EXPORT = 'dump';
/** Value of the budget at instantiation: what a start function may use. */
const BUDGET_START = 25;

class TypeTable {
  readonly shapes: FunctionShape[] = [];

  index(shape: FunctionShape): number {
    const found = this.shapes.findIndex(
      ({ params, results }) => sameTypes(params, shape.params) && sameTypes(results, shape.results),
    );
    if (found >= 0) return found;
    this.shapes.push({ params: [...shape.params], results: [...shape.results] });
    return this.shapes.length - 1;
  }
}

function randomTypes(draws: Draws, pool: readonly ValueType[], countMax: number): ValueType[] {
  return Array.from({ length: draws.below(countMax + 1) }, () => draws.pick(pool));
}

/** Functions of the host: no vectors, which JavaScript can't pass. */
function randomImports(draws: Draws, features: Features, types: TypeTable): ImportedFunction[] {
  const pool: ValueType[] = [...NUMBER_TYPES];
  if (features.liveReferences) pool.push('externref', 'funcref');
  return Array.from({ length: 2 + draws.below(4) }, (_, index) => {
    const params = randomTypes(draws, pool, 3);
    const results = draws.chance(15)
      ? [draws.pick(NUMBER_TYPES), draws.pick(pool)]
      : randomTypes(draws, pool, 1);
    const blocking = index === 0 || draws.chance(50);
    return {
      name: `${blocking ? 'block' : 'plain'}${index}`,
      type: types.index({ params, results }),
      blocking,
    };
  });
}

function randomGlobals(draws: Draws, features: Features): GlobalModel[] {
  const pool: ValueType[] = [...NUMBER_TYPES, 'funcref', 'externref'];
  if (features.simd) pool.push('v128');
  const globals: GlobalModel[] = [
    { type: 'i32', mutable: true, init: i32Const(BUDGET_START).bytes },
  ];
  const count = 2 + draws.below(7);
  for (let index = 0; index < count; index += 1) {
    const type = draws.pick(pool);
    globals.push({ type, mutable: draws.chance(85), init: randomConst(draws, type).bytes });
  }
  return globals;
}

function randomTables(draws: Draws): TableModel[] {
  const tables: TableModel[] = [];
  const count = 1 + draws.below(3);
  for (let index = 0; index < count; index += 1) {
    const min = 4 + draws.below(12);
    const type = index > 0 && draws.chance(50) ? 'externref' : 'funcref';
    tables.push({ type, min, max: min + draws.below(8) });
  }
  return tables;
}

function randomElements(
  draws: Draws,
  tables: readonly TableModel[],
  callableCount: number,
): ElementModel[] {
  const some = (count: number, holes: boolean): (number | null)[] =>
    Array.from({ length: count }, () =>
      holes && draws.chance(20) ? null : draws.below(callableCount),
    );
  const elements: ElementModel[] = [];
  tables.forEach(({ type, min }, table) => {
    if (type !== 'funcref') return;
    const count = 1 + draws.below(min - 1);
    elements.push({
      mode: 'active',
      table,
      offset: draws.below(min - count + 1),
      functions: some(count, draws.chance(30)),
    });
  });
  if (draws.chance(60)) {
    elements.push({ mode: 'passive', table: 0, offset: 0, functions: some(3, draws.chance(30)) });
  }
  const all = Array.from({ length: callableCount }, (_, index) => index);
  elements.push({ mode: 'declared', table: 0, offset: 0, functions: all });
  return elements;
}

function randomData(draws: Draws): DataModel[] {
  const bytes = (count: number) => Array.from({ length: count }, () => draws.below(256));
  const data: DataModel[] = [];
  const count = draws.below(4);
  for (let index = 0; index < count; index += 1) {
    data.push({
      mode: draws.chance(50) ? 'active' : 'passive',
      offset: draws.pick([0, 100, 4090, 8000]),
      bytes: bytes(8 + draws.below(40)),
    });
  }
  return data;
}

/** `reset(n)`: the budget becomes n. */
function resetFunction(type: number): DefinedFunction {
  const body = [
    plain('local.get', [0x20, 0], [], ['i32']),
    plain('global.set', [0x24, 0], ['i32'], []),
  ];
  return { type, locals: [], body, guarded: false, exportName: RESET_EXPORT };
}

/** `dump()`: every global that has bits goes to memory, 16 bytes each. */
function dumpFunction(type: number, globals: readonly GlobalModel[]): DefinedFunction {
  const stores: Partial<Record<ValueType, string>> = {
    i32: 'i32.store',
    i64: 'i64.store',
    f32: 'f32.store',
    f64: 'f64.store',
    v128: 'v128.store',
  };
  const body: Instruction[] = [];
  globals.forEach((global, index) => {
    const store = MEMORY_OPCODES.find(({ name }) => name === stores[global.type]);
    if (store === undefined) return;
    body.push(i32Const(DUMP_ADDRESS + 16 * index));
    body.push(plain('global.get', [0x23, ...unsigned(index)], [], [global.type]));
    body.push(fromOpcode(store, [0, 0]));
  });
  return { type, locals: [], body, guarded: false, exportName: DUMP_EXPORT };
}

function randomShapes(draws: Draws, features: Features): FunctionShape[] {
  const pool: ValueType[] = [...NUMBER_TYPES, 'i32'];
  if (features.simd) pool.push('v128');
  if (features.liveReferences) pool.push('funcref', 'externref');
  return Array.from({ length: 3 + draws.below(5) }, () => ({
    params: randomTypes(draws, pool, 4),
    results: draws.chance(20) ? randomTypes(draws, pool, 4) : randomTypes(draws, pool, 1),
  }));
}

function isExportable({ params, results }: FunctionShape): boolean {
  return ![...params, ...results].includes('v128');
}

/** A random valid module that always ends; equal seeds and features give equal modules. */
export function randomModule(seed: number, features: Features): ModuleModel {
  const draws = new Draws(seed);
  const types = new TypeTable();
  const imports = randomImports(draws, features, types);
  const shapes = randomShapes(draws, features);
  const wantsStart = draws.chance(25);
  if (wantsStart) shapes.push({ params: [], results: [] });
  const functionShapes = [...imports.map(({ type }) => types.shapes[type]), ...shapes];
  const callableCount = functionShapes.length;
  const globals = randomGlobals(draws, features);
  const tables = randomTables(draws);
  const exceptions = features.legacyExceptions || features.exnref;
  const tags = exceptions
    ? Array.from({ length: 2 }, () => ({
        params: randomTypes(draws, NUMBER_TYPES, 2),
        results: [],
      }))
    : [];
  const elements = randomElements(draws, tables, callableCount);
  const data = randomData(draws);
  const context: ModuleContext = {
    features,
    draws,
    typeIndex: (shape) => types.index(shape),
    imports,
    functionShapes,
    callableCount,
    globals,
    tables,
    elements,
    dataCount: data.length,
    tags,
  };
  const functions = shapes.map((shape, index) =>
    randomFunction(context, {
      type: types.index(shape),
      shape,
      exportName: isExportable(shape) ? `f${index}` : null,
    }),
  );
  functions.push(resetFunction(types.index({ params: ['i32'], results: [] })));
  functions.push(dumpFunction(types.index({ params: [], results: [] }), globals));
  const max = draws.chance(80) ? 1 + draws.below(3) : null;
  return {
    types: types.shapes,
    imports,
    functions,
    tables,
    memory: { min: 1, max },
    globals,
    tags: tags.map((shape) => types.index(shape)),
    elements,
    data,
    start: wantsStart ? callableCount - 1 : null,
  };
}

/** Bits of a JavaScript argument for a parameter, as `call` of an export takes them. */
export function randomArgument(draws: Draws, type: ValueType): unknown {
  const constant = randomConst(draws, type).bytes;
  const view = new DataView(Uint8Array.from([...constant.slice(1), ...littleEndian(0n, 8)]).buffer);
  switch (type) {
    case 'i32':
      return draws.next() | 0;
    case 'i64':
      return (BigInt(draws.next()) << 32n) | BigInt(draws.next());
    case 'f32':
      return view.getFloat32(0, true);
    case 'f64':
      return view.getFloat64(0, true);
    default:
      return null;
  }
}
