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
  keepAliveIdleNs: bigint;
  keepAliveIntervalNs: bigint;
  keepAliveCount: number;
  hopLimit: number;
}

/** Linux's defaults: 2 hours, 75 seconds, 9 probes, 64 hops; `listen` with room for 128. */
export function newSocketRecord(kind: 'tcp' | 'udp', state: SocketState): SocketRecord {
  return {
    kind,
    state,
    references: 1,
    backlog: 128,
    keepAliveIdleNs: 7_200_000_000_000n,
    keepAliveIntervalNs: 75_000_000_000n,
    keepAliveCount: 9,
    hopLimit: 64,
  };
}
