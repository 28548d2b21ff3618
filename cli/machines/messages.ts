import type { MessagePort } from 'node:worker_threads';
import type { MachineBackend, MachineEvent, MachineOptions, StopKind } from '../../bridge/index.ts';
import type { MachineInput } from '../../sim/index.ts';

/** Names a machine within its host. */
export type MachineId = number;

/** What a machine is started with; the host's thread knows the backend. */
export type MachineStart = Omit<MachineOptions, 'backend'>;

/** What the simulation asks of the thread that holds the machines. Plain data. */
export type MachineRequest =
  | { readonly kind: 'start'; readonly machine: MachineId; readonly start: MachineStart }
  /** Boots such a machine twice, alone, and compares what becomes of both. */
  | { readonly kind: 'prove'; readonly start: MachineStart }
  | {
      /** Goes on where `save` wrote the folder; with a stub for gdb at a socket where it is named. */
      readonly kind: 'restore';
      readonly machine: MachineId;
      readonly start: MachineStart;
      readonly folder: string;
      readonly gdb: string | null;
    }
  /** Opens a port for gdb, to the machine that was restored with a stub. */
  | { readonly kind: 'debug' }
  /** Waits until gdb has come there, and the machine stands still for it. */
  | { readonly kind: 'attached' }
  | {
      /** A second machine in the state of `machine`, under the name `as`. */
      readonly kind: 'fork';
      readonly machine: MachineId;
      readonly as: MachineId;
    }
  | {
      readonly kind: 'run';
      readonly machine: MachineId;
      readonly untilNs: number;
      readonly stopOn: readonly StopKind[];
      /** What reaches the machine first, at times of its own clock. */
      readonly inputs: readonly MachineInput[];
    }
  | { readonly kind: 'hash'; readonly machine: MachineId }
  /** Where the memories of two machines differ. */
  | { readonly kind: 'compare'; readonly left: MachineId; readonly right: MachineId }
  /** What the machine's entropy gives from now on comes of this seed. */
  | { readonly kind: 'seed'; readonly machine: MachineId; readonly seed: number }
  | { readonly kind: 'save'; readonly machine: MachineId; readonly folder: string }
  | { readonly kind: 'close'; readonly machine: MachineId }
  /** Closes what is no machine. */
  | { readonly kind: 'end' };

export interface MachineReplies {
  readonly start: { readonly nowNs: number };
  readonly prove: null;
  readonly restore: { readonly nowNs: number };
  readonly debug: { readonly port: number };
  readonly attached: null;
  readonly fork: null;
  readonly run: {
    readonly atNs: number;
    readonly instructions: number;
    readonly isOff: boolean;
    readonly events: readonly MachineEvent[];
  };
  readonly hash: { readonly ram: string; readonly devices: string };
  /** Guest-physical addresses of pages, the first ones. */
  readonly compare: readonly number[];
  readonly seed: null;
  readonly save: null;
  readonly close: null;
  readonly end: null;
}

/** What comes back: the reply, or the parts of a SimError. */
export type MachineReply =
  | { readonly ticket: number; readonly reply: MachineReplies[MachineRequest['kind']] }
  | {
      readonly ticket: number;
      readonly error: {
        readonly code: string;
        readonly message: string;
        readonly place: string | undefined;
        readonly remedy: string | undefined;
      };
    };

export interface MachineThreadData {
  /** Counts replies; whoever waits for one sleeps on it. */
  readonly counter: Int32Array;
  readonly backend: MachineBackend;
  /** A debugger may hold a machine as long as it likes. */
  readonly isPatient: boolean;
  /** Requests come here, and answers go. */
  readonly port: MessagePort;
}
