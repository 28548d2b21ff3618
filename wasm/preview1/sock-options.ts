import { ERRNO, NS_PER_S, NS_PER_US, type SocketOptionName } from '../../sim/index.ts';
import type { SocketDescriptor } from './descriptors.ts';
import type { Host } from './host.ts';

/** Levels: WasmEdge's and wasi-libc's SOL_SOCKET, IPPROTO_TCP. */
const SOCKET_LEVELS: ReadonlySet<number> = new Set([0, 0x7fffffff]);
const TCP_LEVEL = 6;
const TCP_NODELAY = 1;

/** Names at socket level (WasmEdge, thirdparty/wasi/api.hpp: __wasi_sock_opt_so_t). */
const NAME = {
  REUSEADDR: 0,
  TYPE: 1,
  ERROR: 2,
  DONTROUTE: 3,
  BROADCAST: 4,
  SNDBUF: 5,
  RCVBUF: 6,
  KEEPALIVE: 7,
  OOBINLINE: 8,
  LINGER: 9,
  RCVLOWAT: 10,
  RCVTIMEO: 11,
  SNDTIMEO: 12,
  ACCEPTCONN: 13,
} as const;

const TYPE_DATAGRAM = 1;
const TYPE_STREAM = 2;

/** Options of 32 bits that the sockets keep. */
const STORED: ReadonlyMap<number, SocketOptionName> = new Map([
  [NAME.REUSEADDR, 'reuse-address'],
  [NAME.BROADCAST, 'broadcast'],
  [NAME.SNDBUF, 'send-buffer'],
  [NAME.RCVBUF, 'receive-buffer'],
  [NAME.KEEPALIVE, 'keep-alive'],
]);

const TIMEOUTS: ReadonlyMap<number, SocketOptionName> = new Map([
  [NAME.RCVTIMEO, 'receive-timeout'],
  [NAME.SNDTIMEO, 'send-timeout'],
]);

/** A pointer to a length is above this; smaller values are the length itself. */
const LENGTH_MAX = 16;
const LINGER_BYTES = 8;
const TIMEVAL_BYTES = 16;

/**
 * The last argument is the length of the value (stealthrocket/net) or a pointer to it (WasmEdge,
 * its Rust crate), which then receives the length of what was written.
 */
export function sockGetsockopt(
  host: Host,
  fd: number,
  level: number,
  name: number,
  value: number,
  size: number,
): number {
  const descriptor = host.findSocket(fd, 0);
  if (typeof descriptor === 'number') return descriptor;
  const { memory } = host;
  const pointed = size >>> 0 > LENGTH_MAX;
  if (pointed && !memory.holds(size, 4)) return ERRNO.FAULT;
  const room = pointed ? memory.u32(size) : size >>> 0;
  if (!memory.holds(value, room)) return ERRNO.FAULT;
  const words = readOption(host, descriptor, level, name);
  if (typeof words === 'number') return -words;
  const bytes = new Uint8Array(Int32Array.from(words).buffer);
  if (room < bytes.length) return ERRNO.INVAL;
  memory.setBytes(value, bytes);
  if (pointed) memory.setU32(size, bytes.length);
  host.value = words[0] as number;
  return ERRNO.SUCCESS;
}

/** The option's value in words of 32 bits, or a negative errno. */
function readOption(
  { port }: Host,
  { socket, type }: SocketDescriptor,
  level: number,
  name: number,
): readonly number[] | number {
  const { sockets } = port;
  const one = (result: number): readonly number[] | number => (result < 0 ? result : [result]);
  if (level === TCP_LEVEL) {
    return name === TCP_NODELAY ? one(sockets.option(socket, 'no-delay')) : -ERRNO.NOPROTOOPT;
  }
  if (!SOCKET_LEVELS.has(level)) return -ERRNO.NOPROTOOPT;
  const stored = STORED.get(name);
  if (stored !== undefined) return one(sockets.option(socket, stored));
  const timeout = TIMEOUTS.get(name);
  if (timeout !== undefined) {
    const ns = sockets.option(socket, timeout);
    const seconds = Math.floor(ns / NS_PER_S);
    const words = [seconds | 0, Math.floor(seconds / 0x1_0000_0000)];
    return ns < 0 ? ns : [...words, Math.floor((ns % NS_PER_S) / NS_PER_US), 0];
  }
  switch (name) {
    case NAME.TYPE:
      return [type === 'tcp' ? TYPE_STREAM : TYPE_DATAGRAM];
    case NAME.ERROR:
      return one(sockets.option(socket, 'error'));
    case NAME.ACCEPTCONN:
      return one(sockets.option(socket, 'listening'));
    case NAME.LINGER:
      return [sockets.option(socket, 'linger'), sockets.option(socket, 'linger-seconds')];
    case NAME.RCVLOWAT:
      return [1];
    case NAME.DONTROUTE:
    case NAME.OOBINLINE:
      return [0];
    default:
      return -ERRNO.NOPROTOOPT;
  }
}

export function sockSetsockopt(
  host: Host,
  fd: number,
  level: number,
  name: number,
  value: number,
  size: number,
): number {
  const descriptor = host.findSocket(fd, 0);
  if (typeof descriptor === 'number') return descriptor;
  const { memory, port } = host;
  if (!memory.holds(value, size)) return ERRNO.FAULT;
  if (size >>> 0 < 4) return ERRNO.INVAL;
  const { sockets } = port;
  const { socket } = descriptor;
  const word = memory.u32(value) | 0;
  const put = (option: SocketOptionName, number: number): number => {
    return host.errnoOf(sockets.setOption(socket, option, number));
  };
  if (level === TCP_LEVEL) {
    return name === TCP_NODELAY ? put('no-delay', word) : ERRNO.NOPROTOOPT;
  }
  if (!SOCKET_LEVELS.has(level)) return ERRNO.NOPROTOOPT;
  const stored = STORED.get(name);
  if (stored !== undefined) return put(stored, word);
  const timeout = TIMEOUTS.get(name);
  if (timeout !== undefined) {
    if (size >>> 0 < TIMEVAL_BYTES) return ERRNO.INVAL;
    const ns = memory.u64(value) * BigInt(NS_PER_S) + BigInt(memory.u32(value + 8) * NS_PER_US);
    return ns > BigInt(Number.MAX_SAFE_INTEGER) ? ERRNO.DOM : put(timeout, Number(ns));
  }
  switch (name) {
    case NAME.LINGER:
      if (size >>> 0 < LINGER_BYTES) return ERRNO.INVAL;
      return put('linger', word) || put('linger-seconds', memory.u32(value + 4));
    case NAME.DONTROUTE:
    case NAME.OOBINLINE:
    case NAME.RCVLOWAT:
      return ERRNO.SUCCESS;
    default:
      return ERRNO.NOPROTOOPT;
  }
}
