import type { Decision } from '../kernel/decision.ts';
import { MILLION, type VirtualNs } from '../kernel/units.ts';
import type { EventDef, ScenarioDef } from '../plan/scenario.ts';
import { pinEvent, withEvents, type Firing } from './families.ts';

/**
 * Which events of the plan happened in a run that ended at `endNs`, by name, as its decisions tell.
 * An event that may happen several times is told of its first time.
 */
export function firingsOf(
  scenario: ScenarioDef,
  decisions: Iterable<Decision>,
  endNs: VirtualNs,
): ReadonlyMap<string, Firing> {
  const first = new Map<string, number>();
  for (const { stream, ordinal, choice } of decisions) {
    if (ordinal === 0 && stream.startsWith('plan/')) first.set(stream, choice);
  }
  const firings = new Map<string, Firing>();
  for (const event of scenario.plan.events) {
    const { name, chance } = event;
    if (chance < MILLION && first.get(`plan/${name}/chance`) !== 1) continue;
    const atNs = event.atNs + (first.get(`plan/${name}/at`) ?? 0);
    if (atNs > endNs) continue;
    firings.set(name, { atNs, choice: first.get(`plan/${name}/node`) ?? null });
  }
  return firings;
}

/** The scenario with only the events that happened, each as it did. */
export function pinPlan(scenario: ScenarioDef, firings: ReadonlyMap<string, Firing>): ScenarioDef {
  const events = scenario.plan.events.flatMap((event): EventDef[] => {
    const firing = firings.get(event.name);
    return firing === undefined ? [] : [pinEvent(event, firing)];
  });
  return withEvents(scenario, events);
}

/** The scenario with only the events that happened, but drawn as before. */
export function keepFired(
  scenario: ScenarioDef,
  firings: ReadonlyMap<string, Firing>,
): ScenarioDef {
  return withEvents(
    scenario,
    scenario.plan.events.filter(({ name }) => firings.has(name)),
  );
}
