import type { GuestPort, VirtualNs, Wait } from '../../sim/index.ts';

/** What ended the wait of a host function that is called again. */
export type Resumed = 'ready' | 'deadline' | null;

/**
 * What a set of host functions may use of the guest instance that calls them. Each host function
 * runs at the guest's local time; before each call the runtime has written it to `port.nowNs`.
 */
export interface HostContext {
  readonly port: GuestPort;
  /** A view of the guest's memory; it is made anew when the memory's buffer changes. */
  memory(): DataView;
  /** The guest's memory as bytes; made anew like `memory()`. */
  bytes(): Uint8Array;
  /** The size that the guest sees, in bytes: host functions check pointers against it. */
  memoryBytes(): number;
  /** Must be called after the host wrote `length` bytes of guest memory at `offset`. */
  touched(offset: number, length: number): void;
  /**
   * Asks for suspension and returns 0; the host function returns at once with any result. When
   * the wait ends, the same host function is called again with the same arguments.
   */
  block(wait: Wait): 0;
  /** Not null while a host function is called again: what ended its wait. */
  readonly resumed: Resumed;
  /**
   * What the node's monotonic clock showed at the first call of the operation that runs, counted
   * from the world's start: timeouts run on it.
   */
  readonly waitStartNs: VirtualNs;
  /** The effect took this long: moves the guest's local clock. Whole nanoseconds, at least 0. */
  charge(ns: VirtualNs): void;
  /** The guest's local clock. */
  localNs(): VirtualNs;
  /**
   * Calls an export of the guest from within a host function, on fuel of its own: it must end
   * without a host call.
   */
  reenter<Result>(call: () => Result): Result;
  /** Ends the guest with this exit code; does not return. */
  exit(code: number): never;
  /** Ends the guest with a trap of a stable code; does not return. */
  trap(code: string, message: string): never;
}
