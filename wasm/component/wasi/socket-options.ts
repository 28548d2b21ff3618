import { borrow } from '../abi/handles.ts';
import type { Resource } from '../abi/handles.ts';
import { BOOL, U32, U64, U8 } from '../abi/primitives.ts';
import { result, success } from '../abi/sums.ts';
import type { Type } from '../abi/type.ts';
import { row, type HostFunctionRow } from '../host-table.ts';
import { NETWORK_ERROR, networkError } from './error-codes.ts';
import { UNIT_RESULT, outcomeOf, refused, type Outcome } from './network.ts';
import { TCP_SOCKET, UDP_SOCKET, type SocketHandle } from './resources.ts';
import type { WasiHost } from './wasi-host.ts';

/** How one option is read and set. */
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

/** The largest value that the stack is asked for; it moves what it is given into its own range. */
const VALUE_MAX = 2n ** 52n;

type OptionName = Parameters<WasiHost['sockets']['setOption']>[1];

/** A count, span or size: 0 is refused, as the text of WASI says. */
function whole<T extends number | bigint>(
  name: OptionName,
  type: Type<T>,
  make: (value: number) => T,
): Option<T> {
  return {
    type,
    get: (host, socket) => {
      const value = host.sockets.option(socket, name);
      return value < 0 ? refused(networkError(value)) : success(make(value));
    },
    set: (host, socket, value) => {
      const wanted = BigInt(value);
      if (wanted === 0n) return refused('invalid-argument');
      const given = Number(wanted < VALUE_MAX ? wanted : VALUE_MAX);
      return outcomeOf(host.sockets.setOption(socket, name, given));
    },
  };
}

const wide = (name: OptionName): Option<bigint> => whole(name, U64, BigInt);

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
      wide('receive-buffer'),
    ),
    ...optionRows(
      of,
      { get: 'send-buffer-size', set: 'set-send-buffer-size' },
      wide('send-buffer'),
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
    wide('keep-alive-idle'),
  ),
  ...optionRows(
    TCP_SOCKET,
    { get: 'keep-alive-interval', set: 'set-keep-alive-interval' },
    wide('keep-alive-interval'),
  ),
  ...optionRows(
    TCP_SOCKET,
    { get: 'keep-alive-count', set: 'set-keep-alive-count' },
    whole('keep-alive-count', U32, Number),
  ),
  ...optionRows(
    TCP_SOCKET,
    { get: 'hop-limit', set: 'set-hop-limit' },
    whole('hop-limit', U8, Number),
  ),
  ...bufferRows(TCP_SOCKET),
];

export const UDP_OPTIONS: readonly HostFunctionRow[] = [
  ...optionRows(
    UDP_SOCKET,
    { get: 'unicast-hop-limit', set: 'set-unicast-hop-limit' },
    whole('hop-limit', U8, Number),
  ),
  ...bufferRows(UDP_SOCKET),
];
