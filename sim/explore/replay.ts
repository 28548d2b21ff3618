import type { Decision, DecisionSource, Door, Opportunity } from '../kernel/decision.ts';
import type { RecordCheck } from '../kernel/log.ts';
import { decodeDecisions, LOG_DECISIONS, LOG_EVENTS, readWholeLog } from '../kernel/log-reader.ts';
import type { ReadLog } from '../kernel/log-reader.ts';

/** The two records of a run, as all their frames. */
export interface Recording {
  readonly schedule: Uint8Array;
  readonly events: Uint8Array;
}

/** Where a replay parted from its recording. */
export interface Parting {
  readonly log: 'decisions' | 'events';
  /** The index of the first decision or event that differs. */
  readonly index: number;
  /** What was asked, where a decision differs in its question. */
  readonly asked: Omit<Decision, 'choice' | 'door'> | null;
}

/** Thrown when a replay parts from its recording; the driver describes it (see describe.ts). */
export class Divergence extends Error {
  readonly parting: Parting;

  constructor(parting: Parting) {
    super('the replay parts from its recording');
    this.parting = parting;
  }
}

/**
 * Answers decisions from a recording, in the name of the door that answered then, and compares
 * every decision's question and every event's record with it.
 */
export class Replay implements DecisionSource {
  door: Door = 'replay';
  private readonly decisions: Iterator<Decision, void, void>;
  private readonly events: ReadLog;
  private readonly eventCount: () => number;
  private frame = 0;
  private frameStart = 0;
  private asked = 0;

  /**
   * `eventCount` tells how many events the run has appended; `decisionsBefore` is how many
   * decisions it has made already, when it goes on from a checkpoint.
   */
  constructor(recording: Recording, eventCount: () => number, decisionsBefore: number) {
    this.decisions = decodeDecisions(readWholeLog(recording.schedule, LOG_DECISIONS));
    this.events = readWholeLog(recording.events, LOG_EVENTS);
    this.eventCount = eventCount;
    while (this.asked < decisionsBefore && this.decisions.next().done !== true) this.asked++;
  }

  choose({ stream, atNs, arity }: Opportunity): number {
    const next = this.decisions.next();
    const { name, ordinal } = stream;
    const expected = next.done === true ? null : next.value;
    const same =
      expected !== null &&
      expected.stream === name &&
      expected.ordinal === ordinal &&
      expected.atNs === atNs &&
      expected.arity === arity;
    const index = this.asked++;
    if (!same) {
      const asked = { index, stream: name, ordinal, atNs, arity };
      throw new Divergence({ log: 'decisions', index, asked });
    }
    this.door = expected.door;
    return expected.choice;
  }

  /** Compares each record that the event log completes with the recorded bytes. */
  readonly checkEvent: RecordCheck = (bytes, from, to, position) => {
    let frame = this.events.frames[this.frame];
    while (frame !== undefined && position >= this.frameStart + frame.payload.length) {
      this.frameStart += frame.payload.length;
      frame = this.events.frames[++this.frame];
    }
    const start = position - this.frameStart;
    const payload = frame?.payload;
    if (payload !== undefined && start + to - from <= payload.length) {
      let at = from;
      while (at < to && bytes[at] === payload[start + at - from]) at++;
      if (at === to) return;
    }
    // A record that starts with 0 declares the kind of the event that comes next.
    const index = bytes[from] === 0 ? this.eventCount() : this.eventCount() - 1;
    throw new Divergence({ log: 'events', index, asked: null });
  };

  /** At the end of a whole replay: throws if the recording goes on. */
  assertFinished(eventBytes: number): void {
    const next = this.decisions.next();
    if (next.done !== true) {
      throw new Divergence({ log: 'decisions', index: this.asked, asked: null });
    }
    const recorded = this.events.frames.reduce((sum, frame) => sum + frame.payload.length, 0);
    if (eventBytes !== recorded) {
      throw new Divergence({ log: 'events', index: this.eventCount(), asked: null });
    }
  }
}
