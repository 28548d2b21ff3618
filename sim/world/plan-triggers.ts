import type { DecisionSource, Opportunity } from '../kernel/decision.ts';
import type { VirtualNs } from '../kernel/units.ts';
import type { EventDef, PlanDef } from '../plan/scenario.ts';
import type { TriggerWatch } from '../property/temporal.ts';

/** What an armed trigger still waits for, as plain data. */
export interface ArmedTrigger {
  readonly event: number;
  /** How many more quanta or effects; 0 for a decision. */
  readonly left: number;
  /** It is disarmed at this time; 0 for never. */
  readonly untilNs: VirtualNs;
}

/**
 * The triggers of events that are armed: they watch quanta, effects and decisions, and answer
 * nothing. A scenario without triggers has none and pays nothing.
 */
export class PlanTriggers {
  private readonly events: readonly EventDef[];
  private readonly fire: (event: number, atNs: VirtualNs) => void;
  private armed: ArmedTrigger[] = [];
  /** Has predicates looked at, since one may be true already. */
  private readonly ask: (atNs: VirtualNs) => void;

  constructor(
    events: readonly EventDef[],
    fire: (event: number, atNs: VirtualNs) => void,
    ask: (atNs: VirtualNs) => void,
  ) {
    this.events = events;
    this.ask = ask;
    this.fire = fire;
  }

  /** Whether any event ever watches this. */
  watches(kind: 'quantum' | 'effect' | 'decision'): boolean {
    return this.events.some(({ trigger }) => trigger?.kind === kind);
  }

  /** Whether any waits: the next thing that a guest does may set it off. */
  get isArmed(): boolean {
    return this.armed.length > 0;
  }

  arm(event: number, atNs: VirtualNs): void {
    const { trigger, withinNs } = this.events[event] as EventDef;
    const left = trigger !== undefined && 'count' in trigger ? trigger.count : 0;
    if (trigger?.kind === 'predicate') this.ask(atNs);
    this.armed.push({ event, left, untilNs: withinNs === 0 ? 0 : atNs + withinNs });
  }

  /** A node has run a quantum, up to this time. */
  quantum(node: number, atNs: VirtualNs): void {
    this.count(atNs, ({ trigger }) => trigger?.kind === 'quantum' && trigger.node === node);
  }

  /** An effect was logged. */
  effect(kind: string, node: number, atNs: VirtualNs): void {
    this.count(atNs, ({ trigger }) => {
      return trigger?.kind === 'effect' && trigger.node === node && trigger.effect === kind;
    });
  }

  /** The predicate of an event's trigger is true at this moment. */
  predicate(event: number, atNs: VirtualNs): void {
    this.count(atNs, (each) => each === this.events[event]);
  }

  /** Looks on at decisions before anybody answers. */
  readonly source: DecisionSource = {
    door: 'default',
    choose: ({ stream, atNs }: Opportunity) => {
      this.count(atNs, ({ trigger }) => {
        const meant = trigger?.kind === 'decision' && trigger.stream === stream.name;
        return meant && trigger.ordinal === stream.ordinal;
      });
      return undefined;
    },
  };

  /** Those that wait in vain, when the run is over. */
  get waiting(): readonly number[] {
    return this.armed.map(({ event }) => event);
  }

  capture(): readonly ArmedTrigger[] {
    return this.armed.slice();
  }

  restore(state: readonly ArmedTrigger[]): void {
    this.armed = state.slice();
  }

  private count(atNs: VirtualNs, meant: (event: EventDef) => boolean): void {
    if (this.armed.length === 0) return;
    const due: number[] = [];
    this.armed = this.armed.flatMap((armed) => {
      const { event, left, untilNs } = armed;
      if (untilNs > 0 && atNs > untilNs) return [];
      if (!meant(this.events[event] as EventDef)) return [armed];
      if (left > 1) return [{ ...armed, left: left - 1 }];
      due.push(event);
      return [];
    });
    for (const event of due) this.fire(event, atNs);
  }
}

/** The predicates that events of the plan wait for. */
export function watchedTriggers({ events }: PlanDef): readonly TriggerWatch[] {
  return events.flatMap(({ trigger }, event) => {
    return trigger?.kind === 'predicate' ? [{ event, that: trigger.that }] : [];
  });
}
