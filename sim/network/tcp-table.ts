import { assert } from '../kernel/assert.ts';
import { ERRNO } from '../kernel/errno.ts';
import { NS_PER_S, NS_PER_US, type VirtualNs } from '../kernel/units.ts';
import { ANY_ADDRESS, ipv4Of, isIpv6, LOOPBACK_ADDRESS } from './address.ts';
import type { Meter } from './byte-queue.ts';
import { DROP } from './drop.ts';
import { Fifo } from './fifo.ts';
import type { NodeWire } from './node-wire.ts';
import {
  FLAG_ACK,
  FLAG_FIN,
  FLAG_RST,
  FLAG_SYN,
  PROTOCOL_TCP,
  type Packet,
  type TimerKind,
  headerBytes,
} from './packet.ts';
import { PortBook } from './port-book.ts';
import type { SocketId } from './socket-types.ts';
import {
  BACKLOG_MAX,
  LOOPBACK_SEGMENT_BYTES,
  newBlock,
  SEGMENT_BYTES,
  type TcpBlock,
} from './tcp-block.ts';
import { letGo, reset } from './tcp-calls.ts';
import { acceptSyn, segmentArrives } from './tcp-input.ts';
import { nearOf, toldWindow, UNTOLD_TERMS, unwrapped, wireFields } from './machine-segment.ts';
import { NO_BYTES, sendAcknowledgement, sendSyn } from './tcp-output.ts';
import { retransmitRunsOut } from './tcp-retransmit.ts';
import { TcpSocket, type TcpHost } from './tcp-socket.ts';
import {
  loadSocket,
  readTcpState,
  saveSocket,
  type Orphan,
  type TcpTableState,
} from './tcp-state.ts';
import { TIME_WAIT_NS, TimeWaits, type TimeWait } from './time-wait.ts';
import type { Wake } from './tcp-timer.ts';

/** How long a closed connection may wait for the peer's FIN (Linux: tcp_fin_timeout). */
const ORPHAN_NS: VirtualNs = 60 * NS_PER_S;

/** The TCP sockets of one node: ports, listeners, connections (RFC 9293). */
export class TcpTable implements TcpHost {
  readonly meter: Meter;
  readonly wake: Wake;
  private readonly wire: NodeWire;
  private readonly newId: () => number;
  private readonly sockets = new Map<SocketId, TcpSocket>();
  private readonly connections = new Map<number, TcpSocket>();
  /** By port, sockets that were bound or connected by the program. */
  private readonly bound = new Map<number, readonly TcpSocket[]>();
  private readonly ports = new PortBook();
  private readonly timeWaits = new TimeWaits();
  private readonly orphans = new Fifo<Orphan>();
  /** The socket that the last segment or timer was for, and the listener it came from; or 0. */
  stirred: SocketId = 0;
  stirredListener: SocketId = 0;

  /** `newId` gives the next socket's id, or a negated errno constant. */
  constructor(wire: NodeWire, meter: Meter, newId: () => number) {
    this.wire = wire;
    this.meter = meter;
    this.newId = newId;
    this.wake = (atNs, event) => wire.wake(atNs, event);
  }

  /** How many sockets there are, with those that their program has closed. */
  get count(): number {
    return this.sockets.size;
  }

  nowNs(): VirtualNs {
    return this.wire.nowNs();
  }

  /** The socket, unless its program has closed it or not accepted it yet. */
  get(id: SocketId): TcpSocket | undefined {
    const socket = this.sockets.get(id);
    if (socket === undefined || socket.block.orphan || socket.block.listener !== 0)
      return undefined;
    return socket;
  }

  open(id: SocketId): void {
    this.sockets.set(id, new TcpSocket(this.wire.node, id, this.meter));
  }

  bind(socket: TcpSocket, address: number, port: number): number {
    const { block } = socket;
    if (block.state !== 'new' || block.localPort !== 0) return -ERRNO.INVAL;
    if (!this.wire.isOwn(address)) return -ERRNO.ADDRNOTAVAIL;
    const chosen = port === 0 ? this.ports.free() : port;
    if (chosen === 0 || !this.mayBind(socket, address, chosen)) return -ERRNO.ADDRINUSE;
    block.localAddress = address;
    this.hold(socket, chosen);
    return 0;
  }

  listen(socket: TcpSocket, backlog: number): number {
    const { block } = socket;
    if (block.state !== 'new' && block.state !== 'listen') return -ERRNO.INVAL;
    if (block.localPort === 0) {
      const result = this.bind(socket, ANY_ADDRESS, 0);
      if (result < 0) return result;
    }
    const others = this.bound.get(block.localPort) ?? [];
    const taken = others.some((other) => {
      const listens = other !== socket && other.block.state === 'listen';
      return listens && overlaps(other.block.localAddress, block.localAddress);
    });
    if (taken) return -ERRNO.ADDRINUSE;
    socket.backlog = Math.min(BACKLOG_MAX, Math.max(1, backlog));
    block.state = 'listen';
    return 0;
  }

  connect(socket: TcpSocket, address: number, port: number): number {
    const { block } = socket;
    const { state } = block;
    if (state === 'syn-sent' || state === 'syn-received') return -ERRNO.ALREADY;
    if (state === 'listen') return -ERRNO.INVAL;
    if (state !== 'new' && block.failure === 0) return -ERRNO.ISCONN;
    const route = this.wire.route(block.localAddress, address);
    if (route === 'unreachable') return -ERRNO.HOSTUNREACH;
    if (route === 'unsuitable') return -ERRNO.INVAL;
    if (port === 0) return -ERRNO.CONNREFUSED;
    if (block.localPort === 0) {
      const free = this.ports.free();
      if (free === 0) return -ERRNO.ADDRNOTAVAIL;
      this.hold(socket, free);
    }
    const fresh = newBlock();
    fresh.localAddress = route.source;
    fresh.localPort = block.localPort;
    fresh.remoteAddress = route.target;
    fresh.remotePort = port;
    fresh.remoteNode = route.node;
    const key = keyOf(fresh);
    if (this.connections.has(key)) return -ERRNO.ADDRNOTAVAIL;
    this.timeWaits.delete(key);
    if (this.wire.isMachine(route.node)) fresh.machine = UNTOLD_TERMS;
    socket.block = fresh;
    this.begin(socket, 'syn-sent');
    return -ERRNO.INPROGRESS;
  }

  /** The next connection that is ready, now its program's own; or a negated errno constant. */
  accept(socket: TcpSocket): number {
    if (socket.block.state !== 'listen') return -ERRNO.INVAL;
    const id = socket.ready.shift();
    if (id === undefined) return -ERRNO.AGAIN;
    (this.sockets.get(id) as TcpSocket).block.listener = 0;
    return id;
  }

  close(socket: TcpSocket): void {
    if (socket.block.state === 'listen') this.closeChildren(socket);
    letGo(this, socket);
    if (!this.sockets.has(socket.id)) return;
    this.orphans.push({ id: socket.id, expiresNs: this.nowNs() + ORPHAN_NS });
  }

  closeAll(): void {
    for (const socket of [...this.sockets.values()]) {
      if (this.get(socket.id) === socket) this.close(socket);
    }
  }

  /** Forgets everything without a trace. */
  reset(): void {
    this.sockets.clear();
    this.connections.clear();
    this.bound.clear();
    this.ports.clear();
    this.timeWaits.clear();
    this.orphans.replace([]);
  }

  /** Forgets what has outlived its time. */
  sweep(): void {
    const nowNs = this.nowNs();
    this.timeWaits.expire(nowNs);
    for (;;) {
      const oldest = this.orphans.peek();
      if (oldest === undefined || oldest.expiresNs > nowNs) return;
      this.orphans.shift();
      const socket = this.sockets.get(oldest.id);
      if (socket === undefined) continue;
      if (socket.block.state === 'fin-wait-2') this.failed(socket, 0);
      else this.orphans.push({ id: oldest.id, expiresNs: nowNs + ORPHAN_NS });
    }
  }

  /** A segment arrives; returns why it is dropped, or 0. */
  deliver(packet: Packet): number {
    this.sweep();
    const key = keyOfPacket(packet);
    const connection = this.connections.get(key);
    this.stir(connection);
    if (connection !== undefined) {
      const segment = unwrapped(packet, nearOf(connection.block, packet));
      return segmentArrives(this, connection, segment) ? DROP.BUFFER : 0;
    }
    const timeWait = this.timeWaits.get(key);
    if (timeWait !== undefined && !this.reopens(timeWait, packet)) return 0;
    const listener = this.listenerFor(packet);
    if (listener !== undefined && (packet.flags & (FLAG_RST | FLAG_ACK)) === 0) {
      return (packet.flags & FLAG_SYN) === 0 ? 0 : this.accepts(listener, packet);
    }
    if ((packet.flags & FLAG_RST) === 0) this.refuse(packet);
    return 0;
  }

  /** Whether a timer still waits for the event that was queued for that time. */
  awaits(id: SocketId, timer: TimerKind, atNs: VirtualNs): boolean {
    return this.sockets.get(id)?.[timer].awaits(atNs) ?? false;
  }

  /** A timer's event is due; false if the timer was stopped or moved. */
  fire(id: SocketId, timer: TimerKind): boolean {
    const socket = this.sockets.get(id);
    if (socket === undefined || !socket[timer].fires(this.wake, this.nowNs())) return false;
    this.stir(socket);
    if (timer === 'acknowledge') sendAcknowledgement(this, socket);
    else retransmitRunsOut(this, socket);
    return true;
  }

  transmit(socket: TcpSocket, flags: number, sequence: number, payload: Uint8Array): void {
    const { block } = socket;
    block.arrivalNs = this.wire.transmit(
      {
        kind: 'packet',
        from: this.wire.node,
        to: block.remoteNode,
        protocol: PROTOCOL_TCP,
        source: block.localAddress,
        sourcePort: block.localPort,
        target: block.remoteAddress,
        targetPort: block.remotePort,
        flags,
        sequence,
        acknowledgement: (flags & FLAG_ACK) === 0 ? 0 : block.receiveNext,
        window: toldWindow(block, flags),
        payload,
        digest: 0,
        cuts: 0,
        ...wireFields(block, flags),
      },
      block.arrivalNs,
    );
  }

  established(socket: TcpSocket): void {
    if (socket.block.listener === 0) return;
    const listener = this.sockets.get(socket.block.listener);
    assert(listener !== undefined, 'a connection that waits to be accepted has a listener');
    listener.halfOpen--;
    listener.ready.push(socket.id);
  }

  finished(socket: TcpSocket, timeWait: boolean): void {
    const { block } = socket;
    this.end(socket);
    if (timeWait) {
      this.timeWaits.add({
        key: keyOf(block),
        localPort: block.localPort,
        sendNext: block.sendHighest,
        receiveNext: block.receiveNext,
        initialReceive: block.initialReceive,
        expiresNs: this.nowNs() + TIME_WAIT_NS,
      });
    }
    if (block.orphan) this.remove(socket);
  }

  failed(socket: TcpSocket, error: number): void {
    const { block } = socket;
    const { state } = block;
    const connecting = state === 'syn-sent' || state === 'syn-received';
    if (connecting) block.failure = error;
    block.error = error;
    this.end(socket);
    if (block.listener !== 0 && connecting) {
      (this.sockets.get(block.listener) as TcpSocket).halfOpen--;
      this.remove(socket);
    } else if (block.orphan) {
      this.remove(socket);
    }
  }

  capture(): TcpTableState {
    return {
      ports: this.ports.capture(),
      sockets: [...this.sockets.values()].map(saveSocket),
      timeWaits: this.timeWaits.capture(),
      orphans: this.orphans.list().filter(({ id }) => this.sockets.has(id)),
    };
  }

  restore(state: unknown): void {
    const { ports, sockets, timeWaits, orphans } = readTcpState(state, 'network.tcp');
    this.reset();
    this.ports.restore(ports);
    for (const saved of sockets) {
      const socket = loadSocket(saved, this.wire.node, this.meter);
      const { block } = socket;
      this.sockets.set(socket.id, socket);
      if (isConnection(block)) this.connections.set(keyOf(block), socket);
      if (block.localPort === 0) continue;
      if (saved.ownsPort) this.hold(socket, block.localPort);
      else this.ports.hold(block.localPort);
    }
    this.timeWaits.restore(timeWaits);
    this.orphans.replace(orphans);
  }

  private stir(socket: TcpSocket | undefined): void {
    this.stirred = socket?.id ?? 0;
    this.stirredListener = socket?.block.listener ?? 0;
  }

  /** Sends the first SYN, or the SYN that answers one. */
  private begin(socket: TcpSocket, state: 'syn-sent' | 'syn-received'): void {
    const { block } = socket;
    const nowNs = this.nowNs();
    const loopback = block.remoteNode === this.wire.node;
    block.state = state;
    const overBytes = headerBytes({ protocol: PROTOCOL_TCP, target: block.remoteAddress });
    const carriedBytes = this.wire.mtuBytes(block.remoteNode) - overBytes;
    const plainBytes = loopback ? LOOPBACK_SEGMENT_BYTES : Math.min(SEGMENT_BYTES, carriedBytes);
    block.segmentBytes = Math.min(plainBytes, block.machine?.segmentBytes ?? plainBytes);
    // A clock of microseconds (RFC 9293 section 3.4.1 has four): later connections begin higher.
    block.initialSend = Math.trunc(nowNs / NS_PER_US) + 1;
    block.sendUnacknowledged = block.initialSend;
    block.timedSinceNs = nowNs;
    socket.sendQueue.reset(block.initialSend + 1);
    this.connections.set(keyOf(block), socket);
    sendSyn(this, socket);
  }

  /** A SYN arrives at a listener: the connection is half open, or dropped if too many wait. */
  private accepts(listener: TcpSocket, packet: Packet): number {
    const waiting = listener.halfOpen + listener.ready.length;
    const id = waiting < listener.backlog ? this.newId() : -1;
    if (id < 0) return DROP.BACKLOG;
    const socket = new TcpSocket(this.wire.node, id, this.meter);
    const { block } = socket;
    socket.options.values = listener.options.values;
    block.localAddress = packet.target;
    block.localPort = packet.targetPort;
    block.remoteAddress = packet.source;
    block.remotePort = packet.sourcePort;
    block.remoteNode = packet.from;
    block.listener = listener.id;
    listener.halfOpen++;
    this.sockets.set(socket.id, socket);
    this.ports.hold(block.localPort);
    acceptSyn(socket, packet);
    this.begin(socket, 'syn-received');
    return 0;
  }

  /**
   * A segment arrives in TIME-WAIT. A newer SYN opens the connection anew (RFC 9293 section
   * 3.10.7.4); a repeated FIN is acknowledged again; resets are ignored (RFC 1337).
   */
  private reopens(timeWait: TimeWait, arrived: Packet): boolean {
    const { initialReceive, receiveNext, sendNext } = timeWait;
    const near = { sequence: receiveNext, acknowledgement: sendNext, peerShift: 0 };
    const packet = unwrapped(arrived, near);
    const { flags } = packet;
    if ((flags & FLAG_RST) !== 0) return false;
    const syn = (flags & (FLAG_SYN | FLAG_ACK)) === FLAG_SYN;
    if (syn && packet.sequence > initialReceive) {
      this.timeWaits.delete(timeWait.key);
      return true;
    }
    if (packet.payload.length > 0 || (flags & (FLAG_FIN | FLAG_SYN)) !== 0) {
      this.answer(packet, FLAG_ACK, sendNext, receiveNext);
    }
    return false;
  }

  /** Answers a segment that belongs to no connection with a reset (RFC 9293 section 3.10.7.1). */
  private refuse(packet: Packet): void {
    if ((packet.flags & FLAG_ACK) !== 0) {
      this.answer(packet, FLAG_RST, packet.acknowledgement, 0);
      return;
    }
    const length = packet.payload.length + (packet.flags & (FLAG_SYN | FLAG_FIN) ? 1 : 0);
    this.answer(packet, FLAG_RST | FLAG_ACK, 0, packet.sequence + length);
  }

  private answer(packet: Packet, flags: number, sequence: number, acknowledgement: number): void {
    this.wire.transmit(
      {
        kind: 'packet',
        from: packet.to,
        to: packet.from,
        protocol: PROTOCOL_TCP,
        source: packet.target,
        sourcePort: packet.targetPort,
        target: packet.source,
        targetPort: packet.sourcePort,
        flags,
        sequence,
        acknowledgement,
        window: 0,
        payload: NO_BYTES,
        digest: 0,
        cuts: 0,
      },
      0,
    );
  }

  /** The listener for a packet: one of that node's address before one of any. */
  private listenerFor(packet: Packet): TcpSocket | undefined {
    const address = ipv4Of(packet.target);
    let any: TcpSocket | undefined;
    for (const socket of this.bound.get(packet.targetPort) ?? []) {
      if (socket.block.state !== 'listen') continue;
      if (socket.block.localAddress === address) return socket;
      if (socket.block.localAddress === ANY_ADDRESS) any = socket;
    }
    return any;
  }

  /** Connections that nobody accepted end with their listener. */
  private closeChildren(listener: TcpSocket): void {
    for (const child of [...this.sockets.values()]) {
      if (child.block.listener !== listener.id) continue;
      child.block.listener = 0;
      child.block.orphan = true;
      if (child.block.state === 'closed') this.remove(child);
      else reset(this, child);
    }
    listener.ready.replace([]);
    listener.halfOpen = 0;
  }

  /** The connection is no more; its socket may still hold bytes to read and an error to tell. */
  private end(socket: TcpSocket): void {
    const { block } = socket;
    if (isConnection(block)) this.connections.delete(keyOf(block));
    block.state = 'closed';
    socket.stopSending();
  }

  private remove(socket: TcpSocket): void {
    this.sockets.delete(socket.id);
    socket.release();
    const port = socket.block.localPort;
    if (port === 0) return;
    this.ports.release(port);
    const sockets = this.bound.get(port);
    if (sockets === undefined) return;
    const others = sockets.filter((other) => other !== socket);
    if (others.length > 0) this.bound.set(port, others);
    else this.bound.delete(port);
  }

  /** Whether the address and port are free, or may be shared (Linux: SO_REUSEADDR). */
  private mayBind(socket: TcpSocket, address: number, port: number): boolean {
    const reuse = socket.options.values['reuse-address'] === 1;
    const others = this.bound.get(port) ?? [];
    const accepted = this.ports.users(port) > others.length;
    if (!reuse && (accepted || this.timeWaits.usesPort(port))) return false;
    return others.every((other) => {
      if (!overlaps(address, other.block.localAddress)) return true;
      const shares = other.options.values['reuse-address'] === 1;
      return reuse && shares && other.block.state !== 'listen';
    });
  }

  /** Gives the socket a port of its own. */
  private hold(socket: TcpSocket, port: number): void {
    socket.block.localPort = port;
    socket.ownsPort = true;
    this.ports.hold(port);
    const sockets = [...(this.bound.get(port) ?? []), socket];
    this.bound.set(
      port,
      sockets.sort((a, b) => a.id - b.id),
    );
  }
}

function overlaps(a: number, b: number): boolean {
  return a === ANY_ADDRESS || b === ANY_ADDRESS || a === b;
}

function isConnection(block: TcpBlock): boolean {
  return block.state !== 'new' && block.state !== 'listen' && block.state !== 'closed';
}

/** What sets the connections over IPv6 apart. */
const KEY_IPV6 = 2 ** 50;

/** One number for (remote node, loopback or not at both ends, remote port, local port): 51 bits. */
function key(
  remote: number,
  remoteAddress: number,
  remotePort: number,
  localAddress: number,
  localPort: number,
): number {
  const side =
    (remoteAddress === LOOPBACK_ADDRESS ? 2 : 0) + (localAddress === LOOPBACK_ADDRESS ? 1 : 0);
  const ends = ((remote * 4 + side) * 65_536 + remotePort) * 65_536 + localPort;
  return isIpv6(remoteAddress) ? ends + KEY_IPV6 : ends;
}

function keyOf(block: TcpBlock): number {
  const { remoteNode, remoteAddress, remotePort, localAddress, localPort } = block;
  return key(remoteNode, remoteAddress, remotePort, localAddress, localPort);
}

function keyOfPacket(packet: Packet): number {
  const { from, source, sourcePort, target, targetPort } = packet;
  return key(from, source, sourcePort, target, targetPort);
}
