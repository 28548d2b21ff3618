import type {
  EndReason,
  GuestImage,
  IdleEvent,
  Note,
  PropertyResult,
  WorldState,
} from '../sim/index.ts';

/** A boundary to stop at: the first one at which any of these holds. */
export interface StopAt {
  /** Everything before this time has happened. */
  readonly virtualNs?: number;
  readonly quanta?: number;
  readonly events?: number;
  readonly decisions?: number;
  /** The property of this name is decided. */
  readonly property?: string;
  /** Some node has written a line in which this pattern matches. */
  readonly console?: string;
  /** So many properties are decided. */
  readonly decidedProperties?: number;
  /** So many timers of guests have fired. */
  readonly timers?: number;
  /** The machine that is to get ready is. */
  readonly baked?: true;
}

/** The whole world at a boundary: plain data and guest pages. */
export interface Checkpoint {
  readonly version: 1;
  readonly world: WorldState;
  readonly guests: readonly (GuestImage | null)[];
  readonly fingerprints: readonly Fingerprint[];
  readonly nextFingerprintNs: number;
  /** The complete frames of both logs so far, and the consoles. */
  readonly schedule: readonly Uint8Array[];
  readonly events: readonly Uint8Array[];
  readonly consoles: readonly (readonly Uint8Array[])[];
  /** How many instructions each node's guest had executed when it was dropped. */
  readonly instructionCounts: readonly number[];
}

export interface Fingerprint {
  readonly atNs: number;
  readonly quanta: number;
  readonly decisionChain: string;
  readonly eventChain: string;
  /** A digest of each node's memory, host state and disk; empty for a node without a guest. */
  readonly guests: readonly string[];
}

export type Verdict = 'pass' | 'fail' | 'inconclusive';

export interface NodeResult {
  readonly name: string;
  readonly status: 'running' | 'exited' | 'crashed' | 'trapped' | 'unstarted';
  readonly code: number | null;
  readonly lives: number;
  readonly instructions: number;
}

export interface SimulationResult {
  readonly verdict: Verdict;
  readonly reason: EndReason | 'stopped';
  readonly properties: readonly PropertyResult[];
  /** Equal for failures of one kind: the properties that failed, without times and details. */
  readonly signature: string;
  readonly endNs: number;
  readonly quanta: number;
  readonly decisionCount: number;
  readonly eventCount: number;
  readonly schedule: Uint8Array;
  readonly events: Uint8Array;
  readonly fingerprints: readonly Fingerprint[];
  readonly consoles: readonly { readonly node: string; readonly bytes: Uint8Array }[];
  readonly nodes: readonly NodeResult[];
  readonly notes: readonly Note[];
  /** Events of the plan that changed nothing (FB-73). */
  readonly idleEvents: readonly IdleEvent[];
  readonly lastDraw: number;
}
