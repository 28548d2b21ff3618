import { assert } from '../kernel/assert.ts';
import type { Decisions, DecisionSource } from '../kernel/decision.ts';
import { EXPONENTIAL_ARITY, exponentialWaitNs } from '../kernel/exponential.ts';
import { MILLION, type VirtualNs } from '../kernel/units.ts';
import type { FaultFamily } from '../plan/faults.ts';
import type { ActionDef, EventDef, PlanDef } from '../plan/scenario.ts';
import { act, familyOf, isHold, lift, type PlanPhase, type PlanTarget } from './plan-actions.ts';
import {
  idleEvents,
  UNREACHED,
  type EventProgress,
  type IdleEvent,
  type PlanFiring,
} from './plan-report.ts';
import { PlanTriggers, type ArmedTrigger } from './plan-triggers.ts';

/** Where a plan stands, as plain data. */
export interface PlanState {
  readonly progress: readonly EventProgress[];
  readonly armed: readonly ArmedTrigger[];
  /** Families that the seed's swarm leaves out. */
  readonly off: readonly FaultFamily[];
  /** Whether all faults were lifted. */
  readonly calm: boolean;
}

/** The index of the end of all faults, which is no event of the plan's list. */
const CALM = -1;

/**
 * Turns the plan's events into actions. Each draw is made at the moment of use, on a stream of
 * the event's own name, so that forks part and edits of one event move no other (CR-60).
 */
export class PlanRunner {
  private readonly plan: PlanDef;
  private readonly decisions: Decisions;
  private readonly target: PlanTarget;
  private readonly added: EventDef[] = [];
  private readonly triggers: PlanTriggers;
  private progress: EventProgress[];
  private off: readonly FaultFamily[] = [];
  private isCalm = false;
  private withheld: readonly PlanFiring[] = [];

  constructor(
    plan: PlanDef,
    decisions: Decisions,
    target: PlanTarget,
    askPredicates: (atNs: VirtualNs) => void,
  ) {
    this.plan = plan;
    this.decisions = decisions;
    this.target = target;
    this.progress = plan.events.map(() => UNREACHED);
    this.triggers = new PlanTriggers(
      plan.events,
      (index, atNs) => {
        // What set it off has happened at this time already; it is answered at the next moment.
        target.schedulePlan(atNs + 1, index, 'fire', -1);
      },
      askPredicates,
    );
  }

  /** Schedules every event's window: once, at the start of the world. */
  begin(): void {
    const { swarm, liveness } = this.plan;
    this.off = (swarm ?? []).filter((family) => {
      return this.decisions.decide(this.decisions.stream(`swarm/${family}`), 0, 2) === 0;
    });
    this.plan.events.forEach((event, index) => {
      this.target.schedulePlan(event.atNs, index, 'window', -1);
    });
    if (liveness !== undefined) this.target.schedulePlan(liveness.atNs, CALM, 'calm', -1);
  }

  /**
   * These firings do nothing in this run, though they draw what they would have drawn: what a run
   * would have been without a fault. It is asked of a run, and no part of its state.
   */
  withhold(firings: readonly PlanFiring[]): void {
    this.withheld = firings;
  }

  /** Takes an action in that stands in no plan; gives its index, for `handle`. */
  add(action: ActionDef): number {
    const name = `injected/${this.added.length}`;
    this.added.push({ name, atNs: 0, withinNs: 0, chance: MILLION, action });
    return this.plan.events.length + this.added.length - 1;
  }

  /** The name of an event, for the log. */
  eventName(index: number): string {
    return index === CALM ? 'liveness' : this.event(index).name;
  }

  /** Whether any event waits for a number of quanta or effects. */
  watches(kind: 'quantum' | 'effect'): boolean {
    return this.triggers.watches(kind);
  }

  /** Whether an event waits for something that guests do: it would act at once. */
  get isArmed(): boolean {
    return this.triggers.isArmed;
  }

  /** Looks on at decisions, if an event waits for one. */
  get sources(): readonly DecisionSource[] {
    return this.triggers.watches('decision') ? [this.triggers.source] : [];
  }

  /** A node has run a quantum, up to this time. */
  quantum(node: number, atNs: VirtualNs): void {
    this.triggers.quantum(node, atNs);
  }

  /** The predicate of an event's trigger is true at this moment. */
  predicate(event: number, atNs: VirtualNs): void {
    this.triggers.predicate(event, atNs);
  }

  /** An effect was logged. */
  effect(kind: string, node: number, atNs: VirtualNs): void {
    this.triggers.effect(kind, node, atNs);
  }

  /** Events that changed nothing so far, and why (FB-73). */
  idle(endNs: VirtualNs): readonly IdleEvent[] {
    return idleEvents(this.plan, this.progress, endNs);
  }

  handle(index: number, phase: PlanPhase, node: number, atNs: VirtualNs): void {
    switch (phase) {
      case 'window':
        return this.open(index, atNs);
      case 'fire':
        return this.fire(index, atNs);
      case 'hazard':
        this.fire(index, atNs);
        return this.drawHazard(index, atNs);
      case 'lift':
        return lift(this.event(index).action, this.target, {
          event: this.eventName(index),
          node,
          atNs,
        });
      case 'calm':
        this.isCalm = true;
        return this.target.calm(atNs);
    }
  }

  capture(): PlanState {
    const { off, isCalm: calm } = this;
    return { progress: this.progress.slice(), armed: this.triggers.capture(), off, calm };
  }

  restore(state: PlanState): void {
    this.progress = state.progress.slice();
    this.triggers.restore(state.armed);
    this.off = state.off;
    this.isCalm = state.calm;
  }

  /** An event's time has come: whether, and when or on what it acts. */
  private open(index: number, atNs: VirtualNs): void {
    const { decisions } = this;
    const { name, chance, withinNs, trigger, action } = this.event(index);
    this.tell(index, { reached: true });
    const family = familyOf(action);
    if (family !== null && this.off.includes(family)) {
      return this.tell(index, { declined: 'swarm' });
    }
    if (chance < MILLION) {
      const stream = decisions.stream(`plan/${name}/chance`);
      if (!decisions.decideChance(stream, atNs, chance)) {
        return this.tell(index, { declined: 'chance' });
      }
    }
    if (trigger?.kind === 'hazard') return this.drawHazard(index, atNs);
    if (trigger !== undefined) return this.triggers.arm(index, atNs);
    const stream = decisions.stream(`plan/${name}/at`);
    const delayNs = decisions.decide(stream, atNs, withinNs + 1);
    if (delayNs === 0) this.fire(index, atNs);
    else this.target.schedulePlan(atNs + delayNs, index, 'fire', -1);
  }

  /** The next time of a hazard, on `plan/<name>/hazard`, if it is within the window. */
  private drawHazard(index: number, atNs: VirtualNs): void {
    const event = this.event(index);
    assert(event.trigger?.kind === 'hazard', 'a hazard has a mean');
    const stream = this.decisions.stream(`plan/${event.name}/hazard`);
    const choice = this.decisions.decide(stream, atNs, EXPONENTIAL_ARITY);
    const nextNs = atNs + exponentialWaitNs(choice, event.trigger.meanNs);
    if (nextNs > event.atNs + event.withinNs) return;
    this.target.schedulePlan(nextNs, index, 'hazard', -1);
  }

  private event(index: number): EventDef {
    const { events } = this.plan;
    const event = index < events.length ? events[index] : this.added[index - events.length];
    assert(event !== undefined, 'a plan event that is due exists');
    return event;
  }

  private fire(index: number, atNs: VirtualNs): void {
    const { name, action, forNs } = this.event(index);
    const isFault = familyOf(action) !== null;
    if (this.isCalm && isFault) return this.tell(index, { declined: 'liveness' });
    const node = 'oneOf' in action ? this.oneOf(name, action.oneOf, atNs) : -1;
    const calmNs = this.plan.liveness?.atNs ?? Infinity;
    const untilNs = isFault && !this.isCalm ? calmNs : Infinity;
    const { fired, effective: before } = this.progress[index] ?? UNREACHED;
    this.tell(index, { fired: fired + 1 });
    if (this.withheld.some((one) => one.event === name && one.firing === fired)) return;
    const effective = act(action, this.target, { event: name, node, atNs, untilNs });
    if (effective) this.tell(index, { effective: before + 1 });
    if (forNs !== undefined && (effective || isHold(action))) {
      this.target.schedulePlan(atNs + forNs, index, 'lift', node);
    }
  }

  /** One of the nodes, by a decision if there are several; -1 for none, which means all. */
  private oneOf(name: string, nodes: readonly number[], atNs: VirtualNs): number {
    if (nodes.length === 0) return -1;
    const stream = this.decisions.stream(`plan/${name}/node`);
    const node = nodes[this.decisions.decide(stream, atNs, nodes.length)];
    assert(node !== undefined, 'a choice is in its arity');
    return node;
  }

  private tell(index: number, news: Partial<EventProgress>): void {
    if (index >= this.plan.events.length) return;
    this.progress[index] = { ...(this.progress[index] ?? UNREACHED), ...news };
  }
}
