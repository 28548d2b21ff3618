import { SimError } from '../kernel/errors.ts';
import {
  readBoolean,
  readBytes,
  readInteger,
  readList,
  readNullable,
  readRecord,
  readText,
  readVariant,
  type Read,
} from '../kernel/shape.ts';
import { CHUNK_BYTES, FILE_BYTES_MAX, FileContent } from './content.ts';
import { ContentVersion, SEGMENT_CHUNKS, type ContentImage } from './content-version.ts';
import { Directory, type DirectoryEntry } from './directory.ts';
import type { FileTimes, Inode, Node } from './inode.ts';
import { CHANGES_MAX, type Change, type EntryJournal } from './journal.ts';
import { checkName, PATH_BYTES_MAX } from './names.ts';
import { ROOT, type NodeTable } from './node-table.ts';

/*
 * A file system as canonical plain data. A node's image is made once for each state of the node
 * and shared by all captures until the node changes.
 */

const VERSION = 1;
const NODES_MAX = 2 ** 22;
const ENTRIES_MAX = 2 ** 22;

interface TimesImage {
  readonly accessedNs: bigint;
  readonly modifiedNs: bigint;
  readonly changedNs: bigint;
}

interface EntryImage {
  readonly name: string;
  readonly inode: Inode;
  readonly cookie: number;
}

interface SlotImage {
  readonly directory: Inode;
  readonly name: string;
  readonly before: EntryImage | null;
  readonly after: EntryImage | null;
}

interface NodeImageCommon {
  readonly inode: Inode;
  readonly names: number;
  readonly retained: number;
  readonly times: TimesImage;
}

interface FileImage extends NodeImageCommon {
  readonly kind: 'file';
  readonly content: ContentImage;
  /** Null when it is the present content. */
  readonly durableContent: ContentImage | null;
  readonly durableTimes: TimesImage;
  readonly dirty: boolean;
}

interface DirectoryImage extends NodeImageCommon {
  readonly kind: 'directory';
  readonly parent: Inode;
  readonly lastCookie: number;
  readonly entries: readonly EntryImage[];
}

interface SymlinkImage extends NodeImageCommon {
  readonly kind: 'symlink';
  readonly target: string;
}

type NodeImage = FileImage | DirectoryImage | SymlinkImage;

interface FileSystemImage {
  readonly version: number;
  readonly nextInode: Inode;
  readonly nodes: readonly unknown[];
  readonly changes: readonly (readonly SlotImage[])[];
}

export function captureImage(table: NodeTable, journal: EntryJournal): FileSystemImage {
  const nodes: unknown[] = [];
  for (const node of table.all()) {
    node.image ??= imageOf(node);
    nodes.push(node.image);
  }
  const changes = journal.pending.map((change) => {
    return change.map(({ directory, name, before, after }) => {
      return { directory, name, before: entryImage(before), after: entryImage(after) };
    });
  });
  return { version: VERSION, nextInode: table.next, nodes, changes };
}

/** All or nothing: a damaged state changes nothing. */
export function restoreImage(table: NodeTable, journal: EntryJournal, state: unknown): void {
  const image = readFileSystem(state, 'files');
  const nodes: Node[] = [];
  const byInode = new Map<Inode, Node>();
  const restored: [Node, NodeImage][] = [];
  for (const [index, saved] of image.nodes.entries()) {
    let node = findUnchanged(table, saved);
    if (node === undefined) {
      const read = readNode(saved, `files.nodes[${index}]`);
      node = nodeOf(read, saved);
      restored.push([node, read]);
    }
    check(node.inode > (nodes.at(-1)?.inode ?? 0), 'inodes do not ascend');
    nodes.push(node);
    byInode.set(node.inode, node);
  }
  check(byInode.get(ROOT)?.kind === 'directory', 'there is no root directory');
  check((nodes.at(-1)?.inode ?? 0) < image.nextInode, 'an inode is not below the next');
  for (const [node, read] of restored) {
    if (node.kind !== 'directory' || read.kind !== 'directory') continue;
    check(byInode.get(read.parent)?.kind === 'directory', 'a parent is no directory');
    const entries = read.entries.map((entry) => entryOf(entry, byInode));
    node.directory.replace(entries, read.lastCookie);
  }
  const changes = image.changes.map((change): Change => {
    return change.map(({ directory, name, before, after }) => {
      check(byInode.get(directory)?.kind === 'directory', 'a change is in no directory');
      return {
        directory,
        name,
        before: before === null ? null : entryOf(before, byInode),
        after: after === null ? null : entryOf(after, byInode),
      };
    });
  });
  for (const node of nodes) node.pinned = 0;
  table.replace(nodes, image.nextInode);
  journal.restore(changes);
  for (const change of changes) table.pin(change);
}

/** The live node of which `saved` is the very image that was captured, if it has not changed. */
function findUnchanged(table: NodeTable, saved: unknown): Node | undefined {
  if (typeof saved !== 'object' || saved === null || !('inode' in saved)) return undefined;
  const { inode } = saved;
  const node = typeof inode === 'number' ? table.find(inode) : undefined;
  return node?.image === saved ? node : undefined;
}

function imageOf(node: Node): NodeImage {
  const { inode, names, retained } = node;
  const common = { inode, names, retained, times: timesImage(node.times) };
  switch (node.kind) {
    case 'file': {
      const content = node.content.version();
      const { durable, dirty } = node;
      return {
        ...common,
        kind: 'file',
        content: content.image(),
        durableContent: durable.content === content ? null : durable.content.image(),
        durableTimes: timesImage(durable.times),
        dirty,
      };
    }
    case 'directory': {
      const { parent, directory } = node;
      const entries = directory.entries().map(({ name, inode: entry, cookie }) => {
        return { name, inode: entry, cookie };
      });
      return { ...common, kind: 'directory', parent, lastCookie: directory.lastCookie, entries };
    }
    case 'symlink':
      return { ...common, kind: 'symlink', target: node.target };
  }
}

function nodeOf(image: NodeImage, saved: unknown): Node {
  const { inode, names, retained, times } = image;
  const common = { inode, names, retained, pinned: 0, times, image: saved, digest: null };
  switch (image.kind) {
    case 'file': {
      const version = ContentVersion.restore(image.content);
      const content = new FileContent();
      content.reset(version);
      const { durableContent, durableTimes, dirty } = image;
      const durable = durableContent === null ? version : ContentVersion.restore(durableContent);
      return {
        ...common,
        kind: 'file',
        content,
        durable: { content: durable, times: durableTimes },
        dirty,
      };
    }
    case 'directory':
      return { ...common, kind: 'directory', directory: new Directory(), parent: image.parent };
    case 'symlink':
      return { ...common, kind: 'symlink', target: image.target };
  }
}

function timesImage({ accessedNs, modifiedNs, changedNs }: FileTimes): TimesImage {
  return { accessedNs, modifiedNs, changedNs };
}

function entryImage(entry: DirectoryEntry | null): EntryImage | null {
  if (entry === null) return null;
  const { name, inode, cookie } = entry;
  return { name, inode, cookie };
}

function entryOf(image: EntryImage, nodes: ReadonlyMap<Inode, Node>): DirectoryEntry {
  const node = nodes.get(image.inode);
  check(node !== undefined, 'an entry has no inode');
  check(checkName(image.name) === 0, 'a name is not one');
  return { ...image, kind: node.kind };
}

function check(holds: boolean, otherwise: string): asserts holds {
  if (holds) return;
  throw new SimError({
    code: 'bundle/shape',
    message: `a saved file system is damaged: ${otherwise}`,
    place: 'files',
    remedy: 'make the checkpoint again',
  });
}

const readInode = readInteger(1);
const readNs: Read<bigint> = (value, path) => {
  if (typeof value === 'bigint' && BigInt.asUintN(64, value) === value) return value;
  throw new SimError({
    code: 'bundle/shape',
    message: 'the document is not as it must be: it is not a time of 64 bits',
    place: path,
  });
};
export const readTimes: Read<TimesImage> = readRecord({
  accessedNs: readNs,
  modifiedNs: readNs,
  changedNs: readNs,
});
const readEntry: Read<EntryImage> = readRecord({
  name: readText(),
  inode: readInode,
  cookie: readInode,
});
export const readContent: Read<ContentImage> = readRecord<ContentImage>({
  size: readInteger(0, FILE_BYTES_MAX),
  segments: readList(
    readNullable(readList(readNullable(readChunk), SEGMENT_CHUNKS)),
    FILE_BYTES_MAX / CHUNK_BYTES / SEGMENT_CHUNKS,
  ),
});
const common = {
  inode: readInode,
  names: readInteger(),
  retained: readInteger(),
  times: readTimes,
};
const readKind =
  <K extends string>(kind: K): Read<K> =>
  () =>
    kind;

const readNode: Read<NodeImage> = readVariant<NodeImage>({
  file: readRecord<FileImage>({
    ...common,
    kind: readKind('file'),
    content: readContent,
    durableContent: readNullable(readContent),
    durableTimes: readTimes,
    dirty: readBoolean,
  }),
  directory: readRecord<DirectoryImage>({
    ...common,
    kind: readKind('directory'),
    parent: readInode,
    lastCookie: readInteger(),
    entries: readList(readEntry, ENTRIES_MAX),
  }),
  symlink: readRecord<SymlinkImage>({
    ...common,
    kind: readKind('symlink'),
    target: readText(PATH_BYTES_MAX),
  }),
});

const readFileSystem: Read<FileSystemImage> = readRecord<FileSystemImage>({
  version: readInteger(VERSION, VERSION),
  nextInode: readInode,
  nodes: readList((value) => value, NODES_MAX),
  changes: readList(
    readList(
      readRecord<SlotImage>({
        directory: readInode,
        name: readText(),
        before: readNullable(readEntry),
        after: readNullable(readEntry),
      }),
      2,
    ),
    CHANGES_MAX,
  ),
});

/** A chunk is empty (reserved) or a power of two of 64 to CHUNK_BYTES bytes. */
function readChunk(value: unknown, path: string): Uint8Array {
  const bytes = readBytes(CHUNK_BYTES)(value, path);
  check((bytes.length & (bytes.length - 1)) === 0, 'a chunk has an odd size');
  return bytes;
}
