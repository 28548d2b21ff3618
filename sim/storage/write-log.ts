import { assert } from '../kernel/assert.ts';
import { CHUNK_BYTES, type FileContent } from './content.ts';
import type { Inode } from './inode.ts';

/** Bytes of a page: what the page cache holds and writes as a whole. */
export const PAGE_BYTES = CHUNK_BYTES;
/** The page of a write that changed only the size. */
export const SIZE_PAGE = -1;

/** More than this is not kept volatile: the file with the oldest write is written back. */
export const LOG_BYTES_MAX = 64 * 2 ** 20;
export const LOG_WRITES_MAX = 65_536;

/** A write to one page, or (page SIZE_PAGE, no bytes) a new size. The bytes are never written. */
export interface PageWrite {
  /** Ascends over all writes of the disk. */
  readonly sequence: number;
  readonly page: number;
  /** Where in the file the bytes go; the new size. */
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** Whether a size may cut the file; one that only follows a write never does. */
  readonly cuts: boolean;
}

/** The writes of one file, in order; the first `written` are in the device's cache. */
export interface FileWrites {
  writes: PageWrite[];
  written: number;
}

const NO_BYTES = new Uint8Array(0);

/**
 * What was written and is not on the medium, of each file in order: first what the device holds in
 * its volatile cache, then what only the page cache of the node has.
 */
export class WriteLog {
  private files = new Map<Inode, FileWrites>();
  private nextSequence = 0;
  private byteCount = 0;
  private writeCount = 0;

  get sequence(): number {
    return this.nextSequence;
  }

  get isOverfull(): boolean {
    return this.byteCount > LOG_BYTES_MAX || this.writeCount > LOG_WRITES_MAX;
  }

  all(): IterableIterator<[Inode, FileWrites]> {
    return this.files.entries();
  }

  find(inode: Inode): FileWrites | undefined {
    return this.files.get(inode);
  }

  /** Whether the medium has the page as it was last written. */
  isClean(inode: Inode, page: number): boolean {
    const file = this.files.get(inode);
    return file === undefined || !file.writes.some((write) => write.page === page);
  }

  /** Notes bytes that were written; they are copied. */
  record(inode: Inode, offset: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;) {
      const at = offset + done;
      const count = Math.min(bytes.length - done, PAGE_BYTES - (at % PAGE_BYTES));
      this.add(inode, {
        sequence: this.nextSequence++,
        page: Math.floor(at / PAGE_BYTES),
        offset: at,
        bytes: bytes.slice(done, done + count),
        cuts: false,
      });
      done += count;
    }
  }

  recordSize(inode: Inode, size: number, cuts: boolean): void {
    const sequence = this.nextSequence++;
    this.add(inode, { sequence, page: SIZE_PAGE, offset: size, bytes: NO_BYTES, cuts });
  }

  /** Takes the file's writes out; undefined if there are none. */
  take(inode: Inode): FileWrites | undefined {
    const file = this.files.get(inode);
    if (file === undefined) return undefined;
    this.files.delete(inode);
    this.count(file.writes, -1);
    return file;
  }

  /** Puts a file's writes in the place of those that there are. */
  put(inode: Inode, file: FileWrites): void {
    this.take(inode);
    assert(file.written <= file.writes.length, 'writes in the cache are writes');
    if (file.writes.length === 0) return;
    this.files.set(inode, file);
    this.count(file.writes, 1);
  }

  /** The file whose first write is the oldest. */
  oldest(): Inode {
    let found: Inode = -1;
    let first = Infinity;
    for (const [inode, { writes }] of this.files) {
      const { sequence } = writes[0] as PageWrite;
      if (sequence >= first) continue;
      first = sequence;
      found = inode;
    }
    assert(found >= 0, 'a write is pending');
    return found;
  }

  clear(): void {
    this.files = new Map();
    this.byteCount = 0;
    this.writeCount = 0;
  }

  restore(files: readonly (readonly [Inode, FileWrites])[], sequence: number): void {
    this.clear();
    for (const [inode, file] of files) this.put(inode, file);
    this.nextSequence = sequence;
  }

  private add(inode: Inode, write: PageWrite): void {
    const file = this.files.get(inode);
    if (file === undefined) this.files.set(inode, { writes: [write], written: 0 });
    else file.writes.push(write);
    this.byteCount += write.bytes.length;
    this.writeCount++;
  }

  private count(writes: readonly PageWrite[], sign: 1 | -1): void {
    this.writeCount += sign * writes.length;
    for (const { bytes } of writes) this.byteCount += sign * bytes.length;
  }
}

/** Does to a content what the write did. */
export function applyWrite(content: FileContent, write: PageWrite): void {
  if (write.page !== SIZE_PAGE) content.write(write.offset, write.bytes);
  else if (write.cuts) content.truncate(write.offset);
  else if (write.offset > content.size) content.truncate(write.offset);
}

/** The write's part up to the end of its `count`th sector. */
export function firstSectors(write: PageWrite, count: number, sectorBytes: number): PageWrite {
  const first = Math.floor(write.offset / sectorBytes);
  const end = (first + count) * sectorBytes;
  return { ...write, bytes: write.bytes.subarray(0, Math.max(0, end - write.offset)) };
}

/** How many sectors the write touches. */
export function sectorCount(write: PageWrite, sectorBytes: number): number {
  if (write.bytes.length === 0) return 0;
  const last = Math.floor((write.offset + write.bytes.length - 1) / sectorBytes);
  return last - Math.floor(write.offset / sectorBytes) + 1;
}
