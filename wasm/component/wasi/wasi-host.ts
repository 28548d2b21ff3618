import type { GuestPort, Interest, VirtualNs, Wait } from '../../../sim/index.ts';
import { COST_NS } from '../../preview1/costs.ts';
import type { HostContext } from '../../runtime/host-context.ts';
import { BLOCKED, type Blocked } from '../abi/function.ts';
import { HandleTable } from '../abi/handle-table.ts';
import { clonePlain } from '../plain-data.ts';
import type { Pollable } from './resources.ts';
import type { SocketRecord } from './socket-record.ts';

/**
 * The state and the means of one guest's WASI 0.2 functions: its handles, its sockets' records,
 * and the port to its node. Everything that changes is in `capture()`.
 */
export class WasiHost {
  readonly context: HostContext;
  readonly handles = new HandleTable();
  /** What the present call takes on top of its usual cost. */
  extraNs: VirtualNs = 0;
  private records = new Map<number, SocketRecord>();

  constructor(context: HostContext) {
    this.context = context;
  }

  get port(): GuestPort {
    return this.context.port;
  }

  get files(): GuestPort['files'] {
    return this.context.port.files;
  }

  get sockets(): GuestPort['sockets'] {
    return this.context.port.sockets;
  }

  /** Ends the guest for a misuse that WASI says traps. */
  trap(message: string): never {
    return this.context.trap('wasi-misuse', message);
  }

  /** Makes a file durable; the present call takes as long as that does. */
  synchronise(inode: number, dataOnly: boolean): number {
    this.extraNs += COST_NS.synchronise;
    return this.files.synchronise(inode, dataOnly);
  }

  /** Takes the record of a socket that was opened. */
  addSocket(socket: number, record: SocketRecord): void {
    this.records.set(socket, record);
  }

  socket(socket: number): SocketRecord {
    return this.records.get(socket) ?? this.trap(`socket ${socket} is closed`);
  }

  /** One more handle depends on the socket. */
  retainSocket(socket: number): void {
    this.socket(socket).references++;
  }

  /** One handle less: the socket closes with its last one. */
  releaseSocket(socket: number): void {
    const record = this.socket(socket);
    record.references--;
    if (record.references > 0) return;
    this.records.delete(socket);
    this.sockets.close(socket);
  }

  /** Whether a pollable is ready now. */
  isReady(pollable: Pollable): boolean {
    switch (pollable.on) {
      case 'always':
        return true;
      case 'clock':
        return BigInt(this.port.monotonicNs()) >= pollable.atNs;
      case 'socket':
      case 'tcp': {
        const interest = this.interest(pollable);
        return interest === null || this.sockets.isReady([interest]);
      }
    }
  }

  /** Waits until one of the pollables, none of which is ready, becomes so. */
  waitFor(pollables: readonly Pollable[]): Blocked {
    const interests: Interest[] = [];
    let deadlineNs: VirtualNs | null = null;
    for (const pollable of pollables) {
      if (pollable.on === 'clock') {
        const atNs = this.port.deadlineFromMonotonic(pollable.atNs);
        // The end of time never comes.
        if (atNs === Number.MAX_SAFE_INTEGER) continue;
        deadlineNs = deadlineNs === null ? atNs : Math.min(deadlineNs, atNs);
        continue;
      }
      const interest = this.interest(pollable);
      if (interest !== null) interests.push(interest);
    }
    return this.block({ deadlineNs, interests });
  }

  capture(): unknown {
    const records = [...this.records].map(([socket, record]) => ({ socket, record }));
    return clonePlain({ handles: this.handles.capture(), records });
  }

  restore(state: unknown): void {
    const { handles, records } = clonePlain(state) as {
      handles: unknown;
      records: readonly { socket: number; record: SocketRecord }[];
    };
    this.handles.restore(handles);
    this.records = new Map(records.map(({ socket, record }) => [socket, record]));
  }

  /** A deadline that rounding put into the past would make the guest spin without time passing. */
  private block(wait: Wait): Blocked {
    const { deadlineNs, interests } = wait;
    const soonest = this.context.localNs() + 1;
    const moved = deadlineNs === null ? null : Math.max(deadlineNs, soonest);
    this.context.block({ deadlineNs: moved, interests });
    return BLOCKED;
  }

  /** What a socket's pollable waits for; null when it waits for nothing. */
  private interest(pollable: Pollable): Interest | null {
    if (pollable.on === 'socket') {
      return { socket: pollable.socket, readiness: pollable.readiness };
    }
    if (pollable.on !== 'tcp') return null;
    const { socket } = pollable;
    switch (this.records.get(socket)?.state) {
      case 'connecting':
        return { socket, readiness: 'write' };
      case 'listening':
        return { socket, readiness: 'read' };
      default:
        return null;
    }
  }
}
