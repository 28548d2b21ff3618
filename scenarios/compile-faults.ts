import {
  type NodeActionDef,
  FAULT_FAMILIES,
  faultIssues,
  familyOf,
  type ActionDef,
  type ClockChangeDef,
  type EventDef,
  type FaultFamily,
  type LinkFaultsDef,
  type NodeClockDef,
  type PlanDef,
  type ScenarioDef,
  type TriggerDef,
} from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import { compilePredicate } from './compile-predicate.ts';
import type { EventFields, LinkFields, NodeFields, ScenarioFields } from './schema.ts';
import type { KeyPath } from './toml.ts';

const NS_PER_DAY = 86_400_000_000_000;
const NS_PER_SECOND = 1_000_000_000;

type LinkFaultFields = Pick<
  LinkFields,
  | 'burst'
  | 'duplicate'
  | 'duplicate_within'
  | 'reorder'
  | 'reorder_within'
  | 'corrupt'
  | 'corrupt_undetected'
  | 'queue'
  | 'red'
  | 'mtu'
  | 'oversize'
>;

/** What a link does to packets: its own keys, and `common` for those that it leaves out. */
export function compileLinkFaults(
  fields: LinkFaultFields,
  common: LinkFaultsDef,
  path: KeyPath,
  context: CompileContext,
): LinkFaultsDef {
  const { burst, duplicate, reorder, corrupt, queue, red, mtu } = fields;
  const undetected = fields.corrupt_undetected;
  const missing = (key: 'duplicate_within' | 'reorder_within' | 'oversize', of: string): void => {
    if (fields[key] === undefined) return;
    context.fail('fault', [...path, key], `it says nothing without "${of}"`);
  };
  if (duplicate === undefined) missing('duplicate_within', 'duplicate');
  if (reorder === undefined) missing('reorder_within', 'reorder');
  if (mtu === undefined) missing('oversize', 'mtu');
  if (reorder !== undefined && fields.reorder_within === undefined) {
    context.fail('fault', [...path, 'reorder'], 'it needs "reorder_within", by how much');
  }
  return {
    ...common,
    ...(burst === undefined ? {} : { burst }),
    ...(duplicate === undefined
      ? {}
      : { duplicate: { chance: duplicate, gapNs: fields.duplicate_within ?? 0 } }),
    ...(reorder === undefined
      ? {}
      : { reorder: { chance: reorder, windowNs: fields.reorder_within ?? 1 } }),
    ...(corrupt === undefined ? {} : { corrupt }),
    ...(undetected === undefined ? {} : { corruptUndetected: undetected }),
    ...(queue === undefined ? {} : { queueBytes: queue }),
    ...(red === undefined
      ? {}
      : { red: { fromBytes: red.from, toBytes: red.to, chance: red.chance } }),
    ...(mtu === undefined ? {} : { mtu: { bytes: mtu, oversize: fields.oversize ?? 'drop' } }),
  };
}

/** A node's clocks; nothing for clocks that are right. */
export function compileNodeClock({ clock }: NodeFields): { readonly clock?: NodeClockDef } {
  if (clock === undefined || (clock.offset === 0 && clock.drift === 0)) return {};
  return { clock: { offsetNs: clock.offset, driftPpm: clock.drift } };
}

/** What an event waits for and when it ends; nothing for one that has its time only. */
export function compileWhen(
  event: EventFields,
  path: KeyPath,
  context: CompileContext,
): Pick<EventDef, 'forNs' | 'trigger'> {
  const trigger = compileTrigger(event, path, context);
  const { for: forNs } = event;
  return {
    ...(forNs === undefined || event.do === 'pause' ? {} : { forNs }),
    ...(trigger === null ? {} : { trigger }),
  };
}

function compileTrigger(
  event: EventFields,
  path: KeyPath,
  context: CompileContext,
): TriggerDef | null {
  const { every, after } = event;
  if (every !== undefined && after !== undefined) {
    context.fail('trigger', path, 'an event has either "every" or "after"');
  }
  if (every !== undefined) return { kind: 'hazard', meanNs: every };
  if (after === undefined) return null;
  const place = [...path, 'after'];
  const { node, quanta, effect, count, stream, ordinal, that } = after;
  if (that !== undefined && Object.keys(after).length === 1) {
    const predicate = compilePredicate(that, [...place, 'that'], context);
    return predicate === null ? null : { kind: 'predicate', that: predicate };
  }
  const index = node === undefined ? -1 : context.nodeIndex(node, [...place, 'node']);
  const given = [quanta, effect, stream, that].filter((each) => each !== undefined).length;
  if (given === 1 && stream !== undefined && ordinal !== undefined && node === undefined) {
    return { kind: 'decision', stream, ordinal };
  }
  if (given === 1 && node !== undefined && ordinal === undefined) {
    if (quanta !== undefined && count === undefined) {
      return { kind: 'quantum', node: index, count: quanta };
    }
    if (effect !== undefined) return { kind: 'effect', node: index, effect, count: count ?? 1 };
  }
  const forms = '{ that }, { node, quanta }, { node, effect, count } or { stream, ordinal }';
  context.fail('trigger', place, `it is ${forms}`);
  return null;
}

type ClockFields = Extract<EventFields, { do: 'clock' }>;

/** The one change that a clock event names; null after an issue. */
export function compileClockChange(
  event: ClockFields,
  path: KeyPath,
  context: CompileContext,
): ClockChangeDef | null {
  const { jump, drift, freeze, slew, leap, synchronize, over } = event;
  const changes: ClockChangeDef[] = [];
  if (jump !== undefined) changes.push({ kind: 'jump', byNs: jump });
  if (drift !== undefined) changes.push({ kind: 'drift', ppm: drift });
  if (freeze !== undefined) changes.push({ kind: 'freeze', clock: freeze });
  if (slew !== undefined) changes.push({ kind: 'slew', byNs: slew, overNs: over ?? NS_PER_DAY });
  if (leap === 'repeat') changes.push({ kind: 'jump', byNs: -NS_PER_SECOND });
  if (leap === 'smear') {
    changes.push({ kind: 'slew', byNs: -NS_PER_SECOND, overNs: over ?? NS_PER_DAY });
  }
  if (synchronize !== undefined) changes.push({ kind: 'synchronize' });
  const [change] = changes;
  if (change === undefined || changes.length > 1) {
    const keys = 'jump, drift, freeze, slew, leap, synchronize';
    context.fail('clock', path, `a clock event has exactly one of ${keys}`);
    return null;
  }
  if (over !== undefined && change.kind !== 'slew') {
    context.fail('clock', [...path, 'over'], 'only "slew" and a smeared leap take time');
  }
  return change;
}

/** The swarm and the end of faults of a plan; nothing for a plan without them. */
export function compilePhases(
  { swarm, liveness }: ScenarioFields,
  events: readonly EventDef[],
  context: CompileContext,
): Pick<PlanDef, 'swarm' | 'liveness'> {
  const families = familiesOf(swarm, events);
  if (swarm === true && families.length === 0) {
    context.fail('swarm', ['swarm'], 'no event is a fault, so there is nothing to draw');
  }
  return {
    ...(families.length === 0 ? {} : { swarm: families }),
    ...(liveness === undefined ? {} : { liveness: { atNs: liveness.at } }),
  };
}

function familiesOf(
  swarm: ScenarioFields['swarm'],
  events: readonly EventDef[],
): readonly FaultFamily[] {
  if (swarm === undefined || swarm === false) return [];
  const present = new Set(events.map(({ action }) => familyOf(action)));
  const wanted = swarm === true ? present : new Set(swarm.families);
  return FAULT_FAMILIES.filter((family) => wanted.has(family));
}

/** What is wrong with the faults of the whole, each at its place in the text. */
export function checkFaults(
  def: Pick<ScenarioDef, 'world' | 'plan'>,
  fields: ScenarioFields,
  context: CompileContext,
): void {
  for (const { code, path, event, why } of faultIssues(def)) {
    const name = def.plan.events[event]?.name;
    const index = fields.event.findIndex((each) => each.name === name);
    const own: KeyPath = index < 0 ? [] : ['event', index];
    const place = own.length > 0 ? own : placeOf(path);
    context.fail(code.slice('scenario/'.length), place, why);
  }
}

function placeOf(path: string): KeyPath {
  if (path.startsWith('world.links')) return ['network'];
  if (path.startsWith('world.nodes')) return ['node'];
  return path.startsWith('plan.liveness') ? ['liveness'] : ['swarm'];
}

/** The actions of this module's events; null after an issue. */
export function compileFault(
  event: Extract<EventFields, { do: NodeActionDef['kind'] }>,
  oneOf: readonly number[] | null,
  path: KeyPath,
  context: CompileContext,
): ActionDef | null {
  switch (event.do) {
    case 'stick': {
      const from = context.nodeIndexes(event.from, [...path, 'from']);
      const to = context.nodeIndexes(event.to, [...path, 'to']);
      return { kind: 'stick', from, to };
    }
    case 'kill':
    case 'wipe':
    case 'interrupt':
      return oneOf === null ? null : { kind: event.do, oneOf };
    case 'slow':
      return oneOf === null ? null : { kind: 'slow', oneOf, cpu: event.cpu };
    case 'stall':
      return oneOf === null ? null : { kind: 'stall', oneOf, vcpu: event.vcpu };
    case 'upgrade': {
      const guest = context.guests.get(event.guest);
      if (guest === undefined) {
        const known = [...context.guests.keys()].join(', ');
        const why = `no guest is called "${event.guest}"; the guests are ${known}`;
        context.fail('dangling', [...path, 'guest'], why);
      }
      return oneOf === null || guest === undefined ? null : { kind: 'upgrade', oneOf, guest };
    }
    case 'clock': {
      const change = compileClockChange(event, path, context);
      return oneOf === null || change === null ? null : { kind: 'clock', oneOf, change };
    }
  }
}
