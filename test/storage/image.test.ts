import { describe, expect, it } from 'vitest';
import { decodeCanonical, encodeCanonical, FileSystem, ROOT } from '../../sim/index.ts';
import { failure } from '../support/failure.ts';
import { bytesOf, put, randomSource, tree } from './support.ts';

/** A file system with some of everything. */
function sample(): FileSystem {
  const files = new FileSystem({ createdNs: 1n });
  const dir = files.makeDirectory(ROOT, 'd', 10n);
  const file = put(files, dir, 'f', 'durable');
  files.synchroniseAll();
  files.write(file, 3, bytesOf('VOLATILE'), 20n);
  files.link(file, ROOT, 'g', 30n);
  files.symlink(ROOT, 'l', 'd/f', 30n);
  files.truncate(put(files, ROOT, 'sparse', 'x'), 3_000_000, 40n);
  const open = put(files, ROOT, 'open', 'nameless');
  files.retain(open);
  files.unlink(ROOT, 'open', 50n);
  files.rename(ROOT, 'g', dir, 'h', 60n);
  return files;
}

describe('a captured file system', () => {
  it('is canonical plain data that restores to the same digest, tree and future', () => {
    const files = sample();
    const state = decodeCanonical(encodeCanonical(files.capture()));
    const copy = new FileSystem();
    copy.restore(state);
    expect(copy.digest()).toBe(files.digest());
    expect(tree(copy)).toEqual(tree(files));
    for (const each of [files, copy]) {
      each.createFile(ROOT, 'later', 70n);
      each.crash(randomSource(5));
    }
    expect(copy.digest()).toBe(files.digest());
  });

  it('is made anew only for what changed, and restoring leaves the rest alone', () => {
    const files = sample();
    const first = files.capture() as { nodes: { inode: number }[] };
    put(files, ROOT, 'new', 'new');
    const second = files.capture() as { nodes: { inode: number }[] };
    const same = first.nodes.filter((node, index) => node === second.nodes[index]);
    expect(same.length).toBe(first.nodes.length - 1);
    files.restore(first);
    const third = files.capture() as { nodes: unknown[] };
    expect(third.nodes.every((node, index) => node === first.nodes[index])).toBe(true);
  });

  it('restores over any other state', () => {
    const files = sample();
    const digest = files.digest();
    const state = files.capture();
    for (let seed = 0; seed < 5; seed++) {
      files.removeDirectory(ROOT, 'd', 1n);
      files.unlink(ROOT, 'l', 1n);
      put(files, ROOT, `x${seed}`, 'x');
      files.releaseAll();
      if (seed % 2 === 0) files.crash(randomSource(seed));
      files.restore(state);
      expect(files.digest()).toBe(digest);
    }
  });

  it('damaged anywhere is refused with a code, and changes nothing', () => {
    const files = sample();
    const digest = files.digest();
    const plain = (): Record<string, unknown> => structuredClone(files.capture()) as never;
    const damages: readonly ((state: Record<string, never>) => unknown)[] = [
      (state) => (state['version'] = 2 as never),
      (state) => delete state['changes'],
      (state) => (state['extra'] = 1 as never),
      (state) => (state['nextInode'] = 3 as never),
      (state) => (state['nodes'] as unknown[]).reverse(),
      (state) => (state['nodes'] as unknown[]).shift(),
      (state) => (state['nodes'] as unknown[]).pop(),
      (state) => (state['nodes'] as unknown[]).push(null),
      (state) => ((state['nodes'] as { kind: string }[])[1].kind = 'device'),
      (state) =>
        ((state['nodes'] as { times: { accessedNs: bigint } }[])[1].times.accessedNs = -1n),
      (state) => ((state['nodes'] as { entries: { name: string }[] }[])[0].entries[0].name = 'a/b'),
      (state) => ((state['nodes'] as { entries: { inode: number }[] }[])[0].entries[0].inode = 77),
      (state) => ((state['nodes'] as { parent: number }[])[1].parent = 3),
      (state) => ((state['changes'] as { directory: number }[][])[0][0].directory = 3),
      (state) =>
        ((state['nodes'] as { content: { segments: Uint8Array[][] } }[])[2].content.segments[0][0] =
          new Uint8Array(65)),
    ];
    for (const damage of damages) {
      const state = plain();
      damage(state as Record<string, never>);
      expect(failure(() => files.restore(state)).code).toBe('bundle/shape');
      expect(files.digest()).toBe(digest);
    }
  });
});
