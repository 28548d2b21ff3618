import type { VirtualNs } from '../kernel/units.ts';
import { admitScenario, compareEvents } from '../plan/admit.ts';
import { DISK_RATES, type DiskDef } from '../plan/disk.ts';
import { mapNodes, type TemporalDef } from '../plan/predicates.ts';
import type { EventDef, LinkDef, PropertyDef, ScenarioDef } from '../plan/scenario.ts';

/** Whether a scenario makes sense: an edit may have left an action without a node. */
export function isSound(scenario: ScenarioDef): boolean {
  try {
    admitScenario(scenario);
    return true;
  } catch {
    return false;
  }
}

/** The scenario with links changed. */
export function withLinks(
  scenario: ScenarioDef,
  change: (link: LinkDef, index: number) => LinkDef,
): ScenarioDef {
  const { world } = scenario;
  return { ...scenario, world: { ...world, links: world.links.map(change) } };
}

/** The link without what it does to packets besides losing and delaying them. */
export function plainLink(link: LinkDef): LinkDef {
  const { faults, ...plain } = link;
  return faults === undefined ? link : plain;
}

/** The scenario without any fault: no events, and links and disks that only take their time. */
export function withoutFaults(scenario: ScenarioDef): ScenarioDef {
  const calm = withLinks(scenario, (link) => ({ ...plainLink(link), loss: 0 }));
  const nodes = calm.world.nodes.map((node) => {
    return node.disk === undefined ? node : { ...node, disk: calmDisk(node.disk) };
  });
  return { ...calm, plan: { ...calm.plan, events: [] }, world: { ...calm.world, nodes } };
}

function calmDisk(disk: DiskDef): DiskDef {
  const rates = Object.fromEntries(DISK_RATES.map((rate) => [rate, 0]));
  return { ...disk, rule: { ...disk.rule, ...rates } };
}

/** The scenario whose run is over when its property is decided, with no other but `no-trap`. */
export function onlyProperty(scenario: ScenarioDef, name: string): ScenarioDef {
  const properties = scenario.properties.filter((property) => {
    return property.name === name || property.kind === 'no-trap';
  });
  // What holds at rest is not known before the world comes to rest.
  const needsRest = properties.some((property) => {
    return property.kind === 'temporal' && property.operator === 'after_quiescence';
  });
  const until = needsRest ? scenario.plan.until : 'property';
  return { ...scenario, properties, plan: { ...scenario.plan, until } };
}

/** The scenario with a lower limit of virtual time. */
export function withLimit(scenario: ScenarioDef, virtualNsMax: VirtualNs): ScenarioDef {
  const { plan } = scenario;
  const lower = Math.min(plan.limits.virtualNsMax, virtualNsMax);
  return { ...scenario, plan: { ...plan, limits: { ...plan.limits, virtualNsMax: lower } } };
}

/** The scenario whose guests never wait for their processor. */
export function withoutScheduling(scenario: ScenarioDef): ScenarioDef {
  const { scheduling, ...plan } = scenario.plan;
  return scheduling === undefined ? scenario : { ...scenario, plan };
}

/** The scenarios in which the event of that name does less: only delays, or only loses. */
export function weakerEvents(scenario: ScenarioDef, name: string): readonly ScenarioDef[] {
  const { plan } = scenario;
  const action = plan.events.find((event) => event.name === name)?.action;
  if (action?.kind !== 'degrade' || action.loss === 0 || action.extraLatencyNs === 0) return [];
  return [{ loss: 0 }, { extraLatencyNs: 0 }].map((weaker) => {
    const events = plan.events.map((event): EventDef => {
      return event.name === name ? { ...event, action: { ...action, ...weaker } } : event;
    });
    return { ...scenario, plan: { ...plan, events } };
  });
}

/**
 * The scenario without some of its nodes, which are named by index. What names a node that is gone
 * is left out: links, targets of events, nodes of properties. An event or property that named only
 * such nodes is gone, too.
 */
export function withoutNodes(scenario: ScenarioDef, gone: ReadonlySet<number>): ScenarioDef {
  const { world, plan, properties } = scenario;
  const places = new Map<number, number>();
  world.nodes.forEach((_, index) => {
    if (!gone.has(index)) places.set(index, places.size);
  });
  const links = world.links.flatMap((link) => {
    const [from, to] = [places.get(link.from), places.get(link.to)];
    return from === undefined || to === undefined ? [] : [{ ...link, from, to }];
  });
  return {
    ...scenario,
    world: { ...world, nodes: world.nodes.filter((_, index) => !gone.has(index)), links },
    plan: {
      ...plan,
      events: plan.events.flatMap((event) => withoutTargets(event, places)).sort(compareEvents),
    },
    properties: properties.flatMap((property) => withoutSubjects(property, places)),
  };
}

/** Fields of actions that hold node indexes, whatever the kind of action. */
const TARGET_FIELDS = ['oneOf', 'from', 'to', 'nodes'] as const;

function withoutTargets(event: EventDef, places: ReadonlyMap<number, number>): EventDef[] {
  const action: Record<string, unknown> = { ...event.action };
  for (const field of TARGET_FIELDS) {
    const nodes = action[field];
    if (!Array.isArray(nodes) || nodes.length === 0) continue;
    const left = remap(nodes as readonly number[], places);
    if (left.length === 0) return [];
    action[field] = left;
  }
  if (event.action.kind === 'partition') {
    const groups = event.action.groups.map((group) => remap(group, places));
    const left = groups.filter((group) => group.length > 0);
    if (left.length < 2) return [];
    action['groups'] = left.sort((a, b) => (a[0] as number) - (b[0] as number));
  }
  // The fields are those of the action that it was copied from.
  const moved = { ...event, action: action as unknown as EventDef['action'] };
  const { trigger } = event;
  if (trigger?.kind === 'predicate') {
    const that = mapNodes(trigger.that, (nodes) => remap(nodes, places));
    return that === null ? [] : [{ ...moved, trigger: { ...trigger, that } }];
  }
  if (trigger === undefined || !('node' in trigger)) return [moved];
  const node = places.get(trigger.node);
  return node === undefined ? [] : [{ ...moved, trigger: { ...trigger, node } }];
}

function withoutSubjects(
  property: PropertyDef,
  places: ReadonlyMap<number, number>,
): PropertyDef[] {
  if (property.kind === 'temporal') return withoutWatched(property, places);
  if (!('nodes' in property)) return [property];
  const nodes = remap(property.nodes, places);
  return nodes.length === 0 ? [] : [{ ...property, nodes }];
}

function withoutWatched(property: TemporalDef, places: ReadonlyMap<number, number>): PropertyDef[] {
  const left = (nodes: readonly number[]): readonly number[] => remap(nodes, places);
  const that = mapNodes(property.that, left);
  const when = property.when === null ? null : mapNodes(property.when, left);
  if (that === null || (when === null && property.when !== null)) return [];
  return [{ ...property, that, when }];
}

function remap(nodes: readonly number[], places: ReadonlyMap<number, number>): number[] {
  return nodes.flatMap((node) => {
    const place = places.get(node);
    return place === undefined ? [] : [place];
  });
}

/** The scenario in which all events from `fromNs` on happen `earlierNs` sooner. */
export function moveEvents(
  scenario: ScenarioDef,
  fromNs: VirtualNs,
  earlierNs: VirtualNs,
): ScenarioDef {
  const { plan } = scenario;
  const events = plan.events.map((event) => {
    return event.atNs < fromNs ? event : { ...event, atNs: event.atNs - earlierNs };
  });
  return { ...scenario, plan: { ...plan, events: events.sort(compareEvents) } };
}

/** A whole number among the arguments of one guest's nodes, at one place, equal for all of them. */
export interface NumberArgument {
  readonly nodes: readonly number[];
  readonly place: number;
  readonly value: number;
}

/** The whole numbers from 2 on among the nodes' arguments: how much work there is, mostly. */
export function numberArguments({ world }: ScenarioDef): readonly NumberArgument[] {
  const found = new Map<string, { nodes: number[]; place: number; value: number }>();
  world.nodes.forEach(({ guest, args }, node) => {
    args.forEach((text, place) => {
      if (!/^[1-9]\d{0,8}$/.test(text) || text === '1') return;
      const key = `${guest.image} ${place} ${text}`;
      const known = found.get(key) ?? { nodes: [], place, value: Number(text) };
      known.nodes.push(node);
      found.set(key, known);
    });
  });
  return [...found.values()];
}

/** The scenario with another number at that place. */
export function withNumber(
  scenario: ScenarioDef,
  { nodes, place }: NumberArgument,
  value: number,
): ScenarioDef {
  const { world } = scenario;
  const changed = world.nodes.map((node, index) => {
    if (!nodes.includes(index)) return node;
    const args = node.args.map((text, at) => (at === place ? String(value) : text));
    return { ...node, args };
  });
  return { ...scenario, world: { ...world, nodes: changed } };
}
