import { assert } from '../kernel/assert.ts';
import type { Decisions } from '../kernel/decision.ts';
import { ERRNO } from '../kernel/errno.ts';
import type { EventKind, EventLog } from '../kernel/event-log.ts';
import { VIRTUAL_NS_MAX, type VirtualNs } from '../kernel/units.ts';
import type { DiskDef, DiskRate, DiskRuleDef } from '../plan/disk.ts';
import type { DiskAtlas } from './atlas.ts';
import type { ContentVersion } from './content-version.ts';
import { BASE_RULE, DiskRules, FAULT_NAMES, WHOLE_FILE } from './disk-rules.ts';
import { readThroughFaults } from './disk-read.ts';
import { FilePaths } from './file-paths.ts';
import type { FileNode, FileTimes, Inode } from './inode.ts';
import type { NodeTable } from './node-table.ts';
import { flush, writeOut } from './write-out.ts';
import { PAGE_BYTES, WriteLog, type FileWrites } from './write-log.ts';

export interface DiskOptions {
  readonly def: DiskDef;
  /** The node's index and name. */
  readonly node: number;
  readonly nodeName: string;
  /** The rules that events may start, by the events' names. */
  readonly rules: ReadonlyMap<string, DiskRuleDef>;
  readonly atlas: DiskAtlas | null;
  readonly decisions: Decisions;
  readonly events: EventLog;
  /** The local time of the node. */
  readonly nowNs: () => VirtualNs;
  /** Stops the guest until `release` gives it free; false if no guest made the operation. */
  readonly hang: () => boolean;
  /** Tells people of a fault that struck. */
  readonly note: (text: string) => void;
}

/** A synchronisation whose time is not over: a loss of power may undo it. */
export interface InFlight {
  readonly untilNs: VirtualNs;
  readonly inode: Inode;
  readonly writes: FileWrites;
  readonly content: ContentVersion;
  readonly times: FileTimes;
}

/**
 * The layers below a file system, and their faults. What is written is in the page cache (the
 * content that reads see) and in the write log; a synchronisation writes the file out to the
 * device's volatile cache and flushes all of that to the medium (`durable`). Each fault is a
 * decision on a stream `node/<name>/disk/<fault>`, or `.../<fault>/<event>` by an event's rule.
 */
export class Disk {
  readonly options: DiskOptions;
  readonly rules: DiskRules;
  readonly paths = new FilePaths();
  readonly log = new WriteLog();
  /** Pages of the medium that cannot be read, by inode. */
  latent = new Map<Inode, Set<number>>();
  /** Files of which the medium and the log together are not what the page cache has. */
  diverged = new Set<Inode>();
  inFlight: InFlight | null = null;
  /** The rule by which an operation never comes to an end, while the guest waits for it. */
  stuckBy: string | null = null;
  private delayNs: VirtualNs = 0;
  private attached: NodeTable | null = null;
  private readonly kinds = new Map<DiskRate, EventKind>();

  constructor(options: DiskOptions) {
    const { def, nodeName: node, decisions } = options;
    this.options = options;
    const known = new Map([[BASE_RULE, def.rule], ...options.rules]);
    this.rules = new DiskRules({ node, decisions, paths: this.paths, known });
  }

  /** Takes the files as they are, all durable. */
  attach(table: NodeTable): void {
    this.attached = table;
    this.paths.learn(table);
  }

  get table(): NodeTable {
    assert(this.attached !== null, 'a disk belongs to a file system');
    return this.attached;
  }

  get nowNs(): VirtualNs {
    return this.options.nowNs();
  }

  /** What the operations since the last question took on top of their usual time. */
  takeDelayNs(): VirtualNs {
    const ns = this.delayNs;
    this.delayNs = 0;
    return ns;
  }

  /** Whether a fault may damage the page (see DiskAtlas). */
  mayDamage(inode: Inode, page: number): boolean {
    const { atlas, node } = this.options;
    if (atlas === null) return true;
    return atlas.allows(node, this.paths.originOf(inode), page * PAGE_BYTES, this.nowNs);
  }

  /** Writes down that a fault struck. */
  struck(rate: DiskRate, inode: Inode, page: number): void {
    const { events, node, note } = this.options;
    let kind = this.kinds.get(rate);
    if (kind === undefined) {
      kind = events.kind(`disk/${FAULT_NAMES[rate]}`);
      this.kinds.set(rate, kind);
    }
    events.append(kind, node, this.nowNs, this.paths.digestOf(inode), page);
    const where = page < 0 ? '' : ` page ${page}`;
    note(`${FAULT_NAMES[rate]} ${this.nameOf(inode)}${where}`);
  }

  /** The path, for people. */
  nameOf(inode: Inode): string {
    const path = this.paths.pathOf(inode);
    return path === '' ? '/' : path;
  }

  /** See FileSystem.read. */
  read(node: FileNode, offset: number, into: Uint8Array): number {
    const length = Math.min(into.length, node.content.size - offset);
    if (length <= 0) return 0;
    this.operate('read', node.inode, [offset, offset + length], length);
    return readThroughFaults(this, node, offset, into.subarray(0, length));
  }

  /** 0 if the write may be made, or a negative errno. */
  admitWrite(node: FileNode, offset: number, count: number): number {
    const range = [offset, offset + count] as const;
    this.operate('write', node.inode, range, count);
    if (this.rules.strikes('writeError', node.inode, range, this.nowNs) !== null) {
      this.struck('writeError', node.inode, Math.floor(offset / PAGE_BYTES));
      return -ERRNO.IO;
    }
    return this.canFill(node, offset, count) ? 0 : -ERRNO.IO;
  }

  /** The file has these bytes there now; its size was `sizeBefore`. */
  wrote(node: FileNode, offset: number, bytes: Uint8Array, sizeBefore: number): void {
    this.log.record(node.inode, offset, bytes);
    if (node.content.size > sizeBefore) this.log.recordSize(node.inode, node.content.size, false);
    this.writeBack();
  }

  /** The file has another size now. */
  resized(node: FileNode, sizeBefore: number): void {
    const { size } = node.content;
    this.log.recordSize(node.inode, size, size < sizeBefore);
    const latent = this.latent.get(node.inode) ?? new Set<number>();
    for (const page of latent) if (page * PAGE_BYTES >= size) latent.delete(page);
    this.writeBack();
  }

  /** See FileSystem.synchronise. */
  synchroniseFile(node: FileNode, dataOnly: boolean): number {
    const { inode } = node;
    const writes = this.log.find(inode);
    const pending = writes?.writes.slice(writes.written) ?? [];
    const bytes = pending.reduce((sum, write) => sum + write.bytes.length, 0);
    const takesNs = this.operate('sync', inode, WHOLE_FILE, bytes);
    const failed = this.rules.strikes('syncError', inode, WHOLE_FILE, this.nowNs);
    if (failed !== null) {
      this.struck('syncError', inode, -1);
      if (failed.failedSync === 'clean') this.forgetPending(node);
      return -ERRNO.IO;
    }
    const { content, times } = node.durable;
    const undone = copyOf(this.log.find(inode));
    writeOut(this, node);
    if (this.rules.strikes('lyingFlush', inode, WHOLE_FILE, this.nowNs) !== null) {
      this.struck('lyingFlush', inode, -1);
      flush(this, (owner, page) => !this.mayDamage(owner, page));
    } else {
      flush(this, () => true);
      if (!dataOnly) node.durable = { ...node.durable, times: node.times };
      if (undone !== null && takesNs > 0) {
        const untilNs = this.nowNs + takesNs;
        this.inFlight = { untilNs, inode, writes: undone, content, times };
      }
    }
    this.table.touch(node);
    return 0;
  }

  /** 0 if the directory's entries may become durable, 1 if only seemingly, or a negative errno. */
  admitDirectorySync(inode: Inode): number {
    this.operate('sync', inode, WHOLE_FILE, 0);
    if (this.rules.strikes('syncError', inode, WHOLE_FILE, this.nowNs) !== null) {
      this.struck('syncError', inode, -1);
      return -ERRNO.IO;
    }
    if (this.rules.strikes('lyingFlush', inode, WHOLE_FILE, this.nowNs) === null) return 0;
    this.struck('lyingFlush', inode, -1);
    return 1;
  }

  /** The chunks that files may use, where there would be `chunksMax`. */
  chunksMax(chunksMax: number): number {
    const bytes = Math.min(this.rules.least('capacityBytes'), this.rules.least('quotaBytes'));
    return Math.min(chunksMax, Math.floor(bytes / PAGE_BYTES));
  }

  /** Whether what a user may use ends before the space does. */
  isQuotaTighter(): boolean {
    return this.rules.least('quotaBytes') < this.rules.least('capacityBytes');
  }

  /** Ends all faults; with `repair` also makes unreadable pages readable. */
  lift(repair: boolean): void {
    this.rules.lift();
    if (repair) this.latent = new Map();
  }

  /** Ends the operation that never ended, if it did not by this rule; says whether it did. */
  release(rule: string | null): boolean {
    if (this.stuckBy === null || (rule !== null && rule !== this.stuckBy)) return false;
    this.stuckBy = null;
    this.inFlight = null;
    return true;
  }

  /** Forgets inodes that a loss of power took. */
  forgetGone(): void {
    for (const inode of this.latent.keys()) {
      if (this.table.find(inode) === undefined) this.latent.delete(inode);
    }
    this.paths.learn(this.table);
    this.paths.prune(this.table);
  }

  /** Begins an operation: what was in flight is over, and this one takes time. */
  private operate(
    operation: 'read' | 'write' | 'sync',
    inode: Inode,
    range: readonly [number, number],
    bytes: number,
  ): VirtualNs {
    this.inFlight = null;
    const ns = this.rules.delayNs(operation, inode, range, bytes, this.nowNs);
    const stallNs = this.stall(inode, range);
    this.delayNs += ns + (stallNs ?? 0);
    return stallNs === null ? VIRTUAL_NS_MAX - this.nowNs : ns + stallNs;
  }

  /** What a stall takes; null if the operation never ends by itself, which the guest waits for. */
  private stall(inode: Inode, range: readonly [number, number]): VirtualNs | null {
    // The guest makes one operation at a time: what comes after it in the same call waits as well.
    if (this.stuckBy !== null) return null;
    const stalled = this.rules.stalls(inode, range, this.nowNs);
    if (stalled === null) return 0;
    if (stalled.ns !== null) return stalled.ns;
    if (!this.options.hang()) return 0;
    this.stuckBy = stalled.rule;
    this.struck('stall', inode, -1);
    return null;
  }

  /** Whether the pages that a write fills only in part can be read first. */
  private canFill({ inode, content }: FileNode, offset: number, count: number): boolean {
    const latent = this.latent.get(inode);
    if (latent === undefined) return true;
    const end = offset + count;
    for (const page of latent) {
      const start = page * PAGE_BYTES;
      const held = Math.min(start + PAGE_BYTES, content.size);
      if (start >= end || start + PAGE_BYTES <= offset) continue;
      if (offset <= start && held <= end) continue;
      if (this.log.isClean(inode, page)) return false;
    }
    return true;
  }

  /** What was to be written out counts as written: the page cache alone has it. */
  private forgetPending(node: FileNode): void {
    const file = this.log.take(node.inode);
    if (file === undefined) return;
    const { writes, written } = file;
    this.log.put(node.inode, { writes: writes.slice(0, written), written });
    this.diverged.add(node.inode);
  }

  /** Keeps the log within its limits: the kernel writes back of itself, without a fault. */
  private writeBack(): void {
    while (this.log.isOverfull) {
      const inode = this.log.oldest();
      const file = this.log.find(inode) as FileWrites;
      file.written = file.writes.length;
      flush(this, (owner) => owner === inode);
    }
  }
}

function copyOf(file: FileWrites | undefined): FileWrites | null {
  return file === undefined ? null : { writes: file.writes.slice(), written: file.written };
}
