import { COST_NS } from '../../preview1/costs.ts';
import { borrow, own } from '../abi/handles.ts';
import { BOOL, U64 } from '../abi/primitives.ts';
import { tuple } from '../abi/products.ts';
import { enumeration, result, success } from '../abi/sums.ts';
import { resourceRow, row, type HostInterface } from '../host-table.ts';
import { NETWORK_ERROR } from './error-codes.ts';
import {
  ADDRESS_FAMILY,
  ADDRESS_RESULT,
  SOCKET_ADDRESS,
  UNIT_RESULT,
  refused,
  type Outcome,
} from './network.ts';
import { INPUT_STREAM, NETWORK, OUTPUT_STREAM, POLLABLE, TCP_SOCKET } from './resources.ts';
import type { Pollable, SocketHandle } from './resources.ts';
import { TCP_OPTIONS } from './socket-options.ts';
import * as connection from './tcp-connection.ts';
import type { WasiHost } from './wasi-host.ts';

const SELF = borrow(TCP_SOCKET);

function setBacklog(host: WasiHost, { socket }: SocketHandle, value: bigint): Outcome<undefined> {
  if (value === 0n) return refused('invalid-argument');
  const record = host.socket(socket);
  if (record.state === 'connecting' || record.state === 'connected') {
    return refused('invalid-state');
  }
  record.backlog = Number(value < 4096n ? value : 4096n);
  return success(undefined);
}

export const TCP_CREATE_SOCKET: HostInterface = {
  name: 'wasi:sockets/tcp-create-socket',
  costNs: COST_NS.file,
  resources: [],
  functions: [
    row('create-tcp-socket', {
      params: [ADDRESS_FAMILY],
      result: result(own(TCP_SOCKET), NETWORK_ERROR),
      run: connection.createTcp,
    }),
  ],
};

export const TCP: HostInterface = {
  name: 'wasi:sockets/tcp',
  costNs: COST_NS.file,
  resources: [resourceRow(TCP_SOCKET, (host, { socket }) => host.releaseSocket(socket))],
  functions: [
    row('[method]tcp-socket.start-bind', {
      params: [SELF, borrow(NETWORK), SOCKET_ADDRESS],
      result: UNIT_RESULT,
      run: (host, self, _, address) => connection.startBind(host, self, address),
    }),
    row('[method]tcp-socket.finish-bind', {
      params: [SELF],
      result: UNIT_RESULT,
      run: connection.finishBind,
    }),
    row('[method]tcp-socket.start-connect', {
      params: [SELF, borrow(NETWORK), SOCKET_ADDRESS],
      result: UNIT_RESULT,
      run: (host, self, _, address) => connection.startConnect(host, self, address),
    }),
    row('[method]tcp-socket.finish-connect', {
      params: [SELF],
      result: result(tuple(own(INPUT_STREAM), own(OUTPUT_STREAM)), NETWORK_ERROR),
      run: connection.finishConnect,
    }),
    row('[method]tcp-socket.start-listen', {
      params: [SELF],
      result: UNIT_RESULT,
      run: connection.startListen,
    }),
    row('[method]tcp-socket.finish-listen', {
      params: [SELF],
      result: UNIT_RESULT,
      run: connection.finishListen,
    }),
    row('[method]tcp-socket.accept', {
      params: [SELF],
      result: result(tuple(own(TCP_SOCKET), own(INPUT_STREAM), own(OUTPUT_STREAM)), NETWORK_ERROR),
      run: connection.accept,
    }),
    row('[method]tcp-socket.local-address', {
      costNs: COST_NS.descriptor,
      params: [SELF],
      result: ADDRESS_RESULT,
      run: connection.localAddress,
    }),
    row('[method]tcp-socket.remote-address', {
      costNs: COST_NS.descriptor,
      params: [SELF],
      result: ADDRESS_RESULT,
      run: connection.remoteAddress,
    }),
    row('[method]tcp-socket.is-listening', {
      costNs: COST_NS.descriptor,
      params: [SELF],
      result: BOOL,
      run: (host, { socket }) => host.socket(socket).state === 'listening',
    }),
    row('[method]tcp-socket.address-family', {
      costNs: COST_NS.descriptor,
      params: [SELF],
      result: ADDRESS_FAMILY,
      run: () => 'ipv4' as const,
    }),
    row('[method]tcp-socket.set-listen-backlog-size', {
      costNs: COST_NS.descriptor,
      params: [SELF, U64],
      result: UNIT_RESULT,
      run: setBacklog,
    }),
    ...TCP_OPTIONS,
    row('[method]tcp-socket.subscribe', {
      costNs: COST_NS.descriptor,
      params: [SELF],
      result: own(POLLABLE),
      run: (_, { socket }): Pollable => ({ on: 'tcp', socket }),
    }),
    row('[method]tcp-socket.shutdown', {
      params: [SELF, enumeration(['receive', 'send', 'both'])],
      result: UNIT_RESULT,
      run: connection.shutdown,
    }),
  ],
};
