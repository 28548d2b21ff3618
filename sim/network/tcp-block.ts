import type { MachineTerms } from './machine-segment.ts';
import { NS_PER_MS, NS_PER_S, type VirtualNs } from '../kernel/units.ts';

/**
 * States of a connection (RFC 9293 section 3.3.2). `new` never connected, `closed` did once.
 * TIME-WAIT is not here: a record in the node's table stands for it (see tcp-table.ts).
 */
export const TCP_STATES = [
  'new',
  'listen',
  'syn-sent',
  'syn-received',
  'established',
  'fin-wait-1',
  'fin-wait-2',
  'close-wait',
  'closing',
  'last-ack',
  'closed',
] as const;
export type TcpState = (typeof TCP_STATES)[number];

/** The least time-out; below it delayed acknowledgements would look like loss (Linux: 200 ms). */
export const TIMEOUT_NS_MIN: VirtualNs = 200 * NS_PER_MS;
/** The time-out before the first measurement (RFC 6298 section 2.1). */
export const TIMEOUT_NS_INITIAL: VirtualNs = NS_PER_S;
/** The largest time-out (Linux: 120 s). */
export const TIMEOUT_NS_MAX: VirtualNs = 120 * NS_PER_S;
/** An acknowledgement waits at most this long for data to ride on (RFC 9293: below 0.5 s). */
export const ACKNOWLEDGE_DELAY_NS: VirtualNs = 40 * NS_PER_MS;

/** Repeats before giving up: 1 + 2 + … + 64 s = 127 s for a SYN (Linux: tcp_syn_retries). */
export const SYN_RETRIES = 6;
/** Linux: tcp_synack_retries. */
export const SYN_ACK_RETRIES = 5;
/** About 925 s from the least time-out on (Linux: tcp_retries2). */
export const DATA_RETRIES = 15;
/** Of a connection that its program has closed (Linux: tcp_orphan_retries). */
export const ORPHAN_RETRIES = 8;

/** The longest queue of connections that wait to be accepted (Linux: somaxconn). */
export const BACKLOG_MAX = 4_096;

/** Payload of a full segment: an Ethernet frame's 1,500 bytes less 40 of headers. */
export const SEGMENT_BYTES = 1_460;
/** Of a full segment on the loopback: 65,536 bytes less headers and options, as on Linux. */
export const LOOPBACK_SEGMENT_BYTES = 65_483;

/**
 * The variables of one connection (RFC 9293 section 3.3.1, transmission control block). Sequence
 * numbers are positions in the byte streams; they never wrap. -1 stands for none.
 */
export interface TcpBlock {
  state: TcpState;
  localAddress: number;
  localPort: number;
  remoteAddress: number;
  remotePort: number;
  remoteNode: number;
  /** The listening socket of a connection that is not yet accepted, else 0. */
  listener: number;
  /** The program has closed it. */
  orphan: boolean;
  /** Reading or writing was shut down; the FIN follows the last byte. */
  readShut: boolean;
  writeShut: boolean;
  /** What the next call reports, once; and why a connect failed. Errno constants, 0 for none. */
  error: number;
  failure: number;
  segmentBytes: number;

  initialSend: number;
  /** SND.UNA, SND.NXT, and the highest SND.NXT there was. */
  sendUnacknowledged: number;
  sendNext: number;
  sendHighest: number;
  /** SND.WND, and the sequence number of the segment that told it (SND.WL1). */
  sendWindow: number;
  windowSequence: number;

  initialReceive: number;
  /** RCV.NXT, and RCV.NXT + RCV.WND as last told to the peer. */
  receiveNext: number;
  receiveEdge: number;
  /** The sequence number of the peer's FIN, and whether the stream has reached it. */
  finSequence: number;
  finReceived: boolean;
  /** Bytes received since the last acknowledgement went out. */
  owedBytes: number;

  /** The retransmission time-out as it stands, and how often it ran out since progress. */
  timeoutNs: VirtualNs;
  retries: number;
  /** RFC 6298: SRTT and RTTVAR; the byte whose round trip is measured, and when it left. */
  roundTripNs: VirtualNs;
  roundTripVarianceNs: VirtualNs;
  timedSequence: number;
  timedSinceNs: VirtualNs;
  /** The last time at which something of this connection arrives at the peer. */
  arrivalNs: VirtualNs;

  /** RFC 5681 and RFC 6582. */
  congestionWindow: number;
  slowStartThreshold: number;
  duplicates: number;
  recover: number;
  recovering: boolean;
  /** What a connection to a machine has agreed on; absent of others. */
  machine?: MachineTerms;
}

export function newBlock(): TcpBlock {
  return {
    state: 'new',
    localAddress: 0,
    localPort: 0,
    remoteAddress: 0,
    remotePort: 0,
    remoteNode: -1,
    listener: 0,
    orphan: false,
    readShut: false,
    writeShut: false,
    error: 0,
    failure: 0,
    segmentBytes: SEGMENT_BYTES,
    initialSend: 0,
    sendUnacknowledged: 0,
    sendNext: 0,
    sendHighest: 0,
    sendWindow: 0,
    windowSequence: 0,
    initialReceive: 0,
    receiveNext: 0,
    receiveEdge: 0,
    finSequence: -1,
    finReceived: false,
    owedBytes: 0,
    timeoutNs: TIMEOUT_NS_INITIAL,
    retries: 0,
    roundTripNs: 0,
    roundTripVarianceNs: 0,
    timedSequence: -1,
    timedSinceNs: 0,
    arrivalNs: 0,
    congestionWindow: 0,
    slowStartThreshold: Number.MAX_SAFE_INTEGER,
    duplicates: 0,
    recover: 0,
    recovering: false,
  };
}
