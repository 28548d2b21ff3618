import { encodeUtf8, ERRNO, resolvePath, type ResolvedPath } from '../../sim/index.ts';
import { FILESTAT_BYTES, LOOKUP_SYMLINK_FOLLOW, RIGHT } from './abi.ts';
import { setTimes, writeFilestat } from './fd-status.ts';
import type { Host } from './host.ts';

/** A path of the guest's: the descriptor that it starts from, and where its text lies. */
interface GivenPath {
  readonly fd: number;
  readonly right: number;
  readonly address: number;
  readonly length: number;
}

/** How symbolic links at the end are taken. */
type Final = 'follow' | 'keep' | 'keep-despite-slash';

/** Follows a path, or gives a negative errno. */
function resolve(host: Host, given: GivenPath, final: Final): ResolvedPath | number {
  const base = host.findDirectory(given.fd, given.right);
  if (typeof base === 'number') return -base;
  const text = host.memory.path(given.address, given.length);
  if (typeof text === 'number') return text;
  return resolvePath(host.port.files, base.inode, text, {
    followFinal: final === 'follow',
    followSlash: final !== 'keep-despite-slash',
  });
}

/** The same for what must exist. */
function resolveExisting(host: Host, given: GivenPath, final: Final): ResolvedPath | number {
  const place = resolve(host, given, final);
  return typeof place !== 'number' && place.inode === 0 ? -ERRNO.NOENT : place;
}

/** `lookupflags` of a call: 'follow', 'keep', or null for unknown bits. */
function finalOf(lookup: number): Final | null {
  if ((lookup & ~LOOKUP_SYMLINK_FOLLOW) !== 0) return null;
  return lookup === LOOKUP_SYMLINK_FOLLOW ? 'follow' : 'keep';
}

export function pathCreateDirectory(host: Host, fd: number, path: number, length: number): number {
  const given = { fd, right: RIGHT.PATH_CREATE_DIRECTORY, address: path, length };
  const place = resolve(host, given, 'keep-despite-slash');
  if (typeof place === 'number') return -place;
  if (place.inode !== 0) return ERRNO.EXIST;
  const { port } = host;
  return host.errnoOf(port.files.makeDirectory(place.directory, place.name, port.realtimeNs()));
}

export function pathFilestatGet(
  host: Host,
  fd: number,
  lookup: number,
  path: number,
  length: number,
  result: number,
): number {
  const final = finalOf(lookup);
  if (final === null) return ERRNO.INVAL;
  if (!host.memory.holds(result, FILESTAT_BYTES)) return ERRNO.FAULT;
  const given = { fd, right: RIGHT.PATH_FILESTAT_GET, address: path, length };
  const place = resolveExisting(host, given, final);
  if (typeof place === 'number') return -place;
  writeFilestat(host, host.port.files.stat(place.inode), result);
  return ERRNO.SUCCESS;
}

export function pathFilestatSetTimes(
  host: Host,
  fd: number,
  lookup: number,
  path: number,
  length: number,
  accessed: bigint,
  modified: bigint,
  flags: number,
): number {
  const final = finalOf(lookup);
  if (final === null) return ERRNO.INVAL;
  const given = { fd, right: RIGHT.PATH_FILESTAT_SET_TIMES, address: path, length };
  const place = resolveExisting(host, given, final);
  if (typeof place === 'number') return -place;
  return setTimes(host, place.inode, { accessed, modified, flags });
}

/** A new name never takes a slash at its end, since no directory is made. */
function refuseSlash(place: ResolvedPath): number {
  if (place.inode !== 0) return ERRNO.EXIST;
  return place.slash ? ERRNO.NOENT : ERRNO.SUCCESS;
}

export function pathLink(
  host: Host,
  oldFd: number,
  oldLookup: number,
  oldPath: number,
  oldLength: number,
  newFd: number,
  newPath: number,
  newLength: number,
): number {
  const final = finalOf(oldLookup);
  if (final === null) return ERRNO.INVAL;
  const oldRight = RIGHT.PATH_LINK_SOURCE;
  const old = { fd: oldFd, right: oldRight, address: oldPath, length: oldLength };
  const from = resolveExisting(host, old, final);
  if (typeof from === 'number') return -from;
  const newRight = RIGHT.PATH_LINK_TARGET;
  const given = { fd: newFd, right: newRight, address: newPath, length: newLength };
  const to = resolve(host, given, 'keep-despite-slash');
  if (typeof to === 'number') return -to;
  const refusal = refuseSlash(to);
  if (refusal !== ERRNO.SUCCESS) return refusal;
  const { port } = host;
  return host.errnoOf(port.files.link(from.inode, to.directory, to.name, port.realtimeNs()));
}

/** Gives as much of the target as fits. */
export function pathReadlink(
  host: Host,
  fd: number,
  path: number,
  length: number,
  buffer: number,
  bufferLength: number,
  result: number,
): number {
  const { memory } = host;
  if (!memory.holds(buffer, bufferLength) || !memory.holds(result, 4)) return ERRNO.FAULT;
  const given = { fd, right: RIGHT.PATH_READLINK, address: path, length };
  const place = resolveExisting(host, given, 'keep');
  if (typeof place === 'number') return -place;
  const target = host.port.files.readLink(place.inode);
  if (typeof target === 'number') return -target;
  const bytes = encodeUtf8(target).subarray(0, bufferLength >>> 0);
  memory.setBytes(buffer, bytes);
  memory.setU32(result, bytes.length);
  host.value = bytes.length;
  host.digest = memory.digest(buffer, bytes.length);
  return ERRNO.SUCCESS;
}

export function pathRemoveDirectory(host: Host, fd: number, path: number, length: number): number {
  const given = { fd, right: RIGHT.PATH_REMOVE_DIRECTORY, address: path, length };
  const place = resolveExisting(host, given, 'keep-despite-slash');
  if (typeof place === 'number') return -place;
  const { port } = host;
  return host.errnoOf(port.files.removeDirectory(place.directory, place.name, port.realtimeNs()));
}

export function pathUnlinkFile(host: Host, fd: number, path: number, length: number): number {
  const given = { fd, right: RIGHT.PATH_UNLINK_FILE, address: path, length };
  const place = resolveExisting(host, given, 'keep-despite-slash');
  if (typeof place === 'number') return -place;
  const { port } = host;
  return host.errnoOf(port.files.unlink(place.directory, place.name, port.realtimeNs()));
}

export function pathRename(
  host: Host,
  oldFd: number,
  oldPath: number,
  oldLength: number,
  newFd: number,
  newPath: number,
  newLength: number,
): number {
  const oldRight = RIGHT.PATH_RENAME_SOURCE;
  const old = { fd: oldFd, right: oldRight, address: oldPath, length: oldLength };
  const from = resolveExisting(host, old, 'keep-despite-slash');
  if (typeof from === 'number') return -from;
  const newRight = RIGHT.PATH_RENAME_TARGET;
  const given = { fd: newFd, right: newRight, address: newPath, length: newLength };
  const to = resolve(host, given, 'keep-despite-slash');
  if (typeof to === 'number') return -to;
  const { port } = host;
  const { files } = port;
  // Only a directory can take a name with a slash at its end.
  if (to.slash && files.stat(from.inode).kind !== 'directory') return ERRNO.NOTDIR;
  const nowNs = port.realtimeNs();
  return host.errnoOf(files.rename(from.directory, from.name, to.directory, to.name, nowNs));
}

/** Absolute targets are refused (PERM): they would lead out of every preopened directory. */
export function pathSymlink(
  host: Host,
  target: number,
  targetLength: number,
  fd: number,
  path: number,
  length: number,
): number {
  const text = host.memory.path(target, targetLength);
  if (typeof text === 'number') return -text;
  const given = { fd, right: RIGHT.PATH_SYMLINK, address: path, length };
  const place = resolve(host, given, 'keep-despite-slash');
  if (typeof place === 'number') return -place;
  if (text.includes('\0')) return ERRNO.INVAL;
  if (text.startsWith('/')) return ERRNO.PERM;
  const refusal = refuseSlash(place);
  if (refusal !== ERRNO.SUCCESS) return refusal;
  const { port } = host;
  const { directory, name } = place;
  return host.errnoOf(port.files.symlink(directory, name, text, port.realtimeNs()));
}
