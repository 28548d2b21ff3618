import { ERRNO } from '../../../sim/index.ts';
import { success } from '../abi/sums.ts';
import { networkError } from './error-codes.ts';
import {
  endpoint,
  isUnicast,
  outcomeOf,
  refused,
  remoteEndpoint,
  socketAddress,
} from './network.ts';
import type { Outcome, SocketAddress } from './network.ts';
import type { InputStream, OutputStream, SocketHandle } from './resources.ts';
import { newSocketRecord, type SocketRecord } from './socket-record.ts';
import type { WasiHost } from './wasi-host.ts';

/**
 * The steps of a TCP socket's life, each in two calls: `start-…` does it, `finish-…` tells the
 * outcome (wasi:sockets/tcp, and TcpSocketOperationalSemantics.md of that package).
 */

export type Streams = readonly [InputStream, OutputStream];

export function createTcp(host: WasiHost, family: 'ipv4' | 'ipv6'): Outcome<SocketHandle> {
  if (family === 'ipv6') return refused('not-supported');
  const socket = host.sockets.open('tcp');
  if (socket < 0) return refused(networkError(socket));
  host.addSocket(socket, newSocketRecord('tcp', 'unbound'));
  return success({ socket });
}

/** The same for TCP and UDP: binds now, and remembers that the guest must still finish. */
export function startBind(
  host: WasiHost,
  { socket }: SocketHandle,
  address: SocketAddress,
): Outcome<undefined> {
  const record = host.socket(socket);
  if (record.state !== 'unbound') return refused('invalid-state');
  const end = endpoint(address);
  if (end === null || !isUnicast(end.address)) return refused('invalid-argument');
  const status = host.sockets.bind(socket, end.address, end.port);
  if (status === 0) record.state = 'bind-started';
  return outcomeOf(status);
}

export function finishBind(host: WasiHost, { socket }: SocketHandle): Outcome<undefined> {
  const record = host.socket(socket);
  if (record.state !== 'bind-started') return refused('not-in-progress');
  record.state = 'bound';
  return success(undefined);
}

export function startConnect(
  host: WasiHost,
  { socket }: SocketHandle,
  address: SocketAddress,
): Outcome<undefined> {
  const record = host.socket(socket);
  if (record.state === 'connecting') return refused('concurrency-conflict');
  if (record.state !== 'unbound' && record.state !== 'bound') return refused('invalid-state');
  const end = remoteEndpoint(address);
  if (end === null) return refused('invalid-argument');
  const status = host.sockets.connect(socket, end.address, end.port);
  if (status < 0 && status !== -ERRNO.INPROGRESS) {
    record.state = 'closed';
    return outcomeOf(status);
  }
  record.state = 'connecting';
  return success(undefined);
}

export function finishConnect(host: WasiHost, { socket }: SocketHandle): Outcome<Streams> {
  const record = host.socket(socket);
  if (record.state !== 'connecting') return refused('not-in-progress');
  const status = host.sockets.connectResult(socket);
  if (status === -ERRNO.INPROGRESS || status === -ERRNO.ALREADY) return refused('would-block');
  if (status < 0) {
    record.state = 'closed';
    return refused(networkError(status));
  }
  record.state = 'connected';
  return success(openStreams(record, socket));
}

export function startListen(host: WasiHost, { socket }: SocketHandle): Outcome<undefined> {
  const record = host.socket(socket);
  if (record.state !== 'bound') return refused('invalid-state');
  const status = host.sockets.listen(socket, record.backlog);
  record.state = status === 0 ? 'listen-started' : 'closed';
  return outcomeOf(status);
}

export function finishListen(host: WasiHost, { socket }: SocketHandle): Outcome<undefined> {
  const record = host.socket(socket);
  if (record.state !== 'listen-started') return refused('not-in-progress');
  record.state = 'listening';
  return success(undefined);
}

export function accept(
  host: WasiHost,
  { socket }: SocketHandle,
): Outcome<readonly [SocketHandle, InputStream, OutputStream]> {
  const listener = host.socket(socket);
  if (listener.state !== 'listening') return refused('invalid-state');
  const accepted = host.sockets.accept(socket);
  if (accepted < 0) return refused(networkError(accepted));
  const record: SocketRecord = { ...listener, state: 'connected', references: 1 };
  host.addSocket(accepted, record);
  return success([{ socket: accepted }, ...openStreams(record, accepted)] as const);
}

/** The two streams of a connection; the socket stays open as long as any of the three. */
function openStreams(record: SocketRecord, socket: number): Streams {
  record.references += 2;
  return [
    { from: 'socket', socket, closed: false },
    { to: 'socket', socket, closed: false, permit: 0, progress: 0 },
  ];
}

export function localAddress(host: WasiHost, { socket }: SocketHandle): Outcome<SocketAddress> {
  const { state } = host.socket(socket);
  if (state === 'unbound' || state === 'bind-started') return refused('invalid-state');
  const end = host.sockets.localAddress(socket);
  if (typeof end === 'number') return refused('invalid-state');
  return success(socketAddress(end));
}

export function remoteAddress(host: WasiHost, { socket }: SocketHandle): Outcome<SocketAddress> {
  const end = host.sockets.peerAddress(socket);
  if (typeof end === 'number') return refused('invalid-state');
  return success(socketAddress(end));
}

const SHUTDOWNS = { receive: 'read', send: 'write', both: 'both' } as const;

export function shutdown(
  host: WasiHost,
  { socket }: SocketHandle,
  kind: keyof typeof SHUTDOWNS,
): Outcome<undefined> {
  if (host.socket(socket).state !== 'connected') return refused('invalid-state');
  return outcomeOf(host.sockets.shutdown(socket, SHUTDOWNS[kind]));
}
