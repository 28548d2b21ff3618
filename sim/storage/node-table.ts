import { assert } from '../kernel/assert.ts';
import { EMPTY_CONTENT, FileContent } from './content.ts';
import { Directory } from './directory.ts';
import type { Change } from './journal.ts';
import type {
  DirectoryNode,
  FileKind,
  FileNode,
  FileTimes,
  Inode,
  Node,
  SymlinkNode,
} from './inode.ts';

/** The root directory's inode. */
export const ROOT: Inode = 1;

/**
 * All inodes of a file system. A node lives while it has a name, an open descriptor, or a change
 * of directories that a loss of power could undo; in the last case alone it is a ghost.
 */
export class NodeTable {
  private nodes = new Map<Inode, Node>();
  private nextInode: Inode = ROOT;
  private chunksUsed = 0;
  private chunksGhost = 0;

  constructor(nowNs: bigint) {
    const root = this.makeDirectory(ROOT, nowNs);
    root.names = 1;
  }

  get count(): number {
    return this.nodes.size;
  }

  /** Chunks of files that have a name or an open descriptor. */
  get usedChunks(): number {
    return this.chunksUsed;
  }

  /** Chunks of ghosts. */
  get ghostChunks(): number {
    return this.chunksGhost;
  }

  get next(): Inode {
    return this.nextInode;
  }

  /** All nodes by inode. */
  all(): IterableIterator<Node> {
    return this.nodes.values();
  }

  find(inode: Inode): Node | undefined {
    return this.nodes.get(inode);
  }

  get(inode: Inode): Node {
    const node = this.nodes.get(inode);
    assert(node !== undefined, 'an inode in use exists');
    return node;
  }

  makeFile(nowNs: bigint): FileNode {
    const times = timesAt(nowNs);
    const durable = { content: EMPTY_CONTENT, times };
    const content = new FileContent();
    return this.insert({ ...this.common('file', times), content, durable, dirty: false });
  }

  makeDirectory(parent: Inode, nowNs: bigint): DirectoryNode {
    const common = this.common('directory', timesAt(nowNs));
    return this.insert({ ...common, directory: new Directory(), parent });
  }

  makeSymlink(target: string, nowNs: bigint): SymlinkNode {
    return this.insert({ ...this.common('symlink', timesAt(nowNs)), target });
  }

  /** Must be called with each change of a node: forgets what was derived from it. */
  touch(node: Node): void {
    node.image = null;
    node.digest = null;
  }

  /** Says that a file's content went from so many chunks to its present number. */
  resized(node: FileNode, chunksBefore: number): void {
    this.chunksUsed += node.content.chunks - chunksBefore;
  }

  /** Changes the count of names; a node without names and descriptors is freed or a ghost. */
  addNames(node: Node, count: number): void {
    this.adjust(node, count, 0);
  }

  /** Changes the count of open descriptors, likewise. */
  addRetained(node: Node, count: number): void {
    this.adjust(node, 0, count);
  }

  /** Keeps the nodes of a change that is not durable yet. */
  pin(change: Change): void {
    for (const node of this.concerned(change)) node.pinned++;
  }

  unpin(change: Change): void {
    for (const node of this.concerned(change)) {
      node.pinned--;
      if (!isLive(node)) this.freeUnused(node);
    }
  }

  /** Puts other nodes, by ascending inode, in the place of all. */
  replace(nodes: readonly Node[], next: Inode): void {
    this.nodes = new Map(nodes.map((node) => [node.inode, node]));
    this.nextInode = next;
    this.chunksUsed = 0;
    this.chunksGhost = 0;
    for (const node of nodes) {
      if (node.kind !== 'file') continue;
      if (isLive(node)) this.chunksUsed += node.content.chunks;
      else this.chunksGhost += node.content.chunks;
    }
  }

  private adjust(node: Node, names: number, retained: number): void {
    const before = isLive(node);
    node.names += names;
    node.retained += retained;
    assert(node.names >= 0 && node.retained >= 0, 'names and descriptors are not negative');
    this.touch(node);
    const after = isLive(node);
    if (before !== after && node.kind === 'file') {
      const chunks = after ? node.content.chunks : -node.content.chunks;
      this.chunksUsed += chunks;
      this.chunksGhost -= chunks;
    }
    if (!after) this.freeUnused(node);
  }

  private *concerned(change: Change): Generator<Node> {
    for (const { before, after } of change) {
      if (before !== null) yield this.get(before.inode);
      if (after !== null) yield this.get(after.inode);
    }
  }

  private common<Kind extends FileKind>(kind: Kind, times: FileTimes) {
    const inode = this.nextInode++;
    return { inode, kind, names: 0, retained: 0, pinned: 0, times, image: null, digest: null };
  }

  private insert<T extends Node>(node: T): T {
    this.nodes.set(node.inode, node);
    return node;
  }

  private freeUnused(node: Node): void {
    if (node.pinned > 0) return;
    if (node.kind === 'file') this.chunksGhost -= node.content.chunks;
    this.nodes.delete(node.inode);
  }
}

/** Whether the node has a name or an open descriptor. */
function isLive(node: Node): boolean {
  return node.names > 0 || node.retained > 0;
}

function timesAt(nowNs: bigint): FileTimes {
  return { accessedNs: nowNs, modifiedNs: nowNs, changedNs: nowNs };
}
