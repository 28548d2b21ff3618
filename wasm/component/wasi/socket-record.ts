/** Where a socket stands in the two-step protocol of WASI 0.2 (wasi:sockets/tcp, wasi:sockets/udp). */
export type SocketState =
  | 'unbound'
  | 'bind-started'
  | 'bound'
  | 'connecting'
  | 'connected'
  | 'listen-started'
  | 'listening'
  | 'closed';

/** What the host keeps of a socket besides what the node's stack knows. Plain data. */
export interface SocketRecord {
  readonly kind: 'tcp' | 'udp';
  state: SocketState;
  /** Handles that depend on it: the socket's own and those of its streams. */
  references: number;
  backlog: number;
}

/** A socket with one handle; `listen` has room for 128 connections unless told otherwise. */
export function newSocketRecord(kind: 'tcp' | 'udp', state: SocketState): SocketRecord {
  return {
    kind,
    state,
    references: 1,
    backlog: 128,
  };
}
