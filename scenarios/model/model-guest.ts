import { createHash } from 'node:crypto';
import {
  assert,
  SimError,
  type Effect,
  type Guest,
  type GuestImage,
  type GuestPort,
  type Outcome,
} from '../../sim/index.ts';
import { ModelHost } from './model-host.ts';
import type { ModelProgram } from './model-engine.ts';
import type { RealmGuest, RealmState } from './realm.ts';

/** How a body that was halted, or filtered by an assumption, exits; a failed one exits with 1. */
export const MODEL_EXIT = { passed: 0, failed: 1, halted: 75, filtered: 76 } as const;

/** Steps that a body takes at one time before it counts as one that never waits. */
const STEPS_AT_ONCE_MAX = 20_000;
/** What a body was told is kept, to restore it; at most this long. */
const JOURNAL_LENGTH_MAX = 256 * 1024 * 1024;

/** What a body was told and when it went on, in order: all that its state depends on. */
type JournalEntry = readonly ['answer', string] | readonly ['step', 'waiter' | 'timer', number];

/**
 * A body of a spec as a guest. Time stands while it runs; it moves where the body waits. Its image is
 * its journal: the state of a program that sees nothing else is what it was told so far.
 */
export class ModelGuest implements Guest {
  /** Model guests run no counted instructions. */
  readonly instructions = 0;
  private readonly program: ModelProgram;
  private readonly port: GuestPort;
  private readonly host: ModelHost;
  private guest: RealmGuest | null = null;
  private journal: JournalEntry[] = [];
  private journalLength = 0;
  /** What failed on our side while the realm ran: told once the realm has let go. */
  private failure: { readonly error: unknown } | null = null;
  /** While the body is restored, answers come from here and touch no port. */
  private replayed: Iterator<JournalEntry> | null = null;

  constructor(program: ModelProgram, port: GuestPort) {
    this.program = program;
    this.port = port;
    this.host = new ModelHost(port, () => {
      program.tally.assertions++;
    });
  }

  resume({ atNs }: Outcome): Effect {
    this.port.nowNs = atNs;
    this.port.observedNs = atNs;
    if (this.guest === null) this.start();
    for (let steps = 0; ; steps++) {
      if (this.failure !== null) throw this.failure.error;
      const state = this.program.realm.state(this.guest as RealmGuest);
      if (state.outcome !== null) return this.exit(state.outcome, atNs);
      if (!this.stepOnce(state)) return this.wait(state, atNs);
      if (steps === STEPS_AT_ONCE_MAX) return this.spin(atNs);
    }
  }

  capture(): GuestImage {
    const started = this.guest !== null;
    const journal = this.journal.map((entry) => entry.slice());
    return { kind: 'model', version: 1, pages: new Map(), state: { started, journal } };
  }

  restore(image: GuestImage): void {
    const { started, journal } = readModelImage(image);
    this.journal = journal.slice();
    this.journalLength = journal.reduce((sum, entry) => sum + lengthOf(entry), 0);
    this.guest = null;
    if (!started) return;
    this.replayed = journal[Symbol.iterator]();
    this.start();
    for (;;) {
      const next = this.replayed.next();
      if (next.done === true) break;
      const entry = next.value;
      assert(entry[0] === 'step', 'a restored body asks what it asked');
      this.program.realm.step(this.guest as unknown as RealmGuest, entry[1], entry[2]);
    }
    this.replayed = null;
  }

  digest(): string {
    const hash = createHash('sha256').update(JSON.stringify(this.journal));
    return hash.digest('hex').slice(0, 16);
  }

  dispose(): void {
    this.guest = null;
  }

  private start(): void {
    const { realm, main, modules } = this.program;
    const guest = realm.open((name, args) => this.answer(name, args));
    this.guest = guest;
    realm.start(guest, main, modules, this.port.args[1] ?? '');
  }

  private answer(name: string, args: string): string {
    if (this.replayed !== null) {
      const next = this.replayed.next();
      assert(
        next.done !== true && next.value[0] === 'answer',
        'a restored body asks what it asked',
      );
      return next.value[1];
    }
    try {
      const answer = this.host.answer(name, args);
      this.record(['answer', answer]);
      return answer;
    } catch (error) {
      // The body must not catch it: for it the call fails, for us the run does.
      this.failure ??= { error };
      return JSON.stringify({ error: 'the run has ended' });
    }
  }

  private record(entry: JournalEntry): void {
    this.journal.push(entry);
    this.journalLength += lengthOf(entry);
    if (this.journalLength > JOURNAL_LENGTH_MAX) {
      throw new SimError({
        code: 'guest/model-limit',
        message: `a body was told more than ${JOURNAL_LENGTH_MAX} characters`,
        place: `node ${this.port.name}`,
        remedy: 'split the test, or move the work into a compiled guest',
      });
    }
  }

  /** Takes the first thing that is ready: sockets in the order of waiting, then the due timer. */
  private stepOnce({ interests, timer }: RealmState): boolean {
    const { realm } = this.program;
    const ready = interests.findIndex((interest) => this.port.sockets.isReady([interest]));
    const due = timer !== null && timer.atNs <= this.port.monotonicNs();
    if (ready < 0 && !due) return false;
    const kind = ready >= 0 ? 'waiter' : 'timer';
    const which = ready >= 0 ? ready : (timer?.id ?? 0);
    this.record(['step', kind, which]);
    realm.step(this.guest as RealmGuest, kind, which);
    return true;
  }

  private wait({ interests, timer }: RealmState, atNs: number): Effect {
    const deadlineNs = timer === null ? null : this.port.deadlineFromMonotonic(BigInt(timer.atNs));
    return { kind: 'wait', atNs, wait: { deadlineNs, interests } };
  }

  private exit({ outcome, message }: NonNullable<RealmState['outcome']>, atNs: number): Effect {
    const text = `${outcome}: ${this.program.locate(message)}\n`;
    if (message !== '') this.port.console(2, new TextEncoder().encode(text));
    return { kind: 'exit', atNs, code: MODEL_EXIT[outcome as keyof typeof MODEL_EXIT] };
  }

  private spin(atNs: number): Effect {
    const message = `the body took ${STEPS_AT_ONCE_MAX} steps without waiting for time to pass`;
    return { kind: 'trap', atNs, code: 'model-spin', message };
  }
}

function lengthOf(entry: JournalEntry): number {
  return entry[0] === 'answer' ? entry[1].length : 1;
}

function readModelImage(image: GuestImage): {
  readonly started: boolean;
  readonly journal: readonly JournalEntry[];
} {
  const { started, journal } = image.state as { started?: unknown; journal?: unknown };
  const sound =
    image.kind === 'model' &&
    image.version === 1 &&
    typeof started === 'boolean' &&
    Array.isArray(journal) &&
    journal.every(isEntry);
  if (!sound) {
    throw new SimError({
      code: 'bundle/shape',
      message: 'the image of a model guest is not of this version',
      place: `checkpoint of a ${image.kind} guest`,
      remedy: 'record the run again',
    });
  }
  return { started, journal: journal as JournalEntry[] };
}

function isEntry(entry: unknown): boolean {
  if (!Array.isArray(entry)) return false;
  const [kind, first, second] = entry as unknown[];
  if (kind === 'answer') return typeof first === 'string';
  return kind === 'step' && (first === 'waiter' || first === 'timer') && typeof second === 'number';
}
