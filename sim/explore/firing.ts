import type { Decision } from '../kernel/decision.ts';
import type { LoggedEvent } from '../kernel/event-log.ts';
import { exponentialWaitNs } from '../kernel/exponential.ts';
import { digest32 } from '../kernel/rolling-digest.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';
import { MILLION, type VirtualNs } from '../kernel/units.ts';
import { contradictions } from '../plan/contradictions.ts';
import type { ActionDef, EventDef, ScenarioDef } from '../plan/scenario.ts';
import { familyOf, PLAN_PHASES } from '../world/plan-actions.ts';
import { withEvents } from './families.ts';

/** When an event happened in a run, and to which of its nodes. */
export interface Firing {
  readonly atNs: VirtualNs;
  /** The drawn one of `oneOf`, or null where nothing was drawn. */
  readonly choice: number | null;
}

/** What a run has left behind. */
export interface PlanRecord {
  readonly decisions: Iterable<Decision>;
  readonly events: Iterable<LoggedEvent>;
  readonly endNs: VirtualNs;
}

/**
 * Which events of the plan happened in a run, by name, as its decisions tell, and as the log of
 * events tells of those that waited for a quantum, an effect or a decision.
 */
export function firingsOf(
  scenario: ScenarioDef,
  { decisions, events: logged, endNs }: PlanRecord,
): ReadonlyMap<string, readonly Firing[]> {
  const choices = new Map<string, number[]>();
  for (const { stream, choice } of decisions) {
    if (!stream.startsWith('plan/') && !stream.startsWith('swarm/')) continue;
    const known = choices.get(stream);
    if (known === undefined) choices.set(stream, [choice]);
    else known.push(choice);
  }
  const { swarm, liveness, events } = scenario.plan;
  const triggered = triggeredTimes(events, logged);
  const firings = new Map<string, readonly Firing[]>();
  for (const event of events) {
    const { name, chance, action } = event;
    const family = familyOf(action);
    const isOff = swarm?.some((one) => one === family && choices.get(`swarm/${one}`)?.[0] === 0);
    const declined = chance < MILLION && choices.get(`plan/${name}/chance`)?.[0] !== 1;
    if (isOff === true || declined) continue;
    const calmNs = family === null ? Infinity : (liveness?.atNs ?? Infinity);
    const found = triggered.get(name) ?? timesOf(event, choices);
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
): readonly VirtualNs[] {
  if (trigger?.kind !== 'hazard') return [atNs + (choices.get(`plan/${name}/at`)?.[0] ?? 0)];
  const times: VirtualNs[] = [];
  let nextNs = atNs;
  for (const choice of choices.get(`plan/${name}/hazard`) ?? []) {
    nextNs += exponentialWaitNs(choice, trigger.meanNs);
    if (nextNs <= atNs + withinNs) times.push(nextNs);
  }
  return times;
}

/** When the events acted that waited for something, as the log of events tells; none in vain. */
function triggeredTimes(
  events: readonly EventDef[],
  logged: Iterable<LoggedEvent>,
): ReadonlyMap<string, readonly VirtualNs[]> {
  const names = new Map<number, string>();
  const times = new Map<string, VirtualNs[]>();
  for (const { name, trigger } of events) {
    if (trigger === undefined || trigger.kind === 'hazard') continue;
    names.set(digest32(encodeUtf8(name)), name);
    times.set(name, []);
  }
  if (names.size === 0) return times;
  for (const { kind, input, result, atNs } of logged) {
    if (kind !== 'plan' || result !== PLAN_PHASES.fire) continue;
    times.get(names.get(input) ?? '')?.push(atNs);
  }
  return times;
}

/**
 * The scenario with only what happened, each as an event of its own that is certain, then, and to
 * that node. Of two that contradict each other the later one, which the first had made vain, goes.
 */
export function pinPlan(
  scenario: ScenarioDef,
  firings: ReadonlyMap<string, readonly Firing[]>,
): ScenarioDef {
  const pinned = scenario.plan.events.flatMap((event): EventDef[] => {
    const told = firings.get(event.name);
    if (told === undefined) return [];
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
  firings: ReadonlyMap<string, readonly Firing[]>,
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
