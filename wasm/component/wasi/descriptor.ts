import { resolvePath } from '../../../sim/index.ts';
import { failure, success, type Result } from '../abi/sums.ts';
import { fileError, type FileError } from './error-codes.ts';
import type { Descriptor, Inode } from './resources.ts';
import type { WasiHost } from './wasi-host.ts';

/** Bits of `descriptor-flags`. */
export const DESCRIPTOR_FLAG = {
  read: 1,
  write: 2,
  fileIntegritySync: 4,
  dataIntegritySync: 8,
  requestedWriteSync: 16,
  mutateDirectory: 32,
} as const;

/** Bits of `open-flags`. */
export const OPEN_FLAG = { create: 1, directory: 2, exclusive: 4, truncate: 8 } as const;

/** The one bit of `path-flags`. */
export const SYMLINK_FOLLOW = 1;

export type FileOutcome<T> = Result<T, FileError>;

export const DONE: FileOutcome<undefined> = success(undefined);

export function refuse(code: FileError): Result<never, FileError> {
  return failure(code);
}

/** The outcome of a call of the file system that gives 0 or more, or a negated errno. */
export function outcomeOf(status: number): FileOutcome<undefined> {
  return status < 0 ? refuse(fileError(status)) : DONE;
}

/** Where a path leads: the directory and the name in it; inode 0 when nothing has that name. */
export interface Place {
  readonly directory: Inode;
  readonly name: string;
  readonly inode: Inode;
  /** The path ended in a slash: it names a directory, or what can only become one. */
  readonly slash: boolean;
}

/** Follows a path below a directory's descriptor, which it must not leave. */
export function resolveAt(
  host: WasiHost,
  base: Descriptor,
  path: string,
  followFinal: boolean,
): FileOutcome<Place> {
  if (!isDirectory(host, base)) return refuse('not-directory');
  const place = resolvePath(host.files, base.inode, path, { followFinal });
  return typeof place === 'number' ? refuse(fileError(place)) : success(place);
}

/** The same for what must exist. */
export function existing(
  host: WasiHost,
  base: Descriptor,
  path: string,
  followFinal: boolean,
): FileOutcome<Place> {
  const place = resolveAt(host, base, path, followFinal);
  return place.ok && place.value.inode === 0 ? refuse('no-entry') : place;
}

/** The same for an entry that is made, removed or moved, which the descriptor must allow. */
export function changeable(host: WasiHost, base: Descriptor, path: string): FileOutcome<Place> {
  if (!isDirectory(host, base)) return refuse('not-directory');
  if (!allows(base, DESCRIPTOR_FLAG.mutateDirectory)) return refuse('read-only');
  const options = { followFinal: false, followSlash: false };
  const place = resolvePath(host.files, base.inode, path, options);
  return typeof place === 'number' ? refuse(fileError(place)) : success(place);
}

/** The same for a new entry that is no directory: nothing must have its name, nor a slash end it. */
export function newEntry(host: WasiHost, base: Descriptor, path: string): FileOutcome<Place> {
  const place = changeable(host, base, path);
  if (!place.ok) return place;
  if (place.value.inode !== 0) return refuse('exist');
  return place.value.slash ? refuse('no-entry') : place;
}

/** Whether a path ends in `.` or `..`, which cannot be removed or moved (POSIX: EINVAL, EBUSY). */
export function endsInDots({ name }: Place): boolean {
  return name === '.' || name === '..';
}

export function isDirectory(host: WasiHost, descriptor: Descriptor): boolean {
  return host.files.stat(descriptor.inode).kind === 'directory';
}

export function allows(descriptor: Descriptor, flag: number): boolean {
  return (descriptor.flags & flag) !== 0;
}

/** Opens an inode: it lives on while the descriptor does. */
export function openInode(host: WasiHost, inode: Inode, flags: number): Descriptor {
  host.files.retain(inode);
  return { inode, flags };
}

interface OpenOptions {
  readonly pathFlags: number;
  readonly openFlags: number;
  readonly flags: number;
}

/** `open-at` (POSIX `openat`): the new descriptor allows no more than its directory does. */
export function openAt(
  host: WasiHost,
  base: Descriptor,
  path: string,
  options: OpenOptions,
): FileOutcome<Descriptor> {
  const { openFlags, flags } = options;
  const creates = (openFlags & OPEN_FLAG.create) !== 0;
  const exclusive = creates && (openFlags & OPEN_FLAG.exclusive) !== 0;
  const truncates = (openFlags & OPEN_FLAG.truncate) !== 0;
  const wantsDirectory = (openFlags & OPEN_FLAG.directory) !== 0;
  if (wantsDirectory && (creates || truncates)) return refuse('invalid');
  const changes = creates || truncates || (flags & CHANGING) !== 0;
  if (changes && !allows(base, DESCRIPTOR_FLAG.mutateDirectory)) return refuse('read-only');
  const follow = !exclusive && (options.pathFlags & SYMLINK_FOLLOW) !== 0;
  const place = resolveAt(host, base, path, follow);
  if (!place.ok) return place;
  if (place.value.inode === 0) {
    if (!creates) return refuse('no-entry');
    const { directory, name, slash } = place.value;
    if (slash) return refuse('is-directory');
    const made = host.files.createFile(directory, name, host.port.realtimeNs());
    return made < 0 ? refuse(fileError(made)) : success(openInode(host, made, flags));
  }
  if (exclusive) return refuse('exist');
  return openExisting(host, place.value.inode, options);
}

const CHANGING = DESCRIPTOR_FLAG.write | DESCRIPTOR_FLAG.mutateDirectory;

function openExisting(
  host: WasiHost,
  inode: Inode,
  { openFlags, flags }: OpenOptions,
): FileOutcome<Descriptor> {
  const { kind } = host.files.stat(inode);
  const truncates = (openFlags & OPEN_FLAG.truncate) !== 0;
  if (kind === 'symlink') return refuse('loop');
  if (kind === 'directory') {
    if (truncates || (flags & DESCRIPTOR_FLAG.write) !== 0) return refuse('is-directory');
    return success(openInode(host, inode, flags));
  }
  if ((openFlags & OPEN_FLAG.directory) !== 0) return refuse('not-directory');
  if (truncates) {
    const status = host.files.truncate(inode, 0, host.port.realtimeNs());
    if (status < 0) return refuse(fileError(status));
  }
  return success(openInode(host, inode, flags & ~DESCRIPTOR_FLAG.mutateDirectory));
}

/** Makes what was just written durable when the descriptor was opened to do so (POSIX O_SYNC). */
export function synchroniseWrite(host: WasiHost, inode: Inode, flags: number): number {
  const { fileIntegritySync, dataIntegritySync } = DESCRIPTOR_FLAG;
  if ((flags & (fileIntegritySync | dataIntegritySync)) === 0) return 0;
  return host.synchronise(inode, (flags & fileIntegritySync) === 0);
}
