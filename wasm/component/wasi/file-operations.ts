import { success } from '../abi/sums.ts';
import type { ValueOf } from '../abi/type.ts';
import { enumeration, option, variant } from '../abi/sums.ts';
import { record } from '../abi/products.ts';
import { U64 } from '../abi/primitives.ts';
import { STRING } from '../abi/sequences.ts';
import { DATETIME, datetime, datetimeNs } from './clocks.ts';
import {
  DESCRIPTOR_FLAG,
  DONE,
  allows,
  changeable,
  endsInDots,
  existing,
  isDirectory,
  newEntry,
  outcomeOf,
  refuse,
  synchroniseWrite,
} from './descriptor.ts';
import type { FileOutcome } from './descriptor.ts';
import { fileError } from './error-codes.ts';
import type { Descriptor, DirectoryEntryStream, Inode } from './resources.ts';
import type { WasiHost } from './wasi-host.ts';

export const DESCRIPTOR_TYPE = enumeration([
  'unknown',
  'block-device',
  'character-device',
  'directory',
  'fifo',
  'symbolic-link',
  'regular-file',
  'socket',
]);
type DescriptorType = ValueOf<typeof DESCRIPTOR_TYPE>;

export const DESCRIPTOR_STAT = record({
  type: DESCRIPTOR_TYPE,
  'link-count': U64,
  size: U64,
  'data-access-timestamp': option(DATETIME),
  'data-modification-timestamp': option(DATETIME),
  'status-change-timestamp': option(DATETIME),
});

export const NEW_TIMESTAMP = variant({ 'no-change': null, now: null, timestamp: DATETIME });
type NewTimestamp = ValueOf<typeof NEW_TIMESTAMP>;

export const DIRECTORY_ENTRY = record({ type: DESCRIPTOR_TYPE, name: STRING });
export const METADATA_HASH = record({ lower: U64, upper: U64 });

/** The most bytes that one call reads, whatever the guest asks for. */
const READ_BYTES_MAX = 1_048_576n;

const TYPES = {
  file: 'regular-file',
  directory: 'directory',
  symlink: 'symbolic-link',
  character: 'character-device',
} as const satisfies Record<string, DescriptorType>;

export function typeOf(host: WasiHost, inode: Inode): DescriptorType {
  return TYPES[host.files.stat(inode).kind];
}

/** A size or offset as a number; what is beyond all files stays beyond them. */
export function sizeNumber(size: bigint): number {
  const last = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(size < last ? size : last);
}

/** The error, if any, of using a descriptor as a file opened for this. */
function refuseFile(host: WasiHost, file: Descriptor, flag: number): FileOutcome<undefined> {
  if (isDirectory(host, file)) return refuse('is-directory');
  return allows(file, flag) ? DONE : refuse('bad-descriptor');
}

export function refuseReading(host: WasiHost, file: Descriptor): FileOutcome<undefined> {
  return refuseFile(host, file, DESCRIPTOR_FLAG.read);
}

export function refuseWriting(host: WasiHost, file: Descriptor): FileOutcome<undefined> {
  return refuseFile(host, file, DESCRIPTOR_FLAG.write);
}

export function readAt(
  host: WasiHost,
  file: Descriptor,
  length: bigint,
  offset: bigint,
): FileOutcome<readonly [Uint8Array, boolean]> {
  const refusal = refuseReading(host, file);
  if (!refusal.ok) return refusal;
  const at = sizeNumber(offset);
  const left = Math.max(0, host.files.stat(file.inode).size - at);
  const limit = length < READ_BYTES_MAX ? length : READ_BYTES_MAX;
  const into = new Uint8Array(Math.min(Number(limit), left));
  const count = into.length === 0 ? 0 : host.files.read(file.inode, at, into);
  if (count < 0) return refuse(fileError(count));
  return success([into.subarray(0, count), count === left] as const);
}

export function writeAt(
  host: WasiHost,
  file: Descriptor,
  bytes: Uint8Array,
  offset: bigint,
): FileOutcome<bigint> {
  const refusal = refuseWriting(host, file);
  if (!refusal.ok) return refusal;
  const now = host.port.realtimeNs();
  const count = host.files.write(file.inode, sizeNumber(offset), bytes, now);
  if (count < 0) return refuse(fileError(count));
  const status = synchroniseWrite(host, file.inode, file.flags);
  return status < 0 ? refuse(fileError(status)) : success(BigInt(count));
}

export function setSize(host: WasiHost, file: Descriptor, size: bigint): FileOutcome<undefined> {
  const refusal = refuseWriting(host, file);
  if (!refusal.ok) return refusal;
  return outcomeOf(host.files.truncate(file.inode, sizeNumber(size), host.port.realtimeNs()));
}

export function synchronise(
  host: WasiHost,
  descriptor: Descriptor,
  dataOnly: boolean,
): FileOutcome<undefined> {
  return outcomeOf(host.synchronise(descriptor.inode, dataOnly));
}

export function stat(host: WasiHost, inode: Inode): ValueOf<typeof DESCRIPTOR_STAT> {
  const found = host.files.stat(inode);
  return {
    type: TYPES[found.kind],
    'link-count': BigInt(found.links),
    size: BigInt(found.size),
    'data-access-timestamp': datetime(found.accessedNs),
    'data-modification-timestamp': datetime(found.modifiedNs),
    'status-change-timestamp': datetime(found.changedNs),
  };
}

/** Null leaves a time as it is; undefined is not a time. */
function newTimeNs(stamp: NewTimestamp, now: bigint): bigint | null | undefined {
  if (stamp.tag === 'no-change') return null;
  if (stamp.tag === 'now') return now;
  return stamp.value.nanoseconds < 1_000_000_000 ? datetimeNs(stamp.value) : undefined;
}

export function setTimes(
  host: WasiHost,
  inode: Inode,
  accessed: NewTimestamp,
  modified: NewTimestamp,
): FileOutcome<undefined> {
  const now = host.port.realtimeNs();
  const accessedNs = newTimeNs(accessed, now);
  const modifiedNs = newTimeNs(modified, now);
  if (accessedNs === undefined || modifiedNs === undefined) return refuse('invalid');
  return outcomeOf(host.files.setTimes(inode, accessedNs, modifiedNs, now));
}

/** The inode is the identity: st_ino of C programs is the lower half. */
export function metadataHash(inode: Inode): ValueOf<typeof METADATA_HASH> {
  return { lower: BigInt(inode), upper: 1n };
}

export function createDirectoryAt(
  host: WasiHost,
  base: Descriptor,
  path: string,
): FileOutcome<undefined> {
  const place = changeable(host, base, path);
  if (!place.ok) return place;
  const { directory, name, inode } = place.value;
  if (inode !== 0) return refuse('exist');
  return outcomeOf(host.files.makeDirectory(directory, name, host.port.realtimeNs()));
}

export function removeDirectoryAt(
  host: WasiHost,
  base: Descriptor,
  path: string,
): FileOutcome<undefined> {
  const place = changeable(host, base, path);
  if (!place.ok) return place;
  if (endsInDots(place.value)) return refuse('invalid');
  const { directory, name } = place.value;
  return outcomeOf(host.files.removeDirectory(directory, name, host.port.realtimeNs()));
}

export function unlinkFileAt(
  host: WasiHost,
  base: Descriptor,
  path: string,
): FileOutcome<undefined> {
  const place = changeable(host, base, path);
  if (!place.ok) return place;
  if (endsInDots(place.value)) return refuse('is-directory');
  const { directory, name } = place.value;
  return outcomeOf(host.files.unlink(directory, name, host.port.realtimeNs()));
}

export function renameAt(
  host: WasiHost,
  base: Descriptor,
  path: string,
  newBase: Descriptor,
  newPath: string,
): FileOutcome<undefined> {
  const from = changeable(host, base, path);
  if (!from.ok) return from;
  if (from.value.inode === 0) return refuse('no-entry');
  const to = changeable(host, newBase, newPath);
  if (!to.ok) return to;
  if (endsInDots(from.value) || endsInDots(to.value)) return refuse('busy');
  if (to.value.slash && typeOf(host, from.value.inode) !== 'directory') {
    return refuse('not-directory');
  }
  const now = host.port.realtimeNs();
  const { directory, name } = from.value;
  return outcomeOf(host.files.rename(directory, name, to.value.directory, to.value.name, now));
}

/** A hard link; the text of WASI lets a host refuse to follow a symbolic link here. */
export function linkAt(
  host: WasiHost,
  base: Descriptor,
  path: string,
  newBase: Descriptor,
  newPath: string,
): FileOutcome<undefined> {
  const from = existing(host, base, path, false);
  if (!from.ok) return from;
  const to = newEntry(host, newBase, newPath);
  if (!to.ok) return to;
  const { directory, name } = to.value;
  return outcomeOf(host.files.link(from.value.inode, directory, name, host.port.realtimeNs()));
}

/** An absolute target is refused: it would name something outside of every preopen. */
export function symlinkAt(
  host: WasiHost,
  base: Descriptor,
  target: string,
  path: string,
): FileOutcome<undefined> {
  if (target.startsWith('/')) return refuse('not-permitted');
  const place = newEntry(host, base, path);
  if (!place.ok) return place;
  const { directory, name } = place.value;
  return outcomeOf(host.files.symlink(directory, name, target, host.port.realtimeNs()));
}

export function readlinkAt(host: WasiHost, base: Descriptor, path: string): FileOutcome<string> {
  const place = existing(host, base, path, false);
  if (!place.ok) return place;
  const target = host.files.readLink(place.value.inode);
  return typeof target === 'number' ? refuse(fileError(target)) : success(target);
}

/** The next entry in the order in which entries were made; null at the end. */
export function nextEntry(
  host: WasiHost,
  stream: DirectoryEntryStream,
): FileOutcome<ValueOf<typeof DIRECTORY_ENTRY> | null> {
  const entry = host.files.entriesAfter(stream.inode, stream.cookie, 1).at(0);
  if (entry === undefined) return success(null);
  stream.cookie = entry.cookie;
  return success({ type: TYPES[entry.kind], name: entry.name });
}
