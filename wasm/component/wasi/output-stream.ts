import { ERRNO } from '../../../sim/index.ts';
import type { Blocked } from '../abi/function.ts';
import { success, type Result } from '../abi/sums.ts';
import { synchroniseWrite } from './descriptor.ts';
import { CLOSED, READ_BYTES_MAX, inputPollable, read, streamFailure } from './input-stream.ts';
import type { StreamError } from './input-stream.ts';
import type { InputStream, OutputStream, Pollable } from './resources.ts';
import type { WasiHost } from './wasi-host.ts';

/** What a file or the console takes at once. */
const PERMIT_MAX = 1_048_576;
/** `blocking-write-and-flush` takes at most this much (wasi:io/streams). */
const BLOCKING_WRITE_BYTES_MAX = 4096;

type Done = Result<undefined, StreamError>;
const DONE: Done = success(undefined);

/** What to wait for until the stream can be written. */
export function outputPollable(stream: OutputStream): Pollable {
  if (stream.to !== 'socket' || stream.closed) return { on: 'always' };
  return { on: 'socket', socket: stream.socket, readiness: 'write' };
}

/** How many bytes the next `write` may have; 0 when the guest must wait. */
export function checkWrite(host: WasiHost, stream: OutputStream): Result<bigint, StreamError> {
  if (stream.closed) return CLOSED;
  stream.permit = room(host, stream);
  return success(BigInt(stream.permit));
}

function room(host: WasiHost, stream: OutputStream): number {
  if (stream.to !== 'socket') return PERMIT_MAX;
  const { sockets } = host;
  const bytes = Math.min(sockets.writableBytes(stream.socket), PERMIT_MAX);
  if (bytes > 0) return bytes;
  // A connection that ended is writable with room for nothing: the write itself reports the end.
  return sockets.isReady([{ socket: stream.socket, readiness: 'write' }]) ? 1 : 0;
}

/** Writes all of `bytes`, which an earlier `checkWrite` allowed. */
export function write(host: WasiHost, stream: OutputStream, bytes: Uint8Array): Done {
  if (bytes.length > stream.permit) {
    host.trap(`a write of ${bytes.length} bytes, where ${stream.permit} were permitted`);
  }
  if (stream.closed) return CLOSED;
  stream.permit -= bytes.length;
  for (let done = 0; done < bytes.length;) {
    const count = writeSome(host, stream, bytes.subarray(done));
    if (count <= 0) return failed(stream, count < 0 ? -count : ERRNO.IO);
    done += count;
  }
  return DONE;
}

function failed(stream: OutputStream, errno: number): Done {
  if (stream.to === 'socket' && errno === ERRNO.PIPE) {
    stream.closed = true;
    return CLOSED;
  }
  const domain = stream.to === 'socket' ? 'network' : 'filesystem';
  return streamFailure(stream, { domain, errno });
}

/** The count of bytes written, or a negated errno. */
function writeSome(host: WasiHost, stream: OutputStream, bytes: Uint8Array): number {
  switch (stream.to) {
    case 'console':
      host.port.console(stream.descriptor, bytes);
      return bytes.length;
    case 'file': {
      const { files } = host;
      const at = stream.offset >= 0 ? stream.offset : files.stat(stream.inode).size;
      const count = files.write(stream.inode, at, bytes, host.port.realtimeNs());
      if (count <= 0) return count;
      if (stream.offset >= 0) stream.offset += count;
      const status = synchroniseWrite(host, stream.inode, stream.descriptorFlags);
      return status < 0 ? status : count;
    }
    case 'socket':
      return host.sockets.send(stream.socket, bytes);
  }
}

/** Everything that was written is already where it goes: only a closed stream cannot flush. */
export function flush(stream: OutputStream): Done {
  return stream.closed ? CLOSED : DONE;
}

/** Writes up to 4096 bytes, waiting for room as often as it takes. */
export function blockingWrite(
  host: WasiHost,
  stream: OutputStream,
  bytes: Uint8Array,
): Done | Blocked {
  if (bytes.length > BLOCKING_WRITE_BYTES_MAX) {
    host.trap(`a blocking write of ${bytes.length} bytes: at most 4096 are allowed`);
  }
  if (stream.closed) return CLOSED;
  while (stream.progress < bytes.length) {
    const count = writeSome(host, stream, bytes.subarray(stream.progress));
    if (count === -ERRNO.AGAIN) {
      const pollable = outputPollable(stream);
      if (!host.isReady(pollable)) return host.waitFor([pollable]);
    } else if (count <= 0) {
      stream.progress = 0;
      return failed(stream, count < 0 ? -count : ERRNO.IO);
    } else {
      stream.progress += count;
    }
  }
  stream.progress = 0;
  return DONE;
}

/** Moves what can be moved now from one stream to another. */
export function splice(
  host: WasiHost,
  stream: OutputStream,
  source: InputStream,
  length: bigint,
): Result<bigint, StreamError> {
  if (stream.closed) return CLOSED;
  const limit = BigInt(Math.min(room(host, stream), READ_BYTES_MAX));
  const got = read(host, source, length < limit ? length : limit);
  if (!got.ok) return got;
  stream.permit = got.value.length;
  const written = write(host, stream, got.value);
  return written.ok ? success(BigInt(got.value.length)) : written;
}

/** Moves at least one byte, waiting for the source and then for room. */
export function blockingSplice(
  host: WasiHost,
  stream: OutputStream,
  source: InputStream,
  length: bigint,
): Result<bigint, StreamError> | Blocked {
  if (length > 0n && !stream.closed && !source.closed) {
    for (const pollable of [inputPollable(source), outputPollable(stream)]) {
      if (!host.isReady(pollable)) return host.waitFor([pollable]);
    }
  }
  return splice(host, stream, source, length);
}

/** Closes the sending half of a connection when its stream is dropped while the socket stays. */
export function dropOutput(host: WasiHost, stream: OutputStream): void {
  if (stream.to === 'file') host.files.release(stream.inode);
  if (stream.to !== 'socket') return;
  if (host.socket(stream.socket).references > 1) host.sockets.shutdown(stream.socket, 'write');
  host.releaseSocket(stream.socket);
}
