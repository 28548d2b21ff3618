import type { RollingDigest } from '../kernel/rolling-digest.ts';
import {
  readBoolean,
  readBytes,
  readInteger,
  readList,
  readNullable,
  readRecord,
  readText,
} from '../kernel/shape.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';
import { ContentVersion, type ContentImage } from './content-version.ts';
import type { Disk, InFlight } from './disk.ts';
import type { NamedInode } from './file-paths.ts';
import { readContent, readTimes } from './image.ts';
import type { FileTimes, Inode } from './inode.ts';
import { LOG_WRITES_MAX, PAGE_BYTES, type FileWrites, type PageWrite } from './write-log.ts';

/* A disk's own state as plain data: what is neither in a file nor on the medium as a file has it. */

interface WritesImage {
  readonly inode: Inode;
  readonly written: number;
  readonly writes: readonly PageWrite[];
}

interface FlightImage extends WritesImage {
  readonly untilNs: number;
  readonly content: ContentImage;
  readonly times: FileTimes;
}

export interface DiskImage {
  readonly active: readonly string[];
  readonly sequence: number;
  readonly files: readonly WritesImage[];
  readonly latent: readonly { readonly inode: Inode; readonly pages: readonly number[] }[];
  readonly diverged: readonly Inode[];
  readonly names: readonly (NamedInode & { readonly inode: Inode })[];
  readonly inFlight: FlightImage | null;
  readonly atlasSalt: number;
  /** The rule by which an operation does not come to an end; absent while all do. */
  readonly stuckBy?: string;
}

export function captureDisk(disk: Disk): DiskImage {
  const { inFlight } = disk;
  return {
    active: disk.rules.names,
    sequence: disk.log.sequence,
    files: [...disk.log.all()].map(([inode, file]) => writesImage(inode, file)),
    latent: latentPages(disk),
    diverged: sorted(disk.diverged),
    names: disk.paths.capture(disk.table),
    inFlight: inFlight === null ? null : flightImage(inFlight),
    atlasSalt: disk.options.atlas?.salt ?? -1,
    ...(disk.stuckBy === null ? {} : { stuckBy: disk.stuckBy }),
  };
}

/** The state of a new disk in the place of this one, under the same rules. */
export function blankDisk(disk: Disk): DiskImage {
  return {
    active: disk.rules.names,
    sequence: disk.log.sequence,
    files: [],
    latent: [],
    diverged: [],
    names: [],
    inFlight: null,
    atlasSalt: disk.options.atlas?.salt ?? -1,
  };
}

/** Puts the disk into a captured state; damaged ones are refused with `bundle/shape`. */
export function restoreDisk(disk: Disk, state: unknown): void {
  const image = readDisk(state, 'files.disk');
  disk.rules.setActive(image.active);
  const files = image.files.map((file) => [file.inode, fileOf(file)] as const);
  disk.log.restore(files, image.sequence);
  disk.latent = new Map(image.latent.map(({ inode, pages }) => [inode, new Set(pages)]));
  disk.diverged = new Set(image.diverged);
  disk.paths.restore(image.names);
  if (image.names.length === 0) disk.paths.learn(disk.table);
  disk.inFlight = image.inFlight === null ? null : flightOf(image.inFlight);
  disk.stuckBy = image.stuckBy ?? null;
  if (disk.options.atlas !== null) disk.options.atlas.salt = image.atlasSalt;
}

/** Feeds what of the disk can be seen in its future: not the names, which follow from files. */
export function digestDisk(disk: Disk, digest: RollingDigest): void {
  for (const name of disk.rules.names) digestText(digest, name);
  for (const [inode, { writes, written }] of disk.log.all()) {
    digest.updateInteger(inode);
    digest.updateInteger(written);
    for (const { page, offset, bytes, cuts } of writes) {
      digest.updateInteger(page);
      digest.updateInteger(offset);
      digest.updateInteger(cuts ? 1 : 0);
      digest.update(bytes);
    }
  }
  for (const { inode, pages } of latentPages(disk)) {
    digest.updateInteger(inode);
    for (const page of pages) digest.updateInteger(page);
  }
  for (const inode of sorted(disk.diverged)) digest.updateInteger(inode);
  digest.updateInteger(disk.inFlight?.untilNs ?? -1);
  if (disk.stuckBy !== null) digestText(digest, disk.stuckBy);
}

function latentPages(disk: Disk): DiskImage['latent'] {
  return sorted(disk.latent.keys()).flatMap((inode) => {
    const pages = sorted(disk.latent.get(inode) ?? []);
    return pages.length === 0 ? [] : [{ inode, pages }];
  });
}

function sorted(numbers: Iterable<number>): number[] {
  return [...numbers].sort((a, b) => a - b);
}

function writesImage(inode: Inode, { writes, written }: FileWrites): WritesImage {
  return { inode, written, writes: writes.slice() };
}

function flightImage({ untilNs, inode, writes, content, times }: InFlight): FlightImage {
  const { accessedNs, modifiedNs, changedNs } = times;
  return {
    ...writesImage(inode, writes),
    untilNs,
    content: content.image(),
    times: { accessedNs, modifiedNs, changedNs },
  };
}

function fileOf({ writes, written }: WritesImage): FileWrites {
  return { writes: writes.slice(), written };
}

function flightOf(image: FlightImage): InFlight {
  const { untilNs, inode, times } = image;
  const content = ContentVersion.restore(image.content);
  return { untilNs, inode, writes: fileOf(image), content, times };
}

function digestText(digest: RollingDigest, text: string): void {
  const bytes = encodeUtf8(text);
  digest.updateInteger(bytes.length);
  digest.update(bytes);
}

const INODES_MAX = 2 ** 22;
/** One write of a guest may go past the log's limit before it is written back. */
const WRITES_MAX = 2 * LOG_WRITES_MAX;
const readInode = readInteger(1);
const writesFields = {
  inode: readInode,
  written: readInteger(0, WRITES_MAX),
  writes: readList(
    readRecord<PageWrite>({
      sequence: readInteger(),
      page: readInteger(-1),
      offset: readInteger(),
      bytes: readBytes(PAGE_BYTES),
      cuts: readBoolean,
    }),
    WRITES_MAX,
  ),
};

const readDisk = readRecord<DiskImage>(
  {
    active: readList(readText(), 10_000),
    sequence: readInteger(),
    files: readList(readRecord<WritesImage>(writesFields), INODES_MAX),
    latent: readList(
      readRecord({ inode: readInode, pages: readList(readInteger(), INODES_MAX) }),
      INODES_MAX,
    ),
    diverged: readList(readInode, INODES_MAX),
    names: readList(
      readRecord<NamedInode & { readonly inode: Inode }>({
        inode: readInode,
        directory: readInode,
        name: readText(),
        origin: readText(2 ** 20),
      }),
      INODES_MAX,
    ),
    inFlight: readNullable(
      readRecord<FlightImage>({
        ...writesFields,
        untilNs: readInteger(),
        content: readContent,
        times: readTimes,
      }),
    ),
    atlasSalt: readInteger(-1),
    stuckBy: readText(),
  },
  ['stuckBy'],
);
