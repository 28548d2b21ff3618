import {
  FAULT_KINDS,
  FIELDS_MAX,
  MILLION,
  mergeRules,
  OPERATIONS_MAX,
  RECORDS_MAX,
  WORLD_ATTRIBUTES,
  type FaultProfile,
  type FaultRule,
  type FieldDef,
  type OperationDef,
  type OperationKind,
  type ParameterDef,
  type RecordDef,
  type RecordWorldDef,
} from '../sim/index.ts';
import type { Issue } from './issues.ts';
import { didYouMean } from './suggest.ts';
import type { KeyPath } from './toml.ts';
import type {
  FaultProfileFields,
  OperationFields,
  ServiceFields,
  WorldFileFields,
} from './world-file-schema.ts';
import { readFieldType } from './world-file-types.ts';

/** Something wrong in a world file, and what to do about it. */
export interface WorldIssue extends Issue {
  readonly remedy: string;
}

/** Makes the definition of a world of what its file says; all issues come together. */
export class WorldFileCompiler {
  readonly issues: WorldIssue[] = [];
  private readonly fields: WorldFileFields;
  /** The service of each record. */
  private readonly services = new Map<string, string>();

  constructor(fields: WorldFileFields) {
    this.fields = fields;
  }

  compile(): RecordWorldDef {
    const services = Object.entries(this.fields.services);
    for (const [service, { records }] of services) this.declareRecords(service, records);
    const records = services.flatMap(([service, fields]) => this.records(service, fields));
    const operations = services.flatMap(([service, fields]) => {
      return this.operations(service, fields, records);
    });
    this.limit(records.length, RECORDS_MAX, 'records');
    this.limit(operations.length, OPERATIONS_MAX, 'operations');
    const { name, seed, faults } = this.fields;
    const world = { name, seed, records, operations, faults: null };
    if (faults === undefined) return world;
    return { ...world, faults: this.profile(faults, world, ['faults']) };
  }

  /** A profile for this world: its keys, and that no sum of probabilities is above one (FH-26). */
  profile(
    fields: FaultProfileFields,
    { operations }: Pick<RecordWorldDef, 'operations'>,
    path: KeyPath,
  ): FaultProfile {
    const keys = ['default', ...operations.map(({ service, name }) => `${service}.${name}`)];
    const profile: Record<string, FaultRule> = {};
    for (const [key, rule] of Object.entries(fields)) {
      if (!keys.includes(key)) {
        const why = `no operation is called "${key}"${didYouMean(key, keys)}`;
        this.fail('dangling', [...path, key], why, `write one of ${keys.join(', ')}`);
      }
      const [low, high] = rule.latency_ms ?? [0, 0];
      if (low > high) {
        const why = `the least latency ${low} is above the most, ${high}`;
        this.fail('range', [...path, key, 'latency_ms'], why, 'write [least, most]');
      }
      profile[key] = ruleOf(rule);
    }
    for (const key of Object.keys(fields)) this.checkSum(profile, key, path);
    return profile;
  }

  private checkSum(profile: FaultProfile, key: string, path: KeyPath): void {
    const { errors = {} } = mergeRules(profile, key);
    const sum = FAULT_KINDS.reduce((total, kind) => total + (errors[kind] ?? 0), 0);
    if (sum <= MILLION) return;
    const why = `the probabilities add up to ${sum / MILLION}, with those of "default"`;
    this.fail('range', [...path, key, 'errors'], why, 'at most one of them happens: keep to 1');
  }

  private declareRecords(service: string, records: ServiceFields['records']): void {
    for (const record of Object.keys(records)) {
      const path = ['services', service, 'records', record];
      const other = this.services.get(record);
      if (other !== undefined) {
        const why = `the record "${record}" stands in "${other}" already`;
        this.fail('duplicate', path, why, 'record names are unique over the whole world');
      }
      if (WORLD_ATTRIBUTES.includes(record)) {
        const why = `"${record}" is an attribute of every world`;
        this.fail('name', path, why, `choose another name than ${WORLD_ATTRIBUTES.join(', ')}`);
      }
      if (other === undefined) this.services.set(record, service);
    }
  }

  private records(service: string, { records, seed }: ServiceFields): RecordDef[] {
    const path = ['services', service];
    const counts = seed?.count;
    if (typeof counts === 'object') {
      for (const record of Object.keys(counts)) {
        if (Object.hasOwn(records, record)) continue;
        const why = `the service has no record "${record}"${didYouMean(record, Object.keys(records))}`;
        this.fail('dangling', [...path, 'seed', 'count', record], why, 'name a record of it');
      }
    }
    return Object.entries(records).map(([name, fields]) => {
      const place = [...path, 'records', name];
      const count = typeof counts === 'object' ? (counts[name] ?? 0) : (counts ?? 0);
      this.limit(Object.keys(fields).length, FIELDS_MAX, 'fields', place);
      const defs = Object.entries(fields).map(([field, type]) => {
        return this.field(field, type, [...place, field]);
      });
      return { service, name, fields: defs.flat(), count };
    });
  }

  private field(name: string, value: unknown, path: KeyPath): FieldDef[] {
    if (name === 'id') {
      const why = 'every record has an id already';
      this.fail('name', path, why, 'leave it out: ids are whole numbers from 1');
    }
    const read = readFieldType(value);
    if (!read.ok) {
      this.fail('value', path, read.why, read.remedy);
      return [];
    }
    if (read.type.kind === 'ref' && this.services.get(read.type.record) !== read.service) {
      const { record } = read.type;
      const known = [...this.services].map(([each, service]) => `${service}.${each}`);
      const meant = didYouMean(`${read.service}.${record}`, known);
      const why = `there is no record "${read.service}.${record}"${meant}`;
      this.fail('dangling', path, why, `the records are ${known.join(', ')}`);
    }
    return [{ name, type: read.type }];
  }

  private operations(
    service: string,
    { operations }: ServiceFields,
    records: readonly RecordDef[],
  ): OperationDef[] {
    return Object.entries(operations).map(([name, fields]) => {
      const path = ['services', service, 'operations', name];
      const twice = Object.entries(this.fields.services).filter(([, each]) => {
        return Object.hasOwn(each.operations, name);
      });
      if (twice.length > 1 && twice[0]?.[0] !== service) {
        const why = `the operation "${name}" stands in "${twice[0]?.[0] ?? ''}" already`;
        this.fail('duplicate', path, why, 'operation names are unique over the whole world');
      }
      const kind = fields.kind as OperationKind;
      const record = kind === 'custom' ? null : this.recordOf(fields, path, records);
      if (kind === 'custom') this.checkCustom(fields, path);
      else this.checkPlain(fields, path);
      this.checkFilters(fields, record, path);
      return {
        service,
        name,
        kind,
        description: fields.description ?? '',
        record: record?.name ?? '',
        filters: fields.filters,
        handler: fields.handler ?? '',
        parameters: this.parameters(fields, path),
      };
    });
  }

  private recordOf(
    { record, kind }: OperationFields,
    path: KeyPath,
    records: readonly RecordDef[],
  ): RecordDef | null {
    const names = records.map(({ name }) => name);
    if (record === undefined) {
      this.fail(
        'missing-key',
        path,
        `${kind} needs a record`,
        `write record: ${names[0] ?? 'name'}`,
      );
      return null;
    }
    const found = records.find(({ name }) => name === record.replace(/^.*\./, ''));
    if (found !== undefined) return found;
    const why = `there is no record "${record}"${didYouMean(record, names)}`;
    this.fail('dangling', [...path, 'record'], why, `the records are ${names.join(', ')}`);
    return null;
  }

  private checkCustom({ handler, record }: OperationFields, path: KeyPath): void {
    const form = 'write handler: module.function';
    if (handler === undefined) {
      this.fail('missing-key', path, 'a custom operation needs a handler', form);
    } else if (!/^[A-Za-z0-9_-]+\.[A-Za-z_][A-Za-z0-9_]*$/.test(handler)) {
      this.fail('value', [...path, 'handler'], `"${handler}" is no handler`, form);
    }
    if (record !== undefined) {
      const why = 'a custom operation is about the whole world';
      this.fail('value', [...path, 'record'], why, 'leave the record out');
    }
  }

  private checkPlain({ handler, parameters, kind }: OperationFields, path: KeyPath): void {
    const own = { handler, parameters };
    for (const key of ['handler', 'parameters'] as const) {
      if (own[key] === undefined) continue;
      const why = `an operation of kind ${kind} has no ${key}`;
      this.fail('value', [...path, key], why, 'leave it out, or write kind: custom');
    }
  }

  private checkFilters(
    { filters, kind }: OperationFields,
    record: RecordDef | null,
    path: KeyPath,
  ): void {
    if (kind !== 'list' && filters.length > 0) {
      const why = `an operation of kind ${kind} has no filters`;
      this.fail('value', [...path, 'filters'], why, 'only list has filters');
    }
    if (record === null) return;
    const names = record.fields.map(({ name }) => name);
    filters.forEach((filter, index) => {
      if (names.includes(filter)) return;
      const why = `${record.name} has no field "${filter}"${didYouMean(filter, names)}`;
      this.fail('dangling', [...path, 'filters', index], why, `its fields are ${names.join(', ')}`);
    });
  }

  /** `note: str?` may be left out; all others must stand. */
  private parameters({ parameters = {} }: OperationFields, path: KeyPath): ParameterDef[] {
    return Object.entries(parameters).flatMap(([name, value]) => {
      const isOptional = typeof value === 'string' && value.endsWith('?');
      const type = isOptional ? value.slice(0, -1) : value;
      const place = [...path, 'parameters', name];
      const read = readFieldType(type);
      if (!read.ok) {
        this.fail('value', place, read.why, read.remedy);
        return [];
      }
      if (read.type.kind === 'ref' && this.services.get(read.type.record) !== read.service) {
        const why = `there is no record "${read.service}.${read.type.record}"`;
        this.fail('dangling', place, why, 'write ref[service.record]');
      }
      return [{ name, type: read.type, required: !isOptional }];
    });
  }

  private limit(count: number, countMax: number, what: string, path: KeyPath = ['services']): void {
    if (count <= countMax) return;
    this.fail('limit', path, `${count} ${what} are above the limit ${countMax}`, 'split the world');
  }

  private fail(name: string, path: KeyPath, message: string, remedy: string): void {
    this.issues.push({ code: `scenario/${name}`, path, message, remedy });
  }
}

function ruleOf(fields: FaultProfileFields[string]): FaultRule {
  const { latency_ms: latencyMs, rate_limit: limit } = fields;
  const notFoundIfNewerThanNs = fields.not_found_if_newer_than;
  const errors = Object.fromEntries(
    Object.entries(fields.errors).filter((entry): entry is [string, number] => {
      return entry[1] !== undefined;
    }),
  );
  return {
    ...(latencyMs === undefined ? {} : { latencyMs }),
    errors,
    ...(limit === undefined
      ? {}
      : { rateLimit: { calls: limit.calls, perSeconds: limit.per_seconds } }),
    ...(notFoundIfNewerThanNs === undefined ? {} : { notFoundIfNewerThanNs }),
  };
}
