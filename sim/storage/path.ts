import { ERRNO } from '../kernel/errno.ts';
import type { FileSystem } from './file-system.ts';
import type { Inode } from './inode.ts';
import { isLongerThan, NAME_BYTES_MAX, PATH_BYTES_MAX } from './names.ts';

/** Symbolic links that are followed in one resolution at most (Linux: MAXSYMLINKS). */
export const SYMLINKS_MAX = 40;

export interface PathOptions {
  /** Whether a symbolic link as the last component is followed. */
  readonly followFinal: boolean;
  /**
   * Whether a slash at the end follows a symbolic link there even so (POSIX: 4.16 Pathname
   * Resolution). Default true; calls that remove or move entries do not want it.
   */
  readonly followSlash?: boolean;
}

/** Where a path leads. */
export interface ResolvedPath {
  /** The directory that holds the entry, or would hold it. */
  readonly directory: Inode;
  /** The entry's name there; `.` or `..` when the path ends so and `inode` is a directory. */
  readonly name: string;
  /** 0 if there is no such entry. */
  readonly inode: Inode;
  /** The path ended in a slash: what it names is, or can only become, a directory. */
  readonly slash: boolean;
}

/**
 * Follows `path` from the directory `base`, which it cannot leave: neither an absolute path or
 * link nor `..` leads out of it (`-PERM`). Other failures: `-NOENT` (a directory on the way is
 * missing, or the path is empty), `-NOTDIR`, `-LOOP`, `-NAMETOOLONG`, `-INVAL` (a zero in it).
 */
export function resolvePath(
  files: FileSystem,
  base: Inode,
  path: string,
  options: PathOptions,
): ResolvedPath | number {
  if (path === '') return -ERRNO.NOENT;
  if (path.includes('\0')) return -ERRNO.INVAL;
  if (isLongerThan(path, PATH_BYTES_MAX)) return -ERRNO.NAMETOOLONG;
  if (path.startsWith('/')) return -ERRNO.PERM;
  const { followFinal, followSlash = true } = options;
  let directory = base;
  let linksLeft = SYMLINKS_MAX;
  /** Components still to come, the next one last. */
  const ahead: string[] = [];
  let slash = pushComponents(ahead, path);
  for (;;) {
    const name = ahead.pop() as string;
    const final = ahead.length === 0;
    if (name === '.' || name === '..') {
      if (name === '..' && directory === base) return -ERRNO.PERM;
      const inode = name === '.' ? directory : files.parent(directory);
      if (final) return { directory, name, inode, slash };
      directory = inode;
      continue;
    }
    if (isLongerThan(name, NAME_BYTES_MAX)) return -ERRNO.NAMETOOLONG;
    const inode = files.lookup(directory, name);
    if (inode === -ERRNO.NOENT && final) return { directory, name, inode: 0, slash };
    if (inode < 0) return inode;
    const { kind } = files.stat(inode);
    if (kind === 'symlink' && (!final || followFinal || (slash && followSlash))) {
      const target = files.readLink(inode) as string;
      if (target.startsWith('/')) return -ERRNO.PERM;
      if (linksLeft-- === 0) return -ERRNO.LOOP;
      const targetSlash = pushComponents(ahead, target);
      if (final) slash ||= targetSlash;
      continue;
    }
    if (final) {
      if (slash && kind !== 'directory') return -ERRNO.NOTDIR;
      return { directory, name, inode, slash };
    }
    if (kind !== 'directory') return -ERRNO.NOTDIR;
    directory = inode;
  }
}

/** Adds the components of a path in reverse; returns whether it ends in a slash. */
function pushComponents(ahead: string[], path: string): boolean {
  const names = path.split('/').filter((name) => name !== '');
  for (let index = names.length - 1; index >= 0; index--) ahead.push(names[index] as string);
  return path.endsWith('/');
}
