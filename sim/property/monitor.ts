import { formatSpan, formatTime, type VirtualNs } from '../kernel/units.ts';
import type { TemporalDef } from '../plan/predicates.ts';
import { describePredicate, type TellNodes } from './describe-predicate.ts';

/** How one property over moments stands, as plain data. */
export interface MonitorState {
  verdict: 'pass' | 'fail' | null;
  detail: string;
  atNs: VirtualNs | null;
  /** At how many moments `when` was so; for `eventually`, how many waits it opened. */
  opened: number;
  /** How many waits were met. */
  met: number;
  /** Since when the oldest open wait lasts, or -1; and what opened it. */
  sinceNs: VirtualNs;
  by: string;
  /** Whether `when` was so at the last moment. */
  wasOpen: boolean;
  /** The deadline for which a wake stands in the queue, or -1. */
  queuedNs: VirtualNs;
}

/** What is known at a moment. */
export interface Moment {
  readonly atNs: VirtualNs;
  readonly that: boolean;
  /** True for a property without `when`. */
  readonly when: boolean;
  /** What has just happened, for people. */
  readonly what: string;
}

export interface MonitorVerdict {
  readonly verdict: 'pass' | 'fail' | 'inconclusive';
  readonly detail: string;
}

/** Judges one property moment by moment. */
export class Monitor {
  readonly def: TemporalDef;
  private readonly tell: TellNodes;
  /** When all faults are lifted: no wait is over before that. */
  private readonly liftedNs: VirtualNs;
  /** Asks to be looked at when that time is over. */
  private readonly wake: (deadlineNs: VirtualNs) => void;
  state: MonitorState = {
    verdict: null,
    detail: '',
    atNs: null,
    opened: 0,
    met: 0,
    sinceNs: -1,
    by: '',
    wasOpen: false,
    queuedNs: -1,
  };

  constructor(
    def: TemporalDef,
    tell: TellNodes,
    liftedNs: VirtualNs,
    wake: (deadlineNs: VirtualNs) => void,
  ) {
    this.def = def;
    this.tell = tell;
    this.liftedNs = liftedNs;
    this.wake = wake;
  }

  /** Takes the next moment. */
  look(moment: Moment): void {
    if (this.state.verdict !== null) return;
    const { atNs, that, when, what } = moment;
    switch (this.def.operator) {
      case 'always':
        if (!when) return;
        this.state.opened++;
        if (!that) this.decide('fail', `${what}: ${this.that} does not hold`, atNs);
        return;
      case 'sometimes':
      case 'reachable':
        if (!when) return;
        this.state.opened++;
        if (that) this.decide('pass', `first when ${what}`, atNs);
        return;
      case 'unreachable':
        if (when && that) this.decide('fail', `${what}: ${this.that}`, atNs);
        return;
      case 'eventually':
        return this.wait(moment);
      case 'after_quiescence':
        return;
    }
  }

  /** A wait's time may be over: everything up to `atNs` has happened. */
  deadline(atNs: VirtualNs): void {
    const { state } = this;
    state.queuedNs = -1;
    if (state.verdict !== null || state.sinceNs < 0) return;
    const deadlineNs = this.deadlineOf(state.sinceNs);
    if (deadlineNs > atNs) return this.queue(deadlineNs);
    this.decide('fail', `not in time: ${this.describeWait()}`, atNs);
  }

  /** The world has come to rest, and this is how it is. */
  rest(that: boolean, atNs: VirtualNs): void {
    if (this.def.operator !== 'after_quiescence') return;
    if (that) this.decide('pass', `${this.that} holds at rest`, atNs);
    else this.decide('fail', `at rest ${this.that} does not hold`, atNs);
  }

  /** The verdict of a property that nothing has decided. */
  end(complete: boolean): MonitorVerdict {
    const { opened, met, sinceNs } = this.state;
    const never = this.def.when === null ? '' : describePredicate(this.def.when, this.tell);
    switch (this.def.operator) {
      case 'always':
        if (opened === 0) return pass(`vacuous: never ${never}`);
        return pass('held');
      case 'sometimes':
      case 'reachable':
        return this.unreached(opened, never, complete);
      case 'unreachable':
        return pass('never reached');
      case 'eventually':
        if (opened === 0) return pass(`vacuous: never ${never}`);
        if (sinceNs < 0) return pass(`${met} of ${opened} times`);
        if (complete) return { verdict: 'fail', detail: `never: ${this.describeWait()}` };
        return { verdict: 'inconclusive', detail: `the run ended before: ${this.describeWait()}` };
      case 'after_quiescence':
        return { verdict: 'inconclusive', detail: 'the run ended before the world came to rest' };
    }
  }

  private get that(): string {
    return describePredicate(this.def.that, this.tell);
  }

  private unreached(opened: number, never: string, complete: boolean): MonitorVerdict {
    const what = opened === 0 ? `never ${never}` : `never in this run: ${this.that}`;
    if (this.def.unreached === 'warn') return pass(`vacuous: ${what}`);
    return { verdict: complete ? 'fail' : 'inconclusive', detail: what };
  }

  /** `eventually`: each time that it opens a wait begins; what it waits for ends all of them. */
  private wait({ atNs, that, when, what }: Moment): void {
    const { state, def } = this;
    const opens = when && !state.wasOpen;
    state.wasOpen = when;
    if (opens) {
      state.opened++;
      if (state.sinceNs < 0) {
        state.sinceNs = atNs;
        state.by = what;
        if (def.withinNs !== null && state.queuedNs < 0) this.queue(this.deadlineOf(atNs));
      }
    }
    if (!that || state.sinceNs < 0 || atNs < this.liftedNs) return;
    state.sinceNs = -1;
    state.met = state.opened;
    if (def.when === null) this.decide('pass', what, atNs);
  }

  private deadlineOf(sinceNs: VirtualNs): VirtualNs {
    const { withinNs } = this.def;
    return withinNs === null ? Infinity : Math.max(sinceNs, this.liftedNs) + withinNs;
  }

  private queue(deadlineNs: VirtualNs): void {
    this.state.queuedNs = deadlineNs;
    this.wake(deadlineNs);
  }

  private describeWait(): string {
    const { sinceNs, by } = this.state;
    const { withinNs, when } = this.def;
    const span = withinNs === null ? '' : ` within ${formatSpan(withinNs)}`;
    const since = when === null ? '' : ` since ${formatTime(sinceNs)}, when ${by}`;
    return `${this.that}${span}${since}`;
  }

  private decide(verdict: 'pass' | 'fail', detail: string, atNs: VirtualNs): void {
    Object.assign(this.state, { verdict, detail, atNs });
  }
}

function pass(detail: string): MonitorVerdict {
  return { verdict: 'pass', detail };
}
