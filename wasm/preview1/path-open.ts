import { ERRNO, resolvePath, type FileKind, type ResolvedPath } from '../../sim/index.ts';
import {
  FDFLAG,
  FDFLAGS_ALL,
  LOOKUP_SYMLINK_FOLLOW,
  OFLAG,
  OFLAGS_ALL,
  RIGHT,
  RIGHTS_ALL,
  RIGHTS_DIRECTORY,
  RIGHTS_FILE,
} from './abi.ts';
import type { DirectoryDescriptor } from './descriptors.ts';
import type { Host } from './host.ts';

/** What `path_open` was asked for, checked as far as it goes without looking at files. */
interface Opening {
  readonly oflags: number;
  readonly rights: number;
  readonly inheriting: number;
  readonly flags: number;
}

export function pathOpen(
  host: Host,
  fd: number,
  lookup: number,
  path: number,
  length: number,
  oflags: number,
  rights: bigint,
  inheriting: bigint,
  flags: number,
  result: number,
): number {
  const base = host.findDirectory(fd, RIGHT.PATH_OPEN);
  if (typeof base === 'number') return base;
  if (!host.memory.holds(result, 4)) return ERRNO.FAULT;
  const text = host.memory.path(path, length);
  if (typeof text === 'number') return -text;
  if ((lookup & ~LOOKUP_SYMLINK_FOLLOW) !== 0) return ERRNO.INVAL;
  const opening: Opening = {
    oflags,
    rights: Number(rights & BigInt(RIGHTS_ALL)),
    inheriting: Number(inheriting & BigInt(RIGHTS_ALL)),
    flags,
  };
  const refusal = refuse(base, opening);
  if (refusal !== ERRNO.SUCCESS) return refusal;
  if (!host.descriptors.hasRoom()) return ERRNO.MFILE;
  const creates = (oflags & OFLAG.CREAT) !== 0;
  const exclusive = creates && (oflags & OFLAG.EXCL) !== 0;
  const followFinal = !exclusive && (lookup & LOOKUP_SYMLINK_FOLLOW) !== 0;
  const place = resolvePath(host.port.files, base.inode, text, { followFinal });
  if (typeof place === 'number') return -place;
  if (place.inode === 0) return creates ? create(host, place, opening, result) : ERRNO.NOENT;
  if (exclusive) return ERRNO.EXIST;
  return openExisting(host, place, opening, result);
}

/**
 * What flags and rights forbid. Rights that the directory does not pass on are refused; the
 * right to make files, to cut them (PERM, as the WASI test suite has it), and to open for
 * synchronous writing is the directory's.
 */
function refuse(base: DirectoryDescriptor, opening: Opening): number {
  const { oflags, flags, rights, inheriting } = opening;
  if ((oflags & ~OFLAGS_ALL) !== 0 || (flags & ~FDFLAGS_ALL) !== 0) return ERRNO.INVAL;
  const creates = (oflags & OFLAG.CREAT) !== 0;
  if (creates && (oflags & OFLAG.DIRECTORY) !== 0) return ERRNO.INVAL;
  if (((rights | inheriting) & ~base.inheriting) !== 0) return ERRNO.NOTCAPABLE;
  if (creates && (base.rights & RIGHT.PATH_CREATE_FILE) === 0) return ERRNO.NOTCAPABLE;
  const truncates = (oflags & OFLAG.TRUNC) !== 0;
  if (truncates && (base.rights & RIGHT.PATH_FILESTAT_SET_SIZE) === 0) return ERRNO.PERM;
  const synchronous = (flags & (FDFLAG.SYNC | FDFLAG.RSYNC)) !== 0;
  if (synchronous && (base.inheriting & RIGHT.FD_SYNC) === 0) return ERRNO.NOTCAPABLE;
  const dataSynchronous = (flags & FDFLAG.DSYNC) !== 0;
  const either = RIGHT.FD_SYNC | RIGHT.FD_DATASYNC;
  if (dataSynchronous && (base.inheriting & either) === 0) return ERRNO.NOTCAPABLE;
  return ERRNO.SUCCESS;
}

function create(host: Host, place: ResolvedPath, opening: Opening, result: number): number {
  if (place.slash) return ERRNO.ISDIR;
  const { files } = host.port;
  const inode = files.createFile(place.directory, place.name, host.port.realtimeNs());
  if (inode < 0) return -inode;
  return finish(host, { inode, kind: 'file' }, opening, result);
}

function openExisting(host: Host, place: ResolvedPath, opening: Opening, result: number): number {
  const { port } = host;
  const { kind } = port.files.stat(place.inode);
  const { oflags } = opening;
  const wantsDirectory = (oflags & OFLAG.DIRECTORY) !== 0;
  if (kind === 'symlink') return wantsDirectory ? ERRNO.NOTDIR : ERRNO.LOOP;
  if (kind === 'directory') {
    const changes = (oflags & (OFLAG.CREAT | OFLAG.TRUNC)) !== 0;
    if (changes || (opening.rights & RIGHT.FD_WRITE) !== 0) return ERRNO.ISDIR;
  } else if (wantsDirectory) {
    return ERRNO.NOTDIR;
  } else if ((oflags & OFLAG.TRUNC) !== 0) {
    const status = port.files.truncate(place.inode, 0, port.realtimeNs());
    if (status < 0) return -status;
  }
  return finish(host, { inode: place.inode, kind }, opening, result);
}

/** Rights that do not apply to the kind of file are dropped. */
function finish(
  host: Host,
  { inode, kind }: { readonly inode: number; readonly kind: FileKind },
  { flags, rights, inheriting }: Opening,
  result: number,
): number {
  const fd = host.descriptors.add(
    kind === 'directory'
      ? { kind, inode, flags, rights: rights & RIGHTS_DIRECTORY, inheriting, preopen: null }
      : { kind: 'file', inode, flags, rights: rights & RIGHTS_FILE, inheriting: 0, offset: 0 },
  );
  if (fd < 0) return -fd;
  host.memory.setU32(result, fd);
  host.value = fd;
  return ERRNO.SUCCESS;
}
