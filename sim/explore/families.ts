import { MILLION } from '../kernel/units.ts';
import { compareEvents } from '../plan/admit.ts';
import { FAULT_FAMILIES, type FaultFamily } from '../plan/faults.ts';
import type { EventDef, ScenarioDef } from '../plan/scenario.ts';
import { familyOf } from '../world/plan-actions.ts';

/**
 * What an event does to a run: it breaks something of a family, or mends what a family broke. An
 * event that mends is no fault: without it any property of liveness fails in a trivial way.
 */
export interface EventRole {
  readonly family: FaultFamily | 'upgrade';
  readonly mends: boolean;
}

/** The role of an event by its action. */
export function roleOf({ action }: EventDef): EventRole {
  switch (action.kind) {
    case 'restart':
      return { family: 'crash', mends: true };
    case 'heal':
      return { family: 'partition', mends: true };
    case 'clock':
      return { family: 'clock', mends: action.change.kind === 'synchronize' };
    case 'slow':
      return { family: 'pause', mends: action.cpu === MILLION };
    case 'degrade': {
      const { loss, extraLatencyNs, bandwidth, faults } = action;
      const isNothing = bandwidth === undefined && faults === undefined;
      return { family: 'link', mends: isNothing && loss === 0 && extraLatencyNs === 0 };
    }
    default:
      // An upgrade is no fault of any family, but what it does may be the failure.
      return { family: familyOf(action) ?? 'upgrade', mends: false };
  }
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
 * The scenario in which each seed switches whole families of faults on or off (Groce et al., "Swarm
 * Testing", ISSTA 2012), since faults of one family can hide what those of another would show: all
 * families of its faults, unless the plan says itself which.
 */
export function withSwarm(scenario: ScenarioDef): ScenarioDef {
  const { plan } = scenario;
  if (plan.swarm !== undefined) return scenario;
  const present = new Set(plan.events.map(({ action }) => familyOf(action)));
  const swarm = FAULT_FAMILIES.filter((family) => present.has(family));
  return swarm.length === 0 ? scenario : { ...scenario, plan: { ...plan, swarm } };
}
