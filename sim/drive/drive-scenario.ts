import { NS_PER_MS, MILLION, type VirtualNs } from '../kernel/units.ts';
import { compareEvents } from '../plan/admit.ts';
import type { DirectiveQueueDef } from '../plan/directives.ts';
import type { EventDef, ScenarioDef } from '../plan/scenario.ts';
import { CRASH_EFFECT } from '../record/call-client.ts';
import type { DrivePlan } from './drive-plan.ts';

/** After a crash, a lease is waited out and this long besides (KS-20). */
export const LEASE_GRACE_NS: VirtualNs = 200 * NS_PER_MS;

/**
 * The scenario of a drive: that of its nodes, of which the first is the target, with the queues of
 * directives and an event for each crash that may come. A crash kills the target at that instant;
 * its disk and the queues' cursors stay, and it starts again until no restart is left.
 */
export function driveScenario(
  base: ScenarioDef,
  plan: Pick<DrivePlan, 'maxRestarts' | 'flowLeaseMs'>,
  directives: readonly DirectiveQueueDef[],
): ScenarioDef {
  const waitNs = plan.flowLeaseMs === null ? 1 : plan.flowLeaseMs * NS_PER_MS + LEASE_GRACE_NS;
  const hasCrash = directives.some(({ queue }) => queue.some(({ kind }) => kind === 'crash'));
  const count = hasCrash ? plan.maxRestarts + 1 : 0;
  const events = Array.from({ length: count }, (_, index): EventDef => {
    const event: EventDef = {
      name: `crash ${index + 1}`,
      atNs: 0,
      withinNs: 0,
      chance: MILLION,
      action: { kind: 'kill', oneOf: [0] },
      trigger: { kind: 'effect', node: 0, effect: CRASH_EFFECT, count: index + 1 },
    };
    return index < plan.maxRestarts ? { ...event, forNs: waitNs } : event;
  });
  const all = [...base.plan.events, ...events].sort(compareEvents);
  const some = directives.length === 0 ? {} : { directives };
  return { ...base, plan: { ...base.plan, events: all, ...some } };
}
