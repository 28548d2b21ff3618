import { ERRNO, type ShutdownHow } from '../../sim/index.ts';
import { FDFLAG, RIFLAG, RIGHT, RIGHTS_SOCKET, SDFLAG } from './abi.ts';
import type { SocketDescriptor } from './descriptors.ts';
import type { Host } from './host.ts';
import { readSocket, writeSocket } from './socket-io.ts';

/** `flags` are those of the new descriptor: NONBLOCK or none. */
export function sockAccept(host: Host, fd: number, flags: number, result: number): number {
  const listener = host.findSocket(fd, RIGHT.SOCK_ACCEPT);
  if (typeof listener === 'number') return listener;
  if ((flags & ~FDFLAG.NONBLOCK) !== 0) return ERRNO.INVAL;
  if (!host.memory.holds(result, 4)) return ERRNO.FAULT;
  if (!host.descriptors.hasRoom()) return ERRNO.MFILE;
  const socket = host.port.sockets.accept(listener.socket);
  if (socket === -ERRNO.AGAIN) {
    if ((listener.flags & FDFLAG.NONBLOCK) !== 0) return ERRNO.AGAIN;
    if (host.timedOut(listener, 'read')) return ERRNO.AGAIN;
    return host.blockOn(listener, 'read');
  }
  if (socket < 0) return -socket;
  const rights = listener.inheriting & RIGHTS_SOCKET;
  const { inheriting } = listener;
  return addSocket(
    host,
    { kind: 'socket', socket, type: 'tcp', flags, rights, inheriting },
    result,
  );
}

/** The form of WasmEdge's first version: without flags. */
export function sockAcceptV1(host: Host, fd: number, result: number): number {
  return sockAccept(host, fd, 0, result);
}

/** Gives a socket a descriptor, whose number goes to `result`. */
export function addSocket(host: Host, descriptor: SocketDescriptor, result: number): number {
  const fd = host.descriptors.add(descriptor);
  if (fd < 0) {
    host.port.sockets.close(descriptor.socket);
    return -fd;
  }
  host.memory.setU32(result, fd);
  host.value = fd;
  return ERRNO.SUCCESS;
}

/** `roflags` are always 0: a datagram that was cut does not say so. */
export function sockRecv(
  host: Host,
  fd: number,
  vectors: number,
  count: number,
  flags: number,
  result: number,
  outFlags: number,
): number {
  const descriptor = host.findSocket(fd, RIGHT.FD_READ);
  if (typeof descriptor === 'number') return descriptor;
  if ((flags & ~(RIFLAG.PEEK | RIFLAG.WAITALL)) !== 0) return ERRNO.INVAL;
  const total = host.memory.vectorBytes(vectors, count);
  if (total < 0) return -total;
  if (!host.memory.holds(result, 4) || !host.memory.holds(outFlags, 2)) return ERRNO.FAULT;
  const errno = readSocket(host, descriptor, { vectors, count, result, flags });
  if (errno === ERRNO.SUCCESS && !host.blocked) host.memory.setU16(outFlags, 0);
  return errno;
}

export function sockSend(
  host: Host,
  fd: number,
  vectors: number,
  count: number,
  flags: number,
  result: number,
): number {
  const descriptor = host.findSocket(fd, RIGHT.FD_WRITE);
  if (typeof descriptor === 'number') return descriptor;
  if (flags !== 0) return ERRNO.INVAL;
  const total = host.memory.vectorBytes(vectors, count);
  if (total < 0) return -total;
  if (!host.memory.holds(result, 4)) return ERRNO.FAULT;
  return writeSocket(host, descriptor, { vectors, count, result, total });
}

const HOW: ReadonlyMap<number, ShutdownHow> = new Map([
  [SDFLAG.RD, 'read'],
  [SDFLAG.WR, 'write'],
  [SDFLAG.RD | SDFLAG.WR, 'both'],
]);

export function sockShutdown(host: Host, fd: number, how: number): number {
  const descriptor = host.findSocket(fd, RIGHT.SOCK_SHUTDOWN);
  if (typeof descriptor === 'number') return descriptor;
  const direction = HOW.get(how);
  if (direction === undefined) return ERRNO.INVAL;
  return host.errnoOf(host.port.sockets.shutdown(descriptor.socket, direction));
}
