import { malformed, refused, tooLarge } from './errors.ts';
import { LIMIT, type ParsedModule } from './module.ts';
import { parseData, parseDataCount, parseElements } from './parse-segments.ts';
import {
  parseBodies,
  parseExports,
  parseFunctions,
  parseGlobals,
  parseImports,
  parseMemories,
  parseStart,
  parseTables,
  parseTags,
  parseTypes,
} from './parse-sections.ts';
import { ByteReader } from './reader.ts';

type SectionParser = (reader: ByteReader, module: ParsedModule) => void;

const PARSERS: readonly (SectionParser | null)[] = [
  null,
  parseTypes,
  parseImports,
  parseFunctions,
  parseTables,
  parseMemories,
  parseGlobals,
  parseExports,
  parseStart,
  parseElements,
  parseBodies,
  parseData,
  parseDataCount,
  parseTags,
];

/** Place of each section id in a module (core 3.0, 5.5.17): tag after memory, count before code. */
const SECTION_ORDER: readonly number[] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 11, 6];

/**
 * Takes a module apart. Throws `guest/malformed`, `guest/feature` or `guest/limit` with the byte
 * offset; ends in time linear in the input for any input. Function bodies are not looked into.
 */
export function parseModule(bytes: Uint8Array): ParsedModule {
  const reader = new ByteReader(bytes);
  readPreamble(reader);
  if (bytes.length > LIMIT.moduleBytes) throw tooLarge(0, 'bytes', LIMIT.moduleBytes);
  const offsets = new Map<number, number>();
  const module = emptyModule(bytes, offsets);
  let last = 0;
  let lastId = 0;
  while (reader.position < bytes.length) {
    const at = reader.position;
    const id = reader.byte();
    const size = reader.u32();
    const end = reader.position + size;
    if (end > bytes.length) throw malformed(at, `section ${id} is longer than the module`);
    reader.end = end;
    if (id === 0) {
      module.customs.push({ name: reader.name(), after: lastId, start: reader.position, end });
      reader.position = end;
    } else {
      const parser = PARSERS[id];
      if (!parser) throw malformed(at, `unknown section ${id}`);
      if (SECTION_ORDER[id] <= last) throw malformed(at, `section ${id} is out of order`);
      last = SECTION_ORDER[id];
      lastId = id;
      offsets.set(id, at);
      parser(reader, module);
      if (reader.position !== end)
        throw malformed(reader.position, `section ${id} has extra bytes`);
    }
    reader.end = bytes.length;
  }
  checkCounts(module);
  return module;
}

function readPreamble(reader: ByteReader): void {
  const head = [0x00, 0x61, 0x73, 0x6d];
  for (const expected of head) {
    if (reader.byte() !== expected) throw malformed(0, 'it does not begin with the magic number');
  }
  const version = reader.byte() | (reader.byte() << 8);
  const layer = reader.byte() | (reader.byte() << 8);
  if (layer === 1) {
    throw refused(4, 'a component where a core module is expected', 'load it as a component');
  }
  if (version !== 1 || layer !== 0) throw malformed(4, `unknown version ${version}`);
}

function emptyModule(bytes: Uint8Array, sectionOffsets: Map<number, number>): ParsedModule {
  return {
    bytes,
    types: [],
    imports: [],
    functions: [],
    importedFunctionCount: 0,
    tables: [],
    importedTableCount: 0,
    memories: [],
    importedMemoryCount: 0,
    globals: [],
    importedGlobalCount: 0,
    tags: [],
    importedTagCount: 0,
    exports: [],
    start: -1,
    elements: [],
    dataCount: -1,
    data: [],
    bodies: [],
    customs: [],
    sectionOffsets,
    countedOffsets: new Map(),
  };
}

function checkCounts(module: ParsedModule): void {
  const end = module.bytes.length;
  if (module.bodies.length !== module.functions.length - module.importedFunctionCount) {
    throw malformed(end, 'the numbers of functions and of bodies differ');
  }
  if (module.dataCount >= 0 && module.dataCount !== module.data.length) {
    throw malformed(end, 'the data count section and the data section differ');
  }
}
