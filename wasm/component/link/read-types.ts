import { malformed, tooLarge } from '../../binary/errors.ts';
import type { ByteReader } from '../../binary/reader.ts';
import { functionType, type FunctionType } from '../abi/function.ts';
import { borrow, own, resource } from '../abi/handles.ts';
import { BOOL, CHAR, F32, F64, S16, S32, S64, S8, U16, U32, U64, U8 } from '../abi/primitives.ts';
import { flags, recordOf, tuple, type Member } from '../abi/products.ts';
import { BYTES, STRING, list } from '../abi/sequences.ts';
import { enumeration, option, result, variantOf, type Case } from '../abi/sums.ts';
import type { Type } from '../abi/type.ts';
import { readInstanceType, skipComponentType } from './read-declarations.ts';
import type { ResourceDefinition, TypeDefinition } from './entities.ts';
import { at, unsupported, type Scope } from './scope.ts';

import { TYPE_WEIGHT_MAX } from './scope.ts';

const PRIMITIVES: ReadonlyMap<number, Type<unknown>> = new Map<number, Type<unknown>>([
  [0x7f, BOOL],
  [0x7e, S8],
  [0x7d, U8],
  [0x7c, S16],
  [0x7b, U16],
  [0x7a, S32],
  [0x79, U32],
  [0x78, S64],
  [0x77, U64],
  [0x76, F32],
  [0x75, F64],
  [0x74, CHAR],
  [0x73, STRING],
]);

/** Reads a definition of the type section (Binary.md, `deftype`). */
export function readTypeDefinition(reader: ByteReader, scope: Scope): TypeDefinition {
  const offset = reader.position;
  scope.state.define(offset);
  const code = reader.byte();
  switch (code) {
    case 0x40:
      return { kind: 'function', type: readFunctionType(reader, scope) };
    case 0x43:
      throw unsupported(offset, 'async functions');
    case 0x41:
      skipComponentType(reader, scope);
      return { kind: 'component' };
    case 0x42: {
      const start = reader.position;
      readInstanceType(reader, scope, '');
      return { kind: 'instance', range: { start, end: reader.position }, scope };
    }
    case 0x3f:
      return { kind: 'resource', resource: readResource(reader, scope) };
    case 0x3e:
      throw unsupported(offset, 'resources with async destructors');
    default:
      return { kind: 'value', type: readDefinedValue(reader, scope, code, offset) };
  }
}

function readResource(reader: ByteReader, scope: Scope): ResourceDefinition {
  const offset = reader.position;
  if (reader.byte() !== 0x7f) throw malformed(offset, 'a resource is not represented by an i32');
  const name = `#${scope.state.resourceCount++}`;
  if (reader.byte() === 0) return { name, local: true, destructor: null };
  const destructor = at(scope.coreFunctions, reader.u32(), 'core function', offset);
  return { name, local: true, destructor };
}

function readFunctionType(reader: ByteReader, scope: Scope): FunctionType {
  const offset = reader.position;
  const params: Type<unknown>[] = [];
  const count = reader.count(2);
  for (let index = 0; index < count; index++) {
    readLabel(reader);
    params.push(readValueType(reader, scope));
  }
  const form = reader.byte();
  if (form > 1) throw malformed(offset, `unknown form of results ${form}`);
  if (form === 1 && reader.u32() !== 0) throw unsupported(offset, 'named results');
  const result = form === 0 ? readValueType(reader, scope) : null;
  scope.state.weigh([...params, result], offset);
  return functionType(params, result);
}

/** A type by index, or a primitive (Binary.md, `valtype`). */
export function readValueType(reader: ByteReader, scope: Scope): Type<unknown> {
  const offset = reader.position;
  const code = reader.s33();
  if (code < 0) return primitive(code & 0x7f, offset);
  const definition = at(scope.types, code, 'type', offset);
  if (definition.kind !== 'value') throw malformed(offset, `type ${code} is not a value's type`);
  return definition.type;
}

function primitive(code: number, offset: number): Type<unknown> {
  const type = PRIMITIVES.get(code);
  if (type === undefined) {
    if (code === 0x64) throw unsupported(offset, 'error-context');
    throw malformed(offset, `unknown type 0x${code.toString(16)}`);
  }
  return type;
}

function readDefinedValue(
  reader: ByteReader,
  scope: Scope,
  code: number,
  offset: number,
): Type<unknown> {
  switch (code) {
    case 0x72:
      return recordOf(readMembers(reader, scope));
    case 0x71:
      return variantOf(readCases(reader, scope));
    case 0x70: {
      const element = readWeighed(reader, scope, 1)[0];
      return element === U8 ? BYTES : list(element);
    }
    case 0x6f:
      return tuple(...readWeighed(reader, scope, nonEmpty(reader, 'a tuple')));
    case 0x6e: {
      const names = readLabels(reader, 'flags');
      if (names.length > 32) throw tooLarge(offset, 'flags', 32);
      return flags(names);
    }
    case 0x6d:
      return enumeration(readLabels(reader, 'an enum'));
    case 0x6b:
      return option(readWeighed(reader, scope, 1)[0]);
    case 0x6a:
      return readResult(reader, scope);
    case 0x69:
      return own(resource(readResourceUse(reader, scope).name));
    case 0x68:
      return borrow(resource(readResourceUse(reader, scope).name));
    case 0x67:
      throw unsupported(offset, 'lists of fixed length');
    case 0x66:
    case 0x65:
      throw unsupported(offset, 'streams and futures of the component model');
    default:
      return primitive(code, offset);
  }
}

/** Types one after another; together they must not be too large. */
function readWeighed(reader: ByteReader, scope: Scope, count: number): Type<unknown>[] {
  const offset = reader.position;
  const types = Array.from({ length: count }, () => readValueType(reader, scope));
  scope.state.weigh(types, offset);
  return types;
}

function readResult(reader: ByteReader, scope: Scope): Type<unknown> {
  const offset = reader.position;
  const ok = readOptionalType(reader, scope);
  const error = readOptionalType(reader, scope);
  scope.state.weigh([ok, error], offset);
  return result(ok, error);
}

function readResourceUse(reader: ByteReader, scope: Scope): ResourceDefinition {
  const offset = reader.position;
  const index = reader.u32();
  const definition = at(scope.types, index, 'type', offset);
  if (definition.kind !== 'resource') throw malformed(offset, `type ${index} is not a resource`);
  return definition.resource;
}

function readOptionalType(reader: ByteReader, scope: Scope): Type<unknown> | null {
  const offset = reader.position;
  const present = reader.byte();
  if (present > 1) throw malformed(offset, `unknown form of an optional type ${present}`);
  return present === 1 ? readValueType(reader, scope) : null;
}

function nonEmpty(reader: ByteReader, what: string): number {
  const offset = reader.position;
  const count = reader.count();
  if (count === 0) throw malformed(offset, `${what} without parts`);
  if (count > TYPE_WEIGHT_MAX) throw tooLarge(offset, 'parts in a type', TYPE_WEIGHT_MAX);
  return count;
}

const LABEL = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/i;

function readLabel(reader: ByteReader): string {
  const offset = reader.position;
  const label = reader.name();
  if (!LABEL.test(label)) throw malformed(offset, `"${label}" is not a label`);
  return label;
}

/** Labels are unique in their type. */
function readUnique(reader: ByteReader, seen: Set<string>): string {
  const offset = reader.position;
  const label = readLabel(reader);
  if (seen.has(label)) throw malformed(offset, `the label ${label} occurs twice`);
  seen.add(label);
  return label;
}

function readLabels(reader: ByteReader, what: string): string[] {
  const seen = new Set<string>();
  const count = nonEmpty(reader, what);
  for (let index = 0; index < count; index++) readUnique(reader, seen);
  return [...seen];
}

function readMembers(reader: ByteReader, scope: Scope): Member[] {
  const offset = reader.position;
  const seen = new Set<string>();
  const count = nonEmpty(reader, 'a record');
  const members: Member[] = [];
  for (let index = 0; index < count; index++) {
    const name = readUnique(reader, seen);
    members.push({ name, type: readValueType(reader, scope) });
  }
  scope.state.weigh(
    members.map((member) => member.type),
    offset,
  );
  return members;
}

function readCases(reader: ByteReader, scope: Scope): Case[] {
  const start = reader.position;
  const seen = new Set<string>();
  const count = nonEmpty(reader, 'a variant');
  const cases: Case[] = [];
  for (let index = 0; index < count; index++) {
    const name = readUnique(reader, seen);
    const type = readOptionalType(reader, scope);
    const offset = reader.position;
    if (reader.byte() !== 0) throw malformed(offset, 'a case refines another');
    cases.push({ name, type });
  }
  scope.state.weigh(
    cases.map((one) => one.type),
    start,
  );
  return cases;
}
