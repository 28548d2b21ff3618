import { assert, unreachable } from '../kernel/assert.ts';
import type { Decisions } from '../kernel/decision.ts';
import { MILLION, type VirtualNs } from '../kernel/units.ts';
import type { ActionDef, EventDef, PlanDef } from '../plan/scenario.ts';

/** What the plan can do to the world. */
export interface PlanTarget {
  crash(node: number, atNs: VirtualNs): void;
  restart(node: number, atNs: VirtualNs): void;
  pause(node: number, untilNs: VirtualNs, atNs: VirtualNs): void;
  cut(pairs: readonly (readonly [from: number, to: number])[], atNs: VirtualNs): void;
  heal(atNs: VirtualNs): void;
  degrade(action: Extract<ActionDef, { kind: 'degrade' }>, atNs: VirtualNs): void;
  /** Nodes that crashed and have not been started again, in order. */
  crashedNodes(): readonly number[];
  schedulePlan(atNs: VirtualNs, index: number, phase: PlanPhase): void;
  readonly nodeCount: number;
}

/** `window` opens at the earliest time, and draws whether and when; `fire` acts. */
export type PlanPhase = 'window' | 'fire';

/**
 * Turns the plan's events into actions. Each draw is made at the moment of use, on a stream of
 * the event's own name, so that forks part and edits of one event move no other (CR-60).
 */
export class PlanRunner {
  private readonly plan: PlanDef;
  private readonly decisions: Decisions;
  private readonly target: PlanTarget;
  private readonly added: EventDef[] = [];

  constructor(plan: PlanDef, decisions: Decisions, target: PlanTarget) {
    this.plan = plan;
    this.decisions = decisions;
    this.target = target;
  }

  /** Schedules every event's window: once, at the start of the world. */
  begin(): void {
    this.plan.events.forEach((event, index) => {
      this.target.schedulePlan(event.atNs, index, 'window');
    });
  }

  /** Takes an action in that stands in no plan; gives its index, for `handle`. */
  add(action: ActionDef): number {
    const name = `injected/${this.added.length}`;
    this.added.push({ name, atNs: 0, withinNs: 0, chance: MILLION, action });
    return this.plan.events.length + this.added.length - 1;
  }

  /** The name of an event, for the log. */
  eventName(index: number): string {
    return this.event(index).name;
  }

  handle(index: number, phase: PlanPhase, atNs: VirtualNs): void {
    const event = this.event(index);
    if (phase === 'fire') return this.act(event, atNs);
    const { decisions } = this;
    if (event.chance < MILLION) {
      const stream = decisions.stream(`plan/${event.name}/chance`);
      if (!decisions.decideChance(stream, atNs, event.chance)) return;
    }
    const stream = decisions.stream(`plan/${event.name}/at`);
    const delayNs = decisions.decide(stream, atNs, event.withinNs + 1);
    if (delayNs === 0) this.act(event, atNs);
    else this.target.schedulePlan(atNs + delayNs, index, 'fire');
  }

  private event(index: number): EventDef {
    const { events } = this.plan;
    const event = index < events.length ? events[index] : this.added[index - events.length];
    assert(event !== undefined, 'a plan event that is due exists');
    return event;
  }

  private act(event: EventDef, atNs: VirtualNs): void {
    const { target } = this;
    const { action } = event;
    switch (action.kind) {
      case 'crash':
        return target.crash(this.oneOf(event.name, action.oneOf, atNs), atNs);
      case 'restart':
        if (action.oneOf.length === 0) {
          for (const node of target.crashedNodes()) target.restart(node, atNs);
          return;
        }
        return target.restart(this.oneOf(event.name, action.oneOf, atNs), atNs);
      case 'pause': {
        const node = this.oneOf(event.name, action.oneOf, atNs);
        return target.pause(node, atNs + action.forNs, atNs);
      }
      case 'partition':
        return target.cut(betweenGroups(action.groups), atNs);
      case 'isolate': {
        const node = this.oneOf(event.name, action.oneOf, atNs);
        return target.cut(aroundNode(node, target.nodeCount), atNs);
      }
      case 'cut':
        return target.cut(pairs(action.from, action.to), atNs);
      case 'heal':
        return target.heal(atNs);
      case 'degrade':
        return target.degrade(action, atNs);
      default:
        return unreachable(action);
    }
  }

  /** One of the nodes, by a decision if there are several. */
  private oneOf(name: string, nodes: readonly number[], atNs: VirtualNs): number {
    const stream = this.decisions.stream(`plan/${name}/node`);
    const node = nodes[this.decisions.decide(stream, atNs, nodes.length)];
    assert(node !== undefined, 'an action names at least one node');
    return node;
  }
}

type Pairs = readonly (readonly [from: number, to: number])[];

function pairs(from: readonly number[], to: readonly number[]): Pairs {
  return from.flatMap((a) => to.filter((b) => b !== a).map((b) => [a, b] as const));
}

function betweenGroups(groups: readonly (readonly number[])[]): Pairs {
  return groups.flatMap((group) => {
    return groups.filter((other) => other !== group).flatMap((other) => pairs(group, other));
  });
}

function aroundNode(node: number, nodeCount: number): Pairs {
  const others = Array.from({ length: nodeCount }, (_, index) => index).filter((n) => n !== node);
  return [...pairs([node], others), ...pairs(others, [node])];
}
