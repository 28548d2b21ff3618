import { unreachable } from '../kernel/assert.ts';
import { MILLION, type Millionths, type VirtualNs } from '../kernel/units.ts';
import { NO_DEGRADATION, NOTHING, type Degradation } from '../network/link.ts';
import type { NodePair } from '../network/network.ts';
import type { ClockChangeDef, FaultFamily } from '../plan/faults.ts';
import type { HardwareActionDef } from '../plan/hardware.ts';
import type { ActionDef, GuestDef } from '../plan/scenario.ts';
import type { DiskAction } from './node-disks.ts';

/** What the plan can do to the world. Each says whether it changed anything. */
export interface PlanTarget {
  crash(node: number, atNs: VirtualNs): boolean;
  kill(node: number, atNs: VirtualNs): boolean;
  wipe(node: number, atNs: VirtualNs): boolean;
  upgrade(node: number, guest: GuestDef, atNs: VirtualNs): boolean;
  restart(node: number, atNs: VirtualNs): boolean;
  pause(node: number, untilNs: VirtualNs, atNs: VirtualNs): boolean;
  /** A non-maskable interrupt; only machines have one. */
  interrupt(node: number, atNs: VirtualNs): boolean;
  /** A fault inside the node; what goes on for some time ends before `untilNs`. */
  hardware(action: HardwareActionDef, node: number, when: HardwareTimes): boolean;
  slow(node: number, cpu: Millionths, atNs: VirtualNs): boolean;
  /** A processor of a machine gets no turns until each stall of it has ended. */
  stall(node: number, vcpu: number, atNs: VirtualNs): boolean;
  endStall(node: number, vcpu: number, atNs: VirtualNs): void;
  clock(node: number, change: ClockChangeDef, atNs: VirtualNs): boolean;
  cut(pairs: readonly NodePair[], inFlight: 'deliver' | 'drop', atNs: VirtualNs): boolean;
  /** Takes back one cut of each of the links. */
  mend(pairs: readonly NodePair[], atNs: VirtualNs): boolean;
  heal(atNs: VirtualNs): boolean;
  stick(pairs: readonly NodePair[], atNs: VirtualNs): boolean;
  release(pairs: readonly NodePair[], atNs: VirtualNs): boolean;
  degrade(nodes: readonly number[], added: Degradation, atNs: VirtualNs): boolean;
  disk(action: DiskAction, event: string, atNs: VirtualNs): boolean;
  /** Ends one rule of the disks. */
  mendDisk(action: DiskAction, event: string, atNs: VirtualNs): void;
  /** Ends every fault: from here on the world does its best. */
  calm(atNs: VirtualNs): void;
  /** Nodes that crashed and have not been started again, in order. */
  crashedNodes(): readonly number[];
  schedulePlan(atNs: VirtualNs, index: number, phase: PlanPhase, node: number): void;
  readonly nodeCount: number;
}

export interface HardwareTimes {
  readonly atNs: VirtualNs;
  readonly untilNs: VirtualNs;
}

/**
 * `window` opens at the earliest time, and draws whether and when; `fire` acts; `lift` takes it
 * back; `hazard` acts and draws the next time; `calm` ends all faults.
 */
export type PlanPhase = 'window' | 'fire' | 'lift' | 'calm' | 'hazard';

/** The result of a `plan` event of the log. */
export const PLAN_PHASES: Readonly<Record<PlanPhase, number>> = {
  window: 0,
  fire: 1,
  lift: 2,
  calm: 3,
  hazard: 4,
};

/** The family that an action belongs to, or null if it is no fault. */
export function familyOf(action: ActionDef): FaultFamily | null {
  switch (action.kind) {
    case 'crash':
    case 'kill':
    case 'wipe':
    case 'interrupt':
      return 'crash';
    case 'pause':
    case 'slow':
    case 'stall':
      return 'pause';
    case 'clock':
      return action.change.kind === 'synchronize' ? null : 'clock';
    case 'flip-memory':
    case 'flip-register':
    case 'machine-check':
    case 'storm':
      return 'hardware';
    case 'cut':
    case 'partition':
    case 'isolate':
      return 'partition';
    case 'disk':
      return 'disk';
    case 'stick':
    case 'degrade':
      return 'link';
    case 'restart':
    case 'upgrade':
    case 'disk-heal':
    case 'heal':
      return null;
    default:
      return unreachable(action);
  }
}

/** Does it to `node`, where the action is about one of several; says whether anything changed. */
export function act(
  action: ActionDef,
  target: PlanTarget,
  where: {
    readonly event: string;
    readonly node: number;
    readonly atNs: VirtualNs;
    readonly untilNs: VirtualNs;
  },
): boolean {
  const { node, atNs, untilNs } = where;
  switch (action.kind) {
    case 'crash':
    case 'kill':
    case 'wipe':
    case 'interrupt':
      return target[action.kind](node, atNs);
    case 'upgrade':
      return target.upgrade(node, action.guest, atNs);
    case 'restart': {
      if (node >= 0) return target.restart(node, atNs);
      const crashed = target.crashedNodes();
      for (const each of crashed) target.restart(each, atNs);
      return crashed.length > 0;
    }
    case 'pause':
      return target.pause(node, Math.min(atNs + action.forNs, untilNs), atNs);
    case 'flip-memory':
    case 'flip-register':
    case 'machine-check':
    case 'storm':
      return target.hardware(action, node, { atNs, untilNs });
    case 'slow':
      return target.slow(node, action.cpu, atNs);
    case 'stall':
      return target.stall(node, action.vcpu, atNs);
    case 'clock':
      return target.clock(node, action.change, atNs);
    case 'cut':
    case 'partition':
    case 'isolate':
      return target.cut(pairsOf(action, node, target.nodeCount), action.inFlight ?? 'drop', atNs);
    case 'stick':
      return target.stick(pairs(action.from, action.to), atNs);
    case 'disk':
    case 'disk-heal':
      return target.disk(action, where.event, atNs);
    case 'heal':
      return target.heal(atNs);
    case 'degrade': {
      const { nodes, loss, extraLatencyNs, bandwidth = 0, faults = NOTHING } = action;
      return target.degrade(nodes, { loss, extraLatencyNs, bandwidth, faults }, atNs);
    }
    default:
      return unreachable(action);
  }
}

/** Whether these are counted, so that each has an end of its own, also if it changed nothing. */
export function isHold(action: ActionDef): boolean {
  return ['cut', 'partition', 'isolate', 'stick', 'stall'].includes(action.kind);
}

/** Takes back what the action did to `node`: a fault's end is a transition like its start (CR-59). */
export function lift(
  action: ActionDef,
  target: PlanTarget,
  where: { readonly event: string; readonly node: number; readonly atNs: VirtualNs },
): void {
  const { event, node, atNs } = where;
  switch (action.kind) {
    case 'crash':
    case 'kill':
    case 'wipe':
      target.restart(node, atNs);
      return;
    case 'slow':
      target.slow(node, MILLION, atNs);
      return;
    case 'stall':
      target.endStall(node, action.vcpu, atNs);
      return;
    case 'clock':
      target.clock(node, { kind: 'synchronize' }, atNs);
      return;
    case 'cut':
    case 'partition':
    case 'isolate':
      target.mend(pairsOf(action, node, target.nodeCount), atNs);
      return;
    case 'stick':
      target.release(pairs(action.from, action.to), atNs);
      return;
    case 'disk':
      target.mendDisk(action, event, atNs);
      return;
    case 'degrade':
      target.degrade(action.nodes, NO_DEGRADATION, atNs);
      return;
    case 'restart':
    case 'upgrade':
    case 'pause':
    case 'disk-heal':
    case 'heal':
    case 'interrupt':
    case 'flip-memory':
    case 'flip-register':
    case 'machine-check':
    case 'storm':
      return;
    default:
      return unreachable(action);
  }
}

type Cutting = Extract<ActionDef, { kind: 'cut' | 'partition' | 'isolate' }>;

function pairsOf(action: Cutting, node: number, nodeCount: number): readonly NodePair[] {
  if (action.kind === 'cut') return pairs(action.from, action.to);
  return action.kind === 'partition' ? betweenGroups(action.groups) : aroundNode(node, nodeCount);
}

function pairs(from: readonly number[], to: readonly number[]): readonly NodePair[] {
  return from.flatMap((a) => to.filter((b) => b !== a).map((b) => [a, b] as const));
}

function betweenGroups(groups: readonly (readonly number[])[]): readonly NodePair[] {
  return groups.flatMap((group) => {
    return groups.filter((other) => other !== group).flatMap((other) => pairs(group, other));
  });
}

function aroundNode(node: number, nodeCount: number): readonly NodePair[] {
  const others = Array.from({ length: nodeCount }, (_, index) => index).filter((n) => n !== node);
  return [...pairs([node], others), ...pairs(others, [node])];
}
