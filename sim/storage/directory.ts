import type { FileKind, Inode } from './inode.ts';

/** An entry of a directory; `.` and `..` are none. */
export interface DirectoryEntry {
  readonly name: string;
  readonly inode: Inode;
  readonly kind: FileKind;
  /** Where a listing goes on after this entry: grows with each entry made, never used again. */
  readonly cookie: number;
}

/**
 * The entries of one directory in order of their making. Look-up is O(1); a listing goes on from
 * a cookie in O(log n), whatever was made or removed meanwhile.
 */
export class Directory {
  private readonly byName = new Map<string, DirectoryEntry>();
  /** By cookie; null where an entry was removed. */
  private ordered: (DirectoryEntry | null)[] = [];
  /** The cookie of each place in `ordered`. */
  private cookies: number[] = [];
  /** The first place that may hold an entry. */
  private head = 0;
  private cookieLast = 0;

  get size(): number {
    return this.byName.size;
  }

  /** The highest cookie that was ever given. */
  get lastCookie(): number {
    return this.cookieLast;
  }

  get(name: string): DirectoryEntry | undefined {
    return this.byName.get(name);
  }

  /** Adds an entry that is not there, at the end; returns it. */
  add(name: string, inode: Inode, kind: FileKind): DirectoryEntry {
    return this.put({ name, inode, kind, cookie: this.cookieLast + 1 });
  }

  /** Removes an entry that is there. */
  remove(name: string): void {
    const entry = this.byName.get(name) as DirectoryEntry;
    this.byName.delete(name);
    this.ordered[this.firstAfter(entry.cookie - 1)] = null;
    while (this.head < this.ordered.length && this.ordered[this.head] === null) this.head++;
    if (this.ordered.length > 16 && this.ordered.length > 2 * this.byName.size) this.compact();
  }

  /** At most `countMax` entries whose cookie is above `cookie`. */
  after(cookie: number, countMax: number): DirectoryEntry[] {
    const entries: DirectoryEntry[] = [];
    const first = Math.max(this.firstAfter(cookie), this.head);
    for (let at = first; at < this.ordered.length; at++) {
      const entry = this.ordered[at];
      if (entries.length >= countMax) break;
      if (entry) entries.push(entry);
    }
    return entries;
  }

  /** All entries by cookie. */
  entries(): DirectoryEntry[] {
    return this.after(0, Number.MAX_SAFE_INTEGER);
  }

  /** Puts other entries, in any order, in the place of all; cookies go on after `lastCookie`. */
  replace(entries: readonly DirectoryEntry[], lastCookie: number): void {
    this.byName.clear();
    this.ordered = [];
    this.cookies = [];
    this.head = 0;
    const byCookie = [...entries].sort((one, other) => one.cookie - other.cookie);
    for (const entry of byCookie) this.put(entry);
    this.cookieLast = lastCookie;
  }

  private put(entry: DirectoryEntry): DirectoryEntry {
    this.byName.set(entry.name, entry);
    this.ordered.push(entry);
    this.cookies.push(entry.cookie);
    this.cookieLast = entry.cookie;
    return entry;
  }

  /** The first place whose cookie is above `cookie`. */
  private firstAfter(cookie: number): number {
    let low = 0;
    let high = this.cookies.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.cookies[middle] as number) <= cookie) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private compact(): void {
    this.ordered = this.ordered.filter((entry) => entry !== null);
    this.head = 0;
    this.cookies = this.ordered.map((entry) => (entry as DirectoryEntry).cookie);
  }
}
