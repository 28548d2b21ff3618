import { BodyDecoder } from '../binary/decode.ts';
import { refused } from '../binary/errors.ts';
import { KIND, type ParsedModule, type Range } from '../binary/module.ts';
import { functionType, TYPE, type FunctionType, type ValueType } from '../binary/types.ts';
import { ByteWriter } from '../binary/writer.ts';
import { ExceptionLowering } from './exception-lowering.ts';
import { ExceptionValues } from './exception-values.ts';

/** Types of a module to which more can be added. */
export class GrowingTypes {
  readonly list: FunctionType[];
  private readonly indexes = new Map<string, number>();

  constructor(types: readonly FunctionType[]) {
    this.list = [...types];
    types.forEach(({ key }, index) => {
      if (!this.indexes.has(key)) this.indexes.set(key, index);
    });
  }

  index(params: readonly ValueType[], results: readonly ValueType[]): number {
    const type = functionType(params, results);
    const known = this.indexes.get(type.key);
    if (known !== undefined) return known;
    this.indexes.set(type.key, this.list.length);
    this.list.push(type);
    return this.list.length - 1;
  }
}

/**
 * Rewrites both encodings of exceptions into one: try_table with clauses that name a tag and a
 * label. Handlers become ordinary code behind it, `rethrow`, `delegate` and `throw_ref` become
 * throws of saved values, exnref becomes plain values. So a frame can be saved and entered again in
 * a body and in a handler like anywhere else, and engines without exnref run the result, as
 * try_table is emitted as the older try. The module is a new one; its bodies stand behind the input.
 */
export function lowerExceptions(module: ParsedModule): ParsedModule {
  refuseOutside(module);
  const values = new ExceptionValues(module);
  const types = new GrowingTypes(module.types.map((type) => values.expandType(type)));
  const writer = new ByteWriter(module.bytes.length * 2);
  writer.copy(module.bytes);
  const countedOffsets = new Map<number, ReadonlySet<number>>();
  const decoder = new BodyDecoder(module);
  const bodies: Range[] = module.bodies.map((range, at) => {
    const { type } = module.functions[module.importedFunctionCount + at];
    const body = decoder.decode(range, type, false);
    const lowering = new ExceptionLowering(module, body, { values, types });
    if (!lowering.isNeeded) return range;
    const start = writer.length;
    const { bytes, counted } = lowering.lower();
    writer.copy(bytes);
    countedOffsets.set(start, new Set(counted.map((offset) => start + offset)));
    return { start, end: writer.length };
  });
  const functions = module.functions.map(({ typeIndex }) => ({
    typeIndex,
    type: types.list[typeIndex],
  }));
  return { ...module, bytes: writer.view(), types: types.list, functions, bodies, countedOffsets };
}

/** An exnref may live in locals, operands and calls inside the module only. */
function refuseOutside(module: ParsedModule): void {
  const remedy = 'keep exception references in local variables';
  const at = (section: number): number => module.sectionOffsets.get(section) ?? 0;
  const isException = ({ type }: { type: ValueType }): boolean => type === TYPE.exnref;
  if (module.globals.some(isException)) throw refused(at(6), 'an exnref in a global', remedy);
  if (module.tables.some(isException)) throw refused(at(4), 'an exnref in a table', remedy);
  if (module.tags.some(({ params }) => params.includes(TYPE.exnref))) {
    throw refused(at(13), 'an exnref in a tag', remedy);
  }
  for (const { kind, index, start } of module.imports) {
    if (kind !== KIND.function) continue;
    const { params, results } = module.functions[index].type;
    if ([...params, ...results].includes(TYPE.exnref)) {
      throw refused(start, 'an exnref in an import', remedy);
    }
  }
}
