import { parseConstExpression } from './const-expression.ts';
import { malformed, refused, tooLarge } from './errors.ts';
import { KIND, LIMIT, type Limits, type ParsedModule } from './module.ts';
import type { ByteReader } from './reader.ts';
import { TYPE, functionType, isReference, type FunctionType, type ValueType } from './types.ts';

/** Reads a vector's length and holds it against a limit. */
export function limitedCount(reader: ByteReader, what: string, limit: number): number {
  const at = reader.position;
  const count = reader.count();
  if (count > limit) throw tooLarge(at, what, limit);
  return count;
}

export function readValueType(reader: ByteReader): ValueType {
  const at = reader.position;
  const type = reader.byte();
  if (type >= TYPE.v128 && type <= TYPE.i32) return type;
  return checkReference(type, at);
}

export function readReferenceType(reader: ByteReader): ValueType {
  const at = reader.position;
  return checkReference(reader.byte(), at);
}

function checkReference(type: number, at: number): ValueType {
  if (isReference(type)) return type;
  if (type === 0x63 || type === 0x64 || (type >= 0x6a && type <= 0x74)) {
    throw refused(at, 'garbage-collected or typed references', 'build without that feature');
  }
  throw malformed(at, `unknown value type 0x${type.toString(16)}`);
}

export function parseTypes(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'types', LIMIT.types);
  for (let index = 0; index < count; index += 1) {
    const at = reader.position;
    const form = reader.byte();
    if (form === 0x5e || form === 0x5f || form === 0x50 || form === 0x4f || form === 0x4e) {
      throw refused(at, 'garbage-collected types', 'build without the gc feature');
    }
    if (form !== 0x60) throw malformed(at, `unknown type form 0x${form.toString(16)}`);
    const params = readTypes(reader, 'parameters', LIMIT.params);
    module.types.push(functionType(params, readTypes(reader, 'results', LIMIT.results)));
  }
}

function readTypes(reader: ByteReader, what: string, limit: number): ValueType[] {
  const count = limitedCount(reader, what, limit);
  const types: ValueType[] = [];
  for (let index = 0; index < count; index += 1) types.push(readValueType(reader));
  return types;
}

function readTypeIndex(reader: ByteReader, module: ParsedModule): number {
  const at = reader.position;
  const index = reader.u32();
  if (index >= module.types.length) throw malformed(at, `there is no type ${index}`);
  return index;
}

export function parseImports(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'imports', LIMIT.imports);
  for (let item = 0; item < count; item += 1) {
    const start = reader.position;
    const moduleName = reader.name();
    const name = reader.name();
    const at = reader.position;
    const kind = reader.byte();
    const index = readImportOf(reader, module, kind, at);
    module.imports.push({ module: moduleName, name, kind, index, start, end: reader.position });
  }
}

function readImportOf(reader: ByteReader, module: ParsedModule, kind: number, at: number): number {
  switch (kind) {
    case KIND.function: {
      const typeIndex = readTypeIndex(reader, module);
      module.functions.push({ typeIndex, type: module.types[typeIndex] });
      return module.importedFunctionCount++;
    }
    case KIND.table:
      readTable(reader, module);
      return module.importedTableCount++;
    case KIND.memory:
      readMemory(reader, module);
      return module.importedMemoryCount++;
    case KIND.global: {
      const type = readValueType(reader);
      module.globals.push({ type, mutable: readMutable(reader), init: null });
      return module.importedGlobalCount++;
    }
    case KIND.tag:
      module.tags.push(readTag(reader, module));
      return module.importedTagCount++;
    default:
      throw malformed(at, `unknown import kind ${kind}`);
  }
}

export function parseFunctions(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'functions', LIMIT.functions);
  for (let index = 0; index < count; index += 1) {
    const typeIndex = readTypeIndex(reader, module);
    module.functions.push({ typeIndex, type: module.types[typeIndex] });
  }
}

export function parseTables(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'tables', LIMIT.tables);
  for (let index = 0; index < count; index += 1) readTable(reader, module);
}

function readTable(reader: ByteReader, module: ParsedModule): void {
  const at = reader.position;
  if (reader.bytes[at] === 0x40) {
    throw refused(at, 'a table with an initialiser', 'build without typed references');
  }
  const type = readReferenceType(reader);
  const limits = readLimits(reader, 'a 64-bit table', 0xffffffff);
  if (limits.min > LIMIT.tableElements) throw tooLarge(at, 'table elements', LIMIT.tableElements);
  module.tables.push({ type, ...limits });
}

export function parseMemories(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'memories', 16);
  for (let index = 0; index < count; index += 1) readMemory(reader, module);
}

function readMemory(reader: ByteReader, module: ParsedModule): void {
  const at = reader.position;
  module.memories.push(readLimits(reader, 'a 64-bit memory', LIMIT.pages));
  if (module.memories.length > 1) {
    throw refused(at, 'more than one memory', 'build with a single memory');
  }
}

function readLimits(reader: ByteReader, wide: string, limit: number): Limits {
  const at = reader.position;
  const flags = reader.byte();
  if (flags & 4) throw refused(at, wide, 'build for wasm32');
  if (flags & 2) throw refused(at, 'shared memory and threads', 'build without threads');
  if (flags > 1) throw malformed(at, `unknown limits flags ${flags}`);
  const min = reader.u32();
  const max = flags & 1 ? reader.u32() : -1;
  if (min > limit || max > limit || (max >= 0 && max < min)) {
    throw malformed(at, `limits ${min} to ${max} are out of range`);
  }
  return { min, max };
}

function readMutable(reader: ByteReader): boolean {
  const at = reader.position;
  const mutable = reader.byte();
  if (mutable > 1) {
    if (mutable <= 3) throw refused(at, 'shared globals and threads', 'build without threads');
    throw malformed(at, `unknown mutability ${mutable}`);
  }
  return mutable === 1;
}

export function parseGlobals(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'globals', LIMIT.globals);
  for (let index = 0; index < count; index += 1) {
    const type = readValueType(reader);
    const mutable = readMutable(reader);
    const init = parseConstExpression(reader, module, type);
    module.globals.push({ type, mutable, init });
  }
}

export function parseTags(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'tags', LIMIT.tags);
  for (let index = 0; index < count; index += 1) module.tags.push(readTag(reader, module));
}

function readTag(reader: ByteReader, module: ParsedModule): FunctionType {
  const at = reader.position;
  if (reader.byte() !== 0) throw malformed(at, 'unknown tag attribute');
  const type = module.types[readTypeIndex(reader, module)];
  if (type.results.length > 0) throw malformed(at, 'a tag has results');
  return type;
}

export function parseExports(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'exports', LIMIT.exports);
  const seen = new Set<string>();
  for (let item = 0; item < count; item += 1) {
    const at = reader.position;
    const name = reader.name();
    if (seen.has(name)) throw malformed(at, 'an export name occurs twice');
    if (name.startsWith('athanor:')) {
      throw refused(
        at,
        `the export name ${name}`,
        'give the original module, not an instrumented one',
      );
    }
    seen.add(name);
    const kind = reader.byte();
    const index = reader.u32();
    if (index >= spaceSize(module, kind)) throw malformed(at, 'an export names nothing');
    module.exports.push({ name, kind, index });
  }
}

function spaceSize(module: ParsedModule, kind: number): number {
  switch (kind) {
    case KIND.function:
      return module.functions.length;
    case KIND.table:
      return module.tables.length;
    case KIND.memory:
      return module.memories.length;
    case KIND.global:
      return module.globals.length;
    case KIND.tag:
      return module.tags.length;
    default:
      return 0;
  }
}

export function parseStart(reader: ByteReader, module: ParsedModule): void {
  const at = reader.position;
  module.start = reader.u32();
  const entry = module.functions[module.start];
  if (!entry || entry.type.key !== '>') throw malformed(at, 'the start function is not () -> ()');
}

export function parseBodies(reader: ByteReader, module: ParsedModule): void {
  const count = limitedCount(reader, 'function bodies', LIMIT.functions);
  for (let index = 0; index < count; index += 1) {
    const at = reader.position;
    const size = reader.u32();
    if (size > LIMIT.bodyBytes) throw tooLarge(at, 'bytes in a function', LIMIT.bodyBytes);
    const start = reader.position;
    reader.skip(size);
    module.bodies.push({ start, end: reader.position });
  }
}
