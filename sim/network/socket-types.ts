/** Names a socket within its node, over all lives of the node; never used twice. From 1. */
export type SocketId = number;

export type SocketKind = 'tcp' | 'udp';
export type ShutdownHow = 'read' | 'write' | 'both';

/** One end of a connection: an unsigned 32-bit IPv4 address and a port. */
export interface Endpoint {
  readonly address: number;
  readonly port: number;
}

/** A received datagram: whence it came, and how many bytes were stored (the rest is lost). */
export interface Datagram extends Endpoint {
  readonly count: number;
}

/** Bits of `readiness`: hangup is the peer's end of stream. */
export const READINESS = { READABLE: 1, WRITABLE: 2, HANGUP: 4, ERROR: 8 } as const;
/** What ends a wait for reading, and one for writing. */
export const WAKES_READER = READINESS.READABLE | READINESS.HANGUP | READINESS.ERROR;
export const WAKES_WRITER = READINESS.WRITABLE | READINESS.ERROR;

/** A node has at most this many sockets, with those that its program closed lately. */
export const SOCKETS_MAX = 8_192;
/** All sockets of a node hold at most this many bytes that were not sent or not read yet. */
export const NODE_BUFFER_BYTES_MAX = 64 * 1024 * 1024;

/** Ports that are given out on request (Linux: ip_local_port_range). */
export const EPHEMERAL_PORT_MIN = 32_768;
export const EPHEMERAL_PORT_MAX = 60_999;
