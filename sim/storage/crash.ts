import { assert } from '../kernel/assert.ts';
import type { VirtualNs } from '../kernel/units.ts';
import type { DirectoryEntry } from './directory.ts';
import type { Disk } from './disk.ts';
import { settleWrites } from './disk-crash.ts';
import type { DirectoryNode, Inode, Node } from './inode.ts';
import type { EntryJournal, SettledSlot } from './journal.ts';
import { ROOT, type NodeTable } from './node-table.ts';

export interface PowerLoss {
  readonly decide: (arity: number) => number;
  readonly disk: Disk | null;
  readonly atNs: VirtualNs;
}

/** See FileSystem.crash. */
export function loseVolatileState(
  table: NodeTable,
  journal: EntryJournal,
  { decide, disk, atNs }: PowerLoss,
): void {
  const ordered = disk?.options.def.crash === 'ordered';
  const changes = ordered ? prefix(decide(journal.pending.length + 1)) : decide;
  const slots = journal.settle(changes);
  if (disk !== null) tellEntries(disk, table, slots);
  settleEntries(table, slots);
  const reached = countNames(table);
  if (disk === null) settleContents(reached, decide);
  else settleWrites(disk, reached, atNs, decide);
  table.replace(reached, table.next);
  disk?.forgetGone();
}

/** Answers that keep the first changes and lose the others. */
function prefix(count: number): (arity: number) => number {
  let asked = 0;
  return () => (asked++ < count ? 1 : 0);
}

/** Tells people which names a loss of power made as they were. */
function tellEntries(disk: Disk, table: NodeTable, slots: readonly SettledSlot[]): void {
  for (const { directory, name, entry } of slots) {
    const node = table.get(directory) as DirectoryNode;
    const before = node.directory.get(name);
    if (before?.inode === entry?.inode) continue;
    const path = `${disk.paths.pathOf(directory)}/${name}`;
    const what = before === undefined ? 'removal' : entry === null ? 'making' : 'replacement';
    disk.options.note(`power loss undoes the ${what} of ${path}`);
  }
}

function settleContents(reached: readonly Node[], decide: (arity: number) => number): void {
  for (const node of reached) {
    if (node.kind !== 'file') continue;
    if (node.dirty && decide(2) === 1) {
      node.durable = { content: node.content.version(), times: node.times };
    } else {
      if (node.dirty) node.content.reset(node.durable.content);
      node.times = node.durable.times;
    }
    node.dirty = false;
  }
}

function settleEntries(table: NodeTable, slots: readonly SettledSlot[]): void {
  const byDirectory = new Map<Inode, Map<string, DirectoryEntry | null>>();
  for (const { directory, name, entry } of slots) {
    const settled = byDirectory.get(directory) ?? new Map<string, DirectoryEntry | null>();
    byDirectory.set(directory, settled.set(name, entry));
  }
  for (const [inode, settled] of byDirectory) {
    const { directory } = table.get(inode) as DirectoryNode;
    const kept = directory.entries().filter((entry) => !settled.has(entry.name));
    const put = [...settled.values()].filter((entry) => entry !== null);
    directory.replace([...kept, ...put], directory.lastCookie);
  }
}

/** Counts names anew from the root on; returns the nodes that have any, by inode. */
function countNames(table: NodeTable): Node[] {
  for (const node of table.all()) {
    node.names = 0;
    node.retained = 0;
    node.pinned = 0;
    table.touch(node);
  }
  const reached = new Set<Node>();
  const root = table.get(ROOT) as DirectoryNode;
  root.names = 1;
  reached.add(root);
  // A Set's iteration includes what is added meanwhile.
  for (const node of reached) {
    if (node.kind !== 'directory') continue;
    for (const { inode } of node.directory.entries()) {
      const child = table.get(inode);
      child.names++;
      reached.add(child);
      if (child.kind !== 'directory') continue;
      assert(child.names === 1, 'a directory has one name');
      child.parent = node.inode;
    }
  }
  return [...reached].sort((one, other) => one.inode - other.inode);
}
