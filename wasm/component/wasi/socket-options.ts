import { borrow } from '../abi/handles.ts';
import type { Resource } from '../abi/handles.ts';
import { BOOL, U32, U64, U8 } from '../abi/primitives.ts';
import { result, success } from '../abi/sums.ts';
import type { Type } from '../abi/type.ts';
import { row, type HostFunctionRow } from '../host-table.ts';
import { NETWORK_ERROR, networkError } from './error-codes.ts';
import { UNIT_RESULT, outcomeOf, refused, type Outcome } from './network.ts';
import { TCP_SOCKET, UDP_SOCKET, type SocketHandle } from './resources.ts';
import type { SocketRecord } from './socket-record.ts';
import type { WasiHost } from './wasi-host.ts';

/** How one option is read and set; setting 0 is refused where a count or a span is meant. */
interface Option<T> {
  readonly type: Type<T>;
  get(host: WasiHost, socket: number): Outcome<T>;
  set(host: WasiHost, socket: number, value: T): Outcome<undefined>;
}

function optionRows<T>(
  of: Resource<SocketHandle>,
  names: { readonly get: string; readonly set: string },
  option: Option<T>,
): HostFunctionRow[] {
  const kind = of.name.slice(of.name.indexOf('#') + 1);
  return [
    row(`[method]${kind}.${names.get}`, {
      params: [borrow(of)],
      result: result(option.type, NETWORK_ERROR),
      run: (host, { socket }) => option.get(host, socket),
    }),
    row(`[method]${kind}.${names.set}`, {
      params: [borrow(of), option.type],
      result: UNIT_RESULT,
      run: (host, { socket }, value) => option.set(host, socket, value),
    }),
  ];
}

/** Options that have no effect in the simulated network: kept and given back. */
function kept<K extends 'keepAliveIdleNs' | 'keepAliveIntervalNs' | 'keepAliveCount' | 'hopLimit'>(
  key: K,
  type: Type<SocketRecord[K]>,
): Option<SocketRecord[K]> {
  return {
    type,
    get: (host, socket) => success(host.socket(socket)[key]),
    set: (host, socket, value) => {
      if (value === 0 || value === 0n) return refused('invalid-argument');
      host.socket(socket)[key] = value;
      return success(undefined);
    },
  };
}

/** The largest size that the stack is asked for; the WASI text lets the host clamp it. */
const BUFFER_BYTES_MAX = 2 ** 30;

function bufferSize(name: 'receive-buffer' | 'send-buffer'): Option<bigint> {
  return {
    type: U64,
    get: (host, socket) => {
      const bytes = host.sockets.option(socket, name);
      return bytes < 0 ? refused(networkError(bytes)) : success(BigInt(bytes));
    },
    set: (host, socket, value) => {
      if (value === 0n) return refused('invalid-argument');
      const bytes = value < BigInt(BUFFER_BYTES_MAX) ? Number(value) : BUFFER_BYTES_MAX;
      return outcomeOf(host.sockets.setOption(socket, name, bytes));
    },
  };
}

const KEEP_ALIVE: Option<boolean> = {
  type: BOOL,
  get: (host, socket) => {
    const value = host.sockets.option(socket, 'keep-alive');
    return value < 0 ? refused(networkError(value)) : success(value !== 0);
  },
  set: (host, socket, value) => {
    return outcomeOf(host.sockets.setOption(socket, 'keep-alive', value ? 1 : 0));
  },
};

function bufferRows(of: Resource<SocketHandle>): HostFunctionRow[] {
  return [
    ...optionRows(
      of,
      { get: 'receive-buffer-size', set: 'set-receive-buffer-size' },
      bufferSize('receive-buffer'),
    ),
    ...optionRows(
      of,
      { get: 'send-buffer-size', set: 'set-send-buffer-size' },
      bufferSize('send-buffer'),
    ),
  ];
}

export const TCP_OPTIONS: readonly HostFunctionRow[] = [
  ...optionRows(
    TCP_SOCKET,
    { get: 'keep-alive-enabled', set: 'set-keep-alive-enabled' },
    KEEP_ALIVE,
  ),
  ...optionRows(
    TCP_SOCKET,
    { get: 'keep-alive-idle-time', set: 'set-keep-alive-idle-time' },
    kept('keepAliveIdleNs', U64),
  ),
  ...optionRows(
    TCP_SOCKET,
    { get: 'keep-alive-interval', set: 'set-keep-alive-interval' },
    kept('keepAliveIntervalNs', U64),
  ),
  ...optionRows(
    TCP_SOCKET,
    { get: 'keep-alive-count', set: 'set-keep-alive-count' },
    kept('keepAliveCount', U32),
  ),
  ...optionRows(TCP_SOCKET, { get: 'hop-limit', set: 'set-hop-limit' }, kept('hopLimit', U8)),
  ...bufferRows(TCP_SOCKET),
];

export const UDP_OPTIONS: readonly HostFunctionRow[] = [
  ...optionRows(
    UDP_SOCKET,
    { get: 'unicast-hop-limit', set: 'set-unicast-hop-limit' },
    kept('hopLimit', U8),
  ),
  ...bufferRows(UDP_SOCKET),
];
