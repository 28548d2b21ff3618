import { ERRNO } from '../kernel/errno.ts';
import type { Readiness } from '../kernel/guest.ts';
import { READINESS, WAKES_READER, WAKES_WRITER, type ShutdownHow } from './socket-types.ts';
import { pump, sendReset, updateWindow } from './tcp-output.ts';
import type { TcpHost, TcpSocket } from './tcp-socket.ts';

/** What programs do with a connection; results below 0 are negated errno constants. */

/** Reports the pending error, once; 0 if there is none. */
export function takeError(socket: TcpSocket): number {
  const { error } = socket.block;
  socket.block.error = 0;
  return error;
}

/** Queues as many of the bytes as there is room for, and returns how many. */
export function sendBytes(host: TcpHost, socket: TcpSocket, bytes: Uint8Array): number {
  const { block } = socket;
  if (block.error !== 0) return -takeError(socket);
  switch (block.state) {
    case 'new':
    case 'listen':
      return -ERRNO.NOTCONN;
    case 'syn-sent':
    case 'syn-received':
      return -ERRNO.AGAIN;
    case 'established':
    case 'close-wait':
      break;
    default:
      return -ERRNO.PIPE;
  }
  const count = Math.min(bytes.length, sendRoom(host, socket));
  if (count === 0) return bytes.length === 0 ? 0 : -ERRNO.AGAIN;
  socket.sendQueue.append(count === bytes.length ? bytes : bytes.subarray(0, count));
  pump(host, socket);
  return count;
}

/** How many bytes `sendBytes` would take now. */
export function writableBytes(host: TcpHost, socket: TcpSocket): number {
  const { state, error } = socket.block;
  const open = state === 'established' || state === 'close-wait';
  return open && error === 0 ? sendRoom(host, socket) : 0;
}

function sendRoom(host: TcpHost, socket: TcpSocket): number {
  const room = socket.options.values['send-buffer'] - socket.sendQueue.length;
  return Math.max(0, Math.min(room, host.meter.free));
}

/** Copies received bytes into `into`: how many, or 0 at the end of the stream. */
export function receiveBytes(
  host: TcpHost,
  socket: TcpSocket,
  into: Uint8Array,
  peek: boolean,
): number {
  const { block, receiveQueue } = socket;
  if (receiveQueue.length > 0) {
    const count = receiveQueue.peek(into);
    if (peek) return count;
    receiveQueue.dropTo(receiveQueue.start + count);
    if (canStillReceive(socket)) updateWindow(host, socket);
    return count;
  }
  if (block.error !== 0) return -takeError(socket);
  if (block.state === 'new' || block.state === 'listen') return -ERRNO.NOTCONN;
  if (into.length === 0 || atEnd(socket)) return 0;
  return -ERRNO.AGAIN;
}

function canStillReceive(socket: TcpSocket): boolean {
  const { state, finReceived } = socket.block;
  if (finReceived) return false;
  return state === 'established' || state === 'fin-wait-1' || state === 'fin-wait-2';
}

function atEnd(socket: TcpSocket): boolean {
  const { state, finReceived, readShut } = socket.block;
  return finReceived || readShut || state === 'closed';
}

export function shutDown(host: TcpHost, socket: TcpSocket, how: ShutdownHow): number {
  const { block } = socket;
  switch (block.state) {
    case 'new':
    case 'listen':
    case 'syn-sent':
    case 'syn-received':
    case 'closed':
      return -ERRNO.NOTCONN;
    default:
  }
  if (how !== 'write') block.readShut = true;
  if (how !== 'read') shutWrite(host, socket);
  return 0;
}

/** Our FIN follows the last byte. */
function shutWrite(host: TcpHost, socket: TcpSocket): void {
  const { block } = socket;
  if (block.writeShut) return;
  block.writeShut = true;
  if (block.state === 'established') block.state = 'fin-wait-1';
  else if (block.state === 'close-wait') block.state = 'last-ack';
  pump(host, socket);
}

/**
 * The program lets go of a connection. Unread bytes, or a linger time of 0, reset it (RFC 2525
 * section 2.17); otherwise what is queued is still sent, and then the FIN.
 */
export function letGo(host: TcpHost, socket: TcpSocket): void {
  const { block } = socket;
  const options = socket.options.values;
  block.orphan = true;
  switch (block.state) {
    case 'new':
    case 'listen':
    case 'closed':
    case 'syn-sent':
      host.failed(socket, 0);
      return;
    default:
  }
  const abort = options.linger === 1 && options['linger-seconds'] === 0;
  if (abort || socket.receiveQueue.length > 0 || block.state === 'syn-received') {
    reset(host, socket);
    return;
  }
  shutWrite(host, socket);
}

/** Ends a connection at once and tells the peer. */
export function reset(host: TcpHost, socket: TcpSocket): void {
  sendReset(host, socket);
  host.failed(socket, 0);
}

/** The bits of READINESS. */
export function readinessOf(host: TcpHost, socket: TcpSocket): number {
  const { block } = socket;
  const { READABLE, WRITABLE, HANGUP, ERROR } = READINESS;
  switch (block.state) {
    case 'listen':
      return socket.ready.length > 0 ? READABLE : 0;
    case 'new':
      return WRITABLE | HANGUP;
    case 'syn-sent':
    case 'syn-received':
      return 0;
    case 'closed':
      return READABLE | WRITABLE | HANGUP | (block.error === 0 ? 0 : ERROR);
    default:
  }
  const readable = socket.receiveQueue.length > 0 || atEnd(socket);
  const writable = block.writeShut || hasRoomWorthAWrite(host, socket);
  return (readable ? READABLE : 0) | (writable ? WRITABLE : 0) | (block.finReceived ? HANGUP : 0);
}

/** Whether a program that waits for this would go on: what the bits of `readinessOf` say, and no more. */
export function isReadyFor(host: TcpHost, socket: TcpSocket, readiness: Readiness): boolean {
  const { block } = socket;
  const reads = readiness === 'read';
  if (block.state === 'established') {
    if (!reads) return block.writeShut || hasRoomWorthAWrite(host, socket);
    return socket.receiveQueue.length > 0 || block.finReceived || block.readShut;
  }
  return (readinessOf(host, socket) & (reads ? WAKES_READER : WAKES_WRITER)) !== 0;
}

/** A third of the buffer is free, so that a writer is not woken for each segment (as on Linux). */
function hasRoomWorthAWrite(host: TcpHost, socket: TcpSocket): boolean {
  const room = sendRoom(host, socket);
  return room > 0 && 2 * room >= socket.sendQueue.length;
}
