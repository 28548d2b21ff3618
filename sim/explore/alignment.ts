import type { LoggedEvent } from '../kernel/event-log.ts';
import type { VirtualNs } from '../kernel/units.ts';
import type { EventDef } from '../plan/scenario.ts';

/** So many effects before a fault are compared. */
const CONTEXT_MAX = 6;
/** A fault comes at most this long after the effect that it is placed by. */
const AFTER_NS_MAX: VirtualNs = 100_000_000;

/** Where a fault met its node: what the node had just done, and how long before. */
export interface Moment {
  /** The node, or null for a fault that meets none in particular: then all nodes are looked at. */
  readonly node: number | null;
  /** The kinds of the last effects before it, the last one first. */
  readonly kinds: readonly string[];
  /** How long after the last of them. */
  readonly afterNs: VirtualNs;
}

/** The node that an event is about, where it is about one. */
export function nodeOf({ action }: EventDef): number | null {
  return 'oneOf' in action && action.oneOf.length === 1 ? (action.oneOf[0] as number) : null;
}

/** Where a fault at `atNs` met a node in a run; null if nothing had happened by then. */
export function momentOf(
  events: Iterable<LoggedEvent>,
  node: number | null,
  atNs: VirtualNs,
): Moment | null {
  const before = effectsOf(events, node).filter((effect) => effect.atNs < atNs);
  const last = before.at(-1);
  if (last === undefined) return null;
  const kinds = before.slice(-CONTEXT_MAX).reverse();
  return {
    node,
    kinds: kinds.map(({ kind }) => kind),
    afterNs: Math.min(atNs - last.atNs, AFTER_NS_MAX),
  };
}

/**
 * Times in another run at which a node has just done the same: those where most of the effects
 * agree, at most `countMax` of them, evenly spread. A fault matters by what it interrupts, so that
 * in a run in which everything comes at other times it belongs there.
 */
export function momentsLike(
  events: Iterable<LoggedEvent>,
  { node, kinds, afterNs }: Moment,
  countMax: number,
): readonly VirtualNs[] {
  const effects = effectsOf(events, node);
  let most = 1;
  let found: VirtualNs[] = [];
  effects.forEach(({ atNs }, place) => {
    let alike = 0;
    while (alike < kinds.length && effects[place - alike]?.kind === kinds[alike]) alike++;
    if (alike < most) return;
    if (alike > most) [most, found] = [alike, []];
    if (found.at(-1) !== atNs + afterNs) found.push(atNs + afterNs);
  });
  if (found.length <= countMax) return found;
  return Array.from({ length: countMax }, (_, index) => {
    return found[Math.floor((index * found.length) / countMax)] as VirtualNs;
  });
}

interface Effect {
  readonly kind: string;
  readonly atNs: VirtualNs;
}

function effectsOf(events: Iterable<LoggedEvent>, node: number | null): readonly Effect[] {
  const effects: Effect[] = [];
  for (const { guest, kind, atNs } of events) {
    if (node === null && guest >= 0) effects.push({ kind: `${guest} ${kind}`, atNs });
    if (node !== null && guest === node) effects.push({ kind, atNs });
  }
  return effects;
}
