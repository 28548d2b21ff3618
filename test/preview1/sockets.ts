import type { Wasi } from './wasi.ts';

/** `sock_open`: a descriptor, or a negated errno. */
export function openSocket(wasi: Wasi, kind: 'tcp' | 'udp'): number {
  const result = wasi.room(4);
  const errno = wasi.call('sock_open', 1, kind === 'tcp' ? 2 : 1, result);
  return errno === 0 ? wasi.u32(result) : -errno;
}

/** An address record of four bytes. */
export function address(wasi: Wasi, ...bytes: number[]): number {
  return wasi.vectors([wasi.put(bytes), bytes.length]);
}

export function bind(wasi: Wasi, fd: number, port: number): string {
  return wasi.errno('sock_bind', fd, address(wasi, 0, 0, 0, 0), port);
}

/** Connects to node k by its address. */
export function connect(wasi: Wasi, fd: number, node: number, port: number): string {
  return wasi.errno('sock_connect', fd, address(wasi, 10, 0, 0, node + 1), port);
}

export function accept(wasi: Wasi, fd: number, flags = 0): number {
  const result = wasi.room(4);
  const errno = wasi.call('sock_accept', fd, flags, result);
  return errno === 0 ? wasi.u32(result) : -errno;
}

export function receive(wasi: Wasi, fd: number, length: number, flags = 0): string | number {
  const [at, result, out] = [wasi.room(length), wasi.room(4), wasi.room(2)];
  const errno = wasi.call('sock_recv', fd, wasi.vectors([at, length]), 1, flags, result, out);
  return errno === 0 ? wasi.text(at, wasi.u32(result)) : -errno;
}

export function send(wasi: Wasi, fd: number, text: string | Uint8Array, flags = 0): number {
  const [at, result] = [wasi.put(text), wasi.room(4)];
  const length = typeof text === 'string' ? Buffer.from(text).length : text.length;
  const errno = wasi.call('sock_send', fd, wasi.vectors([at, length]), 1, flags, result);
  return errno === 0 ? wasi.u32(result) : -errno;
}

export interface End {
  readonly family: number;
  readonly bytes: readonly number[];
  readonly port: number;
}

/** `sock_getlocaladdr` or `sock_getpeeraddr`: an end, or a negated errno. */
export function end(wasi: Wasi, name: string, fd: number): End | number {
  const [buffer, port] = [wasi.room(128), wasi.room(4)];
  const errno = wasi.call(name, fd, wasi.vectors([buffer, 128]), port);
  if (errno !== 0) return -errno;
  const bytes = [...wasi.data.subarray(buffer + 2, buffer + 6)];
  return { family: wasi.memory().getUint16(buffer, true), bytes, port: wasi.u32(port) };
}
