import {
  assert,
  MONOTONIC_START_NS,
  SimError,
  type Effect,
  type GuestPort,
  type Outcome,
  type VirtualNs,
  type Wait,
} from '../../sim/index.ts';
import { CONTROL, GROWS_IN_PLACE, TRAP, type Layout } from '../instrument/layout.ts';
import { GuestClock, type GuestClockState } from './guest-clock.ts';
import { enlarge, hostMemoryError } from './growth.ts';
import type { HostContext, Resumed } from './host-context.ts';
import type { HostSet } from './host-set.ts';
import type { PageTracker } from './pages.ts';
import type { PreparedProgram, Tracked } from './prepared.ts';
import { trapCode } from './traps.ts';

const RUNNING = 0;
const UNWINDING = 1;
const REWINDING = 2;
const KILLED = 3;

const WASM_PAGE_BYTES = 65536;

/** Fuel for a call of a guest export from within a host function (canonical ABI: realloc). */
export const REENTRY_FUEL = 100_000_000;

/** A host call that stopped, to be made again: which one, and with which arguments. */
export interface StoppedCall {
  readonly index: number;
  readonly args: readonly (number | bigint)[];
}

/** Thrown through the guest's frames to end it; `trap` is null for an exit. */
class GuestEnd extends Error {
  readonly code: number;
  readonly trap: { readonly code: string; readonly message: string } | null;

  constructor(code: number, trap: { code: string; message: string } | null) {
    super('the guest ends');
    this.code = code;
    this.trap = trap;
  }
}

/** The machine's own state at a stop, as canonical plain data. */
export interface MachineState {
  readonly clock: GuestClockState;
  readonly entry: number;
  readonly suspended: boolean;
  readonly stopped: StoppedCall | null;
  readonly waiting: boolean;
  readonly waitStartNs: VirtualNs;
  readonly depth: number;
}

/**
 * One guest's execution: linked instances, clock, and the protocol of stopping and going on
 * (see instrument/layout.ts). It is the host context of the guest's host functions.
 */
export class Machine implements HostContext {
  readonly port: GuestPort;
  readonly host: HostSet;
  resumed: Resumed = null;
  waitStartNs: VirtualNs = 0;
  private readonly program: PreparedProgram;
  private readonly layout: Layout;
  private readonly clock: GuestClock;
  private instances: Tracked;
  private control: Int32Array = new Int32Array(0);
  private view: DataView = new DataView(new ArrayBuffer(0));
  private guestBytes: Uint8Array = new Uint8Array(0);
  private entry = 0;
  private suspended = false;
  private stopped: StoppedCall | null = null;
  private pendingWait: Wait | null = null;
  /** The wait of the last stop ended by this, for the host call that is made again. */
  private wake: Resumed = null;
  private waiting = false;
  private trapNumber = 0;
  /** How many pages of 64 KiB a guest that unwinds wants, or 0; and how many it had. */
  private growth = 0;
  private pagesBefore = 0;
  private reentered = false;

  constructor(
    program: PreparedProgram,
    instances: Tracked,
    port: GuestPort,
    nsPerThousandInstructions: number,
  ) {
    this.program = program;
    this.layout = program.layout;
    this.instances = instances;
    this.port = port;
    this.clock = new GuestClock(nsPerThousandInstructions);
    this.host = program.makeHost(this);
    this.attach(instances);
  }

  /** Moves the guest into other instances. */
  attach(instances: Tracked): void {
    this.instances = instances;
    instances.slot.machine = this;
    instances.slot.functions = this.host.functions;
    this.refresh();
    this.host.attach(instances.instances);
  }

  /** The instances that the guest is in at present. */
  get linked(): Tracked {
    return this.instances;
  }

  /** What changed in the guest's memory. */
  get pages(): PageTracker {
    return this.instances.pages;
  }

  /** What has happened to its memory while it stood still. */
  private flip(atNs: VirtualNs): void {
    const { port, pages } = this;
    port.nowNs = atNs;
    for (const { address, bits } of port.takeFlips(pages.byteCount)) pages.flip(address, bits);
  }

  /** Instructions executed since the guest's start. */
  executed(): number {
    return this.clock.executed(this.fuel());
  }

  /** Runs until the guest stops. */
  resume(outcome: Outcome): Effect {
    this.refresh();
    this.flip(outcome.atNs);
    const control = this.control;
    this.clock.setShare(this.port.cpu, this.fuel());
    if (this.clock.localNs(this.fuel()) !== outcome.atNs)
      this.clock.moveTo(outcome.atNs, this.fuel());
    this.wake = outcome.reason === 'deadline' ? 'deadline' : 'ready';
    this.grant();
    control[CONTROL.state] = this.suspended ? REWINDING : RUNNING;
    try {
      return this.run();
    } catch (error) {
      return this.failed(error);
    }
  }

  // What host functions use.

  memory(): DataView {
    this.refreshIfDetached();
    return this.view;
  }

  bytes(): Uint8Array {
    if (this.guestBytes.length === 0) this.refresh();
    return this.guestBytes;
  }

  memoryBytes(): number {
    return this.bytes().length;
  }

  touched(offset: number, length: number): void {
    if (this.guestBytes.length === 0) this.refresh();
    this.pages.touch(offset, length);
  }

  block(wait: Wait): 0 {
    if (this.reentered) this.trap('reentry', 'a host function was called during a re-entrant call');
    this.pendingWait = wait;
    return 0;
  }

  charge(ns: VirtualNs): void {
    this.clock.charge(ns);
    this.port.nowNs += ns;
  }

  localNs(): VirtualNs {
    return this.clock.localNs(this.fuel());
  }

  exit(code: number): never {
    this.refreshIfDetached();
    this.control[CONTROL.state] = KILLED;
    throw new GuestEnd(code, null);
  }

  trap(code: string, message: string): never {
    this.refreshIfDetached();
    this.control[CONTROL.state] = KILLED;
    throw new GuestEnd(0, { code, message });
  }

  /** Calls a guest export from within a host function, on fuel of its own. */
  reenter<Result>(call: () => Result): Result {
    assert(!this.reentered, 're-entrant calls do not nest');
    this.refreshIfDetached();
    const before = this.control[CONTROL.fuel] as number;
    this.control[CONTROL.fuel] = REENTRY_FUEL;
    this.reentered = true;
    const result = call();
    this.reentered = false;
    this.refreshIfDetached();
    const used = REENTRY_FUEL - (this.control[CONTROL.fuel] as number);
    this.control[CONTROL.fuel] = before - used;
    return result;
  }

  // What the wrappers of host functions use (see host-call.ts).

  /**
   * Begins a host call. 0: make it. 1: it stopped before, make it again with `stoppedArgs()`.
   * 2: the guest's time is up; the call is not made now (`stop` keeps it).
   */
  enter(): 0 | 1 | 2 {
    if (this.control.length === 0) this.refresh();
    const control = this.control;
    const localNs = this.clock.localNs(control[CONTROL.fuel] as number);
    this.port.nowNs = localNs;
    if (control[CONTROL.state] === REWINDING) {
      control[CONTROL.state] = RUNNING;
      this.suspended = false;
      if (this.waiting) {
        this.resumed = this.wake;
      } else {
        this.resumed = null;
        this.waitStartNs = this.shownNs();
      }
      this.port.observedNs = localNs;
      return 1;
    }
    if (this.reentered) this.trap('reentry', 'a host function was called during a re-entrant call');
    if (localNs >= this.port.horizonNs) return 2;
    this.port.observedNs = localNs;
    this.resumed = null;
    this.waitStartNs = this.shownNs();
    return 0;
  }

  /** What the node's monotonic clock shows, counted from the world's start. */
  private shownNs(): VirtualNs {
    return this.port.monotonicNs() - MONOTONIC_START_NS;
  }

  stoppedArgs(index: number): readonly (number | bigint)[] {
    const stopped = this.stopped;
    assert(stopped !== null && stopped.index === index, 'the stopped host call is made again');
    return stopped.args;
  }

  /** Ends a host call: true when the guest is to stop, with the call to be made again. */
  leave(): boolean {
    if (this.control.length === 0) this.refresh();
    if (this.pendingWait !== null) return true;
    this.waiting = false;
    this.stopped = null;
    const control = this.control;
    control[CONTROL.fuel] = this.clock.grant(this.port.horizonNs, control[CONTROL.fuel] as number);
    return false;
  }

  /** Stops the guest in a host call. */
  stop(index: number, args: readonly (number | bigint)[]): void {
    this.stopped = { index, args };
    this.waiting = this.pendingWait !== null;
    this.unwind();
  }

  // What the instrumented code calls.

  /** Import `athanor.preempt`: fuel is used up. */
  preempt(): void {
    this.refreshIfDetached();
    const control = this.control;
    if (this.reentered) this.trap('reentry-fuel', 'a re-entrant call does not end');
    if (control[CONTROL.state] === REWINDING) {
      control[CONTROL.state] = RUNNING;
      this.suspended = false;
      return;
    }
    if (this.localNs() < this.port.horizonNs) return this.grant();
    this.unwind();
  }

  /**
   * Import `athanor.grow`: stops the guest, so that `run` can give it more memory. In a re-entrant
   * call it cannot stop; what is more than it may have is refused in place.
   */
  askToGrow(delta: number): number {
    this.refreshIfDetached();
    const control = this.control;
    if (control[CONTROL.state] === REWINDING) {
      control[CONTROL.state] = RUNNING;
      this.suspended = false;
      return this.pagesBefore;
    }
    const pages = this.guestBytes.length / WASM_PAGE_BYTES;
    const { guestPagesMax } = this.layout.memory;
    if (this.reentered || delta === 0 || pages + delta > guestPagesMax) return GROWS_IN_PLACE;
    this.growth = delta;
    this.pagesBefore = pages;
    this.unwind();
    return 0;
  }

  /** Import `athanor.trap`: a trap of our own follows. */
  noteTrap(code: number): void {
    this.trapNumber = code;
  }

  captureState(): MachineState {
    this.refreshIfDetached();
    return {
      clock: this.clock.capture(this.fuel()),
      entry: this.entry,
      suspended: this.suspended,
      stopped: this.stopped,
      waiting: this.waiting,
      waitStartNs: this.waitStartNs,
      depth: this.control[CONTROL.depth] as number,
    };
  }

  restoreState(state: MachineState): void {
    this.refreshIfDetached();
    this.clock.restore(state.clock);
    this.control[CONTROL.fuel] = 0;
    this.control[CONTROL.depth] = state.depth;
    this.control[CONTROL.state] = RUNNING;
    this.entry = state.entry;
    this.suspended = state.suspended;
    this.stopped = state.stopped;
    this.waiting = state.waiting;
    this.waitStartNs = state.waitStartNs;
    this.pendingWait = null;
    this.trapNumber = 0;
    this.reentered = false;
  }

  /** Points all views at the memory's present buffer. */
  refresh(): void {
    const { layout } = this;
    const { buffer } = this.instances.memory;
    this.control = new Int32Array(buffer, layout.controlBase, 4);
    this.view = new DataView(buffer, layout.guestBaseBytes);
    this.guestBytes = new Uint8Array(buffer, layout.guestBaseBytes);
    this.pages.attach(buffer);
  }

  private refreshIfDetached(): void {
    if (this.control.length === 0) this.refresh();
  }

  private fuel(): number {
    this.refreshIfDetached();
    return this.control[CONTROL.fuel] as number;
  }

  private grant(): void {
    const control = this.control;
    control[CONTROL.fuel] = this.clock.grant(this.port.horizonNs, control[CONTROL.fuel] as number);
  }

  /**
   * From here on all frames save themselves. They leave gaps, and what an earlier stop left there,
   * of this guest or of another in the same instances, must not show in images and digests.
   */
  private unwind(): void {
    const { instances, layout, control } = this;
    new Uint8Array(control.buffer).fill(0, instances.framesFrom, layout.shadowStackTop);
    instances.framesFrom = layout.shadowStackTop;
    this.suspended = true;
    control[CONTROL.state] = UNWINDING;
  }

  /** Calls the present entry and those after it, until one stops or all have returned. */
  private run(): Effect {
    const { entries } = this.program;
    for (;;) {
      const entry = entries[this.entry];
      if (entry === undefined) return { kind: 'exit', atNs: this.localNs(), code: 0 };
      const call = this.instances.instances[entry.module]?.exports[entry.exportName];
      assert(typeof call === 'function', 'an entry is an exported function');
      const result: unknown = (call as () => unknown)();
      this.refreshIfDetached();
      if (this.control[CONTROL.state] === UNWINDING) {
        if (this.growth === 0) return this.stoppedEffect();
        this.grow();
        continue;
      }
      this.entry++;
      if (entry.kind !== 'main') continue;
      const code = this.host.exitCode(result);
      return { kind: 'exit', atNs: this.localNs(), code };
    }
  }

  /** Gives a guest that has stopped for it more memory; nothing of that can be seen but the size. */
  private grow(): void {
    this.instances.framesFrom = this.control[CONTROL.shadowSp] as number;
    const grown = enlarge(this.program, this.instances, this.growth);
    this.growth = 0;
    if (grown === this.instances) this.refresh();
    else {
      const left = this.instances;
      this.attach(grown);
      this.program.release(left);
    }
    this.control[CONTROL.state] = REWINDING;
  }

  private stoppedEffect(): Effect {
    this.control[CONTROL.state] = RUNNING;
    this.instances.framesFrom = this.control[CONTROL.shadowSp] as number;
    const atNs = this.localNs();
    const wait = this.pendingWait;
    this.pendingWait = null;
    if (wait === null) return { kind: 'preempted', atNs };
    return { kind: 'wait', atNs, wait };
  }

  /** What an exception through the guest's frames means. */
  private failed(error: unknown): Effect {
    this.reentered = false;
    this.pendingWait = null;
    this.growth = 0;
    if (error instanceof SimError) throw error;
    const atNs = this.localNs();
    if (error instanceof GuestEnd) {
      if (error.trap === null) return { kind: 'exit', atNs, code: error.code };
      return { kind: 'trap', atNs, ...error.trap };
    }
    const unwinding = this.control[CONTROL.state] === UNWINDING;
    if (unwinding) this.instances.framesFrom = 0;
    if (error instanceof WebAssembly.RuntimeError) {
      if (unwinding) return { kind: 'trap', atNs, ...SHADOW_OVERFLOW };
      if (this.trapNumber === TRAP.depth) return { kind: 'trap', atNs, ...DEPTH_OVERFLOW };
      if (this.trapNumber === TRAP.hostMemory) throw hostMemoryError(error);
      return { kind: 'trap', atNs, code: trapCode(error.message), message: error.message };
    }
    if (error instanceof RangeError) throw hostStackError(error);
    throw error;
  }
}

const DEPTH_OVERFLOW = {
  code: 'call-depth',
  message: 'the call depth limit is used up',
} as const;

const SHADOW_OVERFLOW = {
  code: 'suspend-depth',
  message: 'the frames of a suspended guest do not fit their area',
} as const;

function hostStackError(cause: unknown): SimError {
  return new SimError({
    code: 'backend/stack',
    message: "the host's stack ended before the guest's depth limit",
    remedy: 'start node without a lowered --stack-size',
    cause,
  });
}
