import type { FileContent } from './content.ts';
import type { ContentVersion } from './content-version.ts';
import type { Directory } from './directory.ts';

/** The number of a file, directory or symbolic link in one file system; the root is 1. */
export type Inode = number;

/** `character` is the kind of consoles; no file system holds one. */
export type FileKind = 'file' | 'directory' | 'symlink' | 'character';

/** Times are nanoseconds of the node's wall clock since 1970-01-01T00:00:00Z. */
export interface FileTimes {
  readonly accessedNs: bigint;
  readonly modifiedNs: bigint;
  readonly changedNs: bigint;
}

export interface FileStat extends FileTimes {
  readonly inode: Inode;
  readonly kind: FileKind;
  /** Bytes: of the content, of a link's target; 0 for a directory. */
  readonly size: number;
  /** Names in directories: 0 once removed but still open, 1 of a directory. */
  readonly links: number;
}

interface NodeCommon {
  readonly inode: Inode;
  /** Names in directories; the root counts as having one. */
  names: number;
  /** Open descriptors. */
  retained: number;
  /** Unfinished changes of directories that may bring the node back or need it (journal). */
  pinned: number;
  times: FileTimes;
  /** What capture and digest made of the node, until it changes. */
  image: unknown;
  digest: string | null;
}

export interface FileNode extends NodeCommon {
  readonly kind: 'file';
  readonly content: FileContent;
  /** What a loss of power leaves for sure. */
  durable: { readonly content: ContentVersion; readonly times: FileTimes };
  /** Whether the content changed since it became durable. */
  dirty: boolean;
}

export interface DirectoryNode extends NodeCommon {
  readonly kind: 'directory';
  readonly directory: Directory;
  parent: Inode;
}

export interface SymlinkNode extends NodeCommon {
  readonly kind: 'symlink';
  readonly target: string;
}

export type Node = FileNode | DirectoryNode | SymlinkNode;
