import { ERRNO } from '../kernel/errno.ts';
import { readBoolean, readBytes, readInteger, readList, readRecord } from '../kernel/shape.ts';
import { ANY_ADDRESS, ipv4Of, ipv6Of, isIpv6 } from './address.ts';
import type { Meter } from './byte-queue.ts';
import { Fifo } from './fifo.ts';
import { NOWHERE, type NodeWire, type Route } from './node-wire.ts';
import { DROP } from './drop.ts';
import { PROTOCOL_ICMP, PROTOCOL_UDP, type Packet } from './packet.ts';
import { PortBook } from './port-book.ts';
import { readOptions, SocketOptions, type OptionValues } from './socket-options.ts';
import {
  READINESS,
  SOCKETS_MAX,
  type Datagram,
  type Endpoint,
  type ShutdownHow,
  type SocketId,
} from './socket-types.ts';

/** The largest payload: 65,535 less 20 of IPv4 and 8 of UDP (RFC 768, RFC 791). */
export const DATAGRAM_BYTES_MAX = 65_507;
/** A socket remembers at most this many ends that speak IPv6, the newest. */
const IPV6_ENDS_MAX = 1_024;
/** What keeping a datagram costs apart from its bytes. */
const DATAGRAM_OVERHEAD = 64;

interface Received extends Endpoint {
  readonly bytes: Uint8Array;
}

export class UdpSocket {
  readonly id: SocketId;
  readonly options = new SocketOptions();
  address = ANY_ADDRESS;
  port = 0;
  peer: Endpoint = NOWHERE;
  readonly queue = new Fifo<Received>();
  queuedBytes = 0;
  error = 0;
  readShut = false;
  writeShut = false;
  /** Ends (see `endKey`) whose last datagram came over IPv6: they are answered so. */
  readonly ipv6Ends = new Set<number>();

  constructor(id: SocketId) {
    this.id = id;
  }
}

interface UdpSocketState extends Endpoint {
  readonly id: SocketId;
  readonly options: OptionValues;
  readonly peer: Endpoint;
  readonly queue: readonly Received[];
  readonly error: number;
  readonly readShut: boolean;
  readonly writeShut: boolean;
  readonly ipv6Ends?: readonly number[];
}

const readAddress = readInteger(0, 0xffff_ffff);
const readPort = readInteger(0, 0xffff);

const readState = readRecord<{ ports: number; sockets: readonly UdpSocketState[] }>({
  ports: readInteger(0, 0xffff),
  sockets: readList(
    readRecord<UdpSocketState>(
      {
        id: readInteger(1),
        options: readOptions,
        address: readAddress,
        port: readPort,
        peer: readRecord<Endpoint>({ address: readAddress, port: readPort }),
        queue: readList(
          readRecord<Received>({
            address: readAddress,
            port: readPort,
            bytes: readBytes(DATAGRAM_BYTES_MAX),
          }),
          SOCKETS_MAX * 64,
        ),
        error: readInteger(0, 0xffff),
        readShut: readBoolean,
        writeShut: readBoolean,
        ipv6Ends: readList(readInteger(0), IPV6_ENDS_MAX),
      },
      ['ipv6Ends'],
    ),
    SOCKETS_MAX,
  ),
});

/** The UDP sockets of one node (RFC 768). */
export class UdpTable {
  private readonly wire: NodeWire;
  private readonly meter: Meter;
  private readonly sockets = new Map<SocketId, UdpSocket>();
  /** By port, in the order of ids. */
  private readonly bound = new Map<number, readonly UdpSocket[]>();
  private readonly ports = new PortBook();

  constructor(wire: NodeWire, meter: Meter) {
    this.wire = wire;
    this.meter = meter;
  }

  get count(): number {
    return this.sockets.size;
  }

  get(id: SocketId): UdpSocket | undefined {
    return this.sockets.get(id);
  }

  open(id: SocketId): void {
    this.sockets.set(id, new UdpSocket(id));
  }

  close(socket: UdpSocket): void {
    this.sockets.delete(socket.id);
    this.meter.used -= socket.queuedBytes;
    if (socket.port !== 0) this.unhold(socket);
  }

  closeAll(): void {
    for (const socket of [...this.sockets.values()]) this.close(socket);
  }

  /** Forgets everything without a trace. */
  reset(): void {
    this.sockets.clear();
    this.bound.clear();
    this.ports.clear();
  }

  bind(socket: UdpSocket, address: number, port: number): number {
    if (socket.port !== 0) return -ERRNO.INVAL;
    if (!this.wire.isOwn(address)) return -ERRNO.ADDRNOTAVAIL;
    const chosen = port === 0 ? this.ports.free() : port;
    if (chosen === 0) return -ERRNO.ADDRINUSE;
    const others = this.bound.get(chosen) ?? [];
    if (others.some((other) => conflicts(socket, address, other))) return -ERRNO.ADDRINUSE;
    socket.address = address;
    socket.port = chosen;
    this.hold(socket);
    return 0;
  }

  connect(socket: UdpSocket, address: number, port: number): number {
    if (address === 0 && port === 0) {
      socket.peer = { address: 0, port: 0 };
      return 0;
    }
    const route = this.wayTo(socket, address, port);
    if (typeof route === 'number') return route;
    socket.peer = { address: route.target, port };
    return 0;
  }

  sendTo(socket: UdpSocket, bytes: Uint8Array, address: number, port: number): number {
    if (socket.error !== 0) return -this.takeError(socket);
    if (socket.writeShut) return -ERRNO.PIPE;
    if (bytes.length > DATAGRAM_BYTES_MAX) return -ERRNO.MSGSIZE;
    const speaksIpv6 = socket.ipv6Ends.has(endKey(address, port));
    const route = this.wayTo(socket, speaksIpv6 ? ipv6Of(address) : address, port);
    if (typeof route === 'number') return route;
    const { node } = this.wire;
    this.wire.transmit(
      {
        kind: 'packet',
        from: node,
        to: route.node,
        protocol: PROTOCOL_UDP,
        source: route.source,
        sourcePort: socket.port,
        target: route.target,
        targetPort: port,
        flags: 0,
        sequence: 0,
        acknowledgement: 0,
        window: 0,
        payload: this.meter.copy(bytes),
        digest: 0,
        cuts: 0,
      },
      0,
    );
    return bytes.length;
  }

  /** Sends to the connected peer. */
  send(socket: UdpSocket, bytes: Uint8Array): number {
    if (socket.peer.port === 0) return -ERRNO.DESTADDRREQ;
    return this.sendTo(socket, bytes, socket.peer.address, socket.peer.port);
  }

  receiveFrom(socket: UdpSocket, into: Uint8Array, peek: boolean): Datagram | number {
    if (socket.error !== 0) return -this.takeError(socket);
    const first = peek ? socket.queue.peek() : socket.queue.shift();
    if (first === undefined) {
      return socket.readShut ? { count: 0, ...socket.peer } : -ERRNO.AGAIN;
    }
    if (!peek) this.uncount(socket, first.bytes.length + DATAGRAM_OVERHEAD);
    const count = Math.min(into.length, first.bytes.length);
    into.set(count === first.bytes.length ? first.bytes : first.bytes.subarray(0, count));
    return { count, address: first.address, port: first.port };
  }

  shutdown(socket: UdpSocket, how: ShutdownHow): number {
    if (socket.peer.port === 0) return -ERRNO.NOTCONN;
    if (how !== 'write') socket.readShut = true;
    if (how !== 'read') socket.writeShut = true;
    return 0;
  }

  /** Reports the pending error, once; 0 if there is none. */
  takeError(socket: UdpSocket): number {
    const { error } = socket;
    socket.error = 0;
    return error;
  }

  localAddress(socket: UdpSocket): Endpoint {
    if (socket.port === 0 || socket.address !== ANY_ADDRESS || socket.peer.port === 0) {
      return { address: socket.address, port: socket.port };
    }
    const route = this.wire.route(socket.address, socket.peer.address);
    return { address: typeof route === 'string' ? ANY_ADDRESS : route.source, port: socket.port };
  }

  has(id: SocketId): boolean {
    return this.sockets.has(id);
  }

  readiness(socket: UdpSocket): number {
    const { READABLE, WRITABLE, ERROR } = READINESS;
    if (socket.error !== 0) return READABLE | WRITABLE | ERROR;
    return (socket.queue.length > 0 || socket.readShut ? READABLE : 0) | WRITABLE;
  }

  /** A datagram arrives; returns why it is dropped, or 0. */
  deliver(packet: Packet): number {
    const socket = this.receiver(packet);
    if (socket === undefined) {
      this.refuse(packet);
      return DROP.NO_SOCKET;
    }
    const cost = packet.payload.length + DATAGRAM_OVERHEAD;
    const room = socket.options.values['receive-buffer'] - socket.queuedBytes;
    if (socket.readShut || cost > room || cost > this.meter.free) return DROP.BUFFER;
    hear(socket, packet);
    socket.queue.push({
      address: ipv4Of(packet.source),
      port: packet.sourcePort,
      bytes: packet.payload,
    });
    socket.queuedBytes += cost;
    this.meter.used += cost;
    return 0;
  }

  /** "Port unreachable" arrives: a connected socket reports it (RFC 1122 section 4.1.3.3). */
  deliverUnreachable(packet: Packet): number {
    const sockets = this.bound.get(packet.targetPort) ?? [];
    const address = ipv4Of(packet.source);
    const socket = sockets.find(({ peer }) => {
      return peer.port === packet.sourcePort && peer.address === address;
    });
    if (socket === undefined) return DROP.NO_SOCKET;
    socket.error = ERRNO.CONNREFUSED;
    return 0;
  }

  capture(): unknown {
    const sockets = [...this.sockets.values()].map((socket): UdpSocketState => {
      const { id, address, port, peer, error, readShut, writeShut } = socket;
      const queue = socket.queue.list();
      const options = socket.options.values;
      const ipv6Ends = socket.ipv6Ends.size === 0 ? {} : { ipv6Ends: [...socket.ipv6Ends] };
      return { id, options, address, port, peer, queue, error, readShut, writeShut, ...ipv6Ends };
    });
    return { ports: this.ports.capture(), sockets };
  }

  restore(state: unknown): void {
    const { ports, sockets } = readState(state, 'network.udp');
    this.reset();
    this.ports.restore(ports);
    for (const saved of sockets) {
      const socket = new UdpSocket(saved.id);
      const { address, port, peer, error, readShut, writeShut } = saved;
      Object.assign(socket, { address, port, peer, error, readShut, writeShut });
      socket.options.values = saved.options;
      for (const end of saved.ipv6Ends ?? []) socket.ipv6Ends.add(end);
      socket.queue.replace(saved.queue);
      for (const { bytes } of saved.queue) socket.queuedBytes += bytes.length + DATAGRAM_OVERHEAD;
      this.meter.used += socket.queuedBytes;
      this.sockets.set(socket.id, socket);
      if (port !== 0) this.hold(socket);
    }
  }

  /** The way to an end, with a port of our own; or a negated errno constant. */
  private wayTo(socket: UdpSocket, address: number, port: number): Route | number {
    if (port === 0) return -ERRNO.INVAL;
    const route = this.wire.route(socket.address, address);
    if (route === 'unreachable') return -ERRNO.HOSTUNREACH;
    if (route === 'unsuitable') return -ERRNO.INVAL;
    if (socket.port === 0) {
      const result = this.bind(socket, ANY_ADDRESS, 0);
      if (result < 0) return -ERRNO.AGAIN;
    }
    return route;
  }

  /** The socket that a datagram is for: a connected one before others, the newest of equals. */
  private receiver(packet: Packet): UdpSocket | undefined {
    let best: UdpSocket | undefined;
    let bestRank = 0;
    const [source, target] = [ipv4Of(packet.source), ipv4Of(packet.target)];
    for (const socket of this.bound.get(packet.targetPort) ?? []) {
      if (socket.address !== ANY_ADDRESS && socket.address !== target) continue;
      const { peer } = socket;
      const connected = peer.port !== 0;
      const matches = peer.port === packet.sourcePort && peer.address === source;
      if (connected && !matches) continue;
      const rank = 1 + (connected ? 2 : 0) + (socket.address === ANY_ADDRESS ? 0 : 1);
      if (rank < bestRank) continue;
      best = socket;
      bestRank = rank;
    }
    return best;
  }

  private refuse(packet: Packet): void {
    this.wire.transmit(
      {
        ...packet,
        from: packet.to,
        to: packet.from,
        protocol: PROTOCOL_ICMP,
        source: packet.target,
        sourcePort: packet.targetPort,
        target: packet.source,
        targetPort: packet.sourcePort,
        payload: packet.payload.subarray(0, 0),
      },
      0,
    );
  }

  private hold(socket: UdpSocket): void {
    this.ports.hold(socket.port);
    const sockets = [...(this.bound.get(socket.port) ?? []), socket];
    this.bound.set(
      socket.port,
      sockets.sort((a, b) => a.id - b.id),
    );
  }

  private unhold(socket: UdpSocket): void {
    this.ports.release(socket.port);
    const others = (this.bound.get(socket.port) ?? []).filter((other) => other !== socket);
    if (others.length > 0) this.bound.set(socket.port, others);
    else this.bound.delete(socket.port);
  }

  private uncount(socket: UdpSocket, cost: number): void {
    socket.queuedBytes -= cost;
    this.meter.used -= cost;
  }
}

/** Remembers in which family the sender of a datagram is to be answered. */
function hear({ ipv6Ends }: UdpSocket, { source, sourcePort }: Packet): void {
  const end = endKey(ipv4Of(source), sourcePort);
  ipv6Ends.delete(end);
  if (!isIpv6(source)) return;
  ipv6Ends.add(end);
  if (ipv6Ends.size <= IPV6_ENDS_MAX) return;
  for (const oldest of ipv6Ends) {
    ipv6Ends.delete(oldest);
    return;
  }
}

function endKey(address: number, port: number): number {
  return address * 65_536 + port;
}

function conflicts(socket: UdpSocket, address: number, other: UdpSocket): boolean {
  const overlap =
    address === ANY_ADDRESS || other.address === ANY_ADDRESS || address === other.address;
  const shared =
    socket.options.values['reuse-address'] === 1 && other.options.values['reuse-address'] === 1;
  return overlap && !shared;
}
