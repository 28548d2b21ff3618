import type { ContentVersion } from './content-version.ts';
import { FileContent } from './content.ts';
import type { Disk } from './disk.ts';
import type { FileNode, Inode } from './inode.ts';
import {
  applyWrite,
  PAGE_BYTES,
  sectorCount,
  SIZE_PAGE,
  firstSectors,
  type FileWrites,
  type PageWrite,
} from './write-log.ts';

/** A content of one's own that begins as the version. */
export function contentOf(version: ContentVersion): FileContent {
  const content = new FileContent();
  content.reset(version);
  return content;
}

/**
 * Writes the file's dirty pages out to the device, which acknowledges all of them: what becomes
 * of each page is drawn, in order of its first write.
 */
export function writeOut(disk: Disk, node: FileNode): void {
  const { inode } = node;
  const file = disk.log.find(inode);
  if (file === undefined) return;
  const before = file.writes.slice(0, file.written);
  const pending = file.writes.slice(file.written);
  const outcome = strikeWrites(disk, node, pending);
  const writes = outcome ?? pending;
  disk.log.put(inode, { writes: [...before, ...writes], written: before.length + writes.length });
  mend(disk, inode, writes);
  if (outcome === null) return;
  disk.diverged.add(inode);
  if (!disk.options.def.pageCache) rereadFromDevice(disk, node);
}

/** The writes as the device makes them; null when no fault struck. */
function strikeWrites(
  disk: Disk,
  node: FileNode,
  pending: readonly PageWrite[],
): PageWrite[] | null {
  const { rules } = disk;
  if (!rules.has('lostWrite') && !rules.has('tornWrite') && !rules.has('misdirectedWrite')) {
    return null;
  }
  const byPage = new Map<number, (write: PageWrite) => PageWrite | null>();
  let struck = false;
  for (const { page } of pending) {
    if (page === SIZE_PAGE || byPage.has(page)) continue;
    const change = disposition(disk, node, page);
    if (change !== null) struck = true;
    byPage.set(page, change ?? ((write) => write));
  }
  if (!struck) return null;
  return pending.flatMap((write) => {
    const made = byPage.get(write.page)?.(write) ?? (write.page === SIZE_PAGE ? write : null);
    return made === null ? [] : [made];
  });
}

/** What the device does to the writes of a page; null when it writes them. */
function disposition(
  disk: Disk,
  node: FileNode,
  page: number,
): ((write: PageWrite) => PageWrite | null) | null {
  const { rules, nowNs } = disk;
  const { inode } = node;
  const { sectorBytes } = disk.options.def;
  const range = [page * PAGE_BYTES, (page + 1) * PAGE_BYTES] as const;
  if (rules.strikes('lostWrite', inode, range, nowNs) !== null && disk.mayDamage(inode, page)) {
    disk.struck('lostWrite', inode, page);
    return () => null;
  }
  if (rules.strikes('tornWrite', inode, range, nowNs) !== null && disk.mayDamage(inode, page)) {
    const sectors = PAGE_BYTES / sectorBytes;
    const kept = 1 + rules.choose('torn-write-sectors', nowNs, sectors - 1);
    disk.struck('tornWrite', inode, page);
    return (write) => upToByte(write, range[0] + kept * sectorBytes);
  }
  if (rules.strikes('misdirectedWrite', inode, range, nowNs) === null) return null;
  const pageCount = Math.ceil(node.content.size / PAGE_BYTES);
  if (pageCount < 2) return null;
  const other = rules.choose('misdirected-write-page', nowNs, pageCount - 1);
  const victim = other < page ? other : other + 1;
  if (!disk.mayDamage(inode, page) || !disk.mayDamage(inode, victim)) return null;
  disk.struck('misdirectedWrite', inode, page);
  const shift = (victim - page) * PAGE_BYTES;
  return (write) => ({ ...write, page: victim, offset: write.offset + shift });
}

function upToByte(write: PageWrite, end: number): PageWrite | null {
  const length = Math.min(write.bytes.length, end - write.offset);
  return length <= 0 ? null : { ...write, bytes: write.bytes.subarray(0, length) };
}

/** A page that is written as a whole can be read again. */
function mend(disk: Disk, inode: Inode, writes: readonly PageWrite[]): void {
  const latent = disk.latent.get(inode);
  if (latent === undefined) return;
  for (const { page } of writes) latent.delete(page);
  if (latent.size === 0) disk.latent.delete(inode);
}

/** Without a page cache the next read shows what the device has. */
function rereadFromDevice(disk: Disk, node: FileNode): void {
  const { inode, content } = node;
  const device = contentOf(node.durable.content);
  for (const write of disk.log.find(inode)?.writes ?? []) applyWrite(device, write);
  const chunks = content.chunks;
  content.reset(device.version());
  disk.table.resized(node, chunks);
  disk.diverged.delete(inode);
}

/** Brings what the device's cache has of pages that `admits` to the medium, in order. */
export function flush(disk: Disk, admits: (inode: Inode, page: number) => boolean): void {
  for (const [inode, file] of [...disk.log.all()]) {
    if (file.written === 0) continue;
    const node = disk.table.find(inode);
    if (node?.kind === 'file') flushFile(disk, node, file, admits);
    else disk.log.take(inode);
  }
}

function flushFile(
  disk: Disk,
  node: FileNode,
  file: FileWrites,
  admits: (inode: Inode, page: number) => boolean,
): void {
  const { inode } = node;
  const cached = file.writes.slice(0, file.written);
  const kept: PageWrite[] = [];
  const flushed: PageWrite[] = [];
  for (const write of cached) (admits(inode, write.page) ? flushed : kept).push(write);
  if (flushed.length === 0) return;
  const pending = file.writes.slice(file.written);
  disk.log.put(inode, { writes: [...kept, ...pending], written: kept.length });
  const whole = kept.length + pending.length === 0;
  let content: ContentVersion;
  if (whole && !disk.diverged.has(inode)) {
    content = node.content.version();
  } else {
    const medium = contentOf(node.durable.content);
    for (const write of flushed) applyWrite(medium, write);
    content = medium.version();
  }
  node.durable = { ...node.durable, content };
  node.dirty = !whole || disk.diverged.has(inode);
  disk.table.touch(node);
}

/** The first sectors of a write that touches more than one; null where it touches one. */
export function torn(
  write: PageWrite,
  sectorBytes: number,
  choose: (arity: number) => number,
): PageWrite | null {
  const sectors = sectorCount(write, sectorBytes);
  if (sectors < 2) return null;
  return firstSectors(write, 1 + choose(sectors - 1), sectorBytes);
}
