import { RecordLog, type LogState } from './log.ts';
import type { VirtualNs } from './units.ts';

/**
 * The event log: every effect with its kind, guest, virtual time, digest of its inputs and
 * result, choice or not.
 *
 * Record: `kind + 1`, guest + 1, change of time since the last event (signed), inputs' digest
 * (32 bits), result (signed); of a kind's first use: `0`, its name.
 */
export interface LoggedEvent {
  /** Place among all events of the run, from 0. */
  readonly index: number;
  readonly kind: string;
  /** The guest, or -1 for the world. */
  readonly guest: number;
  readonly atNs: VirtualNs;
  /** A 32-bit digest of what went in. */
  readonly input: number;
  /** What came out: a count, a code, or a 32-bit digest of bytes. */
  readonly result: number;
}

/** A handle on a kind of event: make one for each kind and keep it. */
export interface EventKind {
  readonly name: string;
  /** The place among the kinds in use, or -1 before the first event. */
  index: number;
}

export interface EventLogState {
  readonly kinds: readonly string[];
  readonly log: LogState;
  readonly lastNs: VirtualNs;
  readonly count: number;
}

/** Somebody who is told of each event as it is appended. */
export type EventWatch = (kind: string, guest: number, atNs: VirtualNs) => void;

export class EventLog {
  readonly log: RecordLog;
  private readonly byName = new Map<string, EventKind>();
  private used: EventKind[] = [];
  private lastNs: VirtualNs = 0;
  private count = 0;
  private watch: EventWatch | null = null;

  constructor(onFrame: (frame: Uint8Array) => void) {
    this.log = new RecordLog(2, onFrame);
  }

  /** How many events have been appended. */
  get eventCount(): number {
    return this.count;
  }

  /** From here on `watch` is told of each event; it is no part of the state. */
  setWatch(watch: EventWatch): void {
    this.watch = watch;
  }

  /** A handle on the kind of that name; it stays valid when a checkpoint is restored. */
  kind(name: string): EventKind {
    let kind = this.byName.get(name);
    if (kind === undefined) {
      kind = { name, index: -1 };
      this.byName.set(name, kind);
    }
    return kind;
  }

  /** Appends an event. `input` is 32 bits, `result` an integer in (-2^52, 2^52). */
  append(kind: EventKind, guest: number, atNs: VirtualNs, input: number, result: number): void {
    const log = this.log;
    if (kind.index < 0) {
      kind.index = this.used.length;
      this.used.push(kind);
      log.putUnsigned(0);
      log.putText(kind.name);
      log.end();
    }
    const changeNs = atNs - this.lastNs;
    this.lastNs = atNs;
    this.count++;
    log.putEvent(kind.index + 1, guest + 1, changeNs, input, result);
    if (this.watch !== null) this.watch(kind.name, guest, atNs);
  }

  capture(): EventLogState {
    const kinds = this.used.map((kind) => kind.name);
    return { kinds, log: this.log.capture(), lastNs: this.lastNs, count: this.count };
  }

  restore(state: EventLogState): void {
    for (const kind of this.byName.values()) kind.index = -1;
    this.used = [];
    for (const name of state.kinds) {
      const kind = this.kind(name);
      kind.index = this.used.length;
      this.used.push(kind);
    }
    this.log.restore(state.log);
    this.count = state.count;
    this.lastNs = state.lastNs;
  }
}
