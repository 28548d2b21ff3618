import type { Decision } from '../kernel/decision.ts';
import { exponentialWaitNs } from '../kernel/exponential.ts';
import { MILLION, type VirtualNs } from '../kernel/units.ts';
import { contradictions } from '../plan/contradictions.ts';
import type { ActionDef, EventDef, ScenarioDef } from '../plan/scenario.ts';
import { familyOf } from '../world/plan-actions.ts';
import { withEvents } from './families.ts';

/** When an event happened in a run, and to which of its nodes. */
export interface Firing {
  readonly atNs: VirtualNs;
  /** The drawn one of `oneOf`, or null where nothing was drawn. */
  readonly choice: number | null;
}

/** How an event happened: so often, or at a time that the decisions do not tell. */
export type Firings = readonly Firing[] | 'untold';

/**
 * Which events of the plan happened in a run that ended at `endNs`, by name, as its decisions tell.
 * Whether and when an event happened that waits for a quantum, an effect or a decision is untold.
 */
export function firingsOf(
  scenario: ScenarioDef,
  decisions: Iterable<Decision>,
  endNs: VirtualNs,
): ReadonlyMap<string, Firings> {
  const choices = new Map<string, number[]>();
  for (const { stream, choice } of decisions) {
    if (!stream.startsWith('plan/') && !stream.startsWith('swarm/')) continue;
    const known = choices.get(stream);
    if (known === undefined) choices.set(stream, [choice]);
    else known.push(choice);
  }
  const { swarm, liveness, events } = scenario.plan;
  const firings = new Map<string, Firings>();
  for (const event of events) {
    const { name, chance, action } = event;
    const family = familyOf(action);
    const isOff = swarm?.some((one) => one === family && choices.get(`swarm/${one}`)?.[0] === 0);
    const declined = chance < MILLION && choices.get(`plan/${name}/chance`)?.[0] !== 1;
    if (isOff === true || declined) continue;
    const calmNs = family === null ? Infinity : (liveness?.atNs ?? Infinity);
    const found = timesOf(event, choices);
    if (found === 'untold') {
      firings.set(name, found);
      continue;
    }
    const nodes = choices.get(`plan/${name}/node`);
    const told = found
      .map((atNs, index): Firing => ({ atNs, choice: nodes?.[index] ?? null }))
      .filter(({ atNs }) => atNs <= endNs && atNs < calmNs);
    if (told.length > 0) firings.set(name, told);
  }
  return firings;
}

function timesOf(
  { name, atNs, withinNs, trigger }: EventDef,
  choices: ReadonlyMap<string, readonly number[]>,
): readonly VirtualNs[] | 'untold' {
  if (trigger === undefined) return [atNs + (choices.get(`plan/${name}/at`)?.[0] ?? 0)];
  if (trigger.kind !== 'hazard') return 'untold';
  const times: VirtualNs[] = [];
  let nextNs = atNs;
  for (const choice of choices.get(`plan/${name}/hazard`) ?? []) {
    nextNs += exponentialWaitNs(choice, trigger.meanNs);
    if (nextNs <= atNs + withinNs) times.push(nextNs);
  }
  return times;
}

/**
 * The scenario with only what happened, each as an event of its own that is certain, then, and to
 * that node. Of two that contradict each other the later one, which the first had made vain, goes.
 */
export function pinPlan(scenario: ScenarioDef, firings: ReadonlyMap<string, Firings>): ScenarioDef {
  const pinned = scenario.plan.events.flatMap((event): EventDef[] => {
    const told = firings.get(event.name);
    if (told === undefined) return [];
    if (told === 'untold') return [event];
    return told.map((firing, index) => {
      const name = told.length === 1 ? event.name : `${event.name} ${index + 1}`;
      return { ...pinEvent(event, firing), name };
    });
  });
  const plain = withEvents(scenario, pinned);
  const vain = new Set(
    contradictions(plain.plan.events, plain.world.nodes).map(({ event }) => event),
  );
  const { swarm, ...plan } = plain.plan;
  const events = plan.events.filter((_, index) => !vain.has(index));
  return { ...plain, plan: swarm === undefined ? { ...plain.plan, events } : { ...plan, events } };
}

/** The scenario with only the events that happened, but drawn as before. */
export function keepFired(
  scenario: ScenarioDef,
  firings: ReadonlyMap<string, Firings>,
): ScenarioDef {
  return withEvents(
    scenario,
    scenario.plan.events.filter(({ name }) => firings.has(name)),
  );
}

function pinEvent(event: EventDef, { atNs, choice }: Firing): EventDef {
  const { trigger, ...timed } = event;
  const base = trigger === undefined ? event : timed;
  return { ...base, atNs, withinNs: 0, chance: MILLION, action: pinAction(event.action, choice) };
}

function pinAction(action: ActionDef, choice: number | null): ActionDef {
  if (choice === null || !('oneOf' in action)) return action;
  const node = action.oneOf[choice];
  return node === undefined ? action : { ...action, oneOf: [node] };
}
