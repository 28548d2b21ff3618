import { digest32 } from '../kernel/rolling-digest.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';
import type { Inode } from './inode.ts';
import { ROOT, type NodeTable } from './node-table.ts';

/** The last name that an inode got, and the path that it was made under. */
export interface NamedInode {
  readonly directory: Inode;
  readonly name: string;
  readonly origin: string;
}

/** Paths of inodes, for what is said by path. A file keeps its last path while it has no name. */
export class FilePaths {
  private names = new Map<Inode, NamedInode>();

  /** Takes all names that there are. */
  learn(table: NodeTable): void {
    const pending: Inode[] = [ROOT];
    for (const directory of pending) {
      const node = table.get(directory);
      if (node.kind !== 'directory') continue;
      for (const { inode, name } of node.directory.entries()) {
        this.named(inode, directory, name);
        pending.push(inode);
      }
    }
  }

  named(inode: Inode, directory: Inode, name: string): void {
    const origin = this.names.get(inode)?.origin ?? join(this.pathOf(directory), name);
    this.names.set(inode, { directory, name, origin });
  }

  /** The absolute path; the root's is ''. */
  pathOf(inode: Inode): string {
    const parts: string[] = [];
    for (let at = this.names.get(inode); at !== undefined; at = this.names.get(at.directory)) {
      parts.push(at.name);
    }
    return parts
      .reverse()
      .map((part) => `/${part}`)
      .join('');
  }

  /** The path under which the inode was made: it stays when the file is moved. */
  originOf(inode: Inode): string {
    return this.names.get(inode)?.origin ?? '';
  }

  /** A digest of the path, for the log. */
  digestOf(inode: Inode): number {
    return digest32(encodeUtf8(this.pathOf(inode)));
  }

  /** Forgets inodes that are gone, once there are many. */
  prune(table: NodeTable): void {
    if (this.names.size < 2 * table.count + 1_024) return;
    const needed = this.needed(table);
    for (const inode of this.names.keys()) if (!needed.has(inode)) this.names.delete(inode);
  }

  capture(table: NodeTable): readonly (NamedInode & { readonly inode: Inode })[] {
    const needed = this.needed(table);
    return [...this.names]
      .filter(([inode]) => needed.has(inode))
      .map(([inode, named]) => ({ inode, ...named }));
  }

  /**
   * What paths of inodes that there are consist of. An open file without a name may have been in a
   * directory that is gone, which is in its path still.
   */
  private needed(table: NodeTable): ReadonlySet<Inode> {
    const needed = new Set<Inode>();
    for (const inode of this.names.keys()) {
      if (table.find(inode) === undefined) continue;
      let at: Inode | undefined = inode;
      while (at !== undefined && !needed.has(at)) {
        needed.add(at);
        at = this.names.get(at)?.directory;
      }
    }
    return needed;
  }

  restore(list: readonly (NamedInode & { readonly inode: Inode })[]): void {
    this.names = new Map(list.map(({ inode, ...named }) => [inode, named]));
  }
}

function join(path: string, name: string): string {
  return `${path}/${name}`;
}
