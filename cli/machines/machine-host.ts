import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import {
  receiveMessageOnPort,
  MessageChannel,
  Worker,
  type MessagePort,
} from 'node:worker_threads';
import { findBackend, type MachineBackend } from '../../bridge/index.ts';
import { SimError, type ErrorCode } from '../../sim/index.ts';
import { machinesFolder } from '../cache-folder.ts';
import type { MachineChoice } from './machine-backend.ts';
import { makeMachineFolder } from './machine-files.ts';
import type {
  MachineId,
  MachineReplies,
  MachineReply,
  MachineRequest,
  MachineThreadData,
} from './messages.ts';
import type { MachineTapes } from './machine-tape.ts';
import type { ReadyState } from './ready-entry.ts';

/** Longer than the machine's own limit for an answer, which gives the better error. */
const WAIT_MS = 150_000;
const SLICE_MS = 1_000;

/**
 * What machines are for: a run; continuations of checkpoints, each of many; or one fork that a
 * debugger holds as long as it likes.
 */
export type MachinePurpose = 'run' | 'branches' | 'debugging';

/** What `take` gives the answer for: to a request of this kind. */
export interface Ticket<Kind extends MachineRequest['kind']> {
  readonly kind: Kind;
  readonly number: number;
}

/** At most so many machines stand parked, to be forked: each holds its guest's memory. */
const PARKED_MAX = 8;

/**
 * The machines of one simulation, or of many one after another, seen without promises: a thread of
 * their own waits for QEMU and this one sleeps until it answers. So the loop of a simulation is the
 * same for every kind of guest. Files that QEMU needs stand in a folder that goes with `close`.
 */
export class MachineHost {
  /** What runs the machines. */
  readonly backend: MachineBackend;
  readonly purpose: MachinePurpose;
  /** How many machines may run at once. */
  readonly atOnce: number;
  /** Where machines are ready, by key: found once, and the same for all runs. */
  readonly readyStates = new Map<string, ReadyState>();
  /** Keeps what reaches the machines, where somebody wants to repeat their lives. */
  tapes: MachineTapes | null = null;
  /** Is called, again and again, while an answer is waited for. */
  onWait: (() => void) | null = null;
  private readonly worker: Worker;
  private readonly port: MessagePort;
  private readonly counter = new Int32Array(new SharedArrayBuffer(4));
  private readonly replies = new Map<number, MachineReply>();
  private readonly forgotten = new Set<number>();
  private readonly folder = makeMachineFolder();
  private readonly parts = new Map<string, string>();
  /** Of each state that is gone back to: a machine that stands there; the oldest first. */
  private readonly parked = new Map<object, MachineId>();
  private nextTicket = 1;
  private nextMachine: MachineId = 1;
  private nextFolder = 1;
  private failure: Error | null = null;

  /** Without a backend, with the one that is set up here: errors of `findBackend`. */
  constructor(choice: MachineChoice = {}, options: { readonly purpose?: MachinePurpose } = {}) {
    this.purpose = options.purpose ?? 'run';
    this.atOnce = choice.atOnce ?? availableParallelism();
    this.backend =
      choice.backend ?? findBackend(machinesFolder({ env: process.env, cwd: process.cwd() }));
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    const workerData: MachineThreadData = {
      backend: this.backend,
      isPatient: this.isPatient,
      counter: this.counter,
      port: port2,
    };
    this.worker = new Worker(new URL('./machine-thread.js', import.meta.url), {
      workerData,
      transferList: [port2],
    });
    this.worker.on('error', (error) => {
      this.failure = error;
    });
    this.worker.unref();
  }

  /** Where the stub for gdb of a machine listens. */
  get gdbSocket(): string {
    return join(this.folder, 'gdb');
  }

  /** A name for one more machine. */
  newMachine(): MachineId {
    return this.nextMachine++;
  }

  /** A file with these bytes, written once for each digest. */
  part(digest: string, bytes: Uint8Array): string {
    let path = this.parts.get(digest);
    if (path === undefined) {
      path = join(this.folder, digest);
      writeFileSync(path, bytes);
      this.parts.set(digest, path);
    }
    return path;
  }

  /** An empty folder that stands until `close`. */
  emptyFolder(): string {
    const path = join(this.folder, `state-${this.nextFolder++}`);
    mkdirSync(path);
    return path;
  }

  /** Asks and waits. Throws what the machine failed with, and where that was. */
  ask<K extends MachineRequest['kind']>(
    request: Extract<MachineRequest, { kind: K }>,
    place?: string,
  ): MachineReplies[K] {
    return this.take(this.begin(request), place);
  }

  /** Asks without waiting; `take` gives the answer, or `forget` sees to it that nobody has to. */
  begin<K extends MachineRequest['kind']>(
    request: Extract<MachineRequest, { kind: K }>,
  ): Ticket<K> {
    const number = this.nextTicket++;
    this.port.postMessage({ ticket: number, request });
    return { kind: request.kind, number };
  }

  /** Waits for the answer to what `begin` asked. Throws what the machine failed with, and where. */
  take<K extends MachineRequest['kind']>({ number }: Ticket<K>, place?: string): MachineReplies[K] {
    for (let waitedMs = 0; ;) {
      const seen = Atomics.load(this.counter, 0);
      this.receive();
      const reply = this.replies.get(number);
      if (reply !== undefined) {
        this.replies.delete(number);
        if ('error' in reply) throw errorOf(reply, place);
        return reply.reply as MachineReplies[K];
      }
      this.onWait?.();
      if (this.failure !== null || (waitedMs >= WAIT_MS && !this.isPatient)) throw this.silent();
      if (Atomics.wait(this.counter, 0, seen, SLICE_MS) === 'timed-out') waitedMs += SLICE_MS;
    }
  }

  /** Nobody waits for the answer any more. */
  forget({ number }: Ticket<MachineRequest['kind']>): void {
    if (!this.replies.delete(number)) this.forgotten.add(number);
  }

  /**
   * The machine that stands, parked, where `state` was taken: what `load` makes of it the first
   * time. It never runs.
   */
  park(state: object, load: () => MachineId): MachineId {
    let original = this.parked.get(state);
    if (original === undefined) {
      original = load();
      this.parked.set(state, original);
      if (this.parked.size > PARKED_MAX) this.dropOldest();
    }
    return original;
  }

  /** A machine where `state` was taken: a fork of the parked one, which takes milliseconds. */
  copyOf(state: object, load: () => MachineId): MachineId {
    const original = this.park(state, load);
    const machine = this.newMachine();
    this.ask({ kind: 'fork', machine: original, as: machine });
    return machine;
  }

  /** Ends all machines and removes their files. */
  close(): void {
    for (let machine = 1; machine < this.nextMachine; machine++) {
      this.ask({ kind: 'close', machine });
    }
    this.ask({ kind: 'end' });
    this.port.close();
    void this.worker.terminate();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get isPatient(): boolean {
    return this.purpose === 'debugging';
  }

  private dropOldest(): void {
    for (const [state, machine] of this.parked) {
      this.ask({ kind: 'close', machine });
      this.parked.delete(state);
      return;
    }
  }

  private receive(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.port) as { message: MachineReply } | undefined;
      if (received === undefined) return;
      const { message } = received;
      if (!this.forgotten.delete(message.ticket)) this.replies.set(message.ticket, message);
    }
  }

  private silent(): SimError {
    return new SimError({
      code: 'backend/timeout',
      message: `the thread that holds the machines gave no answer in ${WAIT_MS / 1_000} s`,
      remedy: 'look whether the host is overloaded, and run again',
      cause: this.failure,
    });
  }
}

function errorOf(
  { error }: Extract<MachineReply, { error: unknown }>,
  where: string | undefined,
): SimError {
  const { code, message, remedy, place = where } = error;
  return new SimError({
    code: code as ErrorCode,
    message,
    ...(place === undefined ? {} : { place }),
    ...(remedy === undefined ? {} : { remedy }),
  });
}
