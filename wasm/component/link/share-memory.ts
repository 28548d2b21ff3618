import { ByteWriter } from '../../binary/writer.ts';
import { ByteReader } from '../../binary/reader.ts';
import { KIND, type ParsedModule } from '../../binary/module.ts';

/** The import under which every core module of a component gets the one memory. */
export const MEMORY_IMPORT = { module: 'athanor', name: 'memory' } as const;

const IMPORT_SECTION = 2;
const MEMORY_SECTION = 5;
const TYPE_SECTION = 1;

/**
 * Makes a module import its memory instead of defining it; a module without memory imports one of
 * any size. So all modules of a component share the memory and the state that lies in it. Function
 * and other indexes stay as they are, since there is at most one memory.
 */
export function shareMemory(module: ParsedModule): Uint8Array {
  if (module.importedMemoryCount > 0) return module.bytes;
  const { bytes } = module;
  const writer = new ByteWriter(bytes.length + 64);
  writer.copy(bytes, 0, 8);
  const reader = new ByteReader(bytes, 8);
  let placed = false;
  while (reader.position < bytes.length) {
    const start = reader.position;
    const id = reader.byte();
    const size = reader.u32();
    const from = reader.position;
    reader.skip(size);
    if (id === IMPORT_SECTION) {
      writeImports(writer, module, bytes.subarray(from, reader.position));
      placed = true;
      continue;
    }
    if (!placed && id > TYPE_SECTION) {
      writeImports(writer, module, null);
      placed = true;
    }
    if (id !== MEMORY_SECTION) writer.copy(bytes, start, reader.position);
  }
  if (!placed) writeImports(writer, module, null);
  return writer.view().slice();
}

/** Writes the import section again, with the memory as its last import. */
function writeImports(writer: ByteWriter, module: ParsedModule, old: Uint8Array | null): void {
  const section = new ByteWriter((old?.length ?? 0) + 64);
  section.u32(module.imports.length + 1);
  if (old !== null) {
    const reader = new ByteReader(old);
    reader.u32();
    section.copy(old, reader.position);
  }
  section.name(MEMORY_IMPORT.module);
  section.name(MEMORY_IMPORT.name);
  section.byte(KIND.memory);
  const own = module.memories.at(0);
  section.byte(own !== undefined && own.max >= 0 ? 1 : 0);
  section.u32(own?.min ?? 0);
  if (own !== undefined && own.max >= 0) section.u32(own.max);
  writer.byte(IMPORT_SECTION);
  writer.u32(section.length);
  writer.copy(section.view());
}
