import type { ActionDef } from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import { compileFault, compileLinkFaults } from './compile-faults.ts';
import { compileHardware } from './compile-hardware.ts';
import { compileDiskAction } from './compile-disk.ts';
import type { EventFields } from './schema.ts';
import type { KeyPath } from './toml.ts';

/** What an event does, with nodes by index; null after an issue. */
export function compileAction(
  event: EventFields,
  path: KeyPath,
  context: CompileContext,
): ActionDef | null {
  switch (event.do) {
    case 'crash': {
      const oneOf = targets(event, path, context);
      return oneOf === null ? null : { kind: 'crash', oneOf };
    }
    case 'isolate': {
      const oneOf = targets(event, path, context);
      return oneOf === null ? null : { kind: 'isolate', oneOf, ...inFlight(event) };
    }
    case 'kill':
    case 'wipe':
    case 'interrupt':
    case 'slow':
    case 'stall':
    case 'upgrade':
    case 'clock':
      return compileFault(event, targets(event, path, context), path, context);
    case 'flip':
    case 'machine-check':
    case 'storm':
      return compileHardware(event, targets(event, path, context), path, context);
    case 'stick':
      return compileFault(event, null, path, context);
    case 'restart': {
      const everyCrashed = event.node === undefined && event.one_of === undefined;
      const oneOf = everyCrashed ? [] : targets(event, path, context);
      return oneOf === null ? null : { kind: 'restart', oneOf };
    }
    case 'pause': {
      const oneOf = targets(event, path, context);
      if (event.for === 0) context.fail('range', [...path, 'for'], 'a pause takes some time');
      return oneOf === null ? null : { kind: 'pause', oneOf, forNs: event.for };
    }
    case 'partition':
      return { ...partition(event.groups, [...path, 'groups'], context), ...inFlight(event) };
    case 'cut': {
      const from = context.nodeIndexes(event.from, [...path, 'from']);
      const to = context.nodeIndexes(event.to, [...path, 'to']);
      return { kind: 'cut', from, to, ...inFlight(event) };
    }
    case 'disk':
    case 'disk-heal':
      return compileDiskAction(event, path, context);
    case 'heal':
      return { kind: 'heal' };
    case 'degrade': {
      const named = event.nodes ?? [];
      const nodes = context.nodeIndexes(named, [...path, 'nodes']);
      const { loss, extra_latency: extraLatencyNs, bandwidth } = event;
      const faults = compileLinkFaults(event, {}, path, context);
      return {
        kind: 'degrade',
        nodes,
        loss,
        extraLatencyNs,
        ...(bandwidth === undefined ? {} : { bandwidth }),
        ...(Object.keys(faults).length === 0 ? {} : { faults }),
      };
    }
  }
}

/** A cut that loses what is in flight does not say so: that is what cuts do. */
function inFlight(event: { readonly in_flight: 'drop' | 'deliver' }): { inFlight?: 'deliver' } {
  return event.in_flight === 'deliver' ? { inFlight: 'deliver' } : {};
}

function targets(
  event: { readonly node?: string | undefined; readonly one_of?: readonly string[] | undefined },
  path: KeyPath,
  context: CompileContext,
): readonly number[] | null {
  if (event.node !== undefined && event.one_of === undefined) {
    const index = context.nodeIndex(event.node, [...path, 'node']);
    return index < 0 ? null : [index];
  }
  if (event.node === undefined && event.one_of !== undefined) {
    return context.nodeIndexes(event.one_of, [...path, 'one_of']);
  }
  context.fail('target', path, 'an action has either "node" or "one_of"');
  return null;
}

function partition(
  groups: readonly (readonly string[])[],
  path: KeyPath,
  context: CompileContext,
): Extract<ActionDef, { kind: 'partition' }> {
  const seen = new Set<number>();
  const indexed = groups.map((group, at) => {
    const indexes = context.nodeIndexes(group, [...path, at]);
    for (const index of indexes) {
      if (!seen.has(index)) continue;
      const name = context.nodeNames[index] ?? '';
      context.fail('duplicate', [...path, at], `"${name}" stands in two groups`);
    }
    for (const index of indexes) seen.add(index);
    return indexes;
  });
  indexed.sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
  return { kind: 'partition', groups: indexed };
}
