import { malformed } from '../../binary/errors.ts';
import { ByteReader } from '../../binary/reader.ts';
import type { ComponentInstance, Entity, TypeDefinition } from './entities.ts';
import { readTypeDefinition } from './read-types.ts';
import { at, unsupported, Scope } from './scope.ts';

/** What an import or an export of a type is: a declared shape (Binary.md, `externdesc`). */
export function readDescription(
  reader: ByteReader,
  scope: Scope,
  interfaceName: string,
  name: string,
): Entity {
  const offset = reader.position;
  const sort = reader.byte();
  switch (sort) {
    case 0x00:
      throw unsupported(offset, 'the import of a core module');
    case 0x01: {
      const definition = at(scope.types, reader.u32(), 'type', offset);
      if (definition.kind !== 'function') throw malformed(offset, 'not the type of a function');
      const { type } = definition;
      return { sort: 'function', value: { kind: 'imported', interfaceName, name, type } };
    }
    case 0x02:
      throw unsupported(offset, 'values at the border of a component');
    case 0x03:
      return { sort: 'type', value: readTypeBound(reader, scope, interfaceName, name) };
    case 0x04:
      throw unsupported(offset, 'the import of a component');
    case 0x05: {
      const definition = at(scope.types, reader.u32(), 'type', offset);
      if (definition.kind !== 'instance') throw malformed(offset, 'not the type of an instance');
      return { sort: 'instance', value: imagine(scope, definition, name) };
    }
    default:
      throw malformed(offset, `unknown sort ${sort}`);
  }
}

function readTypeBound(
  reader: ByteReader,
  scope: Scope,
  interfaceName: string,
  name: string,
): TypeDefinition {
  const offset = reader.position;
  const bound = reader.byte();
  if (bound === 0x00) return at(scope.types, reader.u32(), 'type', offset);
  if (bound !== 0x01) throw malformed(offset, `unknown bound of a type ${bound}`);
  const full = `${withoutVersion(interfaceName)}#${name}`;
  return { kind: 'resource', resource: { name: full, local: false, destructor: null } };
}

/** `wasi:io/streams@0.2.6` without its version. */
export function withoutVersion(name: string): string {
  const end = name.indexOf('@');
  return end < 0 ? name : name.slice(0, end);
}

/** An instance of an instance type as the import of that name: functions of the host. */
function imagine(
  scope: Scope,
  definition: Extract<TypeDefinition, { kind: 'instance' }>,
  interfaceName: string,
): ComponentInstance {
  const { start, end } = definition.range;
  const reader = new ByteReader(scope.state.bytes, start, end);
  return readInstanceType(reader, definition.scope as Scope, interfaceName);
}

/** Reads the declarations of an instance type; its resources are made anew, named after it. */
export function readInstanceType(
  reader: ByteReader,
  parent: Scope,
  interfaceName: string,
): ComponentInstance {
  const scope = new Scope(parent.state, parent, reader.position);
  const count = reader.count(2);
  for (let index = 0; index < count; index++) readDeclaration(reader, scope, interfaceName);
  return { exports: scope.exports };
}

/** Reads over a component type: only the import of a component would need it. */
export function skipComponentType(reader: ByteReader, parent: Scope): void {
  const scope = new Scope(parent.state, parent, reader.position);
  const count = reader.count(2);
  for (let index = 0; index < count; index++) {
    if (reader.bytes[reader.position] === 0x03) {
      reader.byte();
      const name = readExternName(reader);
      scope.add(readDescription(reader, scope, '', name));
    } else {
      readDeclaration(reader, scope, '');
    }
  }
}

function readDeclaration(reader: ByteReader, scope: Scope, interfaceName: string): void {
  const offset = reader.position;
  scope.state.define(offset);
  const form = reader.byte();
  switch (form) {
    case 0x00:
      throw unsupported(offset, 'core types in the type of an instance');
    case 0x01:
      scope.types.push(readTypeDefinition(reader, scope));
      return;
    case 0x02:
      readTypeAlias(reader, scope);
      return;
    case 0x04: {
      const name = readExternName(reader);
      scope.export(name, readDescription(reader, scope, interfaceName, name), offset);
      return;
    }
    default:
      throw malformed(offset, `unknown declaration ${form}`);
  }
}

/** Aliases in types can only name types: of an outer scope or of an instance's exports. */
function readTypeAlias(reader: ByteReader, scope: Scope): void {
  const offset = reader.position;
  const sort = reader.byte();
  if (sort !== 0x03) throw unsupported(offset, 'an alias in a type of something that is no type');
  const target = reader.byte();
  if (target === 0x02) {
    const outer = scope.outer(reader.u32(), offset);
    scope.types.push(at(outer.types, reader.u32(), 'type', offset));
    return;
  }
  if (target !== 0x00) throw malformed(offset, `unknown target of an alias ${target}`);
  const instance = at(scope.instances, reader.u32(), 'instance', offset);
  const entity = instance.exports.get(reader.name());
  if (entity?.sort !== 'type') throw malformed(offset, 'an alias names no type');
  scope.types.push(entity.value);
}

/** The name of an import or export (Binary.md, `importname'`). */
export function readExternName(reader: ByteReader): string {
  const offset = reader.position;
  const form = reader.byte();
  if (form > 0x01) throw unsupported(offset, 'names with attributes');
  return reader.name();
}
