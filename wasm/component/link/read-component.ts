import { malformed } from '../../binary/errors.ts';
import { ByteReader } from '../../binary/reader.ts';
import type {
  ComponentDefinition,
  ComponentInstance,
  CoreInstance,
  CoreItem,
  Entity,
} from './entities.ts';
import { readCanon } from './read-canon.ts';
import { readDescription, readExternName } from './read-declarations.ts';
import { readTypeDefinition } from './read-types.ts';
import { Scope, at, unsupported } from './scope.ts';

const PREAMBLE = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];

/** Whether the bytes begin as a component does: magic number, version 13, layer 1. */
export function isComponent(bytes: Uint8Array): boolean {
  return PREAMBLE.every((byte, index) => bytes[index] === byte);
}

/**
 * Works through the sections of a component. For the outermost one `args` is null and its imports
 * are the host's; a nested one is instantiated with what its parent gives.
 */
export function readComponent(
  reader: ByteReader,
  scope: Scope,
  args: ReadonlyMap<string, Entity> | null,
): ComponentInstance {
  const start = reader.position;
  for (const byte of PREAMBLE) {
    if (reader.byte() !== byte) throw malformed(start, 'it does not begin as a component');
  }
  const end = reader.end;
  while (reader.position < end) {
    const offset = reader.position;
    const id = reader.byte();
    const size = reader.u32();
    if (size > end - reader.position) throw malformed(offset, `section ${id} is too long`);
    const sectionEnd = reader.position + size;
    const section = new ByteReader(reader.bytes, reader.position, sectionEnd);
    readSection(section, id, scope, args);
    if (section.position !== sectionEnd) {
      throw malformed(section.position, `section ${id} has extra bytes`);
    }
    reader.position = sectionEnd;
  }
  return { exports: scope.exports };
}

/** Reads one section; the ids are those of Binary.md, `section`. */
function readSection(
  reader: ByteReader,
  id: number,
  scope: Scope,
  args: ReadonlyMap<string, Entity> | null,
): void {
  const offset = reader.position;
  switch (id) {
    case 0: // custom
    case 3: // core types: only imports of core modules, which are refused, would use them
      reader.position = reader.end;
      return;
    case 1:
      scope.coreModules.push({ start: reader.position, end: reader.end });
      reader.position = reader.end;
      return;
    case 2:
      each(reader, scope, () => scope.coreInstances.push(readCoreInstance(reader, scope)));
      return;
    case 4:
      scope.components.push({ range: { start: reader.position, end: reader.end }, scope });
      reader.position = reader.end;
      return;
    case 5:
      each(reader, scope, () => scope.instances.push(readInstance(reader, scope)));
      return;
    case 6:
      each(reader, scope, () => readAlias(reader, scope));
      return;
    case 7:
      each(reader, scope, () => scope.types.push(readTypeDefinition(reader, scope)));
      return;
    case 8:
      each(reader, scope, () => readCanon(reader, scope));
      return;
    case 9:
      throw unsupported(offset, 'the start function of a component');
    case 10:
      each(reader, scope, () => readImport(reader, scope, args));
      return;
    case 11:
      each(reader, scope, () => readExport(reader, scope));
      return;
    case 12:
      throw unsupported(offset, 'values at the border of a component');
    default:
      throw malformed(offset, `unknown section ${id}`);
  }
}

function each(reader: ByteReader, scope: Scope, read: () => void): void {
  const count = reader.count();
  for (let index = 0; index < count; index++) {
    scope.state.define(reader.position);
    read();
  }
}

function readCoreInstance(reader: ByteReader, scope: Scope): CoreInstance {
  const offset = reader.position;
  const form = reader.byte();
  if (form === 0x00) {
    const range = at(scope.coreModules, reader.u32(), 'core module', offset);
    const args = new Map<string, CoreInstance>();
    const count = reader.count(3);
    for (let index = 0; index < count; index++) {
      const name = reader.name();
      if (reader.byte() !== 0x12) throw malformed(offset, 'an argument is not a core instance');
      args.set(name, at(scope.coreInstances, reader.u32(), 'core instance', offset));
    }
    return scope.state.instantiate(offset, { range, args });
  }
  if (form !== 0x01) throw malformed(offset, `unknown form of a core instance ${form}`);
  const items = new Map<string, CoreItem>();
  const count = reader.count(3);
  for (let index = 0; index < count; index++) {
    const name = reader.name();
    items.set(name, readCoreItem(reader, scope));
  }
  return { kind: 'bag', items };
}

function readCoreItem(reader: ByteReader, scope: Scope): CoreItem {
  const offset = reader.position;
  const space = coreSpace(scope, reader.byte(), offset);
  return at(space, reader.u32(), 'core item', offset);
}

/** The index space of a core sort (Binary.md, `core:sort`). */
function coreSpace(scope: Scope, sort: number, offset: number): CoreItem[] {
  switch (sort) {
    case 0x00:
      return scope.coreFunctions;
    case 0x01:
      return scope.coreTables;
    case 0x02:
      return scope.coreMemories;
    case 0x03:
      return scope.coreGlobals;
    default:
      throw unsupported(offset, `the core sort ${sort} in an instance`);
  }
}

function readInstance(reader: ByteReader, scope: Scope): ComponentInstance {
  const offset = reader.position;
  const form = reader.byte();
  if (form === 0x00) {
    const component = at(scope.components, reader.u32(), 'component', offset);
    const args = readArguments(reader, scope, () => reader.name());
    return instantiate(scope, component, args);
  }
  if (form !== 0x01) throw malformed(offset, `unknown form of an instance ${form}`);
  return { exports: readArguments(reader, scope, () => readExternName(reader)) };
}

function readArguments(
  reader: ByteReader,
  scope: Scope,
  readName: () => string,
): Map<string, Entity> {
  const args = new Map<string, Entity>();
  const count = reader.count(3);
  for (let index = 0; index < count; index++) {
    const name = readName();
    args.set(name, readEntity(reader, scope));
  }
  return args;
}

function instantiate(
  scope: Scope,
  component: ComponentDefinition,
  args: ReadonlyMap<string, Entity>,
): ComponentInstance {
  const { start, end } = component.range;
  // Depth grows with each instantiation within another, whatever scope the component stands in.
  const inner = new Scope(scope.state, component.scope as Scope, start, scope.depth + 1);
  return readComponent(new ByteReader(scope.state.bytes, start, end), inner, args);
}

/** A sort and an index (Binary.md, `sortidx`). */
function readEntity(reader: ByteReader, scope: Scope): Entity {
  const offset = reader.position;
  const sort = reader.byte();
  const core = sort === 0x00 ? reader.byte() : 0;
  return entityAt(scope, sort, core, reader.u32(), offset);
}

function entityAt(scope: Scope, sort: number, core: number, index: number, offset: number): Entity {
  switch (sort) {
    case 0x00:
      if (core !== 0x11) throw unsupported(offset, `the core sort ${core} outside of core code`);
      return { sort: 'module', value: at(scope.coreModules, index, 'core module', offset) };
    case 0x01:
      return { sort: 'function', value: at(scope.functions, index, 'function', offset) };
    case 0x03:
      return { sort: 'type', value: at(scope.types, index, 'type', offset) };
    case 0x04:
      return { sort: 'component', value: at(scope.components, index, 'component', offset) };
    case 0x05:
      return { sort: 'instance', value: at(scope.instances, index, 'instance', offset) };
    default:
      throw unsupported(offset, `the sort ${sort}`);
  }
}

function readAlias(reader: ByteReader, scope: Scope): void {
  const offset = reader.position;
  const sort = reader.byte();
  const core = sort === 0x00 ? reader.byte() : 0;
  const target = reader.byte();
  switch (target) {
    case 0x00: {
      const instance = at(scope.instances, reader.u32(), 'instance', offset);
      const name = reader.name();
      const entity = instance.exports.get(name);
      if (entity === undefined) throw malformed(offset, `there is no export ${name}`);
      scope.add(entity);
      return;
    }
    case 0x01: {
      const instance = at(scope.coreInstances, reader.u32(), 'core instance', offset);
      coreSpace(scope, core, offset).push(coreExport(instance, reader.name(), offset));
      return;
    }
    case 0x02: {
      const outer = scope.outer(reader.u32(), offset);
      scope.add(entityAt(outer, sort, core, reader.u32(), offset));
      return;
    }
    default:
      throw malformed(offset, `unknown target of an alias ${target}`);
  }
}

function coreExport(instance: CoreInstance, name: string, offset: number): CoreItem {
  if (instance.kind === 'module') return { kind: 'export', instance: instance.instance, name };
  const item = instance.items.get(name);
  if (item === undefined) throw malformed(offset, `there is no core export ${name}`);
  return item;
}

function readImport(
  reader: ByteReader,
  scope: Scope,
  args: ReadonlyMap<string, Entity> | null,
): void {
  const offset = reader.position;
  const name = readExternName(reader);
  const declared = readDescription(reader, scope, '', name);
  if (args === null) {
    scope.add(declared);
    return;
  }
  const given = args.get(name);
  if (given?.sort !== declared.sort) throw malformed(offset, `the argument ${name} is missing`);
  scope.add(given);
}

function readExport(reader: ByteReader, scope: Scope): void {
  const offset = reader.position;
  const name = readExternName(reader);
  const entity = readEntity(reader, scope);
  const ascribed = reader.byte();
  if (ascribed > 1) throw malformed(offset, `unknown form of an export ${ascribed}`);
  // The declared type can only hide parts of the entity, which its users then do not name.
  if (ascribed === 1) readDescription(reader, scope, '', name);
  scope.export(name, entity, offset);
}
