import type { Decisions } from '../kernel/decision.ts';
import type { EventLog } from '../kernel/event-log.ts';
import { formatSpan, MILLION, type VirtualNs } from '../kernel/units.ts';
import type { Degradation } from '../network/link.ts';
import type { Network, NodePair } from '../network/network.ts';
import type { ClockChangeDef } from '../plan/faults.ts';
import { strike, type HardwareHost } from './hardware.ts';
import type { Machines } from './machines.ts';
import type { NodeDisks } from './node-disks.ts';
import type { NodeLives } from './node-lives.ts';
import type { NodePort } from './node-port.ts';
import type { NoteList } from './notes.ts';
import type { PlanPhase, PlanTarget } from './plan-actions.ts';
import { beginStall, endAllStalls, endStall } from './stall-actions.ts';

/** The parts of the world that a plan acts on. */
export interface PlanTargetParts {
  readonly names: readonly string[];
  readonly network: Network;
  readonly ports: readonly NodePort[];
  readonly lives: NodeLives;
  readonly disks: NodeDisks;
  readonly machines: Machines;
  readonly notes: NoteList;
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly schedule: (atNs: VirtualNs, index: number, phase: PlanPhase, node: number) => void;
}

/** Joins what a plan says with the parts of the world, and notes it for people. */
export function makePlanTarget(parts: PlanTargetParts): PlanTarget {
  const { names, network, ports, lives, disks, notes } = parts;
  const say = (atNs: VirtualNs, text: string): void => {
    notes.add({ atNs, node: -1, kind: 'network', text });
  };
  const clock = (node: number, change: ClockChangeDef, atNs: VirtualNs): boolean => {
    const { events } = parts;
    const port = ports[node] as NodePort;
    if (change.kind === 'synchronize' && !port.hasOwnClock) return false;
    port.changeClock(change, atNs);
    parts.machines.tellTime(node, atNs);
    const text = describeClock(change);
    events.append(events.kind('guest/clock'), node, atNs, CLOCK_CHANGES.indexOf(change.kind), 0);
    notes.add({ atNs, node, kind: 'clock', text });
    lives.wakeForClock(node, atNs);
    return true;
  };
  const struck: HardwareHost = {
    names,
    machines: parts.machines,
    decisions: parts.decisions,
    events: parts.events,
    isRunning: (node) => lives.isRunning(node),
    note: (note) => {
      notes.add(note);
    },
  };
  return {
    nodeCount: names.length,
    crash: (node, atNs) => lives.crash(node, atNs),
    kill: (node, atNs) => lives.kill(node, atNs),
    wipe: (node, atNs) => lives.wipe(node, atNs),
    upgrade: (node, guest, atNs) => lives.upgrade(node, guest, atNs),
    restart: (node, atNs) => lives.restart(node, atNs),
    pause: (node, untilNs, atNs) => lives.pause(node, untilNs, atNs),
    interrupt: (node, atNs) => interrupt(parts, node, atNs),
    hardware: (action, node, when) => strike(struck, action, node, when),
    slow: (node, cpu, atNs) => lives.slow(node, cpu, atNs),
    stall: (node, vcpu, atNs) => beginStall(parts, { node, vcpu }, atNs),
    endStall: (node, vcpu, atNs) => {
      endStall(parts, { node, vcpu }, atNs);
    },
    clock,
    ...linkActions(parts, say),
    disk: (action, event, atNs) => disks.act(action, event, atNs),
    mendDisk: (action, event, atNs) => {
      disks.mend(action, event, atNs);
    },
    calm: (atNs) => {
      notes.add({ atNs, node: -1, kind: 'plan', text: 'all faults are lifted' });
      network.lift(atNs);
      disks.lift(atNs);
      names.forEach((_, node) => {
        clock(node, { kind: 'synchronize' }, atNs);
        lives.slow(node, MILLION, atNs);
        endAllStalls(parts, node, atNs);
      });
      for (const node of lives.crashed()) lives.restart(node, atNs);
    },
    crashedNodes: () => lives.crashed(),
    schedulePlan: (atNs, index, phase, node) => {
      parts.schedule(atNs, index, phase, node);
    },
  };
}

type LinkActions = Pick<PlanTarget, 'cut' | 'mend' | 'heal' | 'stick' | 'release' | 'degrade'>;

function linkActions(
  { network, names }: PlanTargetParts,
  say: (atNs: VirtualNs, text: string) => void,
): LinkActions {
  return {
    cut: (pairs, inFlight, atNs) => {
      const count = network.cut(pairs, inFlight);
      say(atNs, `cut ${describePairs(pairs, names)}`);
      return count > 0;
    },
    mend: (pairs, atNs) => {
      const count = network.mend(pairs);
      say(atNs, `mend ${describePairs(pairs, names)}`);
      return count > 0;
    },
    heal: (atNs) => {
      const count = network.heal();
      say(atNs, 'heal');
      return count > 0;
    },
    stick: (pairs, atNs) => {
      const count = network.stick(pairs);
      say(atNs, `stick ${describePairs(pairs, names)}`);
      return count > 0;
    },
    release: (pairs, atNs) => {
      const count = network.release(pairs, atNs);
      say(atNs, `release ${describePairs(pairs, names)}`);
      return count > 0;
    },
    degrade: (nodes, added, atNs) => {
      const count = network.degrade(nodes, added);
      say(atNs, describeDegradation(added));
      return count > 0;
    },
  };
}

function interrupt(parts: PlanTargetParts, node: number, atNs: VirtualNs): boolean {
  if (!parts.lives.isRunning(node)) return false;
  parts.machines.interrupt(node, atNs);
  parts.notes.add({ atNs, node, kind: 'plan', text: 'non-maskable interrupt' });
  return true;
}

/** The input of a `guest/clock` event is a place in this list; numbers are never given anew. */
const CLOCK_CHANGES: readonly ClockChangeDef['kind'][] = [
  'jump',
  'drift',
  'freeze',
  'slew',
  'synchronize',
];

function describeClock(change: ClockChangeDef): string {
  switch (change.kind) {
    case 'jump':
      return `the wall clock jumps ${signed(change.byNs)}`;
    case 'drift':
      return `clocks drift by ${change.ppm} ppm`;
    case 'freeze':
      return change.clock === 'both' ? 'both clocks stand still' : 'the wall clock stands still';
    case 'slew':
      return `the wall clock is slewed ${signed(change.byNs)} over ${formatSpan(change.overNs)}`;
    case 'synchronize':
      return 'clocks are right again';
  }
}

function signed(ns: number): string {
  return `${ns < 0 ? '-' : '+'}${formatSpan(Math.abs(ns))}`;
}

function describeDegradation({ loss, extraLatencyNs, bandwidth, faults }: Degradation): string {
  const parts = [`loss ${loss} millionths`, `latency +${formatSpan(extraLatencyNs)}`];
  if (bandwidth > 0) parts.push(`${bandwidth} bits a second`);
  return `degrade: ${[...parts, ...Object.keys(faults)].join(', ')}`;
}

function describePairs(pairs: readonly NodePair[], names: readonly string[]): string {
  const shown = pairs.slice(0, 6).map(([from, to]) => `${names[from] ?? ''}→${names[to] ?? ''}`);
  return pairs.length > 6 ? `${shown.join(' ')} and ${pairs.length - 6} more` : shown.join(' ');
}
