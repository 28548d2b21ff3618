import { ERRNO } from '../../../sim/index.ts';
import type { Blocked } from '../abi/function.ts';
import { failure, success, type Result } from '../abi/sums.ts';
import type { InputStream, IoError, Pollable } from './resources.ts';
import type { WasiHost } from './wasi-host.ts';

/** The most bytes that one call reads, whatever the guest asks for. */
export const READ_BYTES_MAX = 65_536;

export type StreamError =
  { readonly tag: 'last-operation-failed'; readonly value: IoError } | { readonly tag: 'closed' };

export const CLOSED = failure<StreamError>({ tag: 'closed' });

/** A failure of the operation; the stream is closed from then on. */
export function streamFailure(
  stream: { closed: boolean },
  error: IoError,
): Result<never, StreamError> {
  stream.closed = true;
  return failure<StreamError>({ tag: 'last-operation-failed', value: error });
}

/** What to wait for until the stream can be read. */
export function inputPollable(stream: InputStream): Pollable {
  if (stream.from !== 'socket' || stream.closed) return { on: 'always' };
  return { on: 'socket', socket: stream.socket, readiness: 'read' };
}

/** Reads what is there: at most `length` bytes, none if nothing is. */
export function read(
  host: WasiHost,
  stream: InputStream,
  length: bigint,
): Result<Uint8Array, StreamError> {
  if (stream.closed) return CLOSED;
  const wanted = Number(length < BigInt(READ_BYTES_MAX) ? length : READ_BYTES_MAX);
  if (wanted === 0) return success(new Uint8Array(0));
  const into = new Uint8Array(wanted);
  const count = readInto(host, stream, into);
  if (count > 0) return success(into.subarray(0, count));
  if (count === -ERRNO.AGAIN) return success(new Uint8Array(0));
  if (count < 0) {
    const domain = stream.from === 'file' ? 'filesystem' : 'network';
    return streamFailure(stream, { domain, errno: -count });
  }
  stream.closed = true;
  return CLOSED;
}

function readInto(host: WasiHost, stream: InputStream, into: Uint8Array): number {
  switch (stream.from) {
    case 'nothing':
      return 0;
    case 'file': {
      const count = host.files.read(stream.inode, stream.offset, into);
      if (count > 0) stream.offset += count;
      return count;
    }
    case 'socket':
      return host.sockets.receive(stream.socket, into, false);
  }
}

/** Reads at least one byte, waiting for it; a length of 0 does not wait. */
export function blockingRead(
  host: WasiHost,
  stream: InputStream,
  length: bigint,
): Result<Uint8Array, StreamError> | Blocked {
  const got = read(host, stream, length);
  if (!got.ok || got.value.length > 0 || length === 0n) return got;
  const pollable = inputPollable(stream);
  return host.isReady(pollable) ? got : host.waitFor([pollable]);
}

/** The count of bytes in place of the bytes. */
export function countOf(got: Result<Uint8Array, StreamError>): Result<bigint, StreamError> {
  return got.ok ? success(BigInt(got.value.length)) : got;
}
