import { assert } from '../kernel/assert.ts';
import type { HandlerArgs } from './handler.ts';
import type { RecordWorld } from './record-world.ts';
import { Refusal } from './refusal.ts';
import type { FieldType, OperationDef, ParameterDef, RecordWorldDef } from './world-def.ts';

const ID: ParameterDef = { name: 'id', type: { kind: 'int' }, required: true };

/** The arguments that an operation takes (FH-18). */
export function parametersOf(
  { records }: Pick<RecordWorldDef, 'records'>,
  operation: OperationDef,
): readonly ParameterDef[] {
  const record = records.find(({ name }) => name === operation.record);
  const fields = (record?.fields ?? []).map((field) => ({ ...field, required: false }));
  switch (operation.kind) {
    case 'get':
    case 'delete':
      return [ID];
    case 'update':
      return [ID, ...fields];
    case 'create':
      return fields;
    case 'list':
      return fields.filter(({ name }) => operation.filters.includes(name));
    case 'custom':
      return operation.parameters;
  }
}

/** A JSON schema as tools advertise it: enum values included (FH-12). */
export interface ToolSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required: string[];
  readonly additionalProperties: false;
}

/** What clients see of the arguments of an operation. */
export function toolSchema(parameters: readonly ParameterDef[]): ToolSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, type }) => [name, schemaOf(type)])),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  };
}

function schemaOf(type: FieldType): Readonly<Record<string, unknown>> {
  switch (type.kind) {
    case 'str':
      return { type: 'string' };
    case 'int':
      return { type: 'integer' };
    case 'float':
      return { type: 'number' };
    case 'bool':
      return { type: 'boolean' };
    case 'datetime':
      return { type: 'string', format: 'date-time' };
    case 'enum':
      return { type: 'string', enum: type.values };
    case 'ref':
      return { type: 'integer', description: `the id of one of ${type.record}` };
  }
}

/** Refuses arguments that the operation does not have, and says which it lacks. */
export function checkArguments(parameters: readonly ParameterDef[], args: HandlerArgs): void {
  for (const name of Object.keys(args)) {
    if (parameters.some((each) => each.name === name)) continue;
    const known = parameters.map((each) => each.name).join(', ');
    throw new Refusal(`unknown argument "${name}"; known: ${known || 'none'}`, 'invalid');
  }
  for (const { name, required } of parameters) {
    if (required && (args[name] === undefined || args[name] === null)) {
      throw new Refusal(`the argument "${name}" is missing`, 'invalid');
    }
  }
}

/** Runs an operation that is no custom one. */
export function runOperation(
  world: RecordWorld,
  operation: OperationDef,
  args: HandlerArgs,
): unknown {
  const table = world.table(operation.record);
  const { id, ...values } = args;
  switch (operation.kind) {
    case 'get':
      return table.get(id);
    case 'list':
      return table.where(given(args));
    case 'create':
      return table.insert(args);
    case 'update':
      return table.update(id, values);
    case 'delete':
      return table.delete(id);
    case 'custom':
      assert(false, 'a custom operation has a handler');
  }
}

/** An optional filter that was left out, or null, narrows nothing. */
function given(args: HandlerArgs): HandlerArgs {
  const entries = Object.entries(args);
  return Object.fromEntries(entries.filter(([, value]) => value !== null && value !== undefined));
}
