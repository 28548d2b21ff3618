import { ARITY_MAX } from '../kernel/decision.ts';
import type { ErrorCode } from '../kernel/errors.ts';
import { MILLION, VIRTUAL_NS_MAX } from '../kernel/units.ts';
import { contradictions } from './contradictions.ts';
import {
  CLOCK_STEP_NS_MAX,
  DRIFT_PPM_MAX,
  FAULT_FAMILIES,
  MTU_BYTES_MAX,
  MTU_BYTES_MIN,
  type ClockChangeDef,
  type FaultFamily,
  type LinkFaultsDef,
  type TriggerDef,
} from './faults.ts';
import { predicateFault } from './predicate-admit.ts';
import type { ActionDef, EventDef, ScenarioDef } from './scenario.ts';

/** Something wrong with the faults of a scenario: where in its canonical form, and why. */
export interface FaultIssue {
  readonly code: ErrorCode;
  readonly path: string;
  /** The event that it is about, or -1. */
  readonly event: number;
  readonly why: string;
}

/** The most bytes that a link's queue may be told to hold. */
export const QUEUE_BYTES_MAX = 64 * 1024 * 1024;

type Complaint = readonly [field: string, why: string] | null;

/**
 * What is wrong with the faults of links, nodes and events; empty if nothing is. Events that
 * contradict each other on one target are refused, in whatever order they stand (CR-82).
 */
export function faultIssues(def: Pick<ScenarioDef, 'world' | 'plan'>): readonly FaultIssue[] {
  const issues: FaultIssue[] = [];
  const add = (path: string, event: number, complaint: Complaint): void => {
    if (complaint === null) return;
    const [field, why] = complaint;
    issues.push({ code: 'scenario/fault', path: `${path}.${field}`, event, why });
  };
  const { world, plan } = def;
  world.links.forEach(({ faults, bandwidth }, index) => {
    if (faults === undefined) return;
    add(`world.links[${index}].faults`, -1, complaintOfLink(faults, bandwidth !== null));
  });
  world.nodes.forEach(({ clock }, index) => {
    if (clock === undefined || clock.offsetNs !== 0 || clock.driftPpm !== 0) return;
    add(`world.nodes[${index}]`, -1, ['clock', 'a clock that is right is left out']);
  });
  plan.events.forEach((event, index) => {
    const path = `plan.events[${index}]`;
    add(path, index, complaintOfEvent(event, world.nodes.length));
  });
  add('plan', -1, complaintOfSwarm(plan.swarm));
  if (plan.liveness !== undefined && plan.liveness.atNs >= plan.limits.virtualNsMax) {
    add('plan.liveness', -1, ['atNs', 'the run is over before the faults are lifted']);
  }
  for (const { event, why } of contradictions(plan.events, world.nodes)) {
    issues.push({ code: 'scenario/conflict', path: `plan.events[${event}]`, event, why });
  }
  return issues;
}

/** What is wrong with a link's faults, or null. */
export function complaintOfLink(faults: LinkFaultsDef, limited: boolean): Complaint {
  const { duplicate, reorder, red, mtu, queueBytes } = faults;
  const shares: readonly (readonly [string, number | undefined])[] = [
    ['burst.enter', faults.burst?.enter],
    ['burst.leave', faults.burst?.leave],
    ['burst.loss', faults.burst?.loss],
    ['duplicate.chance', duplicate?.chance],
    ['reorder.chance', reorder?.chance],
    ['corrupt', faults.corrupt],
    ['corruptUndetected', faults.corruptUndetected],
    ['red.chance', red?.chance],
  ];
  for (const [field, value] of shares) {
    if (value !== undefined && !within(value, 1, MILLION)) return [field, NO_SHARE];
  }
  if (duplicate !== undefined && !within(duplicate.gapNs, 0, ARITY_MAX - 1)) {
    return ['duplicate.gapNs', `it is within 0 to ${ARITY_MAX - 1} ns`];
  }
  if (reorder !== undefined && !within(reorder.windowNs, 1, ARITY_MAX)) {
    return ['reorder.windowNs', `it is within 1 to ${ARITY_MAX} ns`];
  }
  if (mtu !== undefined && !within(mtu.bytes, MTU_BYTES_MIN, MTU_BYTES_MAX)) {
    return ['mtu.bytes', `it is within ${MTU_BYTES_MIN} to ${MTU_BYTES_MAX} bytes`];
  }
  const queue = queueBytes !== undefined || red !== undefined;
  const place = queueBytes === undefined ? 'red' : 'queueBytes';
  if (queue && !limited) return [place, 'nothing waits on a link without a bandwidth'];
  if (queueBytes !== undefined && !within(queueBytes, 1, QUEUE_BYTES_MAX)) {
    return ['queueBytes', `it is within 1 to ${QUEUE_BYTES_MAX} bytes`];
  }
  if (red !== undefined && !(red.fromBytes < red.toBytes && red.toBytes <= QUEUE_BYTES_MAX)) {
    return ['red', `it begins before it ends, at most at ${QUEUE_BYTES_MAX} bytes`];
  }
  return null;
}

const NO_SHARE = 'it is within 1 to 1000000 millionths; what never happens is left out';

/** What ends by itself when `forNs` is over. */
export function isLiftable({ kind }: ActionDef): boolean {
  return ![
    ...['restart', 'heal', 'disk-heal', 'pause', 'upgrade'],
    ...['flip-memory', 'flip-register', 'machine-check', 'storm'],
  ].includes(kind);
}

function complaintOfEvent(event: EventDef, nodeCount: number): Complaint {
  const { action, forNs, trigger } = event;
  if (forNs !== undefined) {
    if (!isLiftable(action)) return ['forNs', `"${action.kind}" is nothing that ends`];
    const lastNs = VIRTUAL_NS_MAX - event.atNs - event.withinNs;
    if (!within(forNs, 1, lastNs)) return ['forNs', 'it ends after the end of time'];
  }
  if (trigger !== undefined) {
    const complaint = complaintOfTrigger(trigger, event, nodeCount);
    if (complaint !== null) return complaint;
  }
  switch (action.kind) {
    case 'slow':
      return within(action.cpu, 1, MILLION - 1)
        ? null
        : ['action.cpu', 'a slow node has more than nothing and less than all of its processor'];
    case 'clock':
      return complaintOfClock(action.change);
    case 'degrade':
      if (action.faults === undefined) return null;
      return prefixed('action.faults', complaintOfLink(action.faults, true));
    default:
      return null;
  }
}

function complaintOfClock(change: ClockChangeDef): Complaint {
  if (change.kind === 'drift' && !within(change.ppm, -DRIFT_PPM_MAX, DRIFT_PPM_MAX)) {
    return ['action.change.ppm', `it is within ${-DRIFT_PPM_MAX} to ${DRIFT_PPM_MAX}`];
  }
  if (change.kind !== 'jump' && change.kind !== 'slew') return null;
  if (change.byNs === 0 || !within(change.byNs, -CLOCK_STEP_NS_MAX, CLOCK_STEP_NS_MAX)) {
    return ['action.change.byNs', `it is within ±${CLOCK_STEP_NS_MAX} ns, and not 0`];
  }
  if (change.kind === 'slew' && change.overNs < Math.max(1, -change.byNs)) {
    return ['action.change.overNs', 'a wall clock that is slewed does not run backwards'];
  }
  return null;
}

function complaintOfTrigger(trigger: TriggerDef, event: EventDef, nodeCount: number): Complaint {
  switch (trigger.kind) {
    case 'quantum':
    case 'effect':
      if (!within(trigger.node, 0, nodeCount - 1)) return ['trigger.node', 'there is no such node'];
      if (!within(trigger.count, 1, Number.MAX_SAFE_INTEGER)) {
        return ['trigger.count', 'it is at least 1'];
      }
      return null;
    case 'predicate': {
      const fault = predicateFault(trigger.that, nodeCount, 'trigger.that');
      return fault === null ? null : [fault.field, fault.why];
    }
    case 'decision':
      return within(trigger.ordinal, 0, Number.MAX_SAFE_INTEGER)
        ? null
        : ['trigger.ordinal', 'ordinals count from 0'];
    case 'hazard':
      if (event.withinNs === 0) return ['withinNs', 'a hazard lasts for some time'];
      return within(trigger.meanNs, 1, VIRTUAL_NS_MAX)
        ? null
        : ['trigger.meanNs', 'it is at least 1 ns'];
  }
}

function complaintOfSwarm(swarm: readonly FaultFamily[] | undefined): Complaint {
  if (swarm === undefined) return null;
  if (swarm.length === 0) return ['swarm', 'a swarm draws among at least one family'];
  const places = swarm.map((family) => FAULT_FAMILIES.indexOf(family));
  const sorted = places.every((place, at) => place > (places[at - 1] ?? -1));
  return sorted ? null : ['swarm', 'families are not in canonical order, each once'];
}

function prefixed(prefix: string, complaint: Complaint): Complaint {
  return complaint === null ? null : [`${prefix}.${complaint[0]}`, complaint[1]];
}

function within(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}
