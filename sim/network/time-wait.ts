import { NS_PER_S, type VirtualNs } from '../kernel/units.ts';
import { Fifo } from './fifo.ts';

/** How long an ended connection is remembered (Linux: 60 s). */
export const TIME_WAIT_NS: VirtualNs = 60 * NS_PER_S;
/** A node remembers at most this many; then the oldest go first. */
export const TIME_WAITS_MAX = 16_384;

/** A connection in TIME-WAIT (RFC 9293 section 3.3.2): what it takes to answer a repeated FIN. */
export interface TimeWait {
  readonly key: number;
  readonly localPort: number;
  readonly sendNext: number;
  readonly receiveNext: number;
  readonly initialReceive: number;
  readonly expiresNs: VirtualNs;
}

/** The connections of one node in TIME-WAIT. They cost no events: they expire when looked at. */
export class TimeWaits {
  private readonly byKey = new Map<number, TimeWait>();
  private readonly byAge = new Fifo<TimeWait>();
  private readonly portUsers = new Map<number, number>();

  get(key: number): TimeWait | undefined {
    return this.byKey.get(key);
  }

  /** Whether any of them has this local port. */
  usesPort(port: number): boolean {
    return this.portUsers.has(port);
  }

  add(entry: TimeWait): void {
    this.delete(entry.key);
    if (this.byKey.size >= TIME_WAITS_MAX) this.dropOldest();
    this.byKey.set(entry.key, entry);
    this.byAge.push(entry);
    this.portUsers.set(entry.localPort, (this.portUsers.get(entry.localPort) ?? 0) + 1);
  }

  delete(key: number): void {
    const entry = this.byKey.get(key);
    if (entry === undefined) return;
    this.byKey.delete(key);
    const users = (this.portUsers.get(entry.localPort) as number) - 1;
    if (users > 0) this.portUsers.set(entry.localPort, users);
    else this.portUsers.delete(entry.localPort);
  }

  /** Forgets those whose time is over. */
  expire(nowNs: VirtualNs): void {
    for (;;) {
      const oldest = this.byAge.peek();
      if (oldest === undefined || oldest.expiresNs > nowNs) return;
      this.byAge.shift();
      if (this.byKey.get(oldest.key) === oldest) this.delete(oldest.key);
    }
  }

  clear(): void {
    this.byKey.clear();
    this.byAge.replace([]);
    this.portUsers.clear();
  }

  capture(): readonly TimeWait[] {
    return this.byAge.list().filter((entry) => this.byKey.get(entry.key) === entry);
  }

  restore(entries: readonly TimeWait[]): void {
    this.clear();
    for (const entry of entries) this.add(entry);
  }

  private dropOldest(): void {
    for (;;) {
      const oldest = this.byAge.shift();
      if (oldest === undefined) return;
      if (this.byKey.get(oldest.key) !== oldest) continue;
      this.delete(oldest.key);
      return;
    }
  }
}
