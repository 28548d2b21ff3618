import {
  Decisions,
  EventLog,
  FileSystem,
  type Effect,
  type EventKind,
  type GuestPort,
  type MemoryFlip,
  type Outcome,
  type SocketStack,
  type VirtualNs,
} from '../../sim/index.ts';

/** A port without a world around it: real files, clocks and logs, no peers. */
export class LonePort implements GuestPort {
  readonly guest = 0;
  readonly name = 'lone';
  readonly args: readonly string[];
  readonly env: readonly (readonly [string, string])[];
  nowNs: VirtualNs = 0;
  observedNs: VirtualNs = 0;
  horizonNs: VirtualNs = Infinity;
  cpu = 1_000_000;
  readonly files = new FileSystem();
  readonly machine = null;
  readonly written: string[] = [];
  readonly decisions = new Decisions(1, () => undefined);
  readonly events = new EventLog(() => undefined);

  constructor(
    args: readonly string[] = ['lone'],
    env: readonly (readonly [string, string])[] = [],
  ) {
    this.args = args;
    this.env = env;
  }

  get sockets(): SocketStack {
    throw new Error('a lone guest has no network');
  }

  monotonicNs(): VirtualNs {
    return this.nowNs + 1_000_000_000;
  }

  realtimeNs(): bigint {
    return 1_767_225_600_000_000_000n + BigInt(this.nowNs);
  }

  deadlineFromMonotonic(atNs: bigint): VirtualNs {
    return withinTime(atNs - 1_000_000_000n);
  }

  deadlineFromRealtime(atNs: bigint): VirtualNs {
    return withinTime(atNs - 1_767_225_600_000_000_000n);
  }

  choose(): number {
    return 0;
  }

  isSettled(): boolean {
    return true;
  }

  /** What a test lets flip; nothing, unless it says otherwise. */
  takeFlips: (byteCount: number) => readonly MemoryFlip[] = () => [];

  directive(): null {
    return null;
  }

  entropy(into: Uint8Array): void {
    this.decisions.decideBytes(this.decisions.stream('entropy'), this.nowNs, into);
  }

  console(_descriptor: 1 | 2, bytes: Uint8Array): void {
    this.written.push(Buffer.from(bytes).toString());
  }

  marker(bytes: Uint8Array): void {
    this.written.push(Buffer.from(bytes).toString());
  }

  eventKind(name: string): EventKind {
    return this.events.kind(name);
  }

  effect(kind: EventKind, input: number, result: number): void {
    this.events.append(kind, 0, this.nowNs, input, result);
  }
}

/** Runs a guest to its end; waits end at their deadlines. Returns every stop. */
export function runAlone(
  guest: { resume(outcome: Outcome): Effect },
  port: LonePort,
  sliceNs = Infinity,
): Effect[] {
  const stops: Effect[] = [];
  let outcome: Outcome = { reason: 'start', atNs: 0 };
  for (let count = 0; count < 10_000_000; count++) {
    port.nowNs = outcome.atNs;
    port.horizonNs = outcome.atNs + sliceNs;
    const effect = guest.resume(outcome);
    if (effect.kind !== 'preempted') stops.push(effect);
    if (effect.kind === 'exit' || effect.kind === 'trap') return stops;
    outcome = { reason: 'continue', atNs: effect.atNs };
    if (effect.kind === 'wait') {
      const deadlineNs = effect.wait.deadlineNs ?? effect.atNs;
      outcome = { reason: 'deadline', atNs: Math.max(effect.atNs, deadlineNs) };
    }
  }
  throw new Error('the guest does not end');
}

/** A time of the world; what is past the end of time is `MAX_SAFE_INTEGER`, which never comes. */
function withinTime(ns: bigint): VirtualNs {
  const last = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(ns < 0n ? 0n : ns > last ? last : ns);
}
