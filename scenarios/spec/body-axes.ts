import ts from 'typescript';
import {
  interleavingCount,
  type Axis,
  type Composition,
  type Interleavings,
} from '../../sim/index.ts';
import { showStatic, type Static } from './static-value.ts';
import type { SpecModule } from './spec-module.ts';
import { specError } from './spec-error.ts';

/** Policies that have a name but no implementation (FB-45). */
const RESERVED_POLICIES: ReadonlyMap<string, string> = new Map([
  ['sut-internal', 'it needs guests that let the scheduler order their own threads'],
]);

/**
 * The axes that a body's own text opens: each named `choose` and each `parallel` with
 * interleavings. Calls in other functions that the body calls belong to nobody (FB-34).
 */
export function bodyAxes(body: ts.SignatureDeclaration, module: SpecModule): Composition[] {
  const found: Composition[] = [];
  const chosen = new Map<string, string>();
  let parallels = 0;
  const visit = (node: ts.Node): void => {
    const call = module.callOf(node);
    if (call?.word === 'choose') {
      const axis = chooseAxis(call.node, module);
      if (axis !== null && isNew(axis, chosen, call.node, module)) {
        found.push({ kind: 'choose', axes: [axis] });
      }
    }
    if (call?.word === 'parallel') {
      const axis = parallelAxis(call.node, module, ++parallels);
      if (axis !== null) found.push({ kind: 'parallel', axes: [axis] });
    }
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(body, visit);
  return found;
}

/** The same choice may be asked for at several places of a body: it is one axis. */
function isNew(
  axis: Axis,
  chosen: Map<string, string>,
  node: ts.Node,
  module: SpecModule,
): boolean {
  const shown = JSON.stringify(axis.values);
  const before = chosen.get(axis.name);
  chosen.set(axis.name, shown);
  if (before !== undefined && before !== shown) {
    throw specError(
      'axis',
      `choose("${axis.name}") stands twice in one body with different options`,
      module.place(node),
      'give the two choices different names',
    );
  }
  return before === undefined;
}

/** Null for an anonymous choice: it is always its first option (FB-36). */
function chooseAxis(node: ts.CallExpression, module: SpecModule): Axis | null {
  const [first, second] = node.arguments;
  const place = module.place(node);
  if (first === undefined) {
    throw specError('choose', 'choose() has no options', place, 'give a name and a list');
  }
  const name = second === undefined ? null : module.evaluate(first);
  const options = module.evaluate(second ?? first);
  if (options.kind === 'list' && options.items.length === 0) {
    throw specError('choose', 'choose() has an empty list of options', place, 'give at least one');
  }
  if (options.kind !== 'list' && options.kind !== 'computed') {
    const shown = showStatic(options);
    throw specError(
      'choose',
      `the options of choose() are ${shown}, not a list`,
      place,
      'give [..]',
    );
  }
  if (name === null) return null;
  if (name.kind === 'computed') return unknownAxis(`(computed name)`, 'a computed name');
  if (name.kind !== 'value' || typeof name.value !== 'string' || name.value === '') {
    const shown = showStatic(name);
    throw specError('choose', `the name of a choice is ${shown}, not a text`, place, 'give a text');
  }
  if (options.kind === 'computed') return unknownAxis(name.value, 'computed options');
  const values = options.items.map(showStatic);
  return { name: name.value, values, size: values.length, estimated: null };
}

function unknownAxis(name: string, estimated: string): Axis {
  return { name, values: null, size: 1, estimated };
}

/** Null where only one order is tried. */
function parallelAxis(node: ts.CallExpression, module: SpecModule, index: number): Axis | null {
  const name = `parallel#${index}`;
  const last = node.arguments.at(-1);
  const options = last && module.evaluate(last);
  const hasOptions = options?.kind === 'table';
  const branches = node.arguments.slice(0, hasOptions ? -1 : undefined);
  const ordering = hasOptions ? readOrdering(options, module.place(node)) : LAUNCHES;
  const { policy, level } = ordering;
  if (policy === 1) return null;
  if (policy === null || level === null) return unknownAxis(name, 'a computed policy');
  if (branches.some((branch) => ts.isSpreadElement(branch))) {
    return { ...unknownAxis(name, 'a computed number of branches'), level };
  }
  const values = [`${policy} of ${branches.length} branches`];
  if (policy === 'dpor' || level === 'event') {
    return { name, values, size: 1, estimated: 'only runs tell how many orders of events', level };
  }
  return { name, values, size: interleavingCount(branches.length, policy), estimated: null, level };
}

/** What `parallel` orders, and how many orders are tried; null for what is computed. */
interface Ordering {
  readonly policy: Interleavings | 'dpor' | null;
  readonly level: Axis['level'] | null;
}

const LAUNCHES: Ordering = { policy: 1, level: 'launch' };
const LEVELS: readonly Axis['level'][] = ['launch', 'event'];

function readOrdering(options: Static & { readonly kind: 'table' }, place: string): Ordering {
  const policy = readPolicy(options, place);
  const given = options.entries.get('level');
  if (given === undefined) return { policy, level: policy === 'dpor' ? 'event' : 'launch' };
  if (given.kind === 'computed') return { policy: policy ?? 'all', level: null };
  const level = LEVELS.find((each) => given.kind === 'value' && each === given.value);
  if (level === undefined) {
    const message = `level ${showStatic(given)} is no level`;
    throw specError('interleavings', message, place, 'write "launch" or "event"');
  }
  const ofEvents = policy === 'dpor' || policy === 'all' || policy === null;
  if (level === 'event' && !ofEvents) {
    const message = `interleavings ${policy} is of launches, not of events`;
    throw specError(
      'interleavings',
      message,
      place,
      'write "dpor" or "all", or leave the level out',
    );
  }
  if (level === 'launch' && policy === 'dpor') {
    const message = 'interleavings "dpor" is of events: launches all differ';
    throw specError('interleavings', message, place, 'leave the level out, or write "event"');
  }
  return { policy, level };
}

function readPolicy(
  options: Static & { readonly kind: 'table' },
  place: string,
): Ordering['policy'] {
  const policy = options.entries.get('interleavings') ?? { kind: 'value', value: 1 };
  if (policy.kind === 'computed') return null;
  const value = policy.kind === 'value' ? policy.value : null;
  if (value === 'dpor') return value;
  if (value === 'all' || value === 'critical') return value;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value;
  const reserved = typeof value === 'string' ? RESERVED_POLICIES.get(value) : undefined;
  const known = '1, a whole number, "all", "critical" or "dpor"';
  if (reserved !== undefined) {
    const message = `interleavings "${String(value)}" is reserved: ${reserved}`;
    throw specError('interleavings', message, place, `write ${known}`);
  }
  const message = `interleavings ${showStatic(policy)} is no policy`;
  throw specError('interleavings', message, place, `write ${known}`);
}
