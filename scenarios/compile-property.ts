import { historyPropertyFault, type PropertyDef, type Until } from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import { compileTemporal, type TemporalFields } from './compile-temporal.ts';
import type { PropertyFields } from './schema.ts';
import type { KeyPath } from './toml.ts';

/** The property that every scenario has: no guest ends by a trap. */
export const NO_TRAP = 'no-trap';

/** Makes the canonical properties, and the one that every scenario has. */
export function compileProperties(
  fields: readonly PropertyFields[],
  until: Until,
  context: CompileContext,
): PropertyDef[] {
  const seen = new Set<string>([NO_TRAP]);
  const properties = fields.flatMap((property, index): readonly PropertyDef[] => {
    const path = ['property', index];
    const { name } = property;
    context.displayName(name, [...path, 'name'], seen);
    if (isOverMoments(property)) {
      const def = compileTemporal(property, until, path, context);
      return def === null ? [] : [def];
    }
    const nodes = context.nodesOrAll(property.nodes, [...path, 'nodes']);
    if (property.kind === 'exit') return [{ kind: 'exit', name, nodes, code: property.code }];
    if (property.kind === 'serializable') {
      return [{ kind: 'serializable', name, nodes, stepsMax: property.steps }];
    }
    if (property.kind === 'linearizable') return [linearizable(property, nodes, path, context)];
    const { kind, console = '' } = property;
    checkPattern({ kind, console }, path, context);
    if (property.kind !== 'eventually') return [{ kind: property.kind, name, nodes, console }];
    for (const key of ['that', 'when'] as const) {
      if (property[key] === undefined) continue;
      context.fail('predicate', [...path, key], '"console" says already what must come');
    }
    return [{ kind: 'eventually', name, nodes, console, withinNs: property.within ?? null }];
  });
  return [...properties, { kind: 'no-trap', name: NO_TRAP }];
}

type Eventually = Extract<TemporalFields, { readonly kind: 'eventually' }> & {
  readonly console?: undefined;
};

/** Whether it is judged moment by moment. `eventually` has a short form for lines alone. */
function isOverMoments(
  property: PropertyFields,
): property is Exclude<TemporalFields, { readonly kind: 'eventually' }> | Eventually {
  switch (property.kind) {
    case 'eventually':
      return property.console === undefined;
    case 'always':
    case 'sometimes':
    case 'reachable':
    case 'unreachable':
    case 'after_quiescence':
      return true;
    default:
      return false;
  }
}

function linearizable(
  property: Extract<PropertyFields, { kind: 'linearizable' }>,
  nodes: readonly number[],
  path: KeyPath,
  context: CompileContext,
): PropertyDef {
  const { name, model, steps: stepsMax } = property;
  const initial = property.initial ?? null;
  const def = { kind: 'linearizable', name, nodes, model, initial, stepsMax } as const;
  const fault = historyPropertyFault(def);
  if (fault !== null) context.fail('history', [...path, fault.field], fault.why);
  return def;
}

function checkPattern(
  property: { readonly kind: PropertyFields['kind']; readonly console: string },
  path: KeyPath,
  context: CompileContext,
): void {
  const { kind, console } = property;
  const starsLeast = kind === 'agree' ? 2 : kind === 'unique' ? 1 : 0;
  const stars = console.split('*').length - 1;
  const place = [...path, 'console'];
  if (console === '') context.fail('pattern', place, 'an empty pattern matches every line');
  if (stars < starsLeast) {
    const why = `"${kind}" compares what the signs * take: it needs at least ${starsLeast}`;
    context.fail('pattern', place, why);
  }
  if (console.length > 1_000) context.fail('limit', place, 'it is longer than 1000 characters');
}
