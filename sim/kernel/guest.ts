import type { VirtualNs } from './units.ts';

/** Which kind of readiness a blocked guest waits for on a socket. */
export type Readiness = 'read' | 'write';

/** One thing that can end a wait: a socket of the guest's own stack becoming ready. */
export interface Interest {
  readonly socket: number;
  readonly readiness: Readiness;
}

/**
 * What a blocked guest waits for: any one of the interests, or the deadline, whichever comes
 * first. With no interest and no deadline the guest sleeps for ever.
 */
export interface Wait {
  readonly deadlineNs: VirtualNs | null;
  readonly interests: readonly Interest[];
}

/** Why the guest stopped. `atNs` is its local clock at that point. */
export type Effect =
  | { readonly kind: 'wait'; readonly atNs: VirtualNs; readonly wait: Wait }
  | { readonly kind: 'preempted'; readonly atNs: VirtualNs }
  | { readonly kind: 'exit'; readonly atNs: VirtualNs; readonly code: number }
  | {
      readonly kind: 'trap';
      readonly atNs: VirtualNs;
      /** Stable name, for example `unreachable`, `out-of-bounds-memory`, `call-depth`. */
      readonly code: string;
      readonly message: string;
    };

/** What ended the last stop, and the local time at which the guest goes on. */
export interface Outcome {
  readonly reason: 'start' | 'ready' | 'deadline' | 'continue';
  readonly atNs: VirtualNs;
}

/**
 * A saved guest. Plain data: it can be kept, restored any number of times, and packed into a
 * bundle. `pages` is sparse: pages that are not named are equal to the freshly loaded guest's.
 */
export interface GuestImage {
  readonly kind: string;
  readonly version: number;
  /** Page number to page bytes; the bytes are never written again by anyone. */
  readonly pages: ReadonlyMap<number, Uint8Array>;
  /** Everything else, as canonical plain data (see kernel/canonical.ts). */
  readonly state: unknown;
}

/**
 * The contract of every kind of guest. Synchronous; a virtual machine has the same contract with
 * promises. A guest touches nothing but its port (see world/port.ts).
 */
export interface Guest {
  /**
   * Runs the guest from `outcome.atNs` until it blocks, ends, or its local clock reaches the
   * port's horizon. The horizon may come nearer during the call.
   */
  resume(outcome: Outcome): Effect;
  /**
   * For a guest that can run while others do: begins what `resume` with the same outcome will do,
   * and returns at once. `resume` comes before anything else is asked of it, but for `dispose`. It
   * may read its port, where clock and horizon are set, and take what its devices hold for it;
   * else it leaves the world alone. Never called for a start.
   */
  setOff?(outcome: Outcome): void;
  /** Saves the guest at its present stop. */
  capture(): GuestImage;
  /** Brings the guest to a saved stop. */
  restore(image: GuestImage): void;
  /** A digest of the whole state as 16 hexadecimal digits, equal on every engine. */
  digest(): string;
  /** Frees host resources. The guest is not used again. */
  dispose(): void;
}
