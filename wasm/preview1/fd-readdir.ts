import { encodeUtf8, ERRNO, type DirectoryEntry } from '../../sim/index.ts';
import { DIRENT_BYTES, FILETYPE, RIGHT } from './abi.ts';
import { bytesNs } from './costs.ts';
import type { DirectoryDescriptor } from './descriptors.ts';
import { filetypeOf } from './fd-status.ts';
import type { Host } from './host.ts';

/** Cookies: 0 the start, 1 after `.`, 2 after `..`, then those of the file system plus 2. */
const DOTS = 2;

interface Dirent {
  readonly name: string;
  readonly inode: number;
  readonly filetype: number;
  readonly next: number;
}

/**
 * Entries in order of their making, `.` and `..` first. Fills the buffer to its end: the last
 * entry may be cut anywhere; a buffer that is not full means the end of the directory.
 */
export function fdReaddir(
  host: Host,
  fd: number,
  buffer: number,
  length: number,
  cookie: bigint,
  result: number,
): number {
  const directory = host.findDirectory(fd, RIGHT.FD_READDIR);
  if (typeof directory === 'number') return directory;
  const { memory } = host;
  if (!memory.holds(buffer, length) || !memory.holds(result, 4)) return ERRNO.FAULT;
  const unsigned = BigInt.asUintN(64, cookie);
  const room = length >>> 0;
  const into = memory.view(buffer, length);
  let used = 0;
  if (unsigned <= BigInt(Number.MAX_SAFE_INTEGER - DOTS)) {
    for (const dirent of listFrom(host, directory, Number(unsigned), room)) {
      used += writeDirent(into, used, dirent);
      if (used === room) break;
    }
  }
  memory.touched(buffer, used);
  memory.setU32(result, used);
  host.digest = memory.digest(buffer, used);
  host.value = used;
  host.charge(bytesNs(used));
  return ERRNO.SUCCESS;
}

/** How many entries are fetched at once. */
const BATCH = 256;

function* listFrom(
  host: Host,
  { inode }: DirectoryDescriptor,
  cookie: number,
  room: number,
): Generator<Dirent> {
  const { files } = host.port;
  const filetype = FILETYPE.DIRECTORY;
  if (cookie < 1) yield { name: '.', inode, filetype, next: 1 };
  if (cookie < DOTS) yield { name: '..', inode: files.parent(inode), filetype, next: DOTS };
  let after = Math.max(0, cookie - DOTS);
  const batch = Math.min(BATCH, 1 + Math.floor(room / DIRENT_BYTES));
  for (;;) {
    const entries: readonly DirectoryEntry[] = files.entriesAfter(inode, after, batch);
    for (const entry of entries) {
      after = entry.cookie;
      const { name, kind } = entry;
      yield { name, inode: entry.inode, filetype: filetypeOf(kind), next: after + DOTS };
    }
    if (entries.length < batch) return;
  }
}

/** Writes as much of an entry as fits; returns how many bytes. */
function writeDirent(into: Uint8Array, at: number, dirent: Dirent): number {
  const name = encodeUtf8(dirent.name);
  const bytes = new Uint8Array(DIRENT_BYTES + name.length);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(dirent.next), true);
  view.setBigUint64(8, BigInt(dirent.inode), true);
  view.setUint32(16, name.length, true);
  view.setUint8(20, dirent.filetype);
  bytes.set(name, DIRENT_BYTES);
  const fits = Math.min(bytes.length, into.length - at);
  into.set(bytes.subarray(0, fits), at);
  return fits;
}
