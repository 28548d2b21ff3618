import { SimError, type ErrorCode } from '../kernel/errors.ts';
import { MILLION, VIRTUAL_NS_MAX } from '../kernel/units.ts';
import { historyPropertyFault, isHistoryProperty } from './history-properties.ts';
import { diskIssues } from './disk-admit.ts';
import { faultIssues } from './fault-admit.ts';
import { machineIssues } from './machine.ts';
import { temporalFault } from './predicate-admit.ts';
import { LINK_FLOOR_NS } from './scenario.ts';
import { admitDirectives } from './directives.ts';
import { admitScheduling } from './scheduling.ts';
import type {
  ActionDef,
  EventDef,
  LinkDef,
  NodeDef,
  PlanDef,
  PropertyDef,
  ScenarioDef,
  Until,
} from './scenario.ts';

/** Limits of one scenario. A node has an address of its own, so nodes stay below 10.0.x.y's room. */
export const NODES_MAX = 1_000;
export const EVENTS_MAX = 10_000;
export const PROPERTIES_MAX = 1_000;
export const TEXTS_MAX = 1_000;
export const FILES_MAX = 1_000;
export const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** 65,536 pages of 64 KiB are all that 32-bit addresses reach. */
export const MEMORY_PAGES_MAX = 65_536;
export const NS_PER_THOUSAND_INSTRUCTIONS_MAX = 1_000_000_000;
export const CONSOLE_PATTERN_LENGTH_MAX = 1_000;

/** Node names are host names in small letters (RFC 1123 section 2.1). */
export const NODE_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Names of scenarios, events and properties; a slash would reach into other streams' names. */
export const DISPLAY_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9 ._:-]{0,98}[A-Za-z0-9._-])?$/;

/**
 * Checks that a scenario makes sense as a whole: names are unique and well formed, numbers in
 * range, every index resolves, lists are in canonical order. Throws `scenario/…` with the path of
 * the first thing that is wrong. It serves the readers of every form of a scenario.
 */
export function admitScenario(def: ScenarioDef): void {
  if (!DISPLAY_NAME.test(def.name)) refuse('scenario/name', 'name', `"${def.name}" is no name`);
  const { nodes, links } = def.world;
  if (nodes.length === 0) refuse('scenario/empty', 'world.nodes', 'there is no node');
  limit('world.nodes', nodes.length, NODES_MAX);
  nodes.forEach(admitNode);
  unique(nodes, 'world.nodes');
  admitLinks(links, nodes.length);
  admitPlan(def.plan, nodes.length);
  for (const { code, path, why } of diskIssues(def)) refuse(code, path, why);
  for (const { code, path, why } of faultIssues(def)) refuse(code, path, why);
  for (const { code, path, why } of machineIssues(def)) refuse(code, path, why);
  limit('properties', def.properties.length, PROPERTIES_MAX);
  def.properties.forEach((property, index) => {
    admitProperty(property, `properties[${index}]`, nodes.length, def.plan.until);
  });
  unique(def.properties, 'properties');
  sorted(def.properties, (a, b) => compareText(a.name, b.name), 'properties');
  if (def.seed !== null) integer('seed', def.seed, 0, Number.MAX_SAFE_INTEGER);
}

/** Orders text by UTF-16 code units: the same everywhere, unlike `localeCompare`. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The canonical order of events: by time, then by name. */
export function compareEvents(a: EventDef, b: EventDef): number {
  return a.atNs - b.atNs || compareText(a.name, b.name);
}

/** The canonical order of links: by the sending, then by the receiving node. */
export function compareLinks(a: LinkDef, b: LinkDef): number {
  return a.from - b.from || a.to - b.to;
}

function admitNode(node: NodeDef, index: number): void {
  const path = `world.nodes[${index}]`;
  if (!NODE_NAME.test(node.name)) {
    refuse('scenario/name', `${path}.name`, `"${node.name}" is no host name`);
  }
  admitImage(node.guest.image, `${path}.guest.image`);
  limit(`${path}.args`, node.args.length, TEXTS_MAX);
  limit(`${path}.env`, node.env.length, TEXTS_MAX);
  limit(`${path}.files`, node.files.length, FILES_MAX);
  node.args.forEach((arg, at) => noZero(`${path}.args[${at}]`, arg));
  for (const [name, value] of node.env) {
    if (name === '' || name.includes('=')) {
      refuse('scenario/env', `${path}.env`, `"${name}" is no variable name`);
    }
    noZero(`${path}.env.${name}`, name + value);
  }
  sorted(node.env, (a, b) => compareText(a[0], b[0]), `${path}.env`);
  for (const file of node.files) admitPath(`${path}.files`, file.path);
  sorted(node.files, (a, b) => compareText(a.path, b.path), `${path}.files`);
  const bytes = node.files.reduce((sum, file) => sum + file.bytes.length, 0);
  limit(`${path}.files`, bytes, FILE_BYTES_MAX);
  const rate = node.nsPerThousandInstructions;
  integer(`${path}.nsPerThousandInstructions`, rate, 1, NS_PER_THOUSAND_INSTRUCTIONS_MAX);
  integer(`${path}.memoryPagesMax`, node.memoryPagesMax, 1, MEMORY_PAGES_MAX);
  integer(`${path}.startNs`, node.startNs, 0, VIRTUAL_NS_MAX);
}

function admitImage(image: string, path: string): void {
  if (!/^[0-9a-f]{64}$/.test(image)) refuse('scenario/image', path, 'it is not a SHA-256');
}

function admitPath(path: string, file: string): void {
  const parts = file.split('/').slice(1);
  const plain = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (!file.startsWith('/') || !plain || file.length > 1_024) {
    refuse('scenario/file-path', path, `"${file}" is not a plain absolute path`);
  }
  noZero(path, file);
}

function admitLinks(links: readonly LinkDef[], nodeCount: number): void {
  links.forEach((link, index) => {
    const path = `world.links[${index}]`;
    integer(`${path}.from`, link.from, 0, nodeCount - 1);
    integer(`${path}.to`, link.to, 0, nodeCount - 1);
    if (link.from === link.to) refuse('scenario/link', path, 'a link joins a node to itself');
    integer(`${path}.latencyNs`, link.latencyNs, LINK_FLOOR_NS, VIRTUAL_NS_MAX);
    integer(`${path}.jitterNs`, link.jitterNs, 0, VIRTUAL_NS_MAX);
    if (link.latencyNs - link.jitterNs < LINK_FLOOR_NS) {
      const floor = `the floor is ${LINK_FLOOR_NS} ns`;
      const why = `latency less jitter is ${link.latencyNs - link.jitterNs} ns, ${floor}`;
      refuse('scenario/jitter', `${path}.jitterNs`, why);
    }
    integer(`${path}.loss`, link.loss, 0, MILLION);
    if (link.bandwidth !== null) {
      integer(`${path}.bandwidth`, link.bandwidth, 1, Number.MAX_SAFE_INTEGER);
    }
  });
  sorted(links, compareLinks, 'world.links');
}

function admitPlan(plan: PlanDef, nodeCount: number): void {
  if (plan.scheduling !== undefined) admitScheduling(plan.scheduling);
  if (plan.directives !== undefined) admitDirectives(plan.directives, nodeCount);
  limit('plan.events', plan.events.length, EVENTS_MAX);
  plan.events.forEach((event, index) => {
    const path = `plan.events[${index}]`;
    if (!DISPLAY_NAME.test(event.name)) {
      refuse('scenario/name', `${path}.name`, `"${event.name}" is no name`);
    }
    integer(`${path}.atNs`, event.atNs, 0, VIRTUAL_NS_MAX);
    integer(`${path}.withinNs`, event.withinNs, 0, VIRTUAL_NS_MAX - event.atNs);
    integer(`${path}.chance`, event.chance, 1, MILLION);
    admitAction(event.action, `${path}.action`, nodeCount, event.atNs + event.withinNs);
  });
  unique(plan.events, 'plan.events');
  sorted(plan.events, compareEvents, 'plan.events');
  integer('plan.limits.virtualNsMax', plan.limits.virtualNsMax, 1, VIRTUAL_NS_MAX);
  integer('plan.limits.quantaMax', plan.limits.quantaMax, 1, Number.MAX_SAFE_INTEGER);
}

function admitAction(action: ActionDef, path: string, nodeCount: number, atNs: number): void {
  switch (action.kind) {
    case 'pause':
      integer(`${path}.forNs`, action.forNs, 1, VIRTUAL_NS_MAX - atNs);
      return some(action.oneOf, `${path}.oneOf`, nodeCount);
    case 'crash':
    case 'isolate':
    case 'kill':
    case 'wipe':
    case 'interrupt':
    case 'slow':
    case 'stall':
    case 'clock':
    case 'flip-memory':
    case 'flip-register':
    case 'machine-check':
    case 'storm':
      return some(action.oneOf, `${path}.oneOf`, nodeCount);
    case 'restart':
      return indexes(action.oneOf, `${path}.oneOf`, nodeCount);
    case 'partition':
      return admitGroups(action.groups, `${path}.groups`, nodeCount);
    case 'upgrade':
      admitImage(action.guest.image, `${path}.guest.image`);
      return some(action.oneOf, `${path}.oneOf`, nodeCount);
    case 'stick':
    case 'cut':
      some(action.from, `${path}.from`, nodeCount);
      return some(action.to, `${path}.to`, nodeCount);
    case 'disk':
    case 'disk-heal':
      return indexes(action.nodes, `${path}.nodes`, nodeCount);
    case 'heal':
      return;
    case 'degrade':
      integer(`${path}.loss`, action.loss, 0, MILLION);
      integer(`${path}.extraLatencyNs`, action.extraLatencyNs, 0, VIRTUAL_NS_MAX);
      return indexes(action.nodes, `${path}.nodes`, nodeCount);
  }
}

function admitGroups(groups: readonly (readonly number[])[], path: string, count: number): void {
  if (groups.length < 2) refuse('scenario/groups', path, 'a partition has at least two groups');
  limit(path, groups.length, NODES_MAX);
  groups.forEach((group, index) => {
    some(group, `${path}[${index}]`, count);
  });
  sorted(groups, (a, b) => (a[0] as number) - (b[0] as number), path);
  const members = groups.flat();
  if (new Set(members).size !== members.length) {
    refuse('scenario/groups', path, 'a node stands in two groups');
  }
}

function admitProperty(property: PropertyDef, path: string, nodeCount: number, until: Until): void {
  if (!DISPLAY_NAME.test(property.name)) {
    refuse('scenario/name', `${path}.name`, `"${property.name}" is no name`);
  }
  if (property.kind === 'no-trap') return;
  if (property.kind === 'temporal') {
    const fault = temporalFault(property, nodeCount, until);
    if (fault !== null) refuse('scenario/predicate', `${path}.${fault.field}`, fault.why);
    return;
  }
  some(property.nodes, `${path}.nodes`, nodeCount);
  if (property.kind === 'exit') return integer(`${path}.code`, property.code, 0, 0xffff_ffff);
  if (isHistoryProperty(property)) {
    const fault = historyPropertyFault(property);
    if (fault !== null) refuse('scenario/history', `${path}.${fault.field}`, fault.why);
    return;
  }
  limit(`${path}.console`, property.console.length, CONSOLE_PATTERN_LENGTH_MAX);
  const stars = property.console.split('*').length - 1;
  if (property.console === '') refuse('scenario/pattern', `${path}.console`, 'it is empty');
  const starsLeast = property.kind === 'agree' ? 2 : property.kind === 'unique' ? 1 : 0;
  if (stars < starsLeast) {
    const why = `${property.kind} needs at least ${starsLeast} of the sign *`;
    refuse('scenario/pattern', `${path}.console`, why);
  }
  if (property.kind === 'eventually' && property.withinNs !== null) {
    integer(`${path}.withinNs`, property.withinNs, 1, VIRTUAL_NS_MAX);
  }
}

/** Node indexes: at least one, in range, ascending, each once. */
function some(nodes: readonly number[], path: string, nodeCount: number): void {
  if (nodes.length === 0) refuse('scenario/empty', path, 'it names no node');
  indexes(nodes, path, nodeCount);
}

function indexes(nodes: readonly number[], path: string, nodeCount: number): void {
  nodes.forEach((node, at) => {
    integer(`${path}[${at}]`, node, 0, nodeCount - 1);
  });
  sorted(nodes, (a, b) => a - b, path);
}

/** States that the items are in strictly ascending order: sorted, and none twice. */
function sorted<T>(items: readonly T[], compare: (a: T, b: T) => number, path: string): void {
  for (let index = 1; index < items.length; index++) {
    if (compare(items[index - 1] as T, items[index] as T) < 0) continue;
    refuse('scenario/order', `${path}[${index}]`, 'items are not in canonical order, each once');
  }
}

function unique(items: readonly { readonly name: string }[], path: string): void {
  const seen = new Set<string>();
  items.forEach((item, index) => {
    if (seen.has(item.name)) {
      refuse('scenario/duplicate', `${path}[${index}].name`, `"${item.name}" stands twice`);
    }
    seen.add(item.name);
  });
}

function integer(path: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  refuse('scenario/range', path, `${value} is not a whole number within ${min} to ${max}`);
}

function limit(path: string, count: number, countMax: number): void {
  if (count > countMax) refuse('scenario/limit', path, `${count} is above the limit ${countMax}`);
}

function noZero(path: string, text: string): void {
  if (text.includes('\0')) refuse('scenario/text', path, 'it holds a zero character');
}

function refuse(code: ErrorCode, path: string, why: string): never {
  throw new SimError({ code, message: `the scenario is refused: ${why}`, place: path });
}
