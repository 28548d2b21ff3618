import { assert } from '../../sim/index.ts';

/** One entry of an initial file system. */
export interface CpioEntry {
  /** Without a leading slash; `.` is the root. */
  readonly path: string;
  /** Type and permission bits, as `st_mode` has them. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly bytes: Uint8Array;
  /** Of a device node. */
  readonly major?: number;
  readonly minor?: number;
}

export const S_IFDIR = 0o040000;
export const S_IFREG = 0o100000;
export const S_IFLNK = 0o120000;
export const S_IFCHR = 0o020000;

/** A file of the format has 32 bits for its size. */
const SIZE_MAX = 0xffff_ffff;
/** QEMU and the kernel read whole blocks; other writers pad to 512 bytes too. */
const BLOCK = 512;

/**
 * The bytes of a `newc` archive (the kernel's Documentation/driver-api/early-userspace/
 * buffer-format.rst), in pieces. Times are 0 and inodes count from 1, so that equal entries give
 * equal bytes.
 */
export function* writeCpio(entries: Iterable<CpioEntry>): Generator<Uint8Array> {
  let byteCount = 0;
  let inode = 0;
  for (const entry of entries) {
    const head = header(entry, ++inode);
    yield head;
    yield entry.bytes;
    const padding = -entry.bytes.length & 3;
    if (padding > 0) yield new Uint8Array(padding);
    byteCount += head.length + entry.bytes.length + padding;
  }
  const end = header({ path: 'TRAILER!!!', mode: 0, uid: 0, gid: 0, bytes: NO_BYTES }, 0);
  yield end;
  byteCount += end.length;
  yield new Uint8Array((BLOCK - (byteCount % BLOCK)) % BLOCK);
}

const NO_BYTES = new Uint8Array(0);

function header(entry: CpioEntry, inode: number): Uint8Array {
  assert(entry.bytes.length <= SIZE_MAX, 'a file of an image has a size of 32 bits');
  const name = Buffer.from(entry.path, 'utf8');
  const fields = [
    inode,
    entry.mode,
    entry.uid,
    entry.gid,
    1,
    0,
    entry.bytes.length,
    0,
    0,
    entry.major ?? 0,
    entry.minor ?? 0,
    name.length + 1,
    0,
  ];
  const digits = fields.map((field) => field.toString(16).padStart(8, '0')).join('');
  const head = Buffer.concat([Buffer.from(`070701${digits}`, 'latin1'), name, Buffer.alloc(1)]);
  return Buffer.concat([head, Buffer.alloc(-head.length & 3)]);
}
