import { COST_NS } from '../../preview1/costs.ts';
import { borrow, own } from '../abi/handles.ts';
import { U64 } from '../abi/primitives.ts';
import { tuple } from '../abi/products.ts';
import { list } from '../abi/sequences.ts';
import { option, result, success } from '../abi/sums.ts';
import { resourceRow, row, type HostInterface } from '../host-table.ts';
import { INCOMING_DATAGRAM, OUTGOING_DATAGRAM, checkSend, receive, send } from './datagrams.ts';
import { NETWORK_ERROR, networkError } from './error-codes.ts';
import {
  ADDRESS_FAMILY,
  ADDRESS_RESULT,
  SOCKET_ADDRESS,
  UNIT_RESULT,
  refused,
  remoteEndpoint,
} from './network.ts';
import type { Outcome, SocketAddress } from './network.ts';
import {
  INCOMING_DATAGRAMS,
  NETWORK,
  OUTGOING_DATAGRAMS,
  POLLABLE,
  UDP_SOCKET,
} from './resources.ts';
import type { IncomingDatagrams, OutgoingDatagrams, Pollable } from './resources.ts';
import type { SocketHandle } from './resources.ts';
import { newSocketRecord } from './socket-record.ts';
import { UDP_OPTIONS } from './socket-options.ts';
import { finishBind, localAddress, remoteAddress, startBind } from './tcp-connection.ts';
import type { WasiHost } from './wasi-host.ts';

const SELF = borrow(UDP_SOCKET);

function createUdp(host: WasiHost, family: 'ipv4' | 'ipv6'): Outcome<SocketHandle> {
  if (family === 'ipv6') return refused('not-supported');
  const socket = host.sockets.open('udp');
  if (socket < 0) return refused(networkError(socket));
  host.addSocket(socket, newSocketRecord('udp', 'unbound'));
  return success({ socket });
}

/** Connects to a peer or to everybody; the streams of an earlier call must have been dropped. */
function openStreams(
  host: WasiHost,
  { socket }: SocketHandle,
  remote: SocketAddress | null,
): Outcome<readonly [IncomingDatagrams, OutgoingDatagrams]> {
  const record = host.socket(socket);
  if (record.references > 1) host.trap('the streams of an earlier call are not dropped');
  if (record.state !== 'bound' && record.state !== 'connected') return refused('invalid-state');
  const end = remote === null ? null : remoteEndpoint(remote);
  if (remote !== null && end === null) return refused('invalid-argument');
  if (end !== null || record.state === 'connected') {
    const status = host.sockets.connect(socket, end?.address ?? 0, end?.port ?? 0);
    if (status < 0) return refused(networkError(status));
  }
  record.state = end === null ? 'bound' : 'connected';
  record.references += 2;
  return success([{ socket }, { socket, permit: 0 }] as const);
}

function onSocket(socket: number, readiness: 'read' | 'write'): Pollable {
  return { on: 'socket', socket, readiness };
}

function release(host: WasiHost, { socket }: SocketHandle): void {
  host.releaseSocket(socket);
}

export const UDP_CREATE_SOCKET: HostInterface = {
  name: 'wasi:sockets/udp-create-socket',
  costNs: COST_NS.file,
  resources: [],
  functions: [
    row('create-udp-socket', {
      params: [ADDRESS_FAMILY],
      result: result(own(UDP_SOCKET), NETWORK_ERROR),
      run: createUdp,
    }),
  ],
};

export const UDP: HostInterface = {
  name: 'wasi:sockets/udp',
  costNs: COST_NS.file,
  resources: [
    resourceRow(UDP_SOCKET, release),
    resourceRow(INCOMING_DATAGRAMS, release),
    resourceRow(OUTGOING_DATAGRAMS, release),
  ],
  functions: [
    row('[method]udp-socket.start-bind', {
      params: [SELF, borrow(NETWORK), SOCKET_ADDRESS],
      result: UNIT_RESULT,
      run: (host, self, _, address) => startBind(host, self, address),
    }),
    row('[method]udp-socket.finish-bind', {
      params: [SELF],
      result: UNIT_RESULT,
      run: finishBind,
    }),
    row('[method]udp-socket.stream', {
      params: [SELF, option(SOCKET_ADDRESS)],
      result: result(tuple(own(INCOMING_DATAGRAMS), own(OUTGOING_DATAGRAMS)), NETWORK_ERROR),
      run: openStreams,
    }),
    row('[method]udp-socket.local-address', {
      costNs: COST_NS.descriptor,
      params: [SELF],
      result: ADDRESS_RESULT,
      run: localAddress,
    }),
    row('[method]udp-socket.remote-address', {
      costNs: COST_NS.descriptor,
      params: [SELF],
      result: ADDRESS_RESULT,
      run: remoteAddress,
    }),
    row('[method]udp-socket.address-family', {
      costNs: COST_NS.descriptor,
      params: [SELF],
      result: ADDRESS_FAMILY,
      run: () => 'ipv4' as const,
    }),
    ...UDP_OPTIONS,
    row('[method]udp-socket.subscribe', {
      costNs: COST_NS.descriptor,
      params: [SELF],
      result: own(POLLABLE),
      run: (): Pollable => ({ on: 'always' }),
    }),
    row('[method]incoming-datagram-stream.receive', {
      params: [borrow(INCOMING_DATAGRAMS), U64],
      result: result(list(INCOMING_DATAGRAM), NETWORK_ERROR),
      run: receive,
    }),
    row('[method]incoming-datagram-stream.subscribe', {
      costNs: COST_NS.descriptor,
      params: [borrow(INCOMING_DATAGRAMS)],
      result: own(POLLABLE),
      run: (_, { socket }) => onSocket(socket, 'read'),
    }),
    row('[method]outgoing-datagram-stream.check-send', {
      costNs: COST_NS.descriptor,
      params: [borrow(OUTGOING_DATAGRAMS)],
      result: result(U64, NETWORK_ERROR),
      run: checkSend,
    }),
    row('[method]outgoing-datagram-stream.send', {
      params: [borrow(OUTGOING_DATAGRAMS), list(OUTGOING_DATAGRAM)],
      result: result(U64, NETWORK_ERROR),
      run: send,
    }),
    row('[method]outgoing-datagram-stream.subscribe', {
      costNs: COST_NS.descriptor,
      params: [borrow(OUTGOING_DATAGRAMS)],
      result: own(POLLABLE),
      run: (_, { socket }) => onSocket(socket, 'write'),
    }),
  ],
};
