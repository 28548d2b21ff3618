import { ERRNO } from '../kernel/errno.ts';
import type { Disk } from './disk.ts';
import type { FileNode } from './inode.ts';
import { PAGE_BYTES } from './write-log.ts';
import { contentOf } from './write-out.ts';

type Range = readonly [from: number, to: number];

/**
 * Reads `into.length` bytes that the file has, through the faults of the medium. Pages that were
 * written and not flushed are in memory, where the medium does not matter.
 */
export function readThroughFaults(
  disk: Disk,
  node: FileNode,
  offset: number,
  into: Uint8Array,
): number {
  const range = [offset, offset + into.length] as const;
  if (disk.rules.strikes('readError', node.inode, range, disk.nowNs) !== null) {
    disk.struck('readError', node.inode, Math.floor(offset / PAGE_BYTES));
    return -ERRNO.IO;
  }
  if (meetsLatent(disk, node, range)) return -ERRNO.IO;
  rot(disk, node, range);
  const shift = misdirection(disk, node, range);
  if (shift === 0) return node.content.read(offset, into);
  const count = node.content.read(offset + shift, into);
  into.fill(0, Math.max(0, count));
  return into.length;
}

/** Whether a page cannot be read, which may begin now. */
function meetsLatent(disk: Disk, { inode }: FileNode, range: Range): boolean {
  const first = Math.floor(range[0] / PAGE_BYTES);
  const pageCount = Math.ceil(range[1] / PAGE_BYTES) - first;
  const known = disk.latent.get(inode);
  if (known !== undefined) {
    for (const page of known) {
      if (page >= first && page < first + pageCount && disk.log.isClean(inode, page)) return true;
    }
  }
  if (disk.rules.strikes('latentError', inode, range, disk.nowNs) === null) return false;
  const page = first + disk.rules.choose('latent-error-page', disk.nowNs, pageCount);
  if (!disk.log.isClean(inode, page) || !disk.mayDamage(inode, page)) return false;
  disk.latent.set(inode, (known ?? new Set()).add(page));
  disk.struck('latentError', inode, page);
  return true;
}

/** Turns a bit of what is read over, in memory and on the medium. */
function rot(disk: Disk, node: FileNode, [from, to]: Range): void {
  const { inode, content } = node;
  if (disk.rules.strikes('bitRot', inode, [from, to], disk.nowNs) === null) return;
  const bit = disk.rules.choose('bit-rot-bit', disk.nowNs, (to - from) * 8);
  const offset = from + Math.floor(bit / 8);
  const page = Math.floor(offset / PAGE_BYTES);
  if (!disk.log.isClean(inode, page) || !disk.mayDamage(inode, page)) return;
  const byte = new Uint8Array(1);
  const same = node.durable.content === content.version();
  content.read(offset, byte);
  byte[0] = (byte[0] as number) ^ (1 << (bit % 8));
  const chunks = content.chunks;
  content.write(offset, byte);
  disk.table.resized(node, chunks);
  const durable = same ? content.version() : patched(node, offset, bit % 8);
  node.durable = { ...node.durable, content: durable };
  disk.table.touch(node);
  disk.struck('bitRot', inode, page);
}

/** The medium's content with the bit turned over, where it has that byte. */
function patched(node: FileNode, offset: number, bit: number) {
  const medium = contentOf(node.durable.content);
  const byte = new Uint8Array(1);
  if (medium.read(offset, byte) === 0) return node.durable.content;
  byte[0] = (byte[0] as number) ^ (1 << bit);
  medium.write(offset, byte);
  return medium.version();
}

/** By how many bytes the device reads elsewhere: a multiple of the page's size, mostly 0. */
function misdirection(disk: Disk, { inode, content }: FileNode, range: Range): number {
  if (disk.rules.strikes('misdirectedRead', inode, range, disk.nowNs) === null) return 0;
  const page = Math.floor(range[0] / PAGE_BYTES);
  const pageCount = Math.ceil(content.size / PAGE_BYTES);
  if (pageCount < 2 || !disk.log.isClean(inode, page)) return 0;
  const other = disk.rules.choose('misdirected-read-page', disk.nowNs, pageCount - 1);
  disk.struck('misdirectedRead', inode, page);
  return ((other < page ? other : other + 1) - page) * PAGE_BYTES;
}
