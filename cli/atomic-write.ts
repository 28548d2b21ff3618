import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SimError } from '../sim/index.ts';

/**
 * Writes a whole file or none: into a file of another name beside it, synchronised, then renamed.
 * A full disk or a kill leaves no half file under `path`. Throws `store/write`.
 */
export function writeAtomically(path: string, bytes: Uint8Array): void {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${process.pid}.part`);
  try {
    mkdirSync(folder, { recursive: true });
    writeWhole(temporary, bytes);
    renameSync(temporary, path);
    syncFolder(folder);
  } catch (error) {
    removeQuietly(temporary);
    throw writeError(path, error);
  }
}

/** Where its folder is no folder, not even removing works: what failed first is what is told. */
function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    return;
  }
}

/** What a failed write becomes; the folder's name is for people, so it stands in the place. */
export function writeError(path: string, error: unknown): SimError {
  const code = (error as NodeJS.ErrnoException).code ?? 'an unknown error';
  const reasons: Readonly<Record<string, string>> = {
    ENOSPC: 'the disk is full',
    EDQUOT: 'the disk quota is used up',
    EACCES: 'access is denied',
    EROFS: 'the file system is read-only',
    ENOTDIR: 'a part of its folder is not a folder',
    EFBIG: 'the file would be larger than is allowed',
  };
  return new SimError({
    code: 'store/write',
    message: `cannot write "${basename(path)}": ${reasons[code] ?? `the system says ${code}`}`,
    place: path,
    remedy: 'free space or choose another place with --artifact-dir',
    cause: error,
  });
}

function writeWhole(path: string, bytes: Uint8Array): void {
  const descriptor = openSync(path, 'w');
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes the rename itself durable, where folders can be synchronised. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
