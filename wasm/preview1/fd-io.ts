import { ERRNO } from '../../sim/index.ts';
import { FDFLAG, RIGHT, VECTOR_BYTES, WHENCE } from './abi.ts';
import { readSocket, writeSocket } from './socket-io.ts';
import { bytesNs } from './costs.ts';
import type { ConsoleDescriptor, Descriptor, FileDescriptor } from './descriptors.ts';
import type { Host } from './host.ts';

/** Offsets are whole numbers up to 2^53 - 1; what lies beyond is past the end of every file. */
const OFFSET_MAX = BigInt(Number.MAX_SAFE_INTEGER);
const FILEDELTA_MAX = 2n ** 63n - 1n;

/**
 * A descriptor with the right to read, write or seek. As in POSIX, a descriptor that was not
 * opened for it is a bad one (BADF), not one that lacks a capability.
 */
function open(host: Host, fd: number, rights: number): Descriptor | number {
  const descriptor = host.descriptors.get(fd);
  if (descriptor === null || (descriptor.rights & rights) !== rights) return ERRNO.BADF;
  return descriptor;
}

/** The same for calls at an offset: consoles and sockets have none (SPIPE). */
function openAt(host: Host, fd: number, right: number): FileDescriptor | number {
  const descriptor = host.descriptors.get(fd);
  if (descriptor === null) return ERRNO.BADF;
  if (descriptor.kind === 'console' || descriptor.kind === 'socket') return ERRNO.SPIPE;
  const rights = right | RIGHT.FD_SEEK;
  if ((descriptor.rights & rights) !== rights) return ERRNO.BADF;
  return descriptor.kind === 'file' ? descriptor : ERRNO.ISDIR;
}

export function fdRead(
  host: Host,
  fd: number,
  vectors: number,
  count: number,
  result: number,
): number {
  const descriptor = open(host, fd, RIGHT.FD_READ);
  if (typeof descriptor === 'number') return descriptor;
  const total = host.memory.vectorBytes(vectors, count);
  if (total < 0) return -total;
  if (!host.memory.holds(result, 4)) return ERRNO.FAULT;
  switch (descriptor.kind) {
    case 'file': {
      const errno = readFile(host, descriptor, { vectors, count, result }, descriptor.offset);
      descriptor.offset += host.value;
      return errno;
    }
    case 'console':
      host.memory.setU32(result, 0);
      return ERRNO.SUCCESS;
    case 'socket':
      return readSocket(host, descriptor, { vectors, count, result, flags: 0 });
    case 'directory':
      return ERRNO.ISDIR;
  }
}

export function fdPread(
  host: Host,
  fd: number,
  vectors: number,
  count: number,
  offset: bigint,
  result: number,
): number {
  const descriptor = openAt(host, fd, RIGHT.FD_READ);
  if (typeof descriptor === 'number') return descriptor;
  const total = host.memory.vectorBytes(vectors, count);
  if (total < 0) return -total;
  if (!host.memory.holds(result, 4)) return ERRNO.FAULT;
  return readFile(host, descriptor, { vectors, count, result }, toOffset(offset));
}

/** A list of vectors, checked, and where the count of bytes goes. */
interface Transfer {
  readonly vectors: number;
  readonly count: number;
  readonly result: number;
}

function readFile(host: Host, file: FileDescriptor, transfer: Transfer, offset: number): number {
  const { memory, port } = host;
  let done = 0;
  for (let index = 0, at = transfer.vectors; index < transfer.count; index++, at += VECTOR_BYTES) {
    const address = memory.u32(at);
    const length = memory.u32(at + 4);
    if (length === 0) continue;
    const count = port.files.read(file.inode, offset + done, memory.view(address, length));
    if (count < 0) return -count;
    memory.touched(address, count);
    host.digest ^= memory.digest(address, count) + done;
    done += count;
    if (count < length) break;
  }
  memory.setU32(transfer.result, done);
  host.value = done;
  host.charge(bytesNs(done));
  return ERRNO.SUCCESS;
}

export function fdWrite(
  host: Host,
  fd: number,
  vectors: number,
  count: number,
  result: number,
): number {
  const descriptor = open(host, fd, RIGHT.FD_WRITE);
  if (typeof descriptor === 'number') return descriptor;
  const total = host.memory.vectorBytes(vectors, count);
  if (total < 0) return -total;
  if (!host.memory.holds(result, 4)) return ERRNO.FAULT;
  switch (descriptor.kind) {
    case 'file': {
      const appends = (descriptor.flags & FDFLAG.APPEND) !== 0;
      const offset = appends ? host.port.files.stat(descriptor.inode).size : descriptor.offset;
      const errno = writeFile(host, descriptor, { vectors, count, result }, offset);
      if (host.value > 0) descriptor.offset = offset + host.value;
      return errno;
    }
    case 'console':
      return writeConsole(host, descriptor, { vectors, count, result }, total);
    case 'socket':
      return writeSocket(host, descriptor, { vectors, count, result, total });
    case 'directory':
      return ERRNO.ISDIR;
  }
}

/** Writes at the offset also in append mode (POSIX; Linux appends). */
export function fdPwrite(
  host: Host,
  fd: number,
  vectors: number,
  count: number,
  offset: bigint,
  result: number,
): number {
  const descriptor = openAt(host, fd, RIGHT.FD_WRITE);
  if (typeof descriptor === 'number') return descriptor;
  const total = host.memory.vectorBytes(vectors, count);
  if (total < 0) return -total;
  if (!host.memory.holds(result, 4)) return ERRNO.FAULT;
  return writeFile(host, descriptor, { vectors, count, result }, toOffset(offset));
}

/** Writes as far as space goes: an error counts only if nothing was written. */
function writeFile(host: Host, file: FileDescriptor, transfer: Transfer, offset: number): number {
  const { memory, port } = host;
  const nowNs = port.realtimeNs();
  let done = 0;
  for (let index = 0, at = transfer.vectors; index < transfer.count; index++, at += VECTOR_BYTES) {
    const address = memory.u32(at);
    const length = memory.u32(at + 4);
    if (length === 0) continue;
    const from = memory.view(address, length);
    const count = port.files.write(file.inode, offset + done, from, nowNs);
    if (count < 0) {
      if (done === 0) return -count;
      break;
    }
    host.digest ^= memory.digest(address, count) + done;
    done += count;
    if (count < length) break;
  }
  memory.setU32(transfer.result, done);
  host.value = done;
  host.charge(bytesNs(done));
  if ((file.flags & (FDFLAG.SYNC | FDFLAG.DSYNC)) === 0 || done === 0) return ERRNO.SUCCESS;
  return host.synchronise(file.inode, (file.flags & FDFLAG.SYNC) === 0);
}

function writeConsole(
  host: Host,
  { stream }: ConsoleDescriptor,
  { vectors, count, result }: Transfer,
  total: number,
): number {
  const bytes = host.memory.gather(vectors, count, total);
  // What is written is the console's event; the call's own shows the count.
  if (total > 0) host.port.console(stream === 1 ? 1 : 2, bytes.slice());
  host.memory.setU32(result, total);
  host.value = total;
  host.charge(bytesNs(total));
  return ERRNO.SUCCESS;
}

/** `fd_tell`'s right suffices to ask for the present offset. */
export function fdSeek(
  host: Host,
  fd: number,
  delta: bigint,
  whence: number,
  result: number,
): number {
  const tells = whence === WHENCE.CUR && delta === 0n;
  const file = seekable(host, fd, tells ? RIGHT.FD_TELL : RIGHT.FD_SEEK);
  if (typeof file === 'number') return file;
  if (!host.memory.holds(result, 8)) return ERRNO.FAULT;
  let base: number;
  if (whence === WHENCE.SET) base = 0;
  else if (whence === WHENCE.CUR) base = file.offset;
  else if (whence === WHENCE.END) base = host.port.files.stat(file.inode).size;
  else return ERRNO.INVAL;
  const offset = BigInt(base) + delta;
  if (offset < 0n) return ERRNO.INVAL;
  if (offset > OFFSET_MAX) return offset > FILEDELTA_MAX ? ERRNO.OVERFLOW : ERRNO.INVAL;
  file.offset = Number(offset);
  host.value = Math.min(file.offset, 2 ** 51);
  host.memory.setSize(result, file.offset);
  return ERRNO.SUCCESS;
}

export function fdTell(host: Host, fd: number, result: number): number {
  const file = seekable(host, fd, RIGHT.FD_TELL);
  if (typeof file === 'number') return file;
  if (!host.memory.holds(result, 8)) return ERRNO.FAULT;
  host.value = Math.min(file.offset, 2 ** 51);
  host.memory.setSize(result, file.offset);
  return ERRNO.SUCCESS;
}

/** FD_SEEK implies FD_TELL. Consoles and sockets have no offset (SPIPE). */
function seekable(host: Host, fd: number, right: number): FileDescriptor | number {
  const descriptor = host.descriptors.get(fd);
  if (descriptor === null) return ERRNO.BADF;
  if (descriptor.kind === 'console' || descriptor.kind === 'socket') return ERRNO.SPIPE;
  const rights = right === RIGHT.FD_TELL ? RIGHT.FD_TELL | RIGHT.FD_SEEK : right;
  if (descriptor.kind !== 'file' || (descriptor.rights & rights) === 0) return ERRNO.BADF;
  return descriptor;
}

function toOffset(offset: bigint): number {
  const unsigned = BigInt.asUintN(64, offset);
  return unsigned > OFFSET_MAX ? Number.MAX_SAFE_INTEGER : Number(unsigned);
}
