import type { Millionths, VirtualNs } from '../kernel/units.ts';

/** What a field holds. Records are flat: one-to-many is a record of its own with a `ref`. */
export type FieldType =
  | { readonly kind: 'str' | 'int' | 'float' | 'bool' | 'datetime' }
  | { readonly kind: 'enum'; readonly values: readonly string[] }
  /** The id of a row of that record. */
  | { readonly kind: 'ref'; readonly record: string };

/** The words that a world file may use for a type. */
export const FIELD_TYPE_WORDS =
  'str, int, float, bool, datetime, enum[a,b], ref[service.record]' as const;

export interface FieldDef {
  readonly name: string;
  readonly type: FieldType;
}

export interface RecordDef {
  readonly service: string;
  /** Unique over the whole world: it is the accessor (`world.orders`). */
  readonly name: string;
  readonly fields: readonly FieldDef[];
  /** How many rows stand there at the start. */
  readonly count: number;
}

export type OperationKind = 'get' | 'list' | 'create' | 'update' | 'delete' | 'custom';

export const OPERATION_KINDS: readonly OperationKind[] = [
  'get',
  'list',
  'create',
  'update',
  'delete',
  'custom',
];

export interface OperationDef {
  readonly service: string;
  /** Unique over the whole world: what clients call it. */
  readonly name: string;
  readonly kind: OperationKind;
  /** What clients may read about it. */
  readonly description: string;
  /** The record that it is about; empty for a custom one. */
  readonly record: string;
  /** Fields by which a `list` may be narrowed. */
  readonly filters: readonly string[];
  /** `module.function` of a custom one, else empty. */
  readonly handler: string;
  /** Arguments of a custom one. */
  readonly parameters: readonly ParameterDef[];
}

export interface ParameterDef extends FieldDef {
  readonly required: boolean;
}

/** What can be injected; the order is that of decisions. */
export const FAULT_KINDS = [
  'timeout',
  'http_500',
  'http_429',
  'not_found',
  'empty_result',
  'malformed_json',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface FaultRule {
  /** A call takes between these many milliseconds. */
  readonly latencyMs?: readonly [low: number, high: number];
  readonly errors?: Readonly<Partial<Record<FaultKind, Millionths>>>;
  readonly rateLimit?: { readonly calls: number; readonly perSeconds: number };
  /** Rows whose first datetime is younger than this are not found by get, update, delete. */
  readonly notFoundIfNewerThanNs?: VirtualNs;
}

/** Rules by `default` or `service.operation`. */
export type FaultProfile = Readonly<Record<string, FaultRule>>;

/** A world file, read: tables, the operations on them, and how they may fail. */
export interface RecordWorldDef {
  readonly name: string;
  readonly seed: number;
  readonly records: readonly RecordDef[];
  readonly operations: readonly OperationDef[];
  /** The file's own profile; it is used only where somebody asks for it. */
  readonly faults: FaultProfile | null;
}

/** Limits of a world. */
export const RECORDS_MAX = 256;
export const FIELDS_MAX = 256;
export const OPERATIONS_MAX = 1_024;
/** Rows that a record has at the start, and ever. */
export const SEED_ROWS_MAX = 100_000;
export const ROWS_MAX = 1_000_000;
/** Characters of a text in a row. */
export const TEXT_LENGTH_MAX = 65_536;

/** Attributes of a world, which no record may be called like. */
export const WORLD_ATTRIBUTES: readonly string[] = [
  'name',
  'table',
  'tables',
  'snapshot',
  'diff',
  'revision',
  'clock',
  'constructor',
  'prototype',
  '__proto__',
  'toString',
  'valueOf',
  'hasOwnProperty',
];
