import { malformed } from '../../binary/errors.ts';
import type { ByteReader } from '../../binary/reader.ts';
import type { StringEncoding } from '../abi/transfer.ts';
import type { CanonicalOptions, CoreItem, ResourceFunction } from './entities.ts';
import { at, unsupported, type Scope } from './scope.ts';

/** Reads a definition of the canon section (Binary.md, `canon`). */
export function readCanon(reader: ByteReader, scope: Scope): void {
  const offset = reader.position;
  const form = reader.byte();
  switch (form) {
    case 0x00: {
      skipZero(reader);
      const core = at(scope.coreFunctions, reader.u32(), 'core function', offset);
      const options = readOptions(reader, scope);
      const definition = at(scope.types, reader.u32(), 'type', offset);
      if (definition.kind !== 'function') throw malformed(offset, 'not the type of a function');
      scope.functions.push({ kind: 'lifted', core, options, type: definition.type });
      return;
    }
    case 0x01: {
      skipZero(reader);
      const func = at(scope.functions, reader.u32(), 'function', offset);
      const options = readOptions(reader, scope);
      if (func.kind === 'lifted') {
        throw unsupported(offset, 'a component that calls another (composition)');
      }
      scope.coreFunctions.push({ kind: 'lower', func, options, offset });
      return;
    }
    case 0x02:
      scope.coreFunctions.push(readResourceFunction(reader, scope, 'new'));
      return;
    case 0x03:
      scope.coreFunctions.push(readResourceFunction(reader, scope, 'drop'));
      return;
    case 0x04:
      scope.coreFunctions.push(readResourceFunction(reader, scope, 'rep'));
      return;
    default:
      throw unsupported(offset, `the built-in 0x${form.toString(16)} (async and threads)`);
  }
}

function skipZero(reader: ByteReader): void {
  const offset = reader.position;
  if (reader.byte() !== 0) throw malformed(offset, 'unknown form of a canonical definition');
}

function readResourceFunction(
  reader: ByteReader,
  scope: Scope,
  operation: 'new' | 'drop' | 'rep',
): ResourceFunction {
  const offset = reader.position;
  const definition = at(scope.types, reader.u32(), 'type', offset);
  if (definition.kind !== 'resource') throw malformed(offset, 'not the type of a resource');
  if (operation !== 'drop' && !definition.resource.local) {
    throw malformed(offset, `resource.${operation} of a resource that is imported`);
  }
  return { kind: 'resource', operation, resource: definition.resource, offset };
}

const ENCODINGS: readonly StringEncoding[] = ['utf8', 'utf16', 'latin1+utf16'];

/** Reads canonical options (Binary.md, `canonopt`). */
function readOptions(reader: ByteReader, scope: Scope): CanonicalOptions {
  let encoding: StringEncoding = 'utf8';
  let memory: CoreItem | null = null;
  let realloc: CoreItem | null = null;
  let postReturn: CoreItem | null = null;
  const count = reader.count();
  for (let index = 0; index < count; index++) {
    const offset = reader.position;
    const option = reader.byte();
    if (option <= 2) {
      encoding = ENCODINGS[option];
    } else if (option === 3) {
      memory = at(scope.coreMemories, reader.u32(), 'core memory', offset);
    } else if (option === 4) {
      realloc = at(scope.coreFunctions, reader.u32(), 'core function', offset);
    } else if (option === 5) {
      postReturn = at(scope.coreFunctions, reader.u32(), 'core function', offset);
    } else {
      throw unsupported(offset, 'async canonical options');
    }
  }
  return { encoding, memory, realloc, postReturn };
}
