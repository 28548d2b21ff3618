import { ERRNO } from '../kernel/errno.ts';
import { RollingDigest } from '../kernel/rolling-digest.ts';
import { asMap } from '../kernel/shape.ts';
import { CHUNK_BYTES, FILE_BYTES_MAX } from './content.ts';
import { loseVolatileState } from './crash.ts';
import type { DirectoryEntry } from './directory.ts';
import type { Disk } from './disk.ts';
import { captureDisk, digestDisk, restoreDisk } from './disk-image.ts';
import { captureImage, restoreImage } from './image.ts';
import { digestNode } from './node-digest.ts';
import type { DirectoryNode, FileNode, FileStat, Inode, Node } from './inode.ts';
import { CHANGES_MAX, EntryJournal, type Change } from './journal.ts';
import { checkName, isLongerThan, PATH_BYTES_MAX, utf8Length } from './names.ts';
import { NodeTable, ROOT } from './node-table.ts';

export { ROOT } from './node-table.ts';
export type { DirectoryEntry } from './directory.ts';
export type { FileKind, FileStat, FileTimes, Inode } from './inode.ts';

/** Names of one file at most (ext4 has 65,000). */
export const NAMES_PER_FILE_MAX = 65_000;
/** Bytes of removed files that are kept because a loss of power could bring them back. */
const GHOST_BYTES_MAX = 64 * 2 ** 20;

export interface FileSystemOptions {
  /** The wall clock when the file system was made: the root's times. */
  readonly createdNs?: bigint;
  /** Space for the bytes of files, in whole chunks of 4 KiB. Default 1 GiB. */
  readonly bytesMax?: number;
  /** How many files, directories and links there may be. Default 262,144. */
  readonly inodesMax?: number;
}

/** What a guest does to its files, as predicates name it. */
export type FileUse = 'block_read' | 'block_write' | 'fsync';

/**
 * The files of one node: they outlive its guest. Methods return a value of at least 0 or a
 * negative errno; `nowNs` is the node's wall clock. Access times do not follow reads (as with
 * Linux's `noatime`). What is not synchronised is volatile: see `crash`.
 */
export class FileSystem {
  private readonly table: NodeTable;
  private readonly journal = new EntryJournal();
  private readonly chunksMax: number;
  private readonly inodesMax: number;
  private digested: string | null = null;
  /** The layers below, where they are modelled: without them a disk does what it says. */
  private disk: Disk | null = null;
  private onUse: ((use: FileUse) => void) | null = null;

  constructor(options: FileSystemOptions = {}) {
    const { createdNs = 0n, bytesMax = 2 ** 30, inodesMax = 2 ** 18 } = options;
    this.table = new NodeTable(createdNs);
    this.chunksMax = Math.floor(bytesMax / CHUNK_BYTES);
    this.inodesMax = inodesMax;
  }

  /** Puts a disk below the files, which are all durable. */
  attach(disk: Disk): void {
    this.disk = disk;
    disk.attach(this.table);
  }

  /** From here on `onUse` is told of each read, write and synchronisation that is tried. */
  watch(onUse: (use: FileUse) => void): void {
    this.onUse = onUse;
  }

  /** What the disk took for the operations since the last question, on top of their usual time. */
  takeDelayNs(): number {
    return this.disk === null ? 0 : this.disk.takeDelayNs();
  }

  /** Whether an operation does not come to an end, so that the guest waits for its disk. */
  get isStuck(): boolean {
    return this.disk !== null && this.disk.stuckBy !== null;
  }

  /** The inode of that name in the directory. Names are plain: `.` and `..` are never found. */
  lookup(directory: Inode, name: string): number {
    const parent = this.table.find(directory);
    if (parent === undefined) return -ERRNO.NOENT;
    if (parent.kind !== 'directory') return -ERRNO.NOTDIR;
    return parent.directory.get(name)?.inode ?? -ERRNO.NOENT;
  }

  /** Makes an empty file; returns its inode. */
  createFile(directory: Inode, name: string, nowNs: bigint): number {
    const refusal = this.refuseNew(directory, name);
    if (refusal < 0) return refusal;
    return this.enter(directory, name, this.table.makeFile(nowNs), nowNs);
  }

  /** Makes an empty directory; returns its inode. */
  makeDirectory(directory: Inode, name: string, nowNs: bigint): number {
    const refusal = this.refuseNew(directory, name);
    if (refusal < 0) return refusal;
    return this.enter(directory, name, this.table.makeDirectory(directory, nowNs), nowNs);
  }

  /** Makes a symbolic link with any text as target; returns its inode. */
  symlink(directory: Inode, name: string, target: string, nowNs: bigint): number {
    if (target === '') return -ERRNO.NOENT;
    if (isLongerThan(target, PATH_BYTES_MAX)) return -ERRNO.NAMETOOLONG;
    const refusal = this.refuseNew(directory, name);
    if (refusal < 0) return refusal;
    return this.enter(directory, name, this.table.makeSymlink(target, nowNs), nowNs);
  }

  /** The target of a symbolic link. */
  readLink(inode: Inode): string | number {
    const node = this.table.find(inode);
    if (node === undefined) return -ERRNO.NOENT;
    return node.kind === 'symlink' ? node.target : -ERRNO.INVAL;
  }

  /** Gives a file or symbolic link one more name. */
  link(inode: Inode, directory: Inode, name: string, nowNs: bigint): number {
    const node = this.table.find(inode);
    if (node === undefined || node.names === 0) return -ERRNO.NOENT;
    if (node.kind === 'directory') return -ERRNO.PERM;
    const refusal = this.refuseEntry(directory, name);
    if (refusal < 0) return refusal;
    if (node.names >= NAMES_PER_FILE_MAX) return -ERRNO.MLINK;
    this.enter(directory, name, node, nowNs);
    return 0;
  }

  /** Removes a name of a file or symbolic link; `.` and `..` are directories. */
  unlink(directory: Inode, name: string, nowNs: bigint): number {
    if (name === '.' || name === '..') return -ERRNO.ISDIR;
    const inode = this.lookup(directory, name);
    if (inode < 0) return inode;
    if (this.table.get(inode).kind === 'directory') return -ERRNO.ISDIR;
    return this.leave(directory, name, nowNs);
  }

  /** Removes an empty directory. */
  removeDirectory(directory: Inode, name: string, nowNs: bigint): number {
    if (name === '.') return -ERRNO.INVAL;
    if (name === '..') return -ERRNO.NOTEMPTY;
    const inode = this.lookup(directory, name);
    if (inode < 0) return inode;
    const node = this.table.get(inode);
    if (node.kind !== 'directory') return -ERRNO.NOTDIR;
    if (node.directory.size > 0) return -ERRNO.NOTEMPTY;
    return this.leave(directory, name, nowNs);
  }

  /** Moves an entry, in one step also with regard to a loss of power (POSIX `rename`). */
  rename(from: Inode, fromName: string, to: Inode, toName: string, nowNs: bigint): number {
    for (const name of [fromName, toName]) if (name === '.' || name === '..') return -ERRNO.BUSY;
    const inode = this.lookup(from, fromName);
    if (inode < 0) return inode;
    const node = this.table.get(inode);
    const refusal = this.refuseMove(node, to, toName);
    if (refusal !== 0) return refusal === SAME ? 0 : refusal;
    const source = this.table.get(from) as DirectoryNode;
    const target = this.table.get(to) as DirectoryNode;
    const before = source.directory.get(fromName) as DirectoryEntry;
    const replaced = target.directory.get(toName) ?? null;
    source.directory.remove(fromName);
    if (replaced !== null) target.directory.remove(toName);
    const after = target.directory.add(toName, inode, node.kind);
    if (node.kind === 'directory') node.parent = to;
    this.disk?.paths.named(inode, to, toName);
    this.record([
      { directory: from, name: fromName, before, after: null },
      { directory: to, name: toName, before: replaced, after },
    ]);
    if (replaced !== null) this.table.addNames(this.table.get(replaced.inode), -1);
    this.changed(node, { changedNs: nowNs });
    for (const each of [source, target]) {
      this.changed(each, { modifiedNs: nowNs, changedNs: nowNs });
    }
    this.writeBack();
    return 0;
  }

  /** Of an inode that exists: has a name, or is retained. */
  stat(inode: Inode): FileStat {
    const node = this.table.get(inode);
    const { kind, names: links, times } = node;
    return { inode, kind, size: sizeOf(node), links, ...times };
  }

  /** Copies bytes from `offset` on; returns how many, 0 at the end. */
  read(inode: Inode, offset: number, into: Uint8Array): number {
    const node = this.table.find(inode);
    if (node === undefined) return -ERRNO.BADF;
    if (node.kind !== 'file') return node.kind === 'directory' ? -ERRNO.ISDIR : -ERRNO.INVAL;
    this.onUse?.('block_read');
    if (this.disk === null) return node.content.read(offset, into);
    this.digested = null;
    return this.disk.read(node, offset, into);
  }

  /** Writes at `offset`; returns how many bytes: fewer when space or the largest size ends. */
  write(inode: Inode, offset: number, from: Uint8Array, nowNs: bigint): number {
    const node = this.table.find(inode);
    if (node === undefined) return -ERRNO.BADF;
    if (node.kind !== 'file') return node.kind === 'directory' ? -ERRNO.ISDIR : -ERRNO.INVAL;
    if (from.length === 0) return 0;
    if (offset >= FILE_BYTES_MAX) return -ERRNO.FBIG;
    const { content } = node;
    let count = Math.min(from.length, FILE_BYTES_MAX - offset);
    const free = this.freeChunks();
    if (content.missingChunks(offset, count) > free) {
      count = this.fitting(node, offset, count, free);
      if (count === 0) return -this.noSpace();
    }
    this.onUse?.('block_write');
    const refusal = this.disk?.admitWrite(node, offset, count) ?? 0;
    if (refusal < 0) return refusal;
    const { chunks, size } = content;
    const bytes = count === from.length ? from : from.subarray(0, count);
    content.write(offset, bytes);
    this.modified(node, chunks, nowNs);
    this.disk?.wrote(node, offset, bytes, size);
    return count;
  }

  /** Cuts or grows a file; what is new reads as zeros. */
  truncate(inode: Inode, size: number, nowNs: bigint): number {
    const node = this.table.find(inode);
    if (node === undefined) return -ERRNO.BADF;
    if (node.kind !== 'file') return node.kind === 'directory' ? -ERRNO.ISDIR : -ERRNO.INVAL;
    if (size > FILE_BYTES_MAX) return -ERRNO.FBIG;
    const { chunks, size: sizeBefore } = node.content;
    node.content.truncate(size);
    this.modified(node, chunks, nowNs);
    this.disk?.resized(node, sizeBefore);
    return 0;
  }

  /** Reserves space, so that writes there cannot fail for want of it (POSIX `posix_fallocate`). */
  allocate(inode: Inode, offset: number, length: number, nowNs: bigint): number {
    const node = this.table.find(inode);
    if (node === undefined) return -ERRNO.BADF;
    if (node.kind !== 'file') return node.kind === 'directory' ? -ERRNO.ISDIR : -ERRNO.INVAL;
    if (length === 0) return -ERRNO.INVAL;
    if (offset + length > FILE_BYTES_MAX) return -ERRNO.FBIG;
    const { content } = node;
    if (content.missingChunks(offset, length) > this.freeChunks()) return -this.noSpace();
    const { chunks, size } = content;
    content.reserve(offset, length);
    this.modified(node, chunks, nowNs);
    if (content.size > size) this.disk?.resized(node, size);
    return 0;
  }

  /** Sets times; null leaves one as it is. */
  setTimes(
    inode: Inode,
    accessedNs: bigint | null,
    modifiedNs: bigint | null,
    nowNs: bigint,
  ): number {
    const node = this.table.find(inode);
    if (node === undefined) return -ERRNO.BADF;
    const { times } = node;
    this.changed(node, {
      accessedNs: accessedNs ?? times.accessedNs,
      modifiedNs: modifiedNs ?? times.modifiedNs,
      changedNs: nowNs,
    });
    return 0;
  }

  /**
   * At most `countMax` entries after `cookie` (0: from the start), in order of their making. An
   * inode that is no directory has none.
   */
  entriesAfter(directory: Inode, cookie: number, countMax: number): DirectoryEntry[] {
    const node = this.table.find(directory);
    return node?.kind === 'directory' ? node.directory.after(cookie, countMax) : [];
  }

  /** The directory that holds the directory; the root's is the root. */
  parent(directory: Inode): Inode {
    const node = this.table.get(directory);
    return node.kind === 'directory' ? node.parent : ROOT;
  }

  /**
   * Makes durable: of a file its bytes and (unless `dataOnly`) times; of a directory all its
   * entries and its own place in the tree, as with journaling file systems.
   */
  synchronise(inode: Inode, dataOnly: boolean): number {
    const node = this.table.find(inode);
    if (node === undefined) return -ERRNO.BADF;
    this.digested = null;
    this.onUse?.('fsync');
    if (node.kind === 'file') {
      if (this.disk !== null) return this.disk.synchroniseFile(node, dataOnly);
      this.makeDurable(node, dataOnly);
    } else if (node.kind === 'directory') {
      const status = this.disk?.admitDirectorySync(inode) ?? 0;
      if (status !== 0) return Math.min(status, 0);
      this.committed(this.journal.commitWithin(inode, this.pathOf(node)));
    }
    return 0;
  }

  /** Makes everything durable. */
  synchroniseAll(): void {
    for (const node of this.table.all()) if (node.kind === 'file') this.makeDurable(node, false);
    this.committed(this.journal.commitAll());
  }

  /** Counts one more open descriptor: the inode lives on without names. */
  retain(inode: Inode): void {
    this.digested = null;
    this.table.addRetained(this.table.get(inode), 1);
  }

  release(inode: Inode): void {
    this.digested = null;
    this.table.addRetained(this.table.get(inode), -1);
    this.writeBack();
  }

  /** The guest ended: none of its descriptors is open any more. */
  releaseAll(): void {
    this.digested = null;
    if (this.disk !== null) this.disk.stuckBy = null;
    for (const node of [...this.table.all()]) {
      if (node.retained > 0) this.table.addRetained(node, -node.retained);
    }
    this.writeBack();
  }

  /**
   * A loss of power: descriptors are gone; `decide(2)` says for each change of entries, oldest
   * first, whether it was kept (1) or lost (0), unless it is lost with one that it builds upon;
   * then for each file whose bytes are not durable, by inode, whether they were kept (1) or are
   * as they were last durable (0). With a disk attached its policy chooses among the writes that
   * were not on the medium at `atNs`.
   */
  crash(decide: (arity: number) => number, atNs = 0): void {
    this.digested = null;
    if (this.disk !== null) this.disk.stuckBy = null;
    loseVolatileState(this.table, this.journal, { decide, disk: this.disk, atNs });
  }

  /** The state as canonical plain data that shares its byte arrays; nobody may write to it. */
  capture(): unknown {
    const image = captureImage(this.table, this.journal);
    return this.disk === null ? image : { ...image, disk: captureDisk(this.disk) };
  }

  /** Damaged states are refused with `bundle/...`. Inodes that are as captured are left alone. */
  restore(state: unknown): void {
    this.digested = null;
    if (this.disk === null) return restoreImage(this.table, this.journal, state);
    const { disk, ...files } = asMap(state, 'files');
    restoreImage(this.table, this.journal, files);
    restoreDisk(this.disk, disk);
  }

  /** 16 hexadecimal digits over the whole state, durable and volatile. */
  digest(): string {
    if (this.digested !== null && this.disk === null) return this.digested;
    const digest = new RollingDigest();
    digest.updateInteger(this.table.next);
    for (const node of this.table.all()) {
      const hex = digestNode(node);
      digest.updateInteger(Number.parseInt(hex.slice(0, 8), 16));
      digest.updateInteger(Number.parseInt(hex.slice(8), 16));
    }
    const hex = this.journal.digest();
    digest.updateInteger(Number.parseInt(hex.slice(0, 8), 16));
    digest.updateInteger(Number.parseInt(hex.slice(8), 16));
    if (this.disk !== null) digestDisk(this.disk, digest);
    this.digested = digest.hex();
    return this.digested;
  }

  /** Chunks that may still be used. */
  private freeChunks(): number {
    const max = this.disk === null ? this.chunksMax : this.disk.chunksMax(this.chunksMax);
    return Math.max(0, max - this.table.usedChunks);
  }

  /** Why there is no more space. */
  private noSpace(): number {
    return this.disk?.isQuotaTighter() === true ? ERRNO.DQUOT : ERRNO.NOSPC;
  }

  private refuseNew(directory: Inode, name: string): number {
    const refusal = this.refuseEntry(directory, name);
    if (refusal < 0) return refusal;
    return this.table.count >= this.inodesMax ? -ERRNO.NOSPC : 0;
  }

  /** 0 if an entry of that name may be made in the directory. */
  private refuseEntry(directory: Inode, name: string): number {
    const parent = this.table.find(directory);
    if (parent === undefined) return -ERRNO.NOENT;
    if (parent.kind !== 'directory') return -ERRNO.NOTDIR;
    const refusal = checkName(name);
    if (refusal < 0) return refusal;
    if (parent.directory.get(name) !== undefined) return -ERRNO.EXIST;
    return parent.names === 0 ? -ERRNO.NOENT : 0;
  }

  /** 0 if `node` may move there, SAME if both are names of one inode, or a negative errno. */
  private refuseMove(node: Node, to: Inode, toName: string): number {
    const known = this.lookup(to, toName);
    if (known === -ERRNO.NOENT) {
      const refusal = this.refuseEntry(to, toName);
      if (refusal < 0) return refusal;
    } else if (known < 0) {
      return known;
    } else if (known === node.inode) {
      return SAME;
    }
    if (
      node.kind === 'directory' &&
      this.pathOf(this.table.get(to) as DirectoryNode).includes(node.inode)
    ) {
      return -ERRNO.INVAL;
    }
    if (known < 0) return 0;
    const replaced = this.table.get(known);
    if (replaced.kind !== 'directory') return node.kind === 'directory' ? -ERRNO.NOTDIR : 0;
    if (node.kind !== 'directory') return -ERRNO.ISDIR;
    return replaced.directory.size > 0 ? -ERRNO.NOTEMPTY : 0;
  }

  /** Makes the entry; returns the inode. */
  private enter(directory: Inode, name: string, node: Node, nowNs: bigint): number {
    const parent = this.table.get(directory) as DirectoryNode;
    const after = parent.directory.add(name, node.inode, node.kind);
    this.table.addNames(node, 1);
    this.disk?.paths.named(node.inode, directory, name);
    this.record([{ directory, name, before: null, after }]);
    this.changed(node, { changedNs: nowNs });
    this.changed(parent, { modifiedNs: nowNs, changedNs: nowNs });
    this.writeBack();
    return node.inode;
  }

  /** Removes the entry, which exists. */
  private leave(directory: Inode, name: string, nowNs: bigint): number {
    const parent = this.table.get(directory) as DirectoryNode;
    const before = parent.directory.get(name) as DirectoryEntry;
    const node = this.table.get(before.inode);
    parent.directory.remove(name);
    this.record([{ directory, name, before, after: null }]);
    this.changed(node, { changedNs: nowNs });
    this.table.addNames(node, -1);
    this.changed(parent, { modifiedNs: nowNs, changedNs: nowNs });
    this.writeBack();
    return 0;
  }

  private record(change: Change): void {
    this.journal.record(change);
    this.table.pin(change);
  }

  private committed(changes: readonly Change[]): void {
    this.digested = null;
    for (const change of changes) this.table.unpin(change);
  }

  /** Keeps the journal and what only it holds within their limits. */
  private writeBack(): void {
    while (
      this.journal.pending.length > CHANGES_MAX ||
      (this.table.ghostChunks * CHUNK_BYTES > GHOST_BYTES_MAX && this.journal.pending.length > 0)
    ) {
      this.committed([this.journal.commitOldest()]);
    }
  }

  private changed(node: Node, times: Partial<FileStat>): void {
    const { accessedNs, modifiedNs, changedNs } = { ...node.times, ...times };
    node.times = { accessedNs, modifiedNs, changedNs };
    this.table.touch(node);
    this.digested = null;
  }

  private modified(node: FileNode, chunksBefore: number, nowNs: bigint): void {
    this.table.resized(node, chunksBefore);
    node.dirty = true;
    const { accessedNs } = node.times;
    node.times = { accessedNs, modifiedNs: nowNs, changedNs: nowNs };
    this.table.touch(node);
    this.digested = null;
  }

  private makeDurable(node: FileNode, dataOnly: boolean): void {
    const times = dataOnly ? node.durable.times : node.times;
    if (!node.dirty && times === node.durable.times) return;
    node.durable = { content: node.content.version(), times };
    node.dirty = false;
    this.table.touch(node);
    this.digested = null;
  }

  /** How many of `count` bytes fit when only `free` chunks may be added. */
  private fitting(node: FileNode, offset: number, count: number, free: number): number {
    let fits = 0;
    let missing = 0;
    while (fits < count) {
      const step = Math.min(count - fits, CHUNK_BYTES - ((offset + fits) % CHUNK_BYTES));
      missing += node.content.missingChunks(offset + fits, step);
      if (missing > free) break;
      fits += step;
    }
    return fits;
  }

  /** The directory and its ancestors. */
  private pathOf(node: DirectoryNode): Inode[] {
    const path = [node.inode];
    let at = node;
    while (at.inode !== ROOT && at.names > 0) {
      path.push(at.parent);
      at = this.table.get(at.parent) as DirectoryNode;
    }
    return path;
  }
}

const SAME = 1;

function sizeOf(node: Node): number {
  if (node.kind === 'file') return node.content.size;
  return node.kind === 'symlink' ? utf8Length(node.target) : 0;
}
