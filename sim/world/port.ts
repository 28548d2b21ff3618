import type { Decisions } from '../kernel/decision.ts';
import type { DirectiveDef } from '../plan/directives.ts';
import type { EventKind } from '../kernel/event-log.ts';
import type { Millionths, VirtualNs } from '../kernel/units.ts';
import type { MachineDevices } from './machine-devices.ts';
import type { MemoryFlip } from './memory-flips.ts';
import type { FileSystem } from '../storage/file-system.ts';
import type { SocketStack } from '../network/socket-stack.ts';

/**
 * All that a guest can touch: its node's clocks, entropy, console, files and sockets. One port
 * belongs to one guest for one life (start to exit or crash).
 *
 * Time: before each call the guest writes its local clock to `nowNs`; after it, it reads
 * `horizonNs` (a call may bring the horizon nearer) and stops once its clock has reached it; a call
 * may also move `nowNs` forward, by what the effect took.
 */
export interface GuestPort {
  readonly guest: number;
  readonly name: string;
  /** The program's arguments; the first is its name, as programs expect: the node's. */
  readonly args: readonly string[];
  readonly env: readonly (readonly [name: string, value: string])[];
  /** The guest's local clock: written by the guest before, read after each call. */
  nowNs: VirtualNs;
  /** The local time of the last call: what happens before it can no longer be delivered. */
  observedNs: VirtualNs;
  /** The guest must stop when its local clock reaches this. `Infinity` when nothing can reach it. */
  readonly horizonNs: VirtualNs;
  /** The share of its processor that the node gets now: read whenever the guest goes on. */
  readonly cpu: Millionths;
  /** Where models ask for what could have been otherwise, on streams of the node's own name. */
  readonly decisions: Decisions;
  readonly files: FileSystem;
  readonly sockets: SocketStack;
  /** The devices of a machine; null for other guests. */
  readonly machine: MachineDevices | null;
  /** The node's monotonic clock: nanoseconds since the node's start of the world. */
  monotonicNs(): VirtualNs;
  /** The node's wall clock: nanoseconds since 1970-01-01T00:00:00Z. */
  realtimeNs(): bigint;
  /**
   * Turns a point of the node's monotonic clock into the world's time, for deadlines;
   * `MAX_SAFE_INTEGER` is never.
   */
  deadlineFromMonotonic(atNs: bigint): VirtualNs;
  /** The same for a point of the node's wall clock. */
  deadlineFromRealtime(atNs: bigint): VirtualNs;
  /** What the plan says becomes of this attempt to call a target: a decision, or null. */
  directive(target: string): DirectiveDef | null;
  /**
   * What is to flip in the guest's memory of `byteCount` bytes before it goes on at `nowNs`: asked by
   * compiled programs whenever they do.
   */
  takeFlips(byteCount: number): readonly MemoryFlip[];
  /** Fills `into` with entropy: one decision on the stream `node/<name>/entropy`. */
  entropy(into: Uint8Array): void;
  /** One of 0 to `arity` - 1: a decision on the stream `node/<name>/choose/<what>`. */
  choose(what: string, arity: number): number;
  /** Appends to the node's console: 1 standard output, 2 standard error. */
  console(descriptor: 1 | 2, bytes: Uint8Array): void;
  /**
   * Whether nothing is under way elsewhere: no packet, no guest that runs or waits for a time, no event of
   * the plan. What the guest did so far has then had all its effects.
   */
  isSettled(): boolean;
  /** A marker of the guest's own (JSON line), for properties. */
  marker(bytes: Uint8Array): void;
  /** A handle for `effect`. */
  eventKind(name: string): EventKind;
  /** Logs an effect at `nowNs`: its kind, a 32-bit digest of its inputs, its result. */
  effect(kind: EventKind, input: number, result: number): void;
}
