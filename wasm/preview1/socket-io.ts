import { ERRNO } from '../../sim/index.ts';
import { FDFLAG, RIFLAG, VECTOR_BYTES } from './abi.ts';
import { bytesNs } from './costs.ts';
import type { SocketDescriptor } from './descriptors.ts';
import type { Host } from './host.ts';

/** Bytes that one step moves when they must be copied from or to several vectors. */
const COPY_BYTES_MAX = 2 ** 20;

export interface Receiving {
  /** A checked list of vectors. */
  readonly vectors: number;
  readonly count: number;
  /** Where the count of bytes goes. */
  readonly result: number;
  /** Bits of `riflags`. */
  readonly flags: number;
}

/**
 * Receives what is there, up to the room in the vectors; 0 at the end of the stream. Waits while
 * nothing is there, unless the descriptor is non-blocking (AGAIN); with WAITALL until the vectors
 * are full or the stream ends.
 */
export function readSocket(
  host: Host,
  descriptor: SocketDescriptor,
  { vectors, count, result, flags }: Receiving,
): number {
  const { memory, port } = host;
  const peeks = (flags & RIFLAG.PEEK) !== 0;
  const all = (flags & RIFLAG.WAITALL) !== 0 && !peeks && descriptor.type === 'tcp';
  const total = memory.vectorBytes(vectors, count);
  for (;;) {
    const into = room(host, vectors, count, host.progress);
    const got = port.sockets.receive(descriptor.socket, into.bytes, peeks);
    if (got === -ERRNO.AGAIN) {
      const waits = (descriptor.flags & FDFLAG.NONBLOCK) === 0;
      if (waits && (host.progress === 0 || all) && !host.timedOut(descriptor, 'read')) {
        return host.blockOn(descriptor, 'read');
      }
      if (host.progress === 0) return ERRNO.AGAIN;
      break;
    }
    if (got < 0) {
      if (host.progress === 0) return -got;
      break;
    }
    if (into.copied) scatter(host, vectors, count, host.progress, into.bytes.subarray(0, got));
    else memory.touched(into.address, got);
    host.progress += got;
    if (!all || got === 0 || host.progress === total) break;
  }
  memory.setU32(result, host.progress);
  host.value = host.progress;
  host.digest = digestVectors(host, vectors, count, host.progress);
  host.charge(bytesNs(host.progress));
  return ERRNO.SUCCESS;
}

export interface Sending {
  readonly vectors: number;
  readonly count: number;
  readonly result: number;
  /** The bytes in the vectors. */
  readonly total: number;
}

/** Datagrams have at most this many bytes (65,535 less the heads of IPv4 and UDP). */
const DATAGRAM_BYTES_MAX = 65_507;

/**
 * Sends all bytes; a stream on a non-blocking descriptor takes what there is room for, or gives
 * AGAIN. Blocking calls wait until the socket has taken everything.
 */
export function writeSocket(host: Host, descriptor: SocketDescriptor, sending: Sending): number {
  const { vectors, count, total } = sending;
  const { memory, port } = host;
  if (descriptor.type === 'udp' && total > DATAGRAM_BYTES_MAX) return ERRNO.MSGSIZE;
  const waits = (descriptor.flags & FDFLAG.NONBLOCK) === 0;
  for (;;) {
    const from = pending(host, vectors, count, total);
    const sent = port.sockets.send(descriptor.socket, from);
    if (sent === -ERRNO.AGAIN) {
      if (waits && !host.timedOut(descriptor, 'write')) return host.blockOn(descriptor, 'write');
      if (host.progress === 0) return ERRNO.AGAIN;
      break;
    }
    if (sent < 0) {
      if (host.progress === 0) return -sent;
      break;
    }
    host.progress += sent;
    if (host.progress === total || (!waits && sent < from.length)) break;
  }
  memory.setU32(sending.result, host.progress);
  host.value = host.progress;
  host.digest = digestVectors(host, vectors, count, host.progress);
  host.charge(bytesNs(host.progress));
  return ERRNO.SUCCESS;
}

/** All bytes of a datagram, which the vectors hold. */
export function gatherAll(host: Host, vectors: number, count: number, total: number): Uint8Array {
  return pending(host, vectors, count, total);
}

/** The bytes from `host.progress` on: in place if one vector holds them all, else copied. */
function pending(host: Host, vectors: number, count: number, total: number): Uint8Array {
  const length = Math.min(total - host.progress, COPY_BYTES_MAX);
  const first = locate(host, vectors, count, host.progress);
  if (first !== null && first.length >= total - host.progress) {
    return host.memory.view(first.address, first.length);
  }
  const copy = new Uint8Array(length);
  let done = 0;
  for (let index = 0, at = vectors, skip = host.progress; index < count; index++) {
    const address = host.memory.u32(at);
    const bytes = host.memory.u32(at + 4);
    at += VECTOR_BYTES;
    const skipped = Math.min(skip, bytes);
    skip -= skipped;
    const part = Math.min(bytes - skipped, length - done);
    copy.set(host.memory.view(address + skipped, part), done);
    done += part;
  }
  return copy;
}

interface Room {
  readonly bytes: Uint8Array;
  readonly address: number;
  readonly copied: boolean;
}

/** Where to receive to: the memory itself if one vector takes all, else a buffer. */
function room(host: Host, vectors: number, count: number, skip: number): Room {
  const total = host.memory.vectorBytes(vectors, count) - skip;
  const first = locate(host, vectors, count, skip);
  if (first !== null && first.length === total) {
    const bytes = host.memory.view(first.address, first.length);
    return { bytes, address: first.address, copied: false };
  }
  return { bytes: new Uint8Array(Math.min(total, COPY_BYTES_MAX)), address: 0, copied: true };
}

/** The part of a vector that starts `skip` bytes into the list. */
function locate(
  host: Host,
  vectors: number,
  count: number,
  skip: number,
): { readonly address: number; readonly length: number } | null {
  let left = skip;
  for (let index = 0, at = vectors; index < count; index++, at += VECTOR_BYTES) {
    const length = host.memory.u32(at + 4);
    if (left < length) return { address: host.memory.u32(at) + left, length: length - left };
    left -= length;
  }
  return null;
}

/** Copies received bytes to the vectors, `skip` bytes into the list. */
export function scatter(
  host: Host,
  vectors: number,
  count: number,
  skip: number,
  bytes: Uint8Array,
): void {
  for (let done = 0; done < bytes.length;) {
    const part = locate(host, vectors, count, skip + done);
    if (part === null) return;
    const length = Math.min(part.length, bytes.length - done);
    host.memory.setBytes(part.address, bytes.subarray(done, done + length));
    done += length;
  }
}

/** A digest of the first bytes in the vectors. */
export function digestVectors(host: Host, vectors: number, count: number, bytes: number): number {
  let digest = 0;
  for (let index = 0, at = vectors, left = bytes; index < count && left > 0; index++) {
    const length = Math.min(host.memory.u32(at + 4), left);
    digest = Math.imul(digest, 31) ^ host.memory.digest(host.memory.u32(at), length);
    left -= length;
    at += VECTOR_BYTES;
  }
  return digest;
}
