import { EPOCH_SECONDS } from '../kernel/units.ts';
import { drawUniform, streamKey, type StreamKey } from '../kernel/draw.ts';
import { formatDatetime } from './datetime.ts';
import type { FieldValue, Row } from './value.ts';
import type { FieldDef, RecordWorldDef } from './world-def.ts';

/** Seeded times lie in the 20 days that end at the world's epoch (FH-4). */
export const SEED_WINDOW_SECONDS = 20 * 86_400;

/** Whole numbers and hundredths of seeded `int` and `float` fields are below this. */
const NUMBERS = 10_000;

/**
 * The first rows of each record. Each value is a draw of the world's seed on the stream
 * `record/<record>/<field>` with the row's id as ordinal: the same file and seed give the same
 * rows, and another field or record moves no other's values (FH-3, CR-60). Values fit their types
 * and mean nothing (FH-5).
 */
export function seededRows(def: RecordWorldDef): ReadonlyMap<string, readonly Row[]> {
  const counts = new Map(def.records.map(({ name, count }) => [name, count]));
  const rows = def.records.map(({ name, fields, count }) => {
    const keyed = fields.map((field) => ({
      field,
      key: streamKey(def.seed, `record/${name}/${field.name}`),
    }));
    const made = Array.from({ length: count }, (_, index): Row => {
      const row: Record<string, FieldValue> & { id: number } = { id: index + 1 };
      for (const { field, key } of keyed) row[field.name] = draw(field, key, index + 1, counts);
      return row;
    });
    return [name, made] as const;
  });
  return new Map(rows);
}

function draw(
  { name, type }: FieldDef,
  key: StreamKey,
  id: number,
  counts: ReadonlyMap<string, number>,
): FieldValue {
  switch (type.kind) {
    case 'str':
      return `${name}-${drawUniform(key, id, 1_000_000)}`;
    case 'int':
      return drawUniform(key, id, NUMBERS);
    case 'float':
      // A whole number over a hundred is the same double everywhere.
      return drawUniform(key, id, NUMBERS * 100) / 100;
    case 'bool':
      return drawUniform(key, id, 2) === 1;
    case 'datetime':
      return formatDatetime(EPOCH_SECONDS - 1 - drawUniform(key, id, SEED_WINDOW_SECONDS));
    case 'enum':
      return type.values[drawUniform(key, id, type.values.length)] ?? null;
    case 'ref': {
      const count = counts.get(type.record) ?? 0;
      return count === 0 ? null : drawUniform(key, id, count) + 1;
    }
  }
}
