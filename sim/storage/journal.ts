import { assert } from '../kernel/assert.ts';
import { RollingDigest } from '../kernel/rolling-digest.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';
import type { DirectoryEntry } from './directory.ts';
import type { Inode } from './inode.ts';

/** One directory entry that an operation changed; null stands for no entry. */
export interface SlotChange {
  readonly directory: Inode;
  readonly name: string;
  readonly before: DirectoryEntry | null;
  readonly after: DirectoryEntry | null;
}

/** What one operation did to entries: all of it survives a loss of power, or none. */
export type Change = readonly SlotChange[];

/** A settled entry: what a loss of power left. */
export interface SettledSlot {
  readonly directory: Inode;
  readonly name: string;
  readonly entry: DirectoryEntry | null;
}

/** More changes than this are not kept volatile: the oldest becomes durable (write-back). */
export const CHANGES_MAX = 1024;

/** What a change needs to have to itself (`writes`) or unchanged (`reads`); see EntryJournal. */
interface Claims {
  readonly writes: readonly (string | number)[];
  readonly reads: readonly number[];
}

/**
 * Changes of directory entries that are not durable yet, in order. POSIX lets a loss of power
 * keep any of them; as in journaling file systems, a change survives only together with those
 * that it builds upon, so that a file whose name is durable keeps its old or its new name. A
 * change builds upon an earlier one that concerns the same entry or the same inode; whatever is
 * done within a directory builds upon what made, moved or removed that directory; and moves of
 * directories build upon one another, so that the tree stays one.
 */
export class EntryJournal {
  private changes: Change[] = [];
  private digested: string | null = null;

  get pending(): readonly Change[] {
    return this.changes;
  }

  record(change: Change): void {
    this.changes.push(change);
    this.digested = null;
  }

  /** Makes the oldest change durable; returns it. */
  commitOldest(): Change {
    const change = this.changes.shift();
    assert(change !== undefined, 'a change is pending');
    this.digested = null;
    return change;
  }

  /**
   * Makes durable all changes within `directory`, those that brought the directories of `path`
   * (itself and its ancestors) to their places, and what these build upon. Returns them.
   */
  commitWithin(directory: Inode, path: readonly Inode[]): Change[] {
    const written = new Set<string | number>();
    const read = new Set<string | number>(path);
    const committed: Change[] = [];
    const kept: Change[] = [];
    for (let index = this.changes.length - 1; index >= 0; index--) {
      const change = this.changes[index] as Change;
      const claims = claimsOf(change);
      const needed =
        change.some((slot) => slot.directory === directory) ||
        claims.writes.some((key) => written.has(key) || read.has(key)) ||
        claims.reads.some((key) => written.has(key));
      (needed ? committed : kept).push(change);
      if (!needed) continue;
      for (const key of claims.writes) written.add(key);
      for (const key of claims.reads) read.add(key);
    }
    if (committed.length > 0) this.digested = null;
    this.changes = kept.reverse();
    return committed.reverse();
  }

  commitAll(): Change[] {
    const committed = this.changes;
    this.changes = [];
    this.digested = null;
    return committed;
  }

  /**
   * A loss of power: asks `decide(2)` (1 kept, 0 lost) for each change, oldest first, unless it
   * is lost with one that it builds upon. Returns what each entry concerned is now.
   */
  settle(decide: (arity: number) => number): SettledSlot[] {
    const lostWrites = new Set<string | number>();
    const lostReads = new Set<string | number>();
    const slots = new Map<string, SettledSlot>();
    for (const change of this.changes) {
      const { writes, reads } = claimsOf(change);
      const impossible =
        writes.some((key) => lostWrites.has(key) || lostReads.has(key)) ||
        reads.some((key) => lostWrites.has(key));
      const lost = impossible || decide(2) === 0;
      for (const { directory, name, before, after } of change) {
        const key = slotKey(directory, name);
        if (!lost) slots.set(key, { directory, name, entry: after });
        else if (!slots.has(key)) slots.set(key, { directory, name, entry: before });
      }
      if (!lost) continue;
      for (const key of writes) lostWrites.add(key);
      for (const key of reads) lostReads.add(key);
    }
    this.commitAll();
    return [...slots.values()];
  }

  restore(changes: readonly Change[]): void {
    this.changes = [...changes];
    this.digested = null;
  }

  digest(): string {
    if (this.digested !== null) return this.digested;
    const digest = new RollingDigest();
    for (const change of this.changes) {
      digest.updateInteger(change.length);
      for (const { directory, name, before, after } of change) {
        const bytes = encodeUtf8(name);
        digest.updateInteger(directory);
        digest.updateInteger(bytes.length);
        digest.update(bytes);
        for (const entry of [before, after]) {
          digest.updateInteger(entry?.inode ?? 0);
          digest.updateInteger(entry?.cookie ?? 0);
        }
      }
    }
    this.digested = digest.hex();
    return this.digested;
  }
}

function slotKey(directory: Inode, name: string): string {
  return `${directory}/${name}`;
}

/** The key of the shape of the tree, which moves of directories change. */
const TREE = 'tree';

function claimsOf(change: Change): Claims {
  const writes: (string | number)[] = [];
  const reads: number[] = [];
  for (const { directory, name, before, after } of change) {
    writes.push(slotKey(directory, name));
    reads.push(directory);
    for (const entry of [before, after]) {
      if (entry === null) continue;
      writes.push(entry.inode);
      if (entry.kind === 'directory' && change.length > 1) writes.push(TREE);
    }
  }
  return { writes, reads };
}
