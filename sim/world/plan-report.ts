import { formatTime, type VirtualNs } from '../kernel/units.ts';
import type { PlanDef } from '../plan/scenario.ts';

/** What became of an event of the plan, as plain data. */
export interface EventProgress {
  /** Its time came, and a draw or the swarm said no. */
  readonly declined: 'chance' | 'swarm' | 'liveness' | null;
  readonly reached: boolean;
  /** How often it acted, and how often that changed anything. */
  readonly fired: number;
  readonly effective: number;
}

export const UNREACHED: EventProgress = {
  declined: null,
  reached: false,
  fired: 0,
  effective: 0,
};

/** One of the times at which an event of the plan acts, counted from 0. */
export interface PlanFiring {
  readonly event: string;
  readonly firing: number;
}

/** An event that changed nothing in the whole run, and why (FB-73). */
export interface IdleEvent {
  readonly name: string;
  readonly why: string;
  /** Whether it could not have acted whatever the seed. */
  readonly never: boolean;
}

/** The events of a plan that changed nothing by the end of a run, in the plan's order. */
export function idleEvents(
  plan: PlanDef,
  progress: readonly EventProgress[],
  endNs: VirtualNs,
): readonly IdleEvent[] {
  return plan.events.flatMap((event, index): IdleEvent[] => {
    const { declined, reached, fired, effective } = progress[index] ?? UNREACHED;
    if (effective > 0) return [];
    const { name, atNs, trigger } = event;
    if (atNs >= plan.limits.virtualNsMax) {
      const why = `it comes at ${formatTime(atNs)}, after the limit of virtual time`;
      return [{ name, why, never: true }];
    }
    if (declined === 'chance') return [{ name, why: 'its chance was not drawn', never: false }];
    if (declined === 'swarm') {
      return [{ name, why: "this seed's swarm leaves its family out", never: false }];
    }
    if (declined === 'liveness') {
      return [{ name, why: 'it came when all faults had been lifted', never: false }];
    }
    if (!reached) {
      return [{ name, why: `the run was over at ${formatTime(endNs)}, before it`, never: false }];
    }
    if (fired > 0) return [{ name, why: 'it found nothing to act on', never: false }];
    const why = trigger === undefined ? 'its drawn time came too late' : 'its trigger never came';
    return [{ name, why, never: false }];
  });
}
