import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { SimError } from '../../sim/index.ts';

/** A kernel or an initial file system of somebody's own; its identity is its content. */
export interface OwnFile {
  readonly path: string;
  readonly byteCount: number;
  readonly sha256: string;
}

/** A kernel: at most 256 MiB. */
const KERNEL_BYTE_COUNT_MAX = 256 * 1024 ** 2;
/** An initial file system: at most 2 GiB, half of the most memory. */
const INITRD_BYTE_COUNT_MAX = 2 * 1024 ** 3;
/** First bytes of what Linux unpacks at boot: newc, gzip, xz, zstd, lz4, bzip2, lzma, lzo. */
const INITRD_STARTS: readonly string[] = [
  '303730373031',
  '303730373032',
  '1f8b',
  'fd377a585a00',
  '28b52ffd',
  '02214c18',
  '425a68',
  '5d0000',
  '894c5a4f',
];

/** Checks that `path` is a Linux kernel for x86 (its boot protocol: "HdrS" at 0x202). */
export function ownKernel(path: string): OwnFile {
  const head = start(path, KERNEL_BYTE_COUNT_MAX, 'kernel');
  if (head.toString('latin1', 0x202, 0x206) === 'HdrS') return describe(path);
  throw refused(path, 'kernel', 'it is no bzImage', 'give the vmlinuz of a Linux for x86-64');
}

/** Checks that `path` may be an initial file system: an archive, perhaps compressed. */
export function ownInitrd(path: string): OwnFile {
  const head = start(path, INITRD_BYTE_COUNT_MAX, 'initrd').toString('hex');
  if (INITRD_STARTS.some((magic) => head.startsWith(magic))) return describe(path);
  throw refused(path, 'initrd', 'it is no cpio archive, nor a compressed one', 'see cpio -H newc');
}

function start(path: string, byteCountMax: number, what: string): Buffer {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) throw refused(path, what, 'there is no such file', 'check the path');
  if (!status.isFile() || status.size > byteCountMax) {
    throw refused(
      path,
      what,
      `it is no file of at most ${byteCountMax} bytes`,
      'give a smaller one',
    );
  }
  const head = Buffer.alloc(0x206);
  const descriptor = openSync(path, 'r');
  try {
    readSync(descriptor, head, 0, head.length, 0);
  } finally {
    closeSync(descriptor);
  }
  return head;
}

function describe(path: string): OwnFile {
  const bytes = readFileSync(path);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { path, byteCount: bytes.length, sha256 };
}

function refused(path: string, what: string, why: string, remedy: string): SimError {
  return new SimError({
    code: `input/${what}`,
    message: `this cannot be the ${what} of a machine: ${why}`,
    place: path,
    remedy,
  });
}
