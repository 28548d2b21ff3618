import { ERRNO } from '../kernel/errno.ts';
import type { Interest } from '../kernel/guest.ts';
import type { VirtualNs } from '../kernel/units.ts';

/** Names a socket within its node, over all lives of the node; never used twice. From 1. */
export type SocketId = number;

export type SocketKind = 'tcp' | 'udp';
export type ShutdownHow = 'read' | 'write' | 'both';

/** One end of a connection: an unsigned 32-bit IPv4 address and a port. */
export interface Endpoint {
  readonly address: number;
  readonly port: number;
}

export interface Datagram extends Endpoint {
  /** Bytes that were stored; a longer datagram is cut off. */
  readonly count: number;
}

/** Bits of `readiness`: hangup is the peer's end of stream. */
export const READINESS = { READABLE: 1, WRITABLE: 2, HANGUP: 4, ERROR: 8 } as const;

/**
 * The sockets of one node. Nothing here blocks: what cannot be done yet is `-AGAIN` (or
 * `-INPROGRESS` for a connect); the caller waits for readiness and tries again. Results below 0
 * are negated errno constants; unknown ids give `-BADF`.
 */
export class SocketStack {
  /** A new socket, or `-MFILE`. */
  open(kind: SocketKind): SocketId {
    return kind === 'tcp' ? -ERRNO.NOTSUP : -ERRNO.NOTSUP;
  }

  /** Closes a socket as its operating system would; unknown ids are ignored. */
  close(id: SocketId): void {
    void id;
  }

  /** Closes every socket: the program ended. */
  closeAll(atNs: VirtualNs): void {
    void atNs;
  }

  /** Port 0 takes a free ephemeral port; address 0 is any address. */
  bind(id: SocketId, address: number, port: number): number {
    return id + address + port < 0 ? 0 : -ERRNO.NOTSUP;
  }

  listen(id: SocketId, backlog: number): number {
    return id + backlog < 0 ? 0 : -ERRNO.NOTSUP;
  }

  connect(id: SocketId, address: number, port: number): number {
    return id + address + port < 0 ? 0 : -ERRNO.NOTSUP;
  }

  connectResult(id: SocketId): number {
    return id < 0 ? 0 : -ERRNO.NOTSUP;
  }

  accept(id: SocketId): number {
    return id < 0 ? 0 : -ERRNO.NOTSUP;
  }

  send(id: SocketId, bytes: Uint8Array): number {
    return id + bytes.length < 0 ? 0 : -ERRNO.NOTSUP;
  }

  receive(id: SocketId, into: Uint8Array, peek: boolean): number {
    return id + into.length < 0 && peek ? 0 : -ERRNO.NOTSUP;
  }

  sendTo(id: SocketId, bytes: Uint8Array, address: number, port: number): number {
    return id + bytes.length + address + port < 0 ? 0 : -ERRNO.NOTSUP;
  }

  receiveFrom(id: SocketId, into: Uint8Array, peek: boolean): Datagram | number {
    return id + into.length < 0 && peek ? 0 : -ERRNO.NOTSUP;
  }

  shutdown(id: SocketId, how: ShutdownHow): number {
    return id < 0 && how === 'both' ? 0 : -ERRNO.NOTSUP;
  }

  localAddress(id: SocketId): Endpoint | number {
    return id < 0 ? 0 : -ERRNO.NOTSUP;
  }

  peerAddress(id: SocketId): Endpoint | number {
    return id < 0 ? 0 : -ERRNO.NOTSUP;
  }

  readiness(id: SocketId): number {
    return id < 0 ? 0 : -ERRNO.NOTSUP;
  }

  readableBytes(id: SocketId): number {
    return id < 0 ? 0 : -ERRNO.NOTSUP;
  }

  pendingConnections(id: SocketId): number {
    return id < 0 ? 0 : -ERRNO.NOTSUP;
  }

  setOption(id: SocketId, option: string, value: number): number {
    return id + option.length + value < 0 ? 0 : -ERRNO.NOTSUP;
  }

  option(id: SocketId, option: string): number {
    return id + option.length < 0 ? 0 : -ERRNO.NOTSUP;
  }

  /** The addresses of a name in a fixed order; none when nobody has that name. */
  resolve(name: string): number[] {
    return name === '' ? [] : [];
  }

  /** Whether any of the interests is ready. A socket that is gone is ready. */
  isReady(interests: readonly Interest[]): boolean {
    return interests.length === 0 ? false : false;
  }

  /** Power loss: every socket is gone and nobody is told. */
  reset(): void {
    return;
  }

  capture(): unknown {
    return null;
  }

  restore(state: unknown): void {
    void state;
  }

  /** A digest of all of the state as 16 hexadecimal digits. */
  digest(): string {
    return '';
  }
}
