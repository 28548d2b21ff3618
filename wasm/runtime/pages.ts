import { assert, mix32, RollingDigest } from '../../sim/index.ts';
import { PAGE_BYTES, PAGE_MARK, type Layout } from '../instrument/layout.ts';

const ZERO_PAGE = new Uint8Array(PAGE_BYTES);
/** The bit that tells a changed page, in four bytes of the dirty map. */
const CHANGED_IN_WORD = 0x01010101 * PAGE_MARK.changed;

/** The memory of a freshly linked program, shared by all its guests and never written. */
export class PristineMemory {
  readonly bytes: Uint8Array;
  /** The mark of each page that nobody has written: whether it is known to be zero. */
  private readonly marks: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.marks = new Uint8Array(bytes.length / PAGE_BYTES);
    for (let page = 1; page < this.marks.length; page++) {
      if (this.equals(page, ZERO_PAGE, 0)) this.marks[page] = PAGE_MARK.untouched;
    }
  }

  /** What the dirty map says of a page that is as it was at first. */
  mark(index: number): number {
    return this.marks[index] ?? PAGE_MARK.untouched;
  }

  /** Marks all of a memory that nobody has written. */
  markAll(map: Uint8Array): void {
    map.set(this.marks);
  }

  /** The page's bytes; zeros past the end. */
  page(index: number): Uint8Array {
    const from = index * PAGE_BYTES;
    if (from >= this.bytes.length) return ZERO_PAGE;
    return this.bytes.subarray(from, from + PAGE_BYTES);
  }

  /** Whether the page is equal to `bytes[from, from + PAGE_BYTES)`. */
  equals(index: number, bytes: Uint8Array, from: number): boolean {
    const page = this.page(index);
    for (let at = 0; at < PAGE_BYTES; at++) if (page[at] !== bytes[from + at]) return false;
    return true;
  }
}

/** Pages that differ from the pristine memory. Never changed once made. */
export type Overlay = ReadonlyMap<number, Uint8Array>;

/** The memory of a fresh guest. */
export const PRISTINE: Overlay = new Map();

/** A set of page numbers below a bound: a flag for each page, and a list of those that are in. */
class PageSet {
  private flags = new Uint8Array(0);
  private members = new Int32Array(0);
  private size = 0;

  get count(): number {
    return this.size;
  }

  /** Makes room for pages below `bound`. */
  widen(bound: number): void {
    if (bound <= this.flags.length) return;
    const { flags, members } = this;
    this.flags = new Uint8Array(bound);
    this.flags.set(flags);
    this.members = new Int32Array(bound);
    this.members.set(members);
  }

  has(page: number): boolean {
    return this.flags[page] === 1;
  }

  add(page: number): void {
    if (this.flags[page] === 1) return;
    this.flags[page] = 1;
    this.members[this.size++] = page;
  }

  /** The member at a place of the order in which they came. */
  at(index: number): number {
    return this.members[index] as number;
  }

  /** Holds what another set holds, whose pages are below this one's bound. */
  replace(other: PageSet): void {
    this.clear();
    for (let index = 0; index < other.count; index++) this.add(other.at(index));
  }

  clear(): void {
    for (let index = 0; index < this.size; index++) this.flags[this.at(index)] = 0;
    this.size = 0;
  }
}

/**
 * Follows which pages of a memory changed, so that saving, restoring and digesting cost what
 * changed and not what there is. It stays with the instances when they go from guest to guest.
 */
export class PageTracker {
  private readonly layout: Layout;
  private readonly pristine: PristineMemory;
  private memory: Uint8Array = ZERO_PAGE;
  private map: Uint8Array = ZERO_PAGE;
  private words: Int32Array = new Int32Array(0);
  /** What memory was equal to when the pages in `changed` had not changed. */
  private synced: Overlay = PRISTINE;
  private readonly changed = new PageSet();
  /** Pages whose first bytes a store in the page before may have reached unmarked. */
  private readonly spilled = new PageSet();
  private readonly undigested = new PageSet();
  private readonly contributions = new Map<number, readonly [number, number]>();
  private readonly scratch = new RollingDigest();
  private sumLow = 0;
  private sumHigh = 0;

  /** Of a memory that is pristine now. */
  constructor(layout: Layout, pristine: PristineMemory, buffer: ArrayBuffer) {
    this.layout = layout;
    this.pristine = pristine;
    this.attach(buffer);
    pristine.markAll(this.map);
  }

  /** The memory's size as the guest sees it. */
  get byteCount(): number {
    return this.memory.length;
  }

  /** Whether memory was last equal to this very overlay: restoring it costs what changed since. */
  isNear(overlay: Overlay): boolean {
    return this.synced === overlay;
  }

  /** Points the tracker at the memory's present buffer: after linking and after growth. */
  attach(buffer: ArrayBuffer): void {
    const { layout } = this;
    if (this.memory.buffer === buffer) return;
    this.memory = new Uint8Array(buffer, layout.guestBaseBytes);
    this.map = new Uint8Array(buffer, layout.dirtyMapBase, layout.dirtyMapBytes);
    this.words = new Int32Array(buffer, layout.dirtyMapBase, layout.dirtyMapBytes >> 2);
    const pageCount = this.memory.length / PAGE_BYTES;
    for (const set of [this.changed, this.spilled, this.undigested]) set.widen(pageCount);
  }

  /** After the host made memory larger: the bytes from this size on are untouched. */
  markGrown(bytesBefore: number): void {
    this.map.fill(PAGE_MARK.untouched, bytesBefore / PAGE_BYTES, this.memory.length / PAGE_BYTES);
  }

  /** Marks what the host wrote. */
  touch(offset: number, length: number): void {
    if (length <= 0) return;
    const last = (offset + length - 1) >>> 12;
    for (let page = offset >>> 12; page <= last; page++) this.map[page] = PAGE_MARK.changed;
  }

  /** Flips these bits of the word of 8 bytes at `address`, the least byte first. */
  flip(address: number, bits: readonly number[]): void {
    for (const bit of bits) {
      const at = address + (bit >>> 3);
      assert(at < this.memory.length, 'what flips is within memory');
      this.memory[at] = (this.memory[at] as number) ^ (1 << (bit & 7));
      this.touch(at, 1);
    }
  }

  /** The present memory as an overlay over the pristine one. */
  capture(): Overlay {
    this.collect();
    this.examineSpilled();
    const { changed } = this;
    if (changed.count === 0) return this.synced;
    const overlay = new Map(this.synced);
    for (let index = 0; index < changed.count; index++) {
      const page = changed.at(index);
      const from = page * PAGE_BYTES;
      overlay.set(page, this.memory.slice(from, from + PAGE_BYTES));
    }
    changed.clear();
    this.synced = overlay;
    return overlay;
  }

  /** Makes memory equal to the overlay. The memory's size already fits. */
  restore(overlay: Overlay): void {
    this.collect();
    if (overlay !== this.synced) this.addDifferences(overlay);
    const { changed, spilled, undigested, memory } = this;
    for (let index = 0; index < changed.count; index++) {
      const page = changed.at(index);
      const bytes = overlay.get(page);
      memory.set(bytes ?? this.pristine.page(page), page * PAGE_BYTES);
      this.map[page] = bytes === undefined ? this.pristine.mark(page) : PAGE_MARK.clean;
      undigested.add(page);
    }
    for (let index = 0; index < spilled.count; index++) {
      const page = spilled.at(index);
      if (!changed.has(page)) this.restoreSpill(page, overlay.get(page));
    }
    changed.clear();
    spilled.clear();
    this.synced = overlay;
  }

  /**
   * Makes memory equal to that of another tracker, which is no larger; what is beyond it is untouched.
   * Afterwards everything is known of it that was known there.
   */
  adopt(from: PageTracker): void {
    this.collect();
    from.collect();
    const { map, memory, undigested } = this;
    const byteCount = from.byteCount;
    const differs = [...this.synced.keys(), ...from.synced.keys()];
    for (const set of [this.changed, this.spilled, from.changed, from.spilled]) {
      for (let index = 0; index < set.count; index++) differs.push(set.at(index));
    }
    for (const page of differs) {
      const at = page * PAGE_BYTES;
      const isThere = at < byteCount;
      const bytes = isThere ? from.memory.subarray(at, at + PAGE_BYTES) : this.pristine.page(page);
      memory.set(bytes, at);
      undigested.add(page);
    }
    map.set(from.map.subarray(0, byteCount / PAGE_BYTES));
    this.markGrown(byteCount);
    this.synced = from.synced;
    this.changed.replace(from.changed);
    this.spilled.replace(from.spilled);
  }

  /** Feeds the digest of all of memory: a function of its content only. */
  digest(into: RollingDigest): void {
    this.collect();
    this.examineSpilled();
    const { undigested } = this;
    for (let index = 0; index < undigested.count; index++) {
      this.updateContribution(undigested.at(index));
    }
    undigested.clear();
    into.updateInteger(this.sumLow >>> 0);
    into.updateInteger(this.sumHigh >>> 0);
  }

  /** Takes the marks out of the dirty map. */
  private collect(): void {
    const { words, map, changed, spilled, undigested } = this;
    const pageCount = this.memory.length / PAGE_BYTES;
    const wordCount = (pageCount + 3) >> 2;
    for (let word = 0; word < wordCount; word++) {
      if (((words[word] as number) & CHANGED_IN_WORD) === 0) continue;
      for (let page = word * 4; page < word * 4 + 4; page++) {
        if (map[page] !== PAGE_MARK.changed) continue;
        map[page] = PAGE_MARK.clean;
        changed.add(page);
        undigested.add(page);
        if (page + 1 < pageCount) spilled.add(page + 1);
      }
    }
  }

  /** Finds out which of the pages that a store may have reached unmarked it did reach. */
  private examineSpilled(): void {
    const { spilled, changed, undigested, memory } = this;
    for (let index = 0; index < spilled.count; index++) {
      const page = spilled.at(index);
      if (changed.has(page)) continue;
      const from = page * PAGE_BYTES;
      const before = this.synced.get(page) ?? this.pristine.page(page);
      for (let at = 0; at < this.layout.dirtySpillBytes; at++) {
        if (memory[from + at] === before[at]) continue;
        this.map[page] = PAGE_MARK.clean;
        changed.add(page);
        undigested.add(page);
        break;
      }
    }
    spilled.clear();
  }

  /**
   * Copying the first bytes costs less than comparing them. The page is then as it was when it was
   * last digested, or it has been noted as undigested since.
   */
  private restoreSpill(page: number, bytes: Uint8Array = this.pristine.page(page)): void {
    this.memory.set(bytes.subarray(0, this.layout.dirtySpillBytes), page * PAGE_BYTES);
  }

  private addDifferences(overlay: Overlay): void {
    for (const [page, bytes] of this.synced) {
      if (overlay.get(page) !== bytes) this.changed.add(page);
    }
    for (const [page, bytes] of overlay) {
      if (this.synced.get(page) !== bytes) this.changed.add(page);
    }
  }

  private updateContribution(page: number): void {
    const old = this.contributions.get(page);
    if (old !== undefined) {
      this.sumLow = (this.sumLow - old[0]) | 0;
      this.sumHigh = (this.sumHigh - old[1]) | 0;
    }
    const from = page * PAGE_BYTES;
    assert(from < this.memory.length, 'a page that changed is within memory');
    if (this.pristine.equals(page, this.memory, from)) {
      this.contributions.delete(page);
      return;
    }
    const digest = this.scratch;
    digest.reset();
    digest.update(this.memory, from, from + PAGE_BYTES);
    const low = mix32(digest.low() ^ Math.imul(page + 1, 0x9e3779b1));
    const high = mix32(digest.high() + Math.imul(page + 1, 0x85ebca77));
    this.sumLow = (this.sumLow + low) | 0;
    this.sumHigh = (this.sumHigh + high) | 0;
    this.contributions.set(page, [low, high]);
  }
}
