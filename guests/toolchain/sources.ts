import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SimError } from '../../sim/index.ts';

/** One file of a program's source. */
export interface SourceFile {
  /** Relative path with forward slashes: the only name that a compiler sees. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Upper bound of what one program's source may hold; a larger folder is a mistake. */
const SOURCE_BYTE_COUNT_MAX = 64 * 1024 * 1024;
const SOURCE_FILE_COUNT_MAX = 10_000;

/** Names of all files below `directory`, sorted by code unit, hidden files and folders left out. */
export function listSources(directory: string): string[] {
  const found: string[] = [];
  const visit = (prefix: string): void => {
    for (const entry of readdirSync(join(directory, prefix), { withFileTypes: true })) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile()) found.push(path);
      if (found.length > SOURCE_FILE_COUNT_MAX) throw tooLarge(directory, 'files');
    }
  };
  visit('');
  return found.sort((a, b) => (a < b ? -1 : 1));
}

function tooLarge(directory: string, what: string): SimError {
  return new SimError({
    code: 'input/source-too-large',
    message: `the source folder holds too many ${what}`,
    place: directory,
    remedy: 'name the folder of one program',
  });
}

/** Reads the named files of a folder, in the given order. */
export function readSources(directory: string, paths: readonly string[]): SourceFile[] {
  let byteCount = 0;
  return paths.map((path) => {
    const full = join(directory, path);
    const status = statSync(full, { throwIfNoEntry: false });
    if (status === undefined || !status.isFile()) {
      throw new SimError({
        code: 'input/source-missing',
        message: 'a source file does not exist',
        place: path,
        remedy: 'check the path',
      });
    }
    byteCount += status.size;
    if (byteCount > SOURCE_BYTE_COUNT_MAX) throw tooLarge(directory, 'bytes');
    return { path, bytes: readFileSync(full) };
  });
}

/** The whole folder as source files. */
export function readSourceTree(directory: string): SourceFile[] {
  return readSources(directory, listSources(directory));
}

/** The same files below another folder name. */
export function under(prefix: string, files: readonly SourceFile[]): SourceFile[] {
  return files.map((file) => ({ path: `${prefix}/${file.path}`, bytes: file.bytes }));
}

/** Hexadecimal SHA-256 of some bytes. */
export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A digest of names and contents; the order of the files does not matter. */
export function sourceDigest(files: readonly SourceFile[]): string {
  const lines = files.map((file) => `${sha256Hex(file.bytes)}  ${file.path}\n`).sort();
  return sha256Hex(new TextEncoder().encode(lines.join('')));
}
