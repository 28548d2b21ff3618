import { ERRNO } from '../kernel/errno.ts';
import { advanceCongestion, duplicateCongestion, startCongestion } from './congestion.ts';
import { termsOf } from './machine-segment.ts';
import { FLAG_ACK, FLAG_FIN, FLAG_RST, FLAG_SYN, type Packet } from './packet.ts';
import { ACKNOWLEDGE_DELAY_NS, type TcpBlock } from './tcp-block.ts';
import {
  measureRoundTrip,
  NO_BYTES,
  plainTimeout,
  pump,
  resendFirst,
  restartRetransmit,
  sendAcknowledgement,
  sendReset,
  sendSyn,
} from './tcp-output.ts';
import type { TcpHost, TcpSocket } from './tcp-socket.ts';

/**
 * A segment arrives at a connection (RFC 9293 section 3.10.7). Returns whether its data was lost
 * for want of room.
 */
export function segmentArrives(host: TcpHost, socket: TcpSocket, packet: Packet): boolean {
  const { block } = socket;
  if (block.state === 'syn-sent') {
    arrivesInSynSent(host, socket, packet);
    return false;
  }
  if (!isAcceptable(block, packet)) {
    if ((packet.flags & FLAG_RST) === 0) sendAcknowledgement(host, socket);
    return false;
  }
  if ((packet.flags & FLAG_RST) !== 0) {
    host.failed(socket, block.state === 'syn-received' ? ERRNO.CONNREFUSED : ERRNO.CONNRESET);
    return false;
  }
  if ((packet.flags & FLAG_SYN) !== 0) {
    // The peer forgot this connection and opens it anew: it answers this with a reset (RFC 5961).
    sendAcknowledgement(host, socket);
    return false;
  }
  if ((packet.flags & FLAG_ACK) === 0) return false;
  if (block.state === 'syn-received' && !completesHandshake(host, socket, packet)) return false;
  if (packet.acknowledgement > block.sendHighest) {
    sendAcknowledgement(host, socket);
    return false;
  }
  takeAcknowledgement(host, socket, packet);
  if (isOver(socket)) return false;
  return takeData(host, socket, packet);
}

function arrivesInSynSent(host: TcpHost, socket: TcpSocket, packet: Packet): void {
  const { block } = socket;
  const { flags } = packet;
  const acknowledges = (flags & FLAG_ACK) !== 0;
  if (acknowledges && packet.acknowledgement !== block.sendHighest) {
    // An old connection's segment: the answer resets the peer's end of it.
    if ((flags & FLAG_RST) === 0) {
      host.transmit(socket, FLAG_RST, packet.acknowledgement, NO_BYTES);
    }
    return;
  }
  if ((flags & FLAG_RST) !== 0) {
    if (acknowledges) host.failed(socket, ERRNO.CONNREFUSED);
    return;
  }
  if ((flags & FLAG_SYN) === 0) return;
  acceptSyn(socket, packet);
  if (!acknowledges) {
    block.state = 'syn-received';
    sendSyn(host, socket);
    return;
  }
  open(host, socket, packet);
  sendAcknowledgement(host, socket);
}

/** Takes over what a SYN says. */
export function acceptSyn(socket: TcpSocket, packet: Packet): void {
  const { block } = socket;
  block.initialReceive = packet.sequence;
  block.receiveNext = packet.sequence + 1;
  block.receiveEdge = block.receiveNext;
  const terms = termsOf(packet);
  if (terms !== null) {
    block.machine = terms;
    block.segmentBytes = Math.min(block.segmentBytes, terms.segmentBytes);
  }
  socket.receiveQueue.reset(block.receiveNext);
}

function completesHandshake(host: TcpHost, socket: TcpSocket, packet: Packet): boolean {
  const { block } = socket;
  if (packet.acknowledgement !== block.sendHighest) {
    host.transmit(socket, FLAG_RST, packet.acknowledgement, NO_BYTES);
    return false;
  }
  open(host, socket, packet);
  return true;
}

/** The peer has acknowledged our SYN: the connection is established. */
function open(host: TcpHost, socket: TcpSocket, packet: Packet): void {
  const { block } = socket;
  if (block.retries === 0) measureRoundTrip(block, host.nowNs() - block.timedSinceNs);
  block.timedSequence = -1;
  block.retries = 0;
  block.timeoutNs = plainTimeout(block);
  block.sendUnacknowledged = packet.acknowledgement;
  block.windowSequence = packet.sequence;
  block.sendWindow = packet.window;
  block.state = 'established';
  socket.retransmit.disarm();
  startCongestion(block);
  host.established(socket);
}

/** The four cases of RFC 9293 section 3.4; a probe at the window's very edge is let in. */
function isAcceptable(block: TcpBlock, packet: Packet): boolean {
  const edge = Math.max(block.receiveEdge, block.receiveNext);
  const length = sequenceLength(packet);
  if (length === 0) return packet.sequence >= block.receiveNext && packet.sequence <= edge;
  if (packet.sequence === block.receiveNext) return true;
  return packet.sequence < edge && packet.sequence + length > block.receiveNext;
}

function sequenceLength(packet: Packet): number {
  const { flags } = packet;
  return packet.payload.length + ((flags & FLAG_SYN) >> 1) + (flags & FLAG_FIN);
}

function takeAcknowledgement(host: TcpHost, socket: TcpSocket, packet: Packet): void {
  const { block } = socket;
  const count = packet.acknowledgement - block.sendUnacknowledged;
  const windowBefore = block.sendWindow;
  takeWindow(block, packet);
  if (windowBefore === 0 && block.sendWindow > 0) {
    // The timer ran for probes; from here on it runs for data, without their back-off.
    block.timeoutNs = plainTimeout(block);
    socket.retransmit.disarm();
  }
  if (count > 0) {
    advance(host, socket, packet.acknowledgement, count);
    return;
  }
  const duplicate =
    count === 0 &&
    block.sendHighest > block.sendUnacknowledged &&
    sequenceLength(packet) === 0 &&
    block.sendWindow === windowBefore;
  if (duplicate && duplicateCongestion(block)) resendFirst(host, socket);
  // A peer that answers probes is alive, however long its window stays shut.
  if (count === 0 && block.sendWindow === 0) block.retries = 0;
}

/**
 * Takes the window of a segment that is newer than the last one that told it (Linux:
 * tcp_may_update_window). RFC 9293 goes by sequence numbers alone and so overlooks the window of a
 * segment that was sent again: what it acknowledges would seem to open the window further.
 */
function takeWindow(block: TcpBlock, packet: Packet): void {
  const { sequence, acknowledgement, window } = packet;
  if (acknowledgement < block.sendUnacknowledged) return;
  const fresh =
    acknowledgement > block.sendUnacknowledged ||
    sequence > block.windowSequence ||
    (sequence === block.windowSequence && window > block.sendWindow);
  if (!fresh) return;
  block.sendWindow = window;
  block.windowSequence = sequence;
}

function advance(host: TcpHost, socket: TcpSocket, acknowledgement: number, count: number): void {
  const { block } = socket;
  if (block.timedSequence >= 0 && acknowledgement > block.timedSequence) {
    measureRoundTrip(block, host.nowNs() - block.timedSinceNs);
    block.timedSequence = -1;
  }
  block.sendUnacknowledged = acknowledgement;
  if (block.sendNext < acknowledgement) block.sendNext = acknowledgement;
  block.retries = 0;
  block.timeoutNs = plainTimeout(block);
  socket.sendQueue.dropTo(Math.min(acknowledgement, socket.sendEnd));
  const resend = advanceCongestion(block, count);
  if (block.sendUnacknowledged === block.sendHighest) socket.retransmit.disarm();
  else restartRetransmit(host, socket);
  if (resend) resendFirst(host, socket);
  if (!socket.finAcknowledged) return;
  if (block.state === 'fin-wait-1') block.state = 'fin-wait-2';
  else if (block.state === 'closing') host.finished(socket, true);
  else if (block.state === 'last-ack') host.finished(socket, false);
}

function isOver(socket: TcpSocket): boolean {
  return socket.block.state === 'closed';
}

/** Takes a segment's bytes and FIN, sends what may be sent, and acknowledges now or soon. */
function takeData(host: TcpHost, socket: TcpSocket, packet: Packet): boolean {
  const { block } = socket;
  const { payload } = packet;
  const end = packet.sequence + payload.length;
  const fin = (packet.flags & FLAG_FIN) !== 0;
  if (payload.length === 0 && !fin) {
    pump(host, socket);
    return false;
  }
  if (block.orphan && end > block.receiveNext) {
    // Nobody will read this (RFC 9293 section 3.6.1).
    sendReset(host, socket);
    host.failed(socket, 0);
    return false;
  }
  if (fin) block.finSequence = end;
  const before = block.receiveNext;
  const kept = payload.length === 0 || store(host, socket, packet.sequence, payload);
  const inOrder = packet.sequence <= before && kept && socket.pieces.isEmpty;
  if (!block.finReceived && block.finSequence === block.receiveNext) takeFin(socket);
  block.owedBytes += block.receiveNext - before;
  pump(host, socket);
  acknowledge(host, socket, !inOrder || block.receiveNext === before);
  if (block.finReceived && socket.finAcknowledged) host.finished(socket, true);
  return !kept;
}

/** Acknowledges what is owed, if no data has carried that along yet: now or soon. */
function acknowledge(host: TcpHost, socket: TcpSocket, atOnce: boolean): void {
  const { block } = socket;
  const now = block.finReceived || block.owedBytes >= 2 * block.segmentBytes;
  if (atOnce || (block.owedBytes > 0 && now)) {
    sendAcknowledgement(host, socket);
  } else if (block.owedBytes > 0 && !socket.acknowledge.isArmed) {
    socket.acknowledge.arm(host.wake, host.nowNs() + ACKNOWLEDGE_DELAY_NS);
  }
}

/** Puts bytes where they belong; false if there is no room for them. */
function store(host: TcpHost, socket: TcpSocket, sequence: number, bytes: Uint8Array): boolean {
  const { block } = socket;
  const known = block.receiveNext - sequence;
  if (known >= bytes.length) return true;
  const edge = Math.max(block.receiveEdge, block.receiveNext);
  const allowed = Math.min(bytes.length, edge - sequence);
  if (allowed <= Math.max(0, known)) return false;
  const fitting = allowed === bytes.length ? bytes : bytes.subarray(0, allowed);
  if (known < 0) return socket.pieces.insert(sequence, fitting);
  const fresh = known === 0 ? fitting : fitting.subarray(known);
  if (fresh.length > host.meter.free) return false;
  append(socket, fresh);
  if (!socket.pieces.isEmpty) {
    socket.pieces.drain(block.receiveNext, (part) => append(socket, part));
  }
  return true;
}

function append(socket: TcpSocket, bytes: Uint8Array): void {
  if (!socket.block.readShut) socket.receiveQueue.appendShared(bytes);
  socket.block.receiveNext += bytes.length;
}

/** The stream has reached the peer's FIN. */
function takeFin(socket: TcpSocket): void {
  const { block } = socket;
  block.receiveNext++;
  block.finReceived = true;
  if (block.state === 'established') block.state = 'close-wait';
  else if (block.state === 'fin-wait-1') block.state = 'closing';
}
