import type { FileSystem } from '../../sim/index.ts';
import { draw32, ROOT, streamKey, type Inode } from '../../sim/index.ts';

/** Whole numbers below a bound, the same for each seed. */
export function randomSource(seed: number): (below: number) => number {
  const key = streamKey(seed, 'test');
  let ordinal = 0;
  return (below) => draw32(key, ordinal++, 0) % below;
}

export function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text));
}

export function textOf(files: FileSystem, inode: Inode): string {
  const into = new Uint8Array(files.stat(inode).size);
  files.read(inode, 0, into);
  return Buffer.from(into).toString();
}

/** Makes a file with this text; returns its inode. */
export function put(files: FileSystem, directory: Inode, name: string, text: string): Inode {
  const known = files.lookup(directory, name);
  const inode = known > 0 ? known : files.createFile(directory, name, 1n);
  files.truncate(inode, 0, 2n);
  files.write(inode, 0, bytesOf(text), 2n);
  return inode;
}

/** All files and links with their texts, directories with a slash, by path. */
export function tree(files: FileSystem, directory: Inode = ROOT, path = ''): string[] {
  return files.entriesAfter(directory, 0, 1_000_000).flatMap(({ name, inode, kind }) => {
    const at = `${path}/${name}`;
    if (kind === 'directory') return [`${at}/`, ...tree(files, inode, at)];
    if (kind === 'symlink') return [`${at} -> ${files.readLink(inode)}`];
    return [`${at}: ${textOf(files, inode)}`];
  });
}

/** Answers decisions from a list, which must be used up exactly; further ones fail. */
export function answers(...list: number[]): (arity: number) => number {
  return () => {
    const answer = list.shift();
    if (answer === undefined) throw new Error('one decision more than expected');
    return answer;
  };
}
