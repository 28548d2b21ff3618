import { temporalFault, type TemporalDef, type Until } from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import { compilePredicate } from './compile-predicate.ts';
import type { PropertyFields } from './schema.ts';
import type { KeyPath } from './toml.ts';

/** A property whose condition is a predicate. */
export type TemporalFields = Extract<PropertyFields, { readonly that?: unknown }>;

/** Makes a property over moments; null after an issue. */
export function compileTemporal(
  fields: TemporalFields,
  until: Until,
  path: KeyPath,
  context: CompileContext,
): TemporalDef | null {
  const { name, kind: operator } = fields;
  const known = context.issues.length;
  if (fields.that === undefined) {
    context.fail('missing-key', path, 'it has neither "that" nor "console": what must come');
    return null;
  }
  if ('nodes' in fields && fields.nodes !== undefined) {
    context.fail('predicate', [...path, 'nodes'], 'predicates name their nodes themselves');
  }
  const that = compilePredicate(fields.that, [...path, 'that'], context);
  const asked = 'when' in fields ? fields.when : undefined;
  const when = asked === undefined ? null : compilePredicate(asked, [...path, 'when'], context);
  if (that === null || (when === null && asked !== undefined)) return null;
  const withinNs = ('within' in fields ? fields.within : undefined) ?? null;
  const unreached = ('unreached' in fields ? fields.unreached : undefined) ?? 'warn';
  const def: TemporalDef = { kind: 'temporal', name, operator, that, when, withinNs, unreached };
  if (context.issues.length > known) return null;
  const fault = temporalFault(def, context.nodeNames.length, until);
  if (fault === null) return def;
  const keys = fault.field.split(/[.[\]]+/).filter((key) => key !== '');
  const place = keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key));
  const own = place[0] === 'operator' ? ['kind'] : place;
  context.fail('predicate', [...path, ...own], fault.why, fault.remedy);
  return null;
}
