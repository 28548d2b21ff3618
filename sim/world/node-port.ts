import type { Decisions } from '../kernel/decision.ts';
import type { EventKind, EventLog } from '../kernel/event-log.ts';
import { digest32 } from '../kernel/rolling-digest.ts';
import type { Stream } from '../kernel/stream.ts';
import {
  EPOCH_SECONDS,
  MILLION,
  NS_PER_S,
  type Millionths,
  type VirtualNs,
} from '../kernel/units.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';
import type { SocketStack } from '../network/socket-stack.ts';
import type { DirectiveDef, DirectiveQueues } from '../plan/directives.ts';
import type { ClockChangeDef } from '../plan/faults.ts';
import type { NodeDef } from '../plan/scenario.ts';
import type { FileSystem } from '../storage/file-system.ts';
import type { MachineDevices } from './machine-devices.ts';
import type { SourcesOfTime } from './machine-input.ts';
import type { MemoryFlip, MemoryFlips } from './memory-flips.ts';
import { NodeClock, readNodeClockState } from './node-clock.ts';
import type { GuestPort } from './port.ts';

/** The wall clock of every node at virtual time 0: 2026-01-01T00:00:00Z. */
export const EPOCH_NS = BigInt(EPOCH_SECONDS) * 1_000_000_000n;

/**
 * The monotonic clock at virtual time 0. Not zero, since runtimes take a zero for a broken clock
 * (Go: "nanotime returning zero").
 */
export const MONOTONIC_START_NS: VirtualNs = NS_PER_S;

/** What a port tells the world. */
export interface PortListener {
  console(node: number, descriptor: 1 | 2, bytes: Uint8Array, atNs: VirtualNs): void;
  marker(node: number, bytes: Uint8Array, atNs: VirtualNs): void;
  /** Whether nothing is under way but on this node. */
  isSettled(node: number): boolean;
}

export interface NodePortOptions {
  readonly index: number;
  readonly def: NodeDef;
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly files: FileSystem;
  readonly sockets: SocketStack;
  readonly directives: DirectiveQueues;
  readonly machine: MachineDevices | null;
  readonly flips: MemoryFlips;
  readonly listener: PortListener;
}

/** The port of one node; see GuestPort. It serves each life of the node's guest in turn. */
export class NodePort implements GuestPort {
  readonly guest: number;
  readonly name: string;
  readonly args: readonly string[];
  readonly env: readonly (readonly [string, string])[];
  readonly files: FileSystem;
  readonly sockets: SocketStack;
  readonly machine: MachineDevices | null;
  nowNs: VirtualNs = 0;
  observedNs: VirtualNs = 0;
  horizonNs: VirtualNs = 0;
  cpu: Millionths = MILLION;
  /** The node's clocks, or null while they show the world's time. */
  private clock: NodeClock | null;
  readonly decisions: Decisions;
  private readonly events: EventLog;
  private readonly directives: DirectiveQueues;
  private readonly flips: MemoryFlips;
  private readonly listener: PortListener;
  private readonly entropyStream: Stream;
  private readonly entropyKind: EventKind;
  private readonly consoleKind: EventKind;
  private readonly markerKind: EventKind;

  constructor(options: NodePortOptions) {
    const { index, def, decisions, events, files, sockets, listener } = options;
    this.guest = index;
    this.name = def.name;
    this.args = [def.name, ...def.args];
    this.env = def.env;
    this.clock = def.clock === undefined ? null : new NodeClock(def.clock);
    this.files = files;
    this.sockets = sockets;
    this.machine = options.machine;
    this.decisions = decisions;
    this.events = events;
    this.directives = options.directives;
    this.flips = options.flips;
    this.listener = listener;
    this.entropyStream = decisions.stream(`node/${def.name}/entropy`);
    this.entropyKind = events.kind('entropy');
    this.consoleKind = events.kind('console');
    this.markerKind = events.kind('marker');
  }

  monotonicNs(): VirtualNs {
    const shownNs = this.clock === null ? this.nowNs : this.clock.monotonicNs(this.nowNs);
    return shownNs + MONOTONIC_START_NS;
  }

  realtimeNs(): bigint {
    const shownNs = this.clock === null ? this.nowNs : this.clock.realtimeNs(this.nowNs);
    return EPOCH_NS + BigInt(shownNs);
  }

  deadlineFromMonotonic(atNs: bigint): VirtualNs {
    const shownNs = atNs - BigInt(MONOTONIC_START_NS);
    if (this.clock === null) return toVirtual(shownNs);
    return neverAtInfinity(this.clock.whenMonotonic(toVirtual(shownNs), this.nowNs));
  }

  deadlineFromRealtime(atNs: bigint): VirtualNs {
    const shownNs = atNs - EPOCH_NS;
    if (this.clock === null) return toVirtual(shownNs);
    return neverAtInfinity(this.clock.whenRealtime(toClock(shownNs), this.nowNs));
  }

  /** Changes the node's clocks at a time of the world, which they never move (CR-91). */
  changeClock(change: ClockChangeDef, atNs: VirtualNs): void {
    this.clock ??= new NodeClock();
    this.clock.change(change, atNs);
  }

  /** What a machine's sources of time do from `atNs` on; null if they are as they were built. */
  sourcesOfTime(atNs: VirtualNs): SourcesOfTime | null {
    if (this.clock === null) return null;
    return { rate: this.clock.rate, leadNs: this.clock.realtimeNs(atNs) - atNs };
  }

  /** Whether the node's clocks were ever anything but right. */
  get hasOwnClock(): boolean {
    return this.clock !== null;
  }

  /** The clocks, or null while they show the world's time. */
  captureClock(): unknown {
    return this.clock?.capture() ?? null;
  }

  restoreClock(state: unknown): void {
    if (state === null) {
      this.clock = null;
      return;
    }
    this.clock = new NodeClock();
    this.clock.restore(readNodeClockState(state, 'world.clocks'));
  }

  directive(target: string): DirectiveDef | null {
    return this.directives.attempt(this.name, target, this.nowNs);
  }

  takeFlips(byteCount: number): readonly MemoryFlip[] {
    return this.flips.take(this.guest, byteCount, this.nowNs);
  }

  entropy(into: Uint8Array): void {
    this.decisions.decideBytes(this.entropyStream, this.nowNs, into);
    this.effect(this.entropyKind, into.length, digest32(into));
  }

  choose(what: string, arity: number): number {
    const stream = this.decisions.stream(`node/${this.name}/choose/${what}`);
    const choice = this.decisions.decide(stream, this.nowNs, arity);
    this.effect(this.events.kind('choose'), digest32(encodeUtf8(what)), choice);
    return choice;
  }

  console(descriptor: 1 | 2, bytes: Uint8Array): void {
    this.effect(this.consoleKind, digest32(bytes), descriptor);
    this.listener.console(this.guest, descriptor, bytes, this.nowNs);
  }

  isSettled(): boolean {
    return this.listener.isSettled(this.guest);
  }

  marker(bytes: Uint8Array): void {
    this.effect(this.markerKind, digest32(bytes), bytes.length);
    this.listener.marker(this.guest, bytes, this.nowNs);
  }

  eventKind(name: string): EventKind {
    return this.events.kind(name);
  }

  effect(kind: EventKind, input: number, result: number): void {
    this.events.append(kind, this.guest, this.nowNs, input, result);
  }
}

/** A deadline before the start is due at once; one past the end of time never comes. */
function toVirtual(ns: bigint): VirtualNs {
  if (ns <= 0n) return 0;
  const last = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(ns < last ? ns : last);
}

/** A point of a wall clock that may have been set back before the world's start. */
function toClock(ns: bigint): number {
  const last = BigInt(Number.MAX_SAFE_INTEGER);
  if (ns > last) return Number.MAX_SAFE_INTEGER;
  return Number(ns < -last ? -last : ns);
}

function neverAtInfinity(atNs: VirtualNs): VirtualNs {
  return atNs === Infinity ? Number.MAX_SAFE_INTEGER : atNs;
}
