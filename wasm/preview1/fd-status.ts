import { encodeUtf8, ERRNO, type FileKind, type FileStat } from '../../sim/index.ts';
import {
  ADVICE_LAST,
  DEVICE,
  FDFLAGS_ALL,
  FDSTAT_BYTES,
  FILESTAT_BYTES,
  FILETYPE,
  FSTFLAG,
  FSTFLAGS_ALL,
  PREOPENTYPE_DIR,
  PRESTAT_BYTES,
  RIGHT,
} from './abi.ts';
import type { Descriptor } from './descriptors.ts';
import type { Host } from './host.ts';

const FILETYPES: Readonly<Record<FileKind, number>> = {
  file: FILETYPE.REGULAR_FILE,
  directory: FILETYPE.DIRECTORY,
  symlink: FILETYPE.SYMBOLIC_LINK,
  character: FILETYPE.CHARACTER_DEVICE,
};

export function filetypeOf(kind: FileKind): number {
  return FILETYPES[kind];
}

function filetypeOfDescriptor(descriptor: Descriptor): number {
  if (descriptor.kind === 'console') return FILETYPE.CHARACTER_DEVICE;
  if (descriptor.kind !== 'socket') return FILETYPES[descriptor.kind];
  return descriptor.type === 'tcp' ? FILETYPE.SOCKET_STREAM : FILETYPE.SOCKET_DGRAM;
}

export function fdFdstatGet(host: Host, fd: number, result: number): number {
  const descriptor = host.descriptors.get(fd);
  if (descriptor === null) return ERRNO.BADF;
  const { memory } = host;
  if (!memory.holds(result, FDSTAT_BYTES)) return ERRNO.FAULT;
  memory.view(result, FDSTAT_BYTES).fill(0);
  memory.setU8(result, filetypeOfDescriptor(descriptor));
  memory.setU16(result + 2, descriptor.flags);
  memory.setSize(result + 8, descriptor.rights);
  memory.setSize(result + 16, descriptor.inheriting);
  memory.touched(result, FDSTAT_BYTES);
  return ERRNO.SUCCESS;
}

export function fdFdstatSetFlags(host: Host, fd: number, flags: number): number {
  const descriptor = host.find(fd, RIGHT.FD_FDSTAT_SET_FLAGS);
  if (typeof descriptor === 'number') return descriptor;
  if ((flags & ~FDFLAGS_ALL) !== 0) return ERRNO.INVAL;
  descriptor.flags = flags;
  return ERRNO.SUCCESS;
}

/** Rights can only be given up. */
export function fdFdstatSetRights(
  host: Host,
  fd: number,
  rights: bigint,
  inheriting: bigint,
): number {
  const descriptor = host.descriptors.get(fd);
  if (descriptor === null) return ERRNO.BADF;
  const added =
    (rights & ~BigInt(descriptor.rights)) | (inheriting & ~BigInt(descriptor.inheriting));
  if (added !== 0n) return ERRNO.NOTCAPABLE;
  descriptor.rights = Number(rights);
  descriptor.inheriting = Number(inheriting);
  return ERRNO.SUCCESS;
}

export function fdFilestatGet(host: Host, fd: number, result: number): number {
  const descriptor = host.find(fd, RIGHT.FD_FILESTAT_GET);
  if (typeof descriptor === 'number') return descriptor;
  const { memory, port } = host;
  if (!memory.holds(result, FILESTAT_BYTES)) return ERRNO.FAULT;
  if ('inode' in descriptor) {
    writeFilestat(host, port.files.stat(descriptor.inode), result);
    return ERRNO.SUCCESS;
  }
  memory.view(result, FILESTAT_BYTES).fill(0);
  memory.setSize(result, DEVICE.STREAMS);
  memory.setSize(result + 8, descriptor.kind === 'console' ? descriptor.stream : fd);
  memory.setU8(result + 16, filetypeOfDescriptor(descriptor));
  memory.setSize(result + 24, 1);
  memory.touched(result, FILESTAT_BYTES);
  return ERRNO.SUCCESS;
}

export function writeFilestat(host: Host, stat: FileStat, result: number): void {
  const { memory } = host;
  memory.view(result, FILESTAT_BYTES).fill(0);
  memory.setSize(result, DEVICE.FILES);
  memory.setSize(result + 8, stat.inode);
  memory.setU8(result + 16, FILETYPES[stat.kind]);
  memory.setSize(result + 24, stat.links);
  memory.setSize(result + 32, stat.size);
  memory.setU64(result + 40, stat.accessedNs);
  memory.setU64(result + 48, stat.modifiedNs);
  memory.setU64(result + 56, stat.changedNs);
  memory.touched(result, FILESTAT_BYTES);
  host.digest = memory.digest(result, FILESTAT_BYTES);
}

export function fdFilestatSetSize(host: Host, fd: number, size: bigint): number {
  const file = host.findFile(fd, RIGHT.FD_FILESTAT_SET_SIZE, ERRNO.INVAL);
  if (typeof file === 'number') return file;
  const bytes = toSize(size);
  return host.errnoOf(host.port.files.truncate(file.inode, bytes, host.port.realtimeNs()));
}

export function fdFilestatSetTimes(
  host: Host,
  fd: number,
  accessed: bigint,
  modified: bigint,
  flags: number,
): number {
  const descriptor = host.find(fd, RIGHT.FD_FILESTAT_SET_TIMES);
  if (typeof descriptor === 'number') return descriptor;
  if (!('inode' in descriptor)) return ERRNO.BADF;
  return setTimes(host, descriptor.inode, { accessed, modified, flags });
}

/** Times as a guest gives them, with `fstflags`. */
export interface GivenTimes {
  readonly accessed: bigint;
  readonly modified: bigint;
  readonly flags: number;
}

export function setTimes(host: Host, inode: number, given: GivenTimes): number {
  const { flags } = given;
  if ((flags & ~FSTFLAGS_ALL) !== 0) return ERRNO.INVAL;
  const both = (one: number, other: number): boolean =>
    (flags & one) !== 0 && (flags & other) !== 0;
  if (both(FSTFLAG.ATIM, FSTFLAG.ATIM_NOW) || both(FSTFLAG.MTIM, FSTFLAG.MTIM_NOW)) {
    return ERRNO.INVAL;
  }
  const nowNs = host.port.realtimeNs();
  const choose = (set: number, setNow: number, ns: bigint): bigint | null => {
    if ((flags & setNow) !== 0) return nowNs;
    return (flags & set) !== 0 ? BigInt.asUintN(64, ns) : null;
  };
  const accessedNs = choose(FSTFLAG.ATIM, FSTFLAG.ATIM_NOW, given.accessed);
  const modifiedNs = choose(FSTFLAG.MTIM, FSTFLAG.MTIM_NOW, given.modified);
  return host.errnoOf(host.port.files.setTimes(inode, accessedNs, modifiedNs, nowNs));
}

/** Advice changes nothing that a guest can see. */
export function fdAdvise(
  host: Host,
  fd: number,
  offset: bigint,
  length: bigint,
  advice: number,
): number {
  const file = host.findFile(fd, RIGHT.FD_ADVISE, ERRNO.SPIPE);
  if (typeof file === 'number') return file;
  if (advice < 0 || advice > ADVICE_LAST) return ERRNO.INVAL;
  const end = BigInt.asUintN(64, offset) + BigInt.asUintN(64, length);
  return end >= 2n ** 63n ? ERRNO.INVAL : ERRNO.SUCCESS;
}

export function fdAllocate(host: Host, fd: number, offset: bigint, length: bigint): number {
  const file = host.findFile(fd, RIGHT.FD_ALLOCATE, ERRNO.SPIPE);
  if (typeof file === 'number') return file;
  if (length === 0n) return ERRNO.INVAL;
  const end = BigInt.asUintN(64, offset) + BigInt.asUintN(64, length);
  if (end > BigInt(Number.MAX_SAFE_INTEGER)) return ERRNO.FBIG;
  const { port } = host;
  const [from, bytes] = [Number(offset), Number(length)];
  return host.errnoOf(port.files.allocate(file.inode, from, bytes, port.realtimeNs()));
}

export function fdClose(host: Host, fd: number): number {
  if (host.descriptors.get(fd) === null) return ERRNO.BADF;
  host.descriptors.close(fd);
  return ERRNO.SUCCESS;
}

export function fdRenumber(host: Host, from: number, to: number): number {
  const { descriptors } = host;
  if (descriptors.get(from) === null || descriptors.get(to) === null) return ERRNO.BADF;
  descriptors.renumber(from, to);
  return ERRNO.SUCCESS;
}

export function fdSync(host: Host, fd: number): number {
  return synchronise(host, fd, RIGHT.FD_SYNC);
}

export function fdDatasync(host: Host, fd: number): number {
  return synchronise(host, fd, RIGHT.FD_DATASYNC);
}

/** Consoles and sockets cannot be synchronised (POSIX `fsync`: INVAL). */
function synchronise(host: Host, fd: number, right: number): number {
  const descriptor = host.descriptors.get(fd);
  if (descriptor === null) return ERRNO.BADF;
  if (!('inode' in descriptor)) return ERRNO.INVAL;
  if ((descriptor.rights & right) === 0) return ERRNO.NOTCAPABLE;
  return host.synchronise(descriptor.inode, right === RIGHT.FD_DATASYNC);
}

/** What is no preopened directory is a bad descriptor: C libraries stop their search there. */
export function fdPrestatGet(host: Host, fd: number, result: number): number {
  const name = preopenName(host, fd);
  if (name === null) return ERRNO.BADF;
  const { memory } = host;
  if (!memory.holds(result, PRESTAT_BYTES)) return ERRNO.FAULT;
  memory.setU32(result, PREOPENTYPE_DIR);
  memory.setU32(result + 4, name.length);
  return ERRNO.SUCCESS;
}

export function fdPrestatDirName(host: Host, fd: number, path: number, length: number): number {
  const name = preopenName(host, fd);
  if (name === null) return ERRNO.BADF;
  if (name.length > length >>> 0) return ERRNO.NAMETOOLONG;
  if (!host.memory.holds(path, length)) return ERRNO.FAULT;
  host.memory.setBytes(path, name);
  return ERRNO.SUCCESS;
}

function preopenName(host: Host, fd: number): Uint8Array | null {
  const descriptor = host.descriptors.get(fd);
  if (descriptor?.kind !== 'directory' || descriptor.preopen === null) return null;
  return encodeUtf8(descriptor.preopen);
}

/** A size as a number: sizes past 2^53 - 1 are larger than any file may be. */
function toSize(size: bigint): number {
  const unsigned = BigInt.asUintN(64, size);
  const most = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(unsigned > most ? most : unsigned);
}
