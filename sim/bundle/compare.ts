import type { Decision } from '../kernel/decision.ts';
import type { LoggedEvent } from '../kernel/event-log.ts';
import {
  decodeDecisions,
  decodeEvents,
  LOG_DECISIONS,
  LOG_EVENTS,
  readLog,
  type ReadLog,
} from '../kernel/log-reader.ts';
import type { FingerprintRecord } from './fingerprints.ts';
import { likelySource } from './likely-source.ts';

/** The records of a run that comparisons look at; never tables or texts for people (CR-98). */
export interface ComparedRun {
  readonly schedule: Uint8Array;
  readonly events: Uint8Array;
  readonly fingerprints: readonly FingerprintRecord[];
}

/** One record of each side; null where a side has ended. */
export interface Pair<T> {
  readonly index: number;
  readonly left: T | null;
  readonly right: T | null;
}

/** Events on both sides up to and past the first that differs. */
export interface EventWindow {
  readonly left: readonly LoggedEvent[];
  readonly right: readonly LoggedEvent[];
}

/**
 * How two runs differ first. The coordinates stay apart (CR-15): `log…` come from the logs,
 * `fingerprint…` from the fingerprints, and what a stream does not localise is null (`unknown`).
 */
export interface RunDifference {
  readonly decision: Pair<Decision> | null;
  readonly event: Pair<LoggedEvent> | null;
  readonly fingerprint: Pair<FingerprintRecord> | null;
  /** The virtual time of the first differing event, and its guest (-1 for the world). */
  readonly logNs: number | null;
  readonly logGuest: number | null;
  /** Up to this time the fingerprints agree; from the next one on they do not. */
  readonly fingerprintAfterNs: number | null;
  readonly fingerprintByNs: number | null;
  /** The guests whose state differs at the first fingerprint that does. */
  readonly fingerprintGuests: readonly number[];
  readonly window: EventWindow;
  /** The likely source by name; see likely-source.ts. */
  readonly source: string;
}

/** This many events before the first that differs are shown, and as many from it on. */
export const WINDOW_EVENTS = 8;

/** The first difference of two runs, or null if their records are equal byte for byte. */
export function compareRuns(left: ComparedRun, right: ComparedRun): RunDifference | null {
  const sameSchedule = sameBytes(left.schedule, right.schedule);
  const sameEvents = sameBytes(left.events, right.events);
  const fingerprint = firstFingerprint(left.fingerprints, right.fingerprints);
  if (sameSchedule && sameEvents && fingerprint === null) return null;
  const decision = sameSchedule
    ? null
    : firstPair(decisionsOf(left.schedule), decisionsOf(right.schedule), sameDecision);
  const events = sameEvents
    ? null
    : firstPair(eventsOf(left.events), eventsOf(right.events), sameEvent);
  const window = events === null ? { left: [], right: [] } : windowAt(events.index, left, right);
  const eventSide = events?.left ?? events?.right ?? null;
  const before = fingerprint === null ? undefined : left.fingerprints[fingerprint.index - 1];
  return {
    decision,
    event: events,
    fingerprint,
    logNs: eventSide?.atNs ?? null,
    logGuest: eventSide?.guest ?? null,
    fingerprintAfterNs: fingerprint === null ? null : (before?.atNs ?? 0),
    fingerprintByNs: (fingerprint?.left ?? fingerprint?.right)?.atNs ?? null,
    fingerprintGuests: fingerprint === null ? [] : differingGuests(fingerprint),
    window,
    source: likelySource({ decision, event: events, window }),
  };
}

function decisionsOf(bytes: Uint8Array): Generator<Decision, void, void> {
  return decodeDecisions(wholeFrames(bytes, LOG_DECISIONS));
}

function eventsOf(bytes: Uint8Array): Generator<LoggedEvent, void, void> {
  return decodeEvents(wholeFrames(bytes, LOG_EVENTS));
}

/** A log as far as it is whole: two runs may be compared though one was killed. */
function wholeFrames(bytes: Uint8Array, kind: number): ReadLog {
  return readLog(bytes, kind);
}

/** The first place at which two sequences differ, or null if they are equal. */
function firstPair<T>(
  left: Generator<T, void, void>,
  right: Generator<T, void, void>,
  same: (a: T, b: T) => boolean,
): Pair<T> | null {
  for (let index = 0; ; index++) {
    const a = left.next();
    const b = right.next();
    if (a.done === true && b.done === true) return null;
    if (a.done === true) return { index, left: null, right: b.done === true ? null : b.value };
    if (b.done === true) return { index, left: a.value, right: null };
    if (!same(a.value, b.value)) return { index, left: a.value, right: b.value };
  }
}

function sameDecision(a: Decision, b: Decision): boolean {
  return (
    a.stream === b.stream &&
    a.ordinal === b.ordinal &&
    a.atNs === b.atNs &&
    a.arity === b.arity &&
    a.choice === b.choice &&
    a.door === b.door
  );
}

function sameEvent(a: LoggedEvent, b: LoggedEvent): boolean {
  return (
    a.kind === b.kind &&
    a.guest === b.guest &&
    a.atNs === b.atNs &&
    a.input === b.input &&
    a.result === b.result
  );
}

function windowAt(index: number, left: ComparedRun, right: ComparedRun): EventWindow {
  return {
    left: around(eventsOf(left.events), index),
    right: around(eventsOf(right.events), index),
  };
}

function around(events: Generator<LoggedEvent, void, void>, index: number): LoggedEvent[] {
  const window: LoggedEvent[] = [];
  for (const event of events) {
    if (event.index >= index + WINDOW_EVENTS) break;
    if (event.index >= index - WINDOW_EVENTS) window.push(event);
  }
  return window;
}

function firstFingerprint(
  left: readonly FingerprintRecord[],
  right: readonly FingerprintRecord[],
): Pair<FingerprintRecord> | null {
  const count = Math.max(left.length, right.length);
  for (let index = 0; index < count; index++) {
    const a = left[index] ?? null;
    const b = right[index] ?? null;
    if (a === null || b === null || !sameFingerprint(a, b)) return { index, left: a, right: b };
  }
  return null;
}

function sameFingerprint(a: FingerprintRecord, b: FingerprintRecord): boolean {
  return (
    a.atNs === b.atNs &&
    a.quanta === b.quanta &&
    a.decisionChain === b.decisionChain &&
    a.eventChain === b.eventChain &&
    a.guests.length === b.guests.length &&
    a.guests.every((digest, guest) => digest === b.guests[guest])
  );
}

function differingGuests({ left, right }: Pair<FingerprintRecord>): number[] {
  if (left === null || right === null) return [];
  const count = Math.max(left.guests.length, right.guests.length);
  const guests = Array.from({ length: count }, (_, guest) => guest);
  return guests.filter((guest) => left.guests[guest] !== right.guests[guest]);
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    if (a[index] !== b[index]) return false;
  }
  return true;
}
