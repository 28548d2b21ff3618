import { ERRNO, type Endpoint } from '../../sim/index.ts';
import { FDFLAG, RIFLAG, RIGHT, RIGHTS_SOCKET } from './abi.ts';
import { bytesNs } from './costs.ts';
import type { Host } from './host.ts';
import {
  FAMILY,
  readAddress,
  writeFamilyAddress,
  writeNativeAddress,
  writePlainAddress,
} from './sock-address.ts';
import { addSocket } from './sock.ts';
import { digestVectors, gatherAll, scatter, writeSocket } from './socket-io.ts';

/** `type` of `sock_open`: any is a stream. */
const TYPE = { ANY: 0, DATAGRAM: 1, STREAM: 2 } as const;
/** The address type that the first version reports. */
const ADDRESS_TYPE_IPV4 = 4;

export function sockOpen(host: Host, family: number, type: number, result: number): number {
  if (!host.memory.holds(result, 4)) return ERRNO.FAULT;
  if (family !== FAMILY.INET4 && family !== FAMILY.UNSPECIFIED) return ERRNO.AFNOSUPPORT;
  if (type !== TYPE.ANY && type !== TYPE.DATAGRAM && type !== TYPE.STREAM) return ERRNO.INVAL;
  if (!host.descriptors.hasRoom()) return ERRNO.MFILE;
  const kind = type === TYPE.DATAGRAM ? 'udp' : 'tcp';
  const socket = host.port.sockets.open(kind);
  if (socket < 0) return -socket;
  const rights = RIGHTS_SOCKET;
  return addSocket(
    host,
    { kind: 'socket', socket, type: kind, flags: 0, rights, inheriting: rights },
    result,
  );
}

export function sockBind(host: Host, fd: number, record: number, port: number): number {
  const descriptor = host.findSocket(fd, 0);
  if (typeof descriptor === 'number') return descriptor;
  const address = readAddress(host, record);
  if (address < 0) return -address;
  if (port >>> 0 > 0xffff) return ERRNO.INVAL;
  return host.errnoOf(host.port.sockets.bind(descriptor.socket, address, port));
}

/** A backlog out of range is moved into it, as usual systems do. */
export function sockListen(host: Host, fd: number, backlog: number): number {
  const descriptor = host.findSocket(fd, RIGHT.SOCK_ACCEPT);
  if (typeof descriptor === 'number') return descriptor;
  const count = Math.min(Math.max(backlog >>> 0, 1), 4096);
  return host.errnoOf(host.port.sockets.listen(descriptor.socket, count));
}

/** Waits until the connection stands or failed; INPROGRESS on a non-blocking descriptor. */
export function sockConnect(host: Host, fd: number, record: number, port: number): number {
  const descriptor = host.findSocket(fd, 0);
  if (typeof descriptor === 'number') return descriptor;
  const address = readAddress(host, record);
  if (address < 0) return -address;
  if (port >>> 0 > 0xffff) return ERRNO.INVAL;
  const { sockets } = host.port;
  const { socket } = descriptor;
  const status = host.retried
    ? sockets.connectResult(socket)
    : sockets.connect(socket, address, port);
  if (status !== -ERRNO.INPROGRESS) return host.errnoOf(status);
  if ((descriptor.flags & FDFLAG.NONBLOCK) !== 0) return ERRNO.INPROGRESS;
  if (host.timedOut(descriptor, 'write')) return ERRNO.INPROGRESS;
  return host.blockOn(descriptor, 'write');
}

export function sockSendTo(
  host: Host,
  fd: number,
  vectors: number,
  count: number,
  record: number,
  port: number,
  flags: number,
  result: number,
): number {
  const descriptor = host.findSocket(fd, RIGHT.FD_WRITE);
  if (typeof descriptor === 'number') return descriptor;
  if (flags !== 0 || port >>> 0 > 0xffff) return ERRNO.INVAL;
  const total = host.memory.vectorBytes(vectors, count);
  if (total < 0) return -total;
  if (!host.memory.holds(result, 4)) return ERRNO.FAULT;
  const address = readAddress(host, record);
  if (address < 0) return -address;
  if (descriptor.type === 'tcp')
    return writeSocket(host, descriptor, { vectors, count, result, total });
  if (total > 0xffff) return ERRNO.MSGSIZE;
  const bytes = gatherAll(host, vectors, count, total);
  const sent = host.port.sockets.sendTo(descriptor.socket, bytes, address, port);
  if (sent === -ERRNO.AGAIN && (descriptor.flags & FDFLAG.NONBLOCK) === 0) {
    return host.timedOut(descriptor, 'write') ? ERRNO.AGAIN : host.blockOn(descriptor, 'write');
  }
  if (sent < 0) return -sent;
  host.memory.setU32(result, sent);
  host.value = sent;
  host.digest = digestVectors(host, vectors, count, sent);
  host.charge(bytesNs(sent));
  return ERRNO.SUCCESS;
}

/** How a version of `sock_recv_from` tells the sender. */
type TellSender = (host: Host, end: Endpoint) => number;

interface ReceivingFrom {
  readonly fd: number;
  readonly vectors: number;
  readonly count: number;
  readonly flags: number;
  readonly result: number;
  readonly outFlags: number;
}

function receiveFrom(host: Host, given: ReceivingFrom, tell: TellSender): number {
  const { vectors, count, flags } = given;
  const { memory, port } = host;
  const descriptor = host.findSocket(given.fd, RIGHT.FD_READ);
  if (typeof descriptor === 'number') return descriptor;
  if ((flags & ~(RIFLAG.PEEK | RIFLAG.WAITALL)) !== 0) return ERRNO.INVAL;
  const total = memory.vectorBytes(vectors, count);
  if (total < 0) return -total;
  if (!memory.holds(given.result, 4) || !memory.holds(given.outFlags, 2)) return ERRNO.FAULT;
  const into = new Uint8Array(Math.min(total, 0x1_0000));
  const peeks = (flags & RIFLAG.PEEK) !== 0;
  const got = port.sockets.receiveFrom(descriptor.socket, into, peeks);
  if (got === -ERRNO.AGAIN && (descriptor.flags & FDFLAG.NONBLOCK) === 0) {
    return host.timedOut(descriptor, 'read') ? ERRNO.AGAIN : host.blockOn(descriptor, 'read');
  }
  if (typeof got === 'number') return -got;
  const told = tell(host, got);
  if (told < 0) return -told;
  scatter(host, vectors, count, 0, into.subarray(0, got.count));
  memory.setU32(given.result, got.count);
  memory.setU16(given.outFlags, 0);
  host.value = got.count;
  host.digest = digestVectors(host, vectors, count, got.count);
  host.charge(bytesNs(got.count));
  return ERRNO.SUCCESS;
}

export function sockRecvFrom(
  host: Host,
  fd: number,
  vectors: number,
  count: number,
  record: number,
  flags: number,
  portResult: number,
  result: number,
  outFlags: number,
): number {
  if (!host.memory.holds(portResult, 4)) return ERRNO.FAULT;
  return receiveFrom(host, { fd, vectors, count, flags, result, outFlags }, (_, end) => {
    host.memory.setU32(portResult, end.port);
    return writeFamilyAddress(host, record, end.address);
  });
}

export function sockRecvFromV1(
  host: Host,
  fd: number,
  vectors: number,
  count: number,
  record: number,
  flags: number,
  result: number,
  outFlags: number,
): number {
  return receiveFrom(host, { fd, vectors, count, flags, result, outFlags }, (_, end) => {
    return writeNativeAddress(host, record, end);
  });
}

type End = 'localAddress' | 'peerAddress';

/** The end of a socket, or an errno. */
function endOf(host: Host, fd: number, end: End): Endpoint | number {
  const descriptor = host.findSocket(fd, 0);
  if (typeof descriptor === 'number') return descriptor;
  const found = host.port.sockets[end](descriptor.socket);
  return typeof found === 'number' ? -found : found;
}

function tellEnd(host: Host, fd: number, end: End, record: number, port: number): number {
  const found = endOf(host, fd, end);
  if (typeof found === 'number') return found;
  if (!host.memory.holds(port, 4)) return ERRNO.FAULT;
  const status = writeFamilyAddress(host, record, found.address);
  if (status < 0) return -status;
  host.memory.setU32(port, found.port);
  host.value = found.port;
  return ERRNO.SUCCESS;
}

function tellEndV1(
  host: Host,
  fd: number,
  end: End,
  record: number,
  type: number,
  port: number,
): number {
  const found = endOf(host, fd, end);
  if (typeof found === 'number') return found;
  if (!host.memory.holds(port, 4) || !host.memory.holds(type, 4)) return ERRNO.FAULT;
  const status = writePlainAddress(host, record, found.address);
  if (status < 0) return -status;
  host.memory.setU32(type, ADDRESS_TYPE_IPV4);
  host.memory.setU32(port, found.port);
  host.value = found.port;
  return ERRNO.SUCCESS;
}

export function sockGetlocaladdr(host: Host, fd: number, record: number, port: number): number {
  return tellEnd(host, fd, 'localAddress', record, port);
}

export function sockGetpeeraddr(host: Host, fd: number, record: number, port: number): number {
  return tellEnd(host, fd, 'peerAddress', record, port);
}

export function sockGetlocaladdrV1(
  host: Host,
  fd: number,
  record: number,
  type: number,
  port: number,
): number {
  return tellEndV1(host, fd, 'localAddress', record, type, port);
}

export function sockGetpeeraddrV1(
  host: Host,
  fd: number,
  record: number,
  type: number,
  port: number,
): number {
  return tellEndV1(host, fd, 'peerAddress', record, type, port);
}
