import { parseDatetime } from './datetime.ts';
import { Refusal } from './refusal.ts';
import { TEXT_LENGTH_MAX, type FieldType } from './world-def.ts';

/** What a field of a row holds; null where nothing was given. */
export type FieldValue = string | number | boolean | null;

/** A row: read by attribute (`order.total`) or key (`order['total']`); it never changes. */
export type Row = Readonly<Record<string, FieldValue>> & { readonly id: number };

/** Checks a client's value; throws a Refusal that names the field and what is allowed. */
export function checkValue(
  type: FieldType,
  value: unknown,
  field: string,
  hasRow: (record: string, id: number) => boolean,
): FieldValue {
  if (value === null || value === undefined) return null;
  switch (type.kind) {
    case 'str':
      if (typeof value !== 'string') refuse(field, 'a text');
      if (value.length > TEXT_LENGTH_MAX) {
        refuse(field, `a text of at most ${TEXT_LENGTH_MAX} characters`);
      }
      return value;
    case 'int':
      if (typeof value !== 'number' || !Number.isSafeInteger(value))
        refuse(field, 'a whole number');
      return plain(value);
    case 'float':
      if (typeof value !== 'number' || !Number.isFinite(value)) refuse(field, 'a number');
      return plain(value);
    case 'bool':
      if (typeof value !== 'boolean') refuse(field, 'true or false');
      return value;
    case 'datetime':
      if (typeof value !== 'string' || parseDatetime(value) === null) {
        refuse(field, 'a time such as 2026-01-01T00:00:00Z');
      }
      return value;
    case 'enum':
      if (typeof value !== 'string' || !type.values.includes(value)) {
        refuse(field, `one of ${type.values.join(', ')}`);
      }
      return value;
    case 'ref':
      if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
        refuse(field, `the id of one of ${type.record}`);
      }
      if (!hasRow(type.record, value)) {
        throw new Refusal(`${field}: there is no ${type.record} with id ${value}`, 'not_found');
      }
      return value;
  }
}

/** -0 has no JSON of its own: it would come back as 0. */
function plain(value: number): number {
  return value === 0 ? 0 : value;
}

function refuse(field: string, expected: string): never {
  throw new Refusal(`${field}: expected ${expected}`, 'invalid');
}
