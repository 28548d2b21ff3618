import { createHash } from 'node:crypto';
import {
  assert,
  SimError,
  type Effect,
  type Guest,
  type GuestImage,
  type GuestPort,
  type Interest,
  type Outcome,
} from '../../sim/index.ts';
import { ModelHost, stackError } from './model-host.ts';
import type { ModelProgram } from './model-engine.ts';
import { nextStep, OrderHold, type BranchStep } from './order-hold.ts';
import { STEP_KINDS, type RealmGuest, type RealmState, type StepKind } from './realm.ts';

/** How a body that was halted, or filtered by an assumption, exits; a failed one exits with 1. */
export const MODEL_EXIT = { passed: 0, failed: 1, halted: 75, filtered: 76 } as const;

/** Steps that a body takes at one time before it counts as one that never waits. */
const STEPS_AT_ONCE_MAX = 20_000;
/** What a body was told is kept, to restore it; at most this long. */
const JOURNAL_LENGTH_MAX = 256 * 1024 * 1024;

/** What a body was told and when it went on, in order: all that its state depends on. */
type JournalEntry = readonly ['answer', string] | readonly ['step', StepKind, number];

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
  /** Holds back branches whose steps are ordered. */
  private readonly hold = new OrderHold();

  constructor(program: ModelProgram, port: GuestPort) {
    this.program = program;
    this.port = port;
    const { tally } = program;
    this.host = new ModelHost(port, {
      asserted: () => {
        tally.assertions++;
      },
      timed: () => tally.timed.set(port.name, (tally.timed.get(port.name) ?? 0) + 1),
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
      if (!this.stepOnce(state, atNs)) return this.wait(state, atNs);
      if (steps === STEPS_AT_ONCE_MAX) return this.spin(atNs);
    }
  }

  capture(): GuestImage {
    const started = this.guest !== null;
    const journal = this.journal.map((entry) => entry.slice());
    const state = { started, journal, ...this.hold.capture() };
    return { kind: 'model', version: 1, pages: new Map(), state };
  }

  restore(image: GuestImage): void {
    const { started, journal } = readModelImage(image);
    this.hold.restore(image.state);
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
      this.failure ??= { error: isOverflow(error) ? stackError() : error };
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

  /** Takes the first thing that is ready; of branches whose steps are ordered, what is decided. */
  private stepOnce(state: RealmState, atNs: number): boolean {
    const ready = {
      isReady: (interest: Interest) => this.port.sockets.isReady([interest]),
      nowNs: () => this.port.monotonicNs(),
    };
    const step =
      state.group === undefined ? nextStep(state, ready) : this.ordered(state, ready, atNs);
    if (step === null) return false;
    this.record(['step', step.kind, step.which]);
    this.program.realm.step(this.guest as RealmGuest, step.kind, step.which);
    return true;
  }

  /** The step of the branch that is chosen of those that can go on, once the world has come to rest. */
  private ordered(
    state: RealmState,
    ready: Parameters<typeof nextStep>[1],
    atNs: number,
  ): BranchStep | null {
    const group = state.group as NonNullable<RealmState['group']>;
    // What is of no branch goes on as ever.
    const free = nextStep(state, ready, null);
    if (free !== null) return free;
    const steps = group.branches.flatMap(({ branch }) => {
      const step = branch === null ? null : nextStep(state, ready, branch);
      return step === null ? [] : [{ branch: branch as number, step }];
    });
    if (steps.length === 0 && !group.ended) return null;
    if (this.hold.holds(atNs, this.port.isSettled())) return null;
    this.hold.release();
    if (group.ended) {
      this.host.join(group.number);
      return { kind: 'join', which: 0 };
    }
    steps.sort((a, b) => a.branch - b.branch);
    const chosen = this.host.step(
      group.number,
      steps.map(({ branch }) => branch),
    );
    const { step } = steps.find(({ branch }) => branch === chosen) as (typeof steps)[number];
    if (step.kind === 'timer') this.host.due();
    return step;
  }

  private wait({ interests, timer }: RealmState, atNs: number): Effect {
    const heldUntilNs = this.hold.untilNs;
    if (heldUntilNs !== null) {
      return { kind: 'wait', atNs, wait: { deadlineNs: heldUntilNs, interests: [] } };
    }
    const deadlineNs = timer === null ? null : this.port.deadlineFromMonotonic(BigInt(timer.atNs));
    const plain = interests.map(({ socket, readiness }) => ({ socket, readiness }));
    return { kind: 'wait', atNs, wait: { deadlineNs, interests: plain } };
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

/** A body may call us where its own calls have left us no room. */
function isOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes('call stack');
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
  return kind === 'step' && STEP_KINDS.some((each) => each === first) && typeof second === 'number';
}
