import { MILLION } from '../kernel/units.ts';
import { compareEvents, compareText } from '../plan/admit.ts';
import type { ActionDef, EventDef, ScenarioDef } from '../plan/scenario.ts';
import { drawFeature } from './policy.ts';

/**
 * What an event does to a run: it breaks something of a family, or mends what a family broke. An
 * event that mends is no fault: without it any property of liveness fails in a trivial way.
 */
export interface EventRole {
  /** Faults of one family are mended by one kind of event: `crash`, `pause`, `cut`, `degrade`, … */
  readonly family: string;
  readonly mends: boolean;
}

/** The role of an event by its action. */
export function roleOf({ action }: EventDef): EventRole {
  switch (action.kind) {
    case 'restart':
      return { family: 'crash', mends: true };
    case 'heal':
      return { family: 'cut', mends: true };
    case 'isolate':
    case 'partition':
    case 'cut':
      return { family: 'cut', mends: false };
    case 'degrade':
      return { family: 'degrade', mends: action.loss === 0 && action.extraLatencyNs === 0 };
    default:
      return { family: action.kind, mends: false };
  }
}

/** The families of a plan's faults, in order of their names. */
export function faultFamilies(scenario: ScenarioDef): readonly string[] {
  const roles = scenario.plan.events.map(roleOf).filter(({ mends }) => !mends);
  return [...new Set(roles.map(({ family }) => family))].sort(compareText);
}

/** The scenario with other events; they are put in canonical order. */
export function withEvents(scenario: ScenarioDef, events: readonly EventDef[]): ScenarioDef {
  return { ...scenario, plan: { ...scenario.plan, events: [...events].sort(compareEvents) } };
}

/**
 * The scenario with only these faults, and of the events that mend those that have something to
 * mend: a fault of their family that may come before them.
 */
export function keepFaults(scenario: ScenarioDef, kept: ReadonlySet<string>): ScenarioDef {
  const { events } = scenario.plan;
  const faults = events.filter((event) => !roleOf(event).mends && kept.has(event.name));
  const mends = events.filter((event) => {
    const { family, mends } = roleOf(event);
    if (!mends) return false;
    const lastNs = event.atNs + event.withinNs;
    return faults.some((fault) => roleOf(fault).family === family && fault.atNs <= lastNs);
  });
  return withEvents(scenario, [...faults, ...mends]);
}

/**
 * Swarm testing (Groce et al., ISSTA 2012): each seed switches whole families of faults on or off,
 * since faults of one family can hide what those of another would show. Returns the families that
 * are on; at least one is, where there are any.
 */
export function drawFamilies(families: readonly string[], seed: number): readonly string[] {
  const on = families.filter((family) => drawFeature(seed, `swarm/${family}`, 2) === 1);
  const first = families[drawFeature(seed, 'swarm/one', Math.max(1, families.length))];
  return on.length > 0 || first === undefined ? on : [first];
}

/** The scenario with only the faults of these families. */
export function keepFamilies(scenario: ScenarioDef, families: readonly string[]): ScenarioDef {
  const faults = scenario.plan.events.filter((event) => {
    const { family, mends } = roleOf(event);
    return !mends && families.includes(family);
  });
  return keepFaults(scenario, new Set(faults.map(({ name }) => name)));
}

/** When an event happened in a run, and to which of its nodes. */
export interface Firing {
  readonly atNs: number;
  /** The drawn one of `oneOf`, or null where nothing was drawn. */
  readonly choice: number | null;
}

/** An event that happens for sure, then, and to that node: what it did in one run, and no more. */
export function pinEvent(event: EventDef, { atNs, choice }: Firing): EventDef {
  return { ...event, atNs, withinNs: 0, chance: MILLION, action: pinAction(event.action, choice) };
}

function pinAction(action: ActionDef, choice: number | null): ActionDef {
  if (choice === null || !('oneOf' in action)) return action;
  const node = action.oneOf[choice];
  return node === undefined ? action : { ...action, oneOf: [node] };
}
