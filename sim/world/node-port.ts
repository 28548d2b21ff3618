import type { Decisions } from '../kernel/decision.ts';
import type { EventKind, EventLog } from '../kernel/event-log.ts';
import { digest32 } from '../kernel/rolling-digest.ts';
import type { Stream } from '../kernel/stream.ts';
import { NS_PER_S, type VirtualNs } from '../kernel/units.ts';
import type { SocketStack } from '../network/socket-stack.ts';
import type { NodeDef } from '../plan/scenario.ts';
import type { FileSystem } from '../storage/file-system.ts';
import type { GuestPort } from './port.ts';

/** The wall clock of every node at virtual time 0: 2026-01-01T00:00:00Z. */
export const EPOCH_NS = 1_767_225_600n * 1_000_000_000n;

/**
 * The monotonic clock at virtual time 0. Not zero, since runtimes take a zero for a broken clock
 * (Go: "nanotime returning zero").
 */
export const MONOTONIC_START_NS: VirtualNs = NS_PER_S;

/** What a port tells the world. */
export interface PortListener {
  console(node: number, descriptor: 1 | 2, bytes: Uint8Array, atNs: VirtualNs): void;
  marker(node: number, bytes: Uint8Array, atNs: VirtualNs): void;
}

export interface NodePortOptions {
  readonly index: number;
  readonly def: NodeDef;
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly files: FileSystem;
  readonly sockets: SocketStack;
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
  nowNs: VirtualNs = 0;
  observedNs: VirtualNs = 0;
  horizonNs: VirtualNs = 0;
  private readonly decisions: Decisions;
  private readonly events: EventLog;
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
    this.files = files;
    this.sockets = sockets;
    this.decisions = decisions;
    this.events = events;
    this.listener = listener;
    this.entropyStream = decisions.stream(`node/${def.name}/entropy`);
    this.entropyKind = events.kind('entropy');
    this.consoleKind = events.kind('console');
    this.markerKind = events.kind('marker');
  }

  monotonicNs(): VirtualNs {
    return this.nowNs + MONOTONIC_START_NS;
  }

  realtimeNs(): bigint {
    return EPOCH_NS + BigInt(this.nowNs);
  }

  deadlineFromMonotonic(atNs: bigint): VirtualNs {
    return toVirtual(atNs - BigInt(MONOTONIC_START_NS));
  }

  deadlineFromRealtime(atNs: bigint): VirtualNs {
    return toVirtual(atNs - EPOCH_NS);
  }

  entropy(into: Uint8Array): void {
    this.decisions.decideBytes(this.entropyStream, this.nowNs, into);
    this.effect(this.entropyKind, into.length, digest32(into));
  }

  console(descriptor: 1 | 2, bytes: Uint8Array): void {
    this.effect(this.consoleKind, digest32(bytes), descriptor);
    this.listener.console(this.guest, descriptor, bytes, this.nowNs);
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
