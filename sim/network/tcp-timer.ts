import { VIRTUAL_NS_MAX, type VirtualNs } from '../kernel/units.ts';
import type { TimerEvent, TimerKind } from './packet.ts';

export interface TimerState {
  readonly atNs: VirtualNs;
  readonly queuedNs: VirtualNs;
}

/** Queues a timer's event. */
export type Wake = (atNs: VirtualNs, event: TimerEvent) => void;

/**
 * A timer of a connection. Stopping it or moving it later touches no queue: the event that is
 * queued comes, finds nothing due, and is queued again if there is a later time. So a timer that
 * is restarted with every segment costs one event a period.
 */
export class Timer {
  private readonly event: TimerEvent;
  /** When it fires, or -1. */
  private atNs: VirtualNs = -1;
  /** The earliest event that is queued, or -1. */
  private queuedNs: VirtualNs = -1;

  constructor(node: number, socket: number, timer: TimerKind) {
    this.event = { kind: 'timer', node, socket, timer };
  }

  get isArmed(): boolean {
    return this.atNs >= 0;
  }

  arm(wake: Wake, atNs: VirtualNs): void {
    this.atNs = atNs;
    if (this.queuedNs < 0 || atNs < this.queuedNs) this.enqueue(wake, atNs);
  }

  disarm(): void {
    this.atNs = -1;
  }

  /** Whether the event that was queued for that time fires the timer, or moves it later. */
  awaits(atNs: VirtualNs): boolean {
    return this.atNs >= 0 && this.queuedNs === atNs;
  }

  /** Takes the event that was queued for `nowNs`; says whether the timer fires now. */
  fires(wake: Wake, nowNs: VirtualNs): boolean {
    if (this.queuedNs !== nowNs) return false;
    this.queuedNs = -1;
    if (this.atNs < 0) return false;
    if (this.atNs > nowNs) {
      this.enqueue(wake, this.atNs);
      return false;
    }
    this.atNs = -1;
    return true;
  }

  capture(): TimerState {
    return { atNs: this.atNs, queuedNs: this.queuedNs };
  }

  restore(state: TimerState): void {
    this.atNs = state.atNs;
    this.queuedNs = state.queuedNs;
  }

  /** What lies past the end of time is never queued. */
  private enqueue(wake: Wake, atNs: VirtualNs): void {
    if (atNs > VIRTUAL_NS_MAX) return;
    this.queuedNs = atNs;
    wake(atNs, this.event);
  }
}
