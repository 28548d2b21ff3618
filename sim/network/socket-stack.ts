import { encodeCanonical } from '../kernel/canonical.ts';
import { ERRNO } from '../kernel/errno.ts';
import type { Interest, Readiness } from '../kernel/guest.ts';
import { RollingDigest } from '../kernel/rolling-digest.ts';
import { readInteger, readRecord } from '../kernel/shape.ts';
import type { VirtualNs } from '../kernel/units.ts';
import { ipv4Of } from './address.ts';
import { Meter } from './byte-queue.ts';
import type { NodeWire } from './node-wire.ts';
import { PROTOCOL_ICMP, PROTOCOL_TCP, type Packet, type TimerEvent } from './packet.ts';
import { SOCKET_OPTIONS } from './socket-options.ts';
import {
  NODE_BUFFER_BYTES_MAX,
  READINESS,
  SOCKETS_MAX,
  WAKES_READER,
  WAKES_WRITER,
  type Datagram,
  type Endpoint,
  type ShutdownHow,
  type SocketId,
  type SocketKind,
} from './socket-types.ts';
import {
  isReadyFor,
  readinessOf,
  receiveBytes,
  sendBytes,
  shutDown,
  takeError,
  writableBytes,
} from './tcp-calls.ts';
import type { TcpSocket } from './tcp-socket.ts';
import { TcpTable } from './tcp-table.ts';
import { DATAGRAM_BYTES_MAX, UdpTable } from './udp-table.ts';

/** What `option(id, 'type')` gives. */
export const SOCKET_TYPE = { STREAM: 1, DATAGRAM: 2 } as const;

const readStack = readRecord<{ nextId: number; tcp: unknown; udp: unknown }>({
  nextId: readInteger(1),
  tcp: (value) => value,
  udp: (value) => value,
});

/**
 * The sockets of one node. Nothing here blocks: what cannot be done yet is `-AGAIN` (or
 * `-INPROGRESS` for a connect); the caller waits for readiness and tries again. Results below 0
 * are negated errno constants; unknown ids give `-BADF`. Addresses of ends are IPv4 here, also those
 * of a machine that speaks IPv6: it is answered as it speaks.
 */
export class SocketStack {
  private readonly wire: NodeWire;
  private readonly meter = new Meter(NODE_BUFFER_BYTES_MAX);
  private readonly tcp: TcpTable;
  private readonly udp: UdpTable;
  private nextId = 1;

  constructor(wire: NodeWire) {
    this.wire = wire;
    this.tcp = new TcpTable(wire, this.meter, () => this.newId());
    this.udp = new UdpTable(wire, this.meter);
  }

  /** How many bytes all sockets hold that were not sent or not read yet. */
  get heldBytes(): number {
    return this.meter.used;
  }

  /** A new socket, or `-MFILE`. */
  open(kind: SocketKind): SocketId {
    this.tcp.sweep();
    const id = this.newId();
    if (id < 0) return id;
    if (kind === 'tcp') this.tcp.open(id);
    else this.udp.open(id);
    return id;
  }

  /** Closes a socket as its operating system would; unknown ids are ignored. */
  close(id: SocketId): void {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) {
      this.tcp.close(tcp);
      return;
    }
    const udp = this.udp.get(id);
    if (udp !== undefined) this.udp.close(udp);
  }

  /** The program ended at `atNs`: closes every socket. */
  closeAll(atNs: VirtualNs): void {
    this.wire.enter(atNs);
    this.tcp.closeAll();
    this.udp.closeAll();
    this.wire.leave();
  }

  /**
   * Port 0 takes a free ephemeral port, address 0 is any address. `-ADDRINUSE`, `-ADDRNOTAVAIL`,
   * `-INVAL` if it is bound already.
   */
  bind(id: SocketId, address: number, port: number): number {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) {
      this.tcp.sweep();
      return this.tcp.bind(tcp, address, port);
    }
    const udp = this.udp.get(id);
    return udp === undefined ? -ERRNO.BADF : this.udp.bind(udp, address, port);
  }

  /** `backlog` (1 to 4,096) is how many connections may wait; more are dropped and come again. */
  listen(id: SocketId, backlog: number): number {
    const tcp = this.tcp.get(id);
    return tcp === undefined ? this.notTcp(id) : this.tcp.listen(tcp, backlog);
  }

  /**
   * TCP: `-INPROGRESS`, then see `connectResult`. UDP: sets the peer, or forgets it when address
   * and port are 0; 0. At once `-HOSTUNREACH`
   * when no link leads to the address, `-ALREADY`, `-ISCONN`, `-ADDRNOTAVAIL`, `-INVAL`.
   */
  connect(id: SocketId, address: number, port: number): number {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) {
      this.tcp.sweep();
      return this.tcp.connect(tcp, address, port);
    }
    const udp = this.udp.get(id);
    return udp === undefined ? -ERRNO.BADF : this.udp.connect(udp, address, port);
  }

  /** How a TCP connect went: 0, `-INPROGRESS`, `-CONNREFUSED`, `-TIMEDOUT`, `-NOTCONN`. */
  connectResult(id: SocketId): number {
    const tcp = this.tcp.get(id);
    if (tcp === undefined) return this.notTcp(id);
    const { state, failure } = tcp.block;
    if (state === 'new' || state === 'listen') return -ERRNO.NOTCONN;
    if (state === 'syn-sent' || state === 'syn-received') return -ERRNO.INPROGRESS;
    if (failure === 0) return 0;
    tcp.block.error = 0;
    return -failure;
  }

  /** The next connection as a socket of its own, or `-AGAIN`; `-INVAL` if it does not listen. */
  accept(id: SocketId): number {
    const tcp = this.tcp.get(id);
    return tcp === undefined ? this.notTcp(id) : this.tcp.accept(tcp);
  }

  /**
   * How many bytes were taken (TCP: as many as there is room for; UDP: all). `-AGAIN`,
   * `-NOTCONN`, `-PIPE`, `-CONNRESET`, `-TIMEDOUT`; UDP: `-DESTADDRREQ`, `-MSGSIZE`,
   * `-CONNREFUSED`.
   */
  send(id: SocketId, bytes: Uint8Array): number {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) return sendBytes(this.tcp, tcp, bytes);
    const udp = this.udp.get(id);
    return udp === undefined ? -ERRNO.BADF : this.udp.send(udp, bytes);
  }

  /** How many bytes were stored; 0 at the end of a TCP stream; `-AGAIN` when none are there yet. */
  receive(id: SocketId, into: Uint8Array, peek: boolean): number {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) return receiveBytes(this.tcp, tcp, into, peek);
    const result = this.receiveFrom(id, into, peek);
    return typeof result === 'number' ? result : result.count;
  }

  /** As `send`, to an end of its own. TCP ignores the end, as the usual systems do. */
  sendTo(id: SocketId, bytes: Uint8Array, address: number, port: number): number {
    const udp = this.udp.get(id);
    return udp === undefined ? this.send(id, bytes) : this.udp.sendTo(udp, bytes, address, port);
  }

  /** As `receive`, with the sender's end. */
  receiveFrom(id: SocketId, into: Uint8Array, peek: boolean): Datagram | number {
    const udp = this.udp.get(id);
    if (udp !== undefined) return this.udp.receiveFrom(udp, into, peek);
    const tcp = this.tcp.get(id);
    if (tcp === undefined) return -ERRNO.BADF;
    const count = receiveBytes(this.tcp, tcp, into, peek);
    if (count < 0) return count;
    return { count, address: ipv4Of(tcp.block.remoteAddress), port: tcp.block.remotePort };
  }

  /** Ends reading (at once), writing (after what is queued), or both. `-NOTCONN`. */
  shutdown(id: SocketId, how: ShutdownHow): number {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) return shutDown(this.tcp, tcp, how);
    const udp = this.udp.get(id);
    return udp === undefined ? -ERRNO.BADF : this.udp.shutdown(udp, how);
  }

  /** Where the socket is bound; address and port 0 if it is not. */
  localAddress(id: SocketId): Endpoint | number {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) {
      return { address: ipv4Of(tcp.block.localAddress), port: tcp.block.localPort };
    }
    const udp = this.udp.get(id);
    return udp === undefined ? -ERRNO.BADF : this.udp.localAddress(udp);
  }

  /** The other end, or `-NOTCONN`. */
  peerAddress(id: SocketId): Endpoint | number {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) {
      const { remoteAddress, remotePort } = tcp.block;
      const connected = isConnected(tcp);
      return connected ? { address: ipv4Of(remoteAddress), port: remotePort } : -ERRNO.NOTCONN;
    }
    const udp = this.udp.get(id);
    if (udp === undefined) return -ERRNO.BADF;
    return udp.peer.port === 0 ? -ERRNO.NOTCONN : udp.peer;
  }

  /** The bits of READINESS; a socket that is gone is ready for all, to learn that. */
  readiness(id: SocketId): number {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) return readinessOf(this.tcp, tcp);
    const udp = this.udp.get(id);
    if (udp !== undefined) return this.udp.readiness(udp);
    return READINESS.READABLE | READINESS.WRITABLE | READINESS.ERROR;
  }

  /** How many bytes can be read: of a stream, or of the first datagram. */
  readableBytes(id: SocketId): number {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) return tcp.receiveQueue.length;
    const udp = this.udp.get(id);
    return udp === undefined ? -ERRNO.BADF : (udp.queue.peek()?.bytes.length ?? 0);
  }

  /** How many bytes `send` would take now: 0 where it would give an error. UDP: any datagram. */
  writableBytes(id: SocketId): number {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) return writableBytes(this.tcp, tcp);
    return this.udp.get(id) === undefined ? 0 : DATAGRAM_BYTES_MAX;
  }

  /** How many connections are ready to be accepted. */
  pendingConnections(id: SocketId): number {
    const tcp = this.tcp.get(id);
    return tcp === undefined ? this.notTcp(id) : tcp.ready.length;
  }

  /** Sets one of SOCKET_OPTIONS: 0, `-NOPROTOOPT`, `-INVAL`. */
  setOption(id: SocketId, option: string, value: number): number {
    const socket = this.tcp.get(id) ?? this.udp.get(id);
    return socket === undefined ? -ERRNO.BADF : socket.options.write(option, value);
  }

  /**
   * One of SOCKET_OPTIONS, or `type` (SOCKET_TYPE), `listening` (0 or 1), `error` (the pending
   * errno constant, which this clears).
   */
  option(id: SocketId, option: string): number {
    const tcp = this.tcp.get(id);
    const udp = this.udp.get(id);
    if (tcp === undefined && udp === undefined) return -ERRNO.BADF;
    switch (option) {
      case 'type':
        return tcp === undefined ? SOCKET_TYPE.DATAGRAM : SOCKET_TYPE.STREAM;
      case 'listening':
        return tcp?.block.state === 'listen' ? 1 : 0;
      case 'error':
        if (tcp !== undefined) return takeError(tcp);
        return udp === undefined ? 0 : this.udp.takeError(udp);
      default:
        return (tcp ?? udp)?.options.read(option) ?? -ERRNO.BADF;
    }
  }

  /** The addresses of a name in a fixed order; none when nobody has that name. */
  resolve(name: string): number[] {
    return this.wire.resolve(name);
  }

  /** Whether any of the interests is ready. A socket that is gone is ready. */
  isReady(interests: readonly Interest[]): boolean {
    for (const interest of interests) {
      if (this.isReadyFor(interest.socket, interest.readiness)) return true;
    }
    return false;
  }

  /**
   * As `isReady`, for somebody for whom nothing was ready before the last packet or timer: looks
   * only at the sockets that it can have made ready.
   */
  becameReady(interests: readonly Interest[]): boolean {
    // So little room is left for all sockets that any of them may have more, or less, by now.
    if (this.meter.free < SOCKET_OPTIONS['send-buffer'].max) return this.isReady(interests);
    const { stirred, stirredListener } = this.tcp;
    for (const { socket, readiness } of interests) {
      if (socket !== stirred && socket !== stirredListener && !this.udp.has(socket)) continue;
      if (this.isReadyFor(socket, readiness)) return true;
    }
    return false;
  }

  /** Power loss: every socket is gone and nobody is told. Ids are still not used again. */
  reset(): void {
    this.tcp.reset();
    this.udp.reset();
    this.meter.used = 0;
  }

  /** The network delivers a packet; returns why it is dropped (see DROP), or 0. */
  deliver(packet: Packet, atNs: VirtualNs): number {
    this.wire.enter(atNs);
    const reason = this.dispatch(packet);
    this.wire.leave();
    return reason;
  }

  /** Whether a timer still waits for the event that was queued for that time. */
  awaits({ socket, timer }: TimerEvent, atNs: VirtualNs): boolean {
    return this.tcp.awaits(socket, timer, atNs);
  }

  /** A timer's event has come; false if the timer was stopped or moved. */
  fire({ socket, timer }: TimerEvent, atNs: VirtualNs): boolean {
    this.wire.enter(atNs);
    const fired = this.tcp.fire(socket, timer);
    this.wire.leave();
    return fired;
  }

  capture(): unknown {
    return { nextId: this.nextId, tcp: this.tcp.capture(), udp: this.udp.capture() };
  }

  /** Takes what `capture` gave; anything else is refused (`bundle/shape`). */
  restore(state: unknown): void {
    const { nextId, tcp, udp } = readStack(state, 'network.stack');
    this.reset();
    this.nextId = nextId;
    this.tcp.restore(tcp);
    this.udp.restore(udp);
  }

  /** A digest of all of the state as 16 hexadecimal digits. */
  digest(): string {
    const digest = new RollingDigest();
    digest.update(encodeCanonical(this.capture()));
    return digest.hex();
  }

  private newId(): number {
    return this.tcp.count + this.udp.count < SOCKETS_MAX ? this.nextId++ : -ERRNO.MFILE;
  }

  private dispatch(packet: Packet): number {
    if (packet.protocol === PROTOCOL_TCP) return this.tcp.deliver(packet);
    if (packet.protocol === PROTOCOL_ICMP) return this.udp.deliverUnreachable(packet);
    return this.udp.deliver(packet);
  }

  private isReadyFor(id: SocketId, readiness: Readiness): boolean {
    const tcp = this.tcp.get(id);
    if (tcp !== undefined) return isReadyFor(this.tcp, tcp, readiness);
    return (this.readiness(id) & (readiness === 'read' ? WAKES_READER : WAKES_WRITER)) !== 0;
  }

  private notTcp(id: SocketId): number {
    return this.udp.get(id) === undefined ? -ERRNO.BADF : -ERRNO.NOTSUP;
  }
}

function isConnected(socket: TcpSocket): boolean {
  switch (socket.block.state) {
    case 'new':
    case 'listen':
    case 'syn-sent':
    case 'syn-received':
    case 'closed':
      return false;
    default:
      return true;
  }
}
