/** Bytes of a page of the dirty map. */
export const DIRTY_PAGE_BYTES = 4096;

/**
 * Checks that the dirty map tells the truth: between two moments at which no frame of the guest
 * runs, no byte changes outside pages that are marked, or outside the spill after a marked page.
 */
export class DirtyCheck {
  #before: Uint8Array;

  constructor(memory: Uint8Array) {
    this.#before = memory.slice();
  }

  /** Throws when a change is not marked; then starts over. `marks` is cleared. */
  check(memory: Uint8Array, marks: Uint8Array, spillBytes: number): void {
    const before = this.#before;
    const pageCount = memory.length / DIRTY_PAGE_BYTES;
    for (let page = 0; page < pageCount; page += 1) {
      if (marks[page] !== 0) continue;
      const start = page * DIRTY_PAGE_BYTES;
      const spilled = page > 0 && marks[page - 1] !== 0 ? spillBytes : 0;
      const now = memory.subarray(start + spilled, start + DIRTY_PAGE_BYTES);
      const then =
        start < before.length
          ? before.subarray(start + spilled, start + DIRTY_PAGE_BYTES)
          : new Uint8Array(now.length);
      if (Buffer.compare(now, then) !== 0) throw new Error(`page ${page} changed without a mark`);
    }
    marks.fill(0);
    if (before.length === memory.length) before.set(memory);
    else this.#before = memory.slice();
  }

  /** What the host wrote. */
  static mark(marks: Uint8Array, address: number, length: number): void {
    const last = Math.floor((address + length - 1) / DIRTY_PAGE_BYTES);
    marks.fill(1, Math.floor(address / DIRTY_PAGE_BYTES), last + 1);
  }
}
