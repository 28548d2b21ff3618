import type { Outcome, Wait } from '../kernel/guest.ts';
import { MILLION, type Millionths, type VirtualNs } from '../kernel/units.ts';
import type { GuestDef } from '../plan/scenario.ts';

/** Where a node stands. */
export type NodeStatus = 'unstarted' | 'runnable' | 'waiting' | 'exited' | 'trapped' | 'crashed';

/** A node's life as plain data: what the world knows of its guest. */
export interface NodeLife {
  status: NodeStatus;
  /** The guest's local clock at its last stop, or the time at which it goes on. */
  localNs: VirtualNs;
  /** Why it goes on, when it is runnable. */
  reason: Outcome['reason'];
  /** What it waits for, when it waits. */
  wait: Wait | null;
  /** The time of the earliest deadline event that stands in the queue for it, or -1. */
  deadlineQueuedNs: VirtualNs;
  /** The guest does not run before this time. */
  pausedUntilNs: VirtualNs;
  /** How often it has been started. */
  lives: number;
  /** The exit code, when it exited. */
  exitCode: number | null;
  /** The last time at which the guest can have looked at the world. */
  observedNs: VirtualNs;
  /** The share of its processor that the node gets. */
  cpu: Millionths;
  /** The build that it runs in place of the scenario's, or null. */
  build: GuestDef | null;
}

export function newLife(): NodeLife {
  return {
    status: 'unstarted',
    localNs: 0,
    reason: 'start',
    wait: null,
    deadlineQueuedNs: -1,
    pausedUntilNs: 0,
    lives: 0,
    exitCode: null,
    observedNs: 0,
    cpu: MILLION,
    build: null,
  };
}

/** Whether a guest of this status exists and has not ended. */
export function isAlive(status: NodeStatus): boolean {
  return status === 'runnable' || status === 'waiting';
}

/** Whether a node has run and does not run any more. */
export function hasStopped(status: NodeStatus): boolean {
  return status === 'exited' || status === 'trapped' || status === 'crashed';
}
