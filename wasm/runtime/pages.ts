import { assert, mix32, RollingDigest } from '../../sim/index.ts';
import type { Layout } from '../instrument/layout.ts';

/** Bytes of a page of the dirty map, of images and of digests. */
export const PAGE_BYTES = 4096;

const ZERO_PAGE = new Uint8Array(PAGE_BYTES);

/** The memory of a freshly linked program, shared by all its guests and never written. */
export class PristineMemory {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
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

/**
 * Follows which pages of a guest's memory changed, so that saving, restoring and digesting cost
 * what changed and not what there is.
 */
export class PageTracker {
  private readonly layout: Layout;
  private readonly pristine: PristineMemory;
  private memory: Uint8Array = ZERO_PAGE;
  private map: Uint8Array = ZERO_PAGE;
  private words: Int32Array = new Int32Array(0);
  /** What memory was equal to when the pages in `changed` had not changed. */
  private synced: Overlay = new Map();
  private readonly changed = new Set<number>();
  private readonly undigested = new Set<number>();
  private readonly contributions = new Map<number, readonly [number, number]>();
  private readonly scratch = new RollingDigest();
  private sumLow = 0;
  private sumHigh = 0;

  constructor(layout: Layout, pristine: PristineMemory) {
    this.layout = layout;
    this.pristine = pristine;
  }

  /** Points the tracker at the memory's present buffer: after linking and after growth. */
  attach(buffer: ArrayBuffer): void {
    const { layout } = this;
    this.memory = new Uint8Array(buffer, layout.guestBaseBytes);
    this.map = new Uint8Array(buffer, layout.dirtyMapBase, layout.dirtyMapBytes);
    this.words = new Int32Array(buffer, layout.dirtyMapBase, layout.dirtyMapBytes >> 2);
  }

  /** Marks what the host wrote. */
  touch(offset: number, length: number): void {
    if (length <= 0) return;
    const last = (offset + length - 1) >>> 12;
    for (let page = offset >>> 12; page <= last; page++) this.map[page] = 1;
  }

  /** The present memory as an overlay over the pristine one. */
  capture(): Overlay {
    this.collect();
    if (this.changed.size === 0) return this.synced;
    const overlay = new Map(this.synced);
    for (const page of this.changed) {
      const from = page * PAGE_BYTES;
      overlay.set(page, this.memory.slice(from, from + PAGE_BYTES));
    }
    this.changed.clear();
    this.synced = overlay;
    return overlay;
  }

  /** Makes memory equal to the overlay. The memory's size already fits. */
  restore(overlay: Overlay): void {
    this.collect();
    if (overlay !== this.synced) this.addDifferences(overlay);
    for (const page of this.changed) {
      this.memory.set(overlay.get(page) ?? this.pristine.page(page), page * PAGE_BYTES);
      this.undigested.add(page);
    }
    this.changed.clear();
    this.synced = overlay;
  }

  /** Feeds the digest of all of memory: a function of its content only. */
  digest(into: RollingDigest): void {
    this.collect();
    for (const page of this.undigested) this.updateContribution(page);
    this.undigested.clear();
    into.updateInteger(this.sumLow >>> 0);
    into.updateInteger(this.sumHigh >>> 0);
  }

  /** Takes the marks out of the dirty map. */
  private collect(): void {
    const { words, map } = this;
    const wordCount = (this.memory.length / PAGE_BYTES + 3) >> 2;
    for (let word = 0; word < wordCount; word++) {
      if (words[word] === 0) continue;
      for (let page = word * 4; page < word * 4 + 4; page++) {
        if (map[page] === 0) continue;
        this.changed.add(page);
        this.undigested.add(page);
        this.collectSpill(page + 1);
      }
      words[word] = 0;
    }
  }

  /** A store that starts in the page before may have reached this page's first bytes unmarked. */
  private collectSpill(page: number): void {
    if (this.map[page] === 1 || this.changed.has(page)) return;
    const from = page * PAGE_BYTES;
    if (from >= this.memory.length) return;
    const before = this.synced.get(page) ?? this.pristine.page(page);
    for (let index = 0; index < this.layout.dirtySpillBytes; index++) {
      if (this.memory[from + index] === before[index]) continue;
      this.changed.add(page);
      this.undigested.add(page);
      return;
    }
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
