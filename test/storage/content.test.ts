import { describe, expect, it } from 'vitest';
import { FileSystem, ROOT } from '../../sim/index.ts';
import { randomSource } from './support.ts';

const FILE_BYTES = 2_500_000;

/** A file that is also kept as one plain array, with random operations on both. */
class Twin {
  readonly files = new FileSystem();
  readonly inode = this.files.createFile(ROOT, 'f', 0n);
  plain = new Uint8Array(0);
  private readonly random: (below: number) => number;

  constructor(seed: number) {
    this.random = randomSource(seed);
  }

  operate(): void {
    const { files, inode, random } = this;
    const offset = random(4) === 0 ? random(FILE_BYTES) : random(this.plain.length + 1);
    switch (random(5)) {
      case 0:
      case 1: {
        const from = new Uint8Array(random(10) === 0 ? random(20_000) : random(200));
        from.forEach((_, index) => (from[index] = random(4) === 0 ? 0 : random(256)));
        expect(files.write(inode, offset, from, 1n)).toBe(from.length);
        if (from.length > 0) this.grow(offset + from.length);
        this.plain.set(from, from.length > 0 ? offset : 0);
        return;
      }
      case 2: {
        const size = random(2) === 0 ? offset : random(FILE_BYTES);
        expect(files.truncate(inode, size, 1n)).toBe(0);
        this.plain = this.plain.slice(0, size);
        this.grow(size);
        return;
      }
      case 3: {
        const length = 1 + random(10_000);
        expect(files.allocate(inode, offset, length, 1n)).toBe(0);
        this.grow(offset + length);
        return;
      }
      default: {
        const into = new Uint8Array(random(9_000)).fill(7);
        const count = files.read(inode, offset, into);
        const expected = this.plain.subarray(offset, offset + into.length);
        expect(count).toBe(expected.length);
        expect(Buffer.compare(into.subarray(0, count), expected)).toBe(0);
      }
    }
  }

  whole(): Uint8Array {
    const into = new Uint8Array(this.files.stat(this.inode).size);
    this.files.read(this.inode, 0, into);
    return into;
  }

  private grow(size: number): void {
    if (size <= this.plain.length) return;
    const plain = new Uint8Array(size);
    plain.set(this.plain);
    this.plain = plain;
  }
}

describe('file contents', () => {
  it('are what a plain array would be, over random operations', () => {
    for (let seed = 0; seed < 8; seed++) {
      const twin = new Twin(seed);
      for (let count = 0; count < 100; count++) twin.operate();
      expect(Buffer.compare(twin.whole(), twin.plain)).toBe(0);
    }
  });

  it('captured at any time come back as they were, and capturing changes nothing', () => {
    for (let seed = 100; seed < 104; seed++) {
      const twin = new Twin(seed);
      const captures: { state: unknown; plain: Uint8Array; digest: string }[] = [];
      for (let count = 0; count < 120; count++) {
        twin.operate();
        if (count % 10 !== 0) continue;
        const { files } = twin;
        captures.push({
          state: files.capture(),
          plain: twin.plain.slice(),
          digest: files.digest(),
        });
      }
      const undisturbed = new Twin(seed);
      for (let count = 0; count < 120; count++) undisturbed.operate();
      expect(undisturbed.files.digest()).toBe(twin.files.digest());
      for (const { state, plain, digest } of captures.reverse()) {
        twin.files.restore(state);
        expect(Buffer.compare(twin.whole(), plain)).toBe(0);
        expect(twin.files.digest()).toBe(digest);
        const fresh = new FileSystem();
        fresh.restore(structuredClone(state));
        expect(fresh.digest()).toBe(digest);
      }
    }
  });

  it('have a digest that depends on bytes and size only', () => {
    const one = new FileSystem();
    const other = new FileSystem();
    for (const files of [one, other]) files.createFile(ROOT, 'f', 0n);
    one.write(2, 0, new Uint8Array(10_000), 5n);
    one.write(2, 9_000, Uint8Array.of(1, 2, 3), 5n);
    other.truncate(2, 10_000, 1n);
    other.write(2, 9_001, Uint8Array.of(2, 3), 5n);
    expect(one.digest()).not.toBe(other.digest());
    other.write(2, 9_000, Uint8Array.of(1), 5n);
    expect(one.digest()).toBe(other.digest());
    other.truncate(2, 10_001, 5n);
    expect(one.digest()).not.toBe(other.digest());
  });

  it('share chunks with a capture: what a write copies does not grow with the file', () => {
    const files = new FileSystem();
    const inode = files.createFile(ROOT, 'f', 0n);
    files.write(inode, 0, new Uint8Array(16 * 2 ** 20).fill(1), 0n);
    const chunksOf = (state: unknown): Set<unknown> => {
      const { nodes } = state as { nodes: { content?: { segments: Uint8Array[][] } }[] };
      return new Set(nodes.flatMap(({ content }) => content?.segments.flat() ?? []));
    };
    const before = chunksOf(files.capture());
    files.write(inode, 5_000, Uint8Array.of(2), 0n);
    const after = chunksOf(files.capture());
    const shared = [...after].filter((chunk) => before.has(chunk));
    expect(after.size).toBe(4_096);
    expect(shared.length).toBe(4_095);
  });
});
