import { MILLION, type VirtualNs } from '../kernel/units.ts';
import type { ActionDef, EventDef, NodeDef } from './scenario.ts';

/** Two events that cannot both be meant: the later of them, and why. */
export interface Contradiction {
  readonly event: number;
  readonly why: string;
}

/** What part of the world an action acts on. */
type Component = 'life' | 'processor' | 'clock' | 'links' | 'quality';

/** An event that is certain to come at a known time, as far as contradictions go. */
interface Certain {
  readonly event: number;
  readonly name: string;
  readonly action: ActionDef;
  readonly component: Component;
  readonly fromNs: VirtualNs;
  /** The last moment at which it acts: its lift, or `fromNs`. */
  readonly toNs: VirtualNs;
  readonly lifts: boolean;
}

/**
 * Events that contradict each other on one target (CR-82): at the same moment, or while one that
 * lifts itself lasts. Only what is certain is compared: an event with a drawn time, target,
 * chance or trigger may overlap with others, and then the later one holds.
 */
export function contradictions(
  events: readonly EventDef[],
  nodes: readonly Pick<NodeDef, 'name'>[],
): readonly Contradiction[] {
  const found: Contradiction[] = [];
  const open = new Map<string, Certain[]>();
  for (const event of certainEvents(events)) {
    const target = `${event.component}/${nodesOf(event.action).join(' ')}`;
    const whole = event.component === 'quality' || event.component === 'links';
    const bucket = whole ? event.component : target;
    const earlier = (open.get(bucket) ?? []).filter(({ toNs }) => toNs >= event.fromNs);
    const against = earlier.find((other) => contradict(other, event, nodes.length) >= 0);
    if (against !== undefined) {
      const node = nodes[contradict(against, event, nodes.length)]?.name ?? 'the links';
      const why = `"${against.name}" and "${event.name}" contradict each other on ${node}`;
      found.push({ event: event.event, why });
    }
    // A target has few at once: those that are over are dropped at every step.
    earlier.push(event);
    open.set(bucket, earlier);
  }
  return found;
}

function certainEvents(events: readonly EventDef[]): readonly Certain[] {
  const certain = events.flatMap((event, index): Certain[] => {
    const { name, action, atNs, withinNs, chance, forNs, trigger } = event;
    const component = componentOf(action);
    if (component === null || withinNs > 0 || chance < MILLION || trigger !== undefined) return [];
    if ('oneOf' in action && action.oneOf.length > 1) return [];
    const toNs = component === 'links' ? atNs : atNs + (forNs ?? 0);
    const lifts = forNs !== undefined;
    return [{ event: index, name, action, component, fromNs: atNs, toNs, lifts }];
  });
  return certain.sort((a, b) => a.fromNs - b.fromNs || a.event - b.event);
}

function componentOf({ kind }: ActionDef): Component | null {
  switch (kind) {
    case 'crash':
    case 'wipe':
    case 'kill':
    case 'upgrade':
    case 'restart':
      return 'life';
    case 'slow':
      return 'processor';
    case 'clock':
      return 'clock';
    case 'cut':
    case 'partition':
    case 'isolate':
    case 'heal':
      return 'links';
    case 'degrade':
      return 'quality';
    default:
      return null;
  }
}

/** A node on which the two contradict each other; `nodeCount` for links; -1 if they do not. */
function contradict(a: Certain, b: Certain, nodeCount: number): number {
  if (b.fromNs > a.toNs || (b.fromNs === a.toNs && a.lifts && a.fromNs < a.toNs)) return -1;
  const [first, second] = [a.action, b.action];
  const same = a.fromNs === b.fromNs;
  switch (a.component) {
    case 'life':
      // A crash that restarts itself may be crashed again, but not started or stopped otherwise.
      return first.kind === second.kind && !same ? -1 : common(first, second, nodeCount);
    case 'processor':
      return common(first, second, nodeCount);
    case 'clock':
      return same && composes(first, second) && !a.lifts && !b.lifts
        ? -1
        : common(first, second, nodeCount);
    case 'links':
      return same && (first.kind === 'heal') !== (second.kind === 'heal') ? nodeCount : -1;
    case 'quality':
      return common(first, second, nodeCount);
  }
}

/** A jump and a drift add up, in either order; all other changes of a clock do not. */
function composes(a: ActionDef, b: ActionDef): boolean {
  if (a.kind !== 'clock' || b.kind !== 'clock') return false;
  const kinds = [a.change.kind, b.change.kind];
  return kinds.includes('drift') && kinds.includes('jump');
}

/** The first node that both name; without names they mean all. */
function common(a: ActionDef, b: ActionDef, nodeCount: number): number {
  const [first, second] = [nodesOf(a), nodesOf(b)];
  if (first.length === 0) return second[0] ?? nodeCount;
  if (second.length === 0) return first[0] ?? nodeCount;
  return first.find((node) => second.includes(node)) ?? -1;
}

function nodesOf(action: ActionDef): readonly number[] {
  if ('oneOf' in action) return action.oneOf;
  return 'nodes' in action ? action.nodes : [];
}
