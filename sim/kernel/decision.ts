import { assert } from './assert.ts';
import { draw32, drawUniform } from './draw.ts';
import { RecordLog } from './log.ts';
import { StreamTable, type Stream, type StreamTableState } from './stream.ts';
import { MILLION, type Millionths, type VirtualNs } from './units.ts';
import type { LogState } from './log.ts';

/** Who answered a decision, in order of precedence (design: door precedence). */
export const DOORS = [
  'override',
  'replay',
  'leaf',
  'directive',
  'signal',
  'seeded',
  'default',
] as const;
export type Door = (typeof DOORS)[number];

const DOOR_SEEDED = DOORS.indexOf('seeded');
const DOOR_DEFAULT = DOORS.indexOf('default');

/** A decision as people and tools see it. */
export interface Decision {
  /** Place among all decisions of the run, from 0. */
  readonly index: number;
  readonly stream: string;
  readonly ordinal: number;
  readonly atNs: VirtualNs;
  readonly arity: number;
  readonly choice: number;
  readonly door: Door;
}

/** What is asked: the stream (its next ordinal), when, and how many answers there are. */
export interface Opportunity {
  readonly stream: Stream;
  readonly atNs: VirtualNs;
  readonly arity: number;
}

/**
 * Somebody who may answer. Sources are asked in order; the first that answers wins. `undefined`
 * passes the question on. A source never looks ahead and never answers out of the arity.
 */
export interface DecisionSource {
  /** Read after each answer: a replaying source answers in the names of those it recorded. */
  readonly door: Door;
  choose(opportunity: Opportunity): number | undefined;
}

export interface DecisionsState {
  readonly table: StreamTableState;
  readonly log: LogState;
  readonly lastNs: VirtualNs;
  readonly count: number;
}

/** The largest arity: choices are whole numbers below it. */
export const ARITY_MAX = 2 ** 52;

/**
 * The only way in for anything that could have been otherwise. Answers, counts and logs.
 *
 * Log record of a decision: `(stream + 1) * 16 + door * 2 + (arity changed)`, arity if changed,
 * choice, change of time since the last decision; of a stream's first use: `0`, its name.
 */
export class Decisions {
  readonly streams: StreamTable;
  readonly log: RecordLog;
  private sources: readonly DecisionSource[] = [];
  private lastNs: VirtualNs = 0;
  private count = 0;

  constructor(seed: number, onFrame: (frame: Uint8Array) => void) {
    this.streams = new StreamTable(seed);
    this.log = new RecordLog(1, onFrame);
  }

  /** How many decisions have been made. */
  get decisionCount(): number {
    return this.count;
  }

  /** Who is asked before the seed answers; in order of precedence. */
  setSources(sources: readonly DecisionSource[]): void {
    this.sources = sources;
  }

  /** The stream of that name. Keep the handle where decisions are many. */
  stream(name: string): Stream {
    return this.streams.get(name);
  }

  /** One of 0 to `arity` - 1, uniformly drawn unless a source answers. Arity 1 is no decision. */
  decide(stream: Stream, atNs: VirtualNs, arity: number): number {
    assert(arity >= 1 && arity <= ARITY_MAX, 'an arity is within 1 to 2^52');
    if (arity === 1) return 0;
    if (this.sources.length > 0) {
      const chosen = this.askSources(stream, atNs, arity);
      if (chosen >= 0) return chosen;
    }
    const choice = drawUniform(stream.key, stream.ordinal, arity);
    this.record(stream, atNs, arity, choice, DOOR_SEEDED);
    return choice;
  }

  /**
   * Whether something of this probability happens: arity 2, choice 1 for yes. A probability of 0
   * or 1 is no decision.
   */
  decideChance(stream: Stream, atNs: VirtualNs, probability: Millionths): boolean {
    if (probability <= 0) return false;
    if (probability >= MILLION) return true;
    if (this.sources.length > 0) {
      const chosen = this.askSources(stream, atNs, 2);
      if (chosen >= 0) return chosen === 1;
    }
    // 2^32 / 10^6 is not whole; the bias of at most one part in 4,294 millionths is irrelevant.
    const draw = draw32(stream.key, stream.ordinal, 0);
    const choice = Math.floor((draw * MILLION) / 0x1_0000_0000) < probability ? 1 : 0;
    this.record(stream, atNs, 2, choice, DOOR_SEEDED);
    return choice === 1;
  }

  /**
   * Which of several things happens, at most one: 0 for none, `k` for the thing whose probability
   * is `weights[k - 1]`; they add up to at most a million. Where only one answer is possible there
   * is no decision.
   */
  decideWeighted(stream: Stream, atNs: VirtualNs, weights: readonly Millionths[]): number {
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    assert(total <= MILLION, 'probabilities of things that exclude each other add up to one');
    if (total === 0) return 0;
    const sure = weights.indexOf(MILLION);
    if (sure >= 0) return sure + 1;
    const arity = weights.length + 1;
    if (this.sources.length > 0) {
      const chosen = this.askSources(stream, atNs, arity);
      if (chosen >= 0) return chosen;
    }
    // The same draw as `decideChance`, so that one thing alone is decided as by that.
    let left = Math.floor((draw32(stream.key, stream.ordinal, 0) * MILLION) / 0x1_0000_0000);
    let choice = 0;
    for (let index = 0; index < weights.length && choice === 0; index++) {
      left -= weights[index] as number;
      if (left < 0) choice = index + 1;
    }
    this.record(stream, atNs, arity, choice, DOOR_SEEDED);
    return choice;
  }

  /** One of 0 to `arity` - 1: what a source says, else `fallback`; never drawn. */
  decideOr(stream: Stream, atNs: VirtualNs, arity: number, fallback: number): number {
    assert(fallback < arity && arity <= ARITY_MAX, 'a choice is in its arity');
    if (this.sources.length > 0) {
      const chosen = this.askSources(stream, atNs, arity);
      if (chosen >= 0) return chosen;
    }
    this.record(stream, atNs, arity, fallback, DOOR_DEFAULT);
    return fallback;
  }

  /**
   * Fills `into` with bytes that one decision of arity 2^32 determines: its choice seeds the
   * expansion, so that a replayed or overridden choice gives the same bytes under any seed.
   */
  decideBytes(stream: Stream, atNs: VirtualNs, into: Uint8Array): void {
    const choice = this.decide(stream, atNs, 0x1_0000_0000);
    const key = { low: choice | 0, high: into.length };
    for (let index = 0; index < into.length; index += 4) {
      let word = draw32(key, index, 1);
      const end = Math.min(index + 4, into.length);
      for (let at = index; at < end; at++) {
        into[at] = word & 255;
        word >>>= 8;
      }
    }
  }

  capture(): DecisionsState {
    const { lastNs, count } = this;
    return { table: this.streams.capture(), log: this.log.capture(), lastNs, count };
  }

  restore(state: DecisionsState): void {
    this.streams.restore(state.table);
    this.log.restore(state.log);
    this.count = state.count;
    this.lastNs = state.lastNs;
  }

  /** The first source's answer, recorded, or -1 if none answers. */
  private askSources(stream: Stream, atNs: VirtualNs, arity: number): number {
    const opportunity: Opportunity = { stream, atNs, arity };
    for (const source of this.sources) {
      const choice = source.choose(opportunity);
      if (choice === undefined) continue;
      assert(Number.isInteger(choice) && choice >= 0 && choice < arity, 'a choice is in its arity');
      this.record(stream, atNs, arity, choice, DOORS.indexOf(source.door));
      return choice;
    }
    return -1;
  }

  private record(
    stream: Stream,
    atNs: VirtualNs,
    arity: number,
    choice: number,
    door: number,
  ): void {
    const log = this.log;
    if (stream.index < 0) {
      this.streams.register(stream);
      log.putUnsigned(0);
      log.putText(stream.name);
      log.end();
    }
    const header = (stream.index + 1) * 16 + door * 2;
    const changed = arity !== stream.arity;
    stream.arity = arity;
    stream.ordinal++;
    this.count++;
    const changeNs = atNs - this.lastNs;
    this.lastNs = atNs;
    log.putNumbers(changed ? header + 1 : header, changed ? arity : -1, choice, changeNs);
  }
}
