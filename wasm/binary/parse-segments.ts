import { parseConstExpression } from './const-expression.ts';
import { malformed, tooLarge } from './errors.ts';
import { LIMIT, MODE, type ConstExpression, type ParsedModule } from './module.ts';
import { limitedCount, readReferenceType } from './parse-sections.ts';
import type { ByteReader } from './reader.ts';
import { TYPE, type ValueType } from './types.ts';

export function parseElements(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'element segments', LIMIT.segments);
  let total = 0;
  for (let index = 0; index < count; index += 1) {
    const at = reader.position;
    const flags = reader.u32();
    if (flags > 7) throw malformed(at, `unknown element segment flags ${flags}`);
    const mode = flags & 1 ? (flags & 2 ? MODE.declarative : MODE.passive) : MODE.active;
    const table = mode === MODE.active && flags & 2 ? reader.u32() : 0;
    if (mode === MODE.active && table >= module.tables.length) {
      throw malformed(at, `there is no table ${table}`);
    }
    const offset = mode === MODE.active ? parseConstExpression(reader, module, TYPE.i32) : null;
    const typed = (flags & 3) !== 0;
    const expressions = (flags & 4) !== 0;
    const type = readElementType(reader, typed, expressions);
    const size = reader.count();
    total += size;
    if (total > LIMIT.tableElements) throw tooLarge(at, 'table elements', LIMIT.tableElements);
    module.elements.push({
      mode,
      table,
      offset,
      type,
      functions: expressions ? null : readFunctions(reader, module, size),
      expressions: expressions ? readExpressions(reader, module, size, type) : null,
    });
  }
}

function readElementType(reader: ByteReader, typed: boolean, expressions: boolean): ValueType {
  if (!typed) return TYPE.funcref;
  if (expressions) return readReferenceType(reader);
  const at = reader.position;
  if (reader.byte() !== 0) throw malformed(at, 'unknown element kind');
  return TYPE.funcref;
}

function readFunctions(reader: ByteReader, module: ParsedModule, size: number): number[] {
  const functions: number[] = [];
  for (let item = 0; item < size; item += 1) {
    const at = reader.position;
    const index = reader.u32();
    if (index >= module.functions.length) throw malformed(at, `there is no function ${index}`);
    functions.push(index);
  }
  return functions;
}

function readExpressions(
  reader: ByteReader,
  module: ParsedModule,
  size: number,
  type: ValueType,
): ConstExpression[] {
  const expressions: ConstExpression[] = [];
  for (let item = 0; item < size; item += 1) {
    expressions.push(parseConstExpression(reader, module, type));
  }
  return expressions;
}

export function parseDataCount(reader: ByteReader, module: ParsedModule): void {
  module.dataCount = reader.u32();
}

export function parseData(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'data segments', LIMIT.segments);
  for (let index = 0; index < count; index += 1) {
    const at = reader.position;
    const flags = reader.u32();
    if (flags > 2) throw malformed(at, `unknown data segment flags ${flags}`);
    const mode = flags === 1 ? MODE.passive : MODE.active;
    if (flags === 2 && reader.u32() !== 0) throw malformed(at, 'a data segment names no memory');
    if (mode === MODE.active && module.memories.length === 0) {
      throw malformed(at, 'a data segment needs a memory');
    }
    const offset = mode === MODE.active ? parseConstExpression(reader, module, TYPE.i32) : null;
    const size = reader.u32();
    const start = reader.position;
    reader.skip(size);
    module.data.push({ mode, offset, content: { start, end: reader.position } });
  }
}
