import type { VirtualNs } from '../kernel/units.ts';
import { FLAG_ACK, FLAG_FIN, FLAG_RST, FLAG_SYN } from './packet.ts';
import { TIMEOUT_NS_INITIAL, TIMEOUT_NS_MAX, TIMEOUT_NS_MIN, type TcpBlock } from './tcp-block.ts';
import type { TcpHost, TcpSocket } from './tcp-socket.ts';

export const NO_BYTES = new Uint8Array(0);

/** The least variance term of the time-out (RFC 6298: the clock's granularity G): 1 ms. */
const GRANULARITY_NS: VirtualNs = 1_000_000;

/**
 * Sends whatever may be sent now: within the peer's and the congestion window, in full segments
 * where possible (Nagle's algorithm, RFC 9293 section 3.7.4), with the FIN on the last one.
 */
export function pump(host: TcpHost, socket: TcpSocket): void {
  const { block } = socket;
  const end = socket.sendEnd;
  const window = Math.min(block.sendWindow, block.congestionWindow);
  while (block.sendNext <= end) {
    const waiting = end - block.sendNext;
    const inFlight = block.sendNext - block.sendUnacknowledged;
    const length = Math.min(waiting, block.segmentBytes, Math.max(0, window - inFlight));
    const fin = block.writeShut && length === waiting;
    if (!fin && (length === 0 || mustWait(socket, length, waiting, inFlight))) break;
    sendData(host, socket, block.sendNext, length, fin);
  }
  guard(host, socket);
}

/** Whether a segment that is not full had better wait for more bytes or more window. */
function mustWait(socket: TcpSocket, length: number, waiting: number, inFlight: number): boolean {
  if (length === socket.block.segmentBytes || inFlight === 0) return false;
  if (length < waiting) return true;
  return socket.options.values['no-delay'] === 0 && !socket.block.writeShut;
}

function sendData(
  host: TcpHost,
  socket: TcpSocket,
  sequence: number,
  length: number,
  fin: boolean,
): void {
  const { block } = socket;
  const next = sequence + length + (fin ? 1 : 0);
  if (block.timedSequence < 0 && sequence >= block.sendHighest) {
    block.timedSequence = sequence;
    block.timedSinceNs = host.nowNs();
  }
  if (next > block.sendNext) block.sendNext = next;
  if (next > block.sendHighest) block.sendHighest = next;
  const payload = length === 0 ? NO_BYTES : socket.sendQueue.slice(sequence, length);
  emit(host, socket, fin ? FLAG_ACK | FLAG_FIN : FLAG_ACK, sequence, payload);
}

/** Keeps the retransmission timer running while the peer owes us something. */
function guard(host: TcpHost, socket: TcpSocket): void {
  const { block } = socket;
  const owed = block.sendNext > block.sendUnacknowledged || socket.sendEnd > block.sendNext;
  if (owed && !socket.retransmit.isArmed) restartRetransmit(host, socket);
}

export function restartRetransmit(host: TcpHost, socket: TcpSocket): void {
  socket.retransmit.arm(host.wake, host.nowNs() + socket.block.timeoutNs);
}

/** Sends the first segment that is not acknowledged once more. */
export function resendFirst(host: TcpHost, socket: TcpSocket): void {
  const { block } = socket;
  const sequence = block.sendUnacknowledged;
  const sent = Math.min(block.sendHighest, socket.sendEnd) - sequence;
  const length = Math.max(0, Math.min(sent, block.segmentBytes));
  const fin = socket.finSent && sequence + length === socket.sendEnd;
  block.timedSequence = -1;
  if (length > 0 || fin) sendData(host, socket, sequence, length, fin);
}

/** Sends a SYN, or a SYN with acknowledgement from `syn-received`. */
export function sendSyn(host: TcpHost, socket: TcpSocket): void {
  const { block } = socket;
  const flags = block.state === 'syn-received' ? FLAG_SYN | FLAG_ACK : FLAG_SYN;
  block.sendNext = block.initialSend + 1;
  block.sendHighest = block.sendNext;
  emit(host, socket, flags, block.initialSend, NO_BYTES);
  restartRetransmit(host, socket);
}

/** Sends an acknowledgement without data. */
export function sendAcknowledgement(host: TcpHost, socket: TcpSocket): void {
  emit(host, socket, FLAG_ACK, socket.block.sendHighest, NO_BYTES);
}

/** Asks for the peer's window by a segment that it must answer (Linux's zero-window probe). */
export function sendProbe(host: TcpHost, socket: TcpSocket): void {
  emit(host, socket, FLAG_ACK, socket.block.sendUnacknowledged - 1, NO_BYTES);
}

export function sendReset(host: TcpHost, socket: TcpSocket): void {
  emit(host, socket, FLAG_RST | FLAG_ACK, socket.block.sendHighest, NO_BYTES);
}

/**
 * After the program has read: tells the peer of the wider window if the one it knows has shrunk to
 * half of the buffer and at least doubles (Linux: tcp_cleanup_rbuf).
 */
export function updateWindow(host: TcpHost, socket: TcpSocket): void {
  const { block } = socket;
  const known = block.receiveEdge - block.receiveNext;
  if (2 * known > socket.options.values['receive-buffer']) return;
  if (receiveEdge(socket) - block.receiveNext >= Math.max(1, 2 * known)) {
    sendAcknowledgement(host, socket);
  }
}

/**
 * The right edge of the window to tell: it never moves back, and forward only by a worthwhile
 * step (silly window avoidance, RFC 9293 section 3.8.6.2.2).
 */
function receiveEdge(socket: TcpSocket): number {
  const { block } = socket;
  const buffer = socket.options.values['receive-buffer'];
  const edge = block.receiveNext + Math.max(0, buffer - socket.receiveQueue.length);
  const old = Math.max(block.receiveEdge, block.receiveNext);
  return edge - old >= Math.min(block.segmentBytes, buffer >> 1) ? edge : old;
}

function emit(
  host: TcpHost,
  socket: TcpSocket,
  flags: number,
  sequence: number,
  payload: Uint8Array,
): void {
  socket.block.receiveEdge = receiveEdge(socket);
  if ((flags & FLAG_ACK) !== 0) {
    socket.block.owedBytes = 0;
    socket.acknowledge.disarm();
  }
  host.transmit(socket, flags, sequence, payload);
}

/** Takes one round trip into account (RFC 6298 section 2, in integers). */
export function measureRoundTrip(block: TcpBlock, roundTripNs: VirtualNs): void {
  if (block.roundTripNs === 0) {
    block.roundTripNs = roundTripNs;
    block.roundTripVarianceNs = Math.trunc(roundTripNs / 2);
  } else {
    const error = Math.abs(block.roundTripNs - roundTripNs) - block.roundTripVarianceNs;
    block.roundTripVarianceNs += Math.trunc(error / 4);
    block.roundTripNs += Math.trunc((roundTripNs - block.roundTripNs) / 8);
  }
}

/** The time-out without any back-off. */
export function plainTimeout(block: TcpBlock): VirtualNs {
  if (block.roundTripNs === 0) return TIMEOUT_NS_INITIAL;
  const timeoutNs = block.roundTripNs + Math.max(GRANULARITY_NS, 4 * block.roundTripVarianceNs);
  return Math.min(TIMEOUT_NS_MAX, Math.max(TIMEOUT_NS_MIN, timeoutNs));
}
