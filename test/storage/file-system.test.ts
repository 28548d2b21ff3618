import { describe, expect, it } from 'vitest';
import { ERRNO, FileSystem, ROOT } from '../../sim/index.ts';
import { bytesOf, put, randomSource, textOf, tree } from './support.ts';

describe('directories', () => {
  it('find, make, link and remove entries with the errors of POSIX', () => {
    const files = new FileSystem();
    const dir = files.makeDirectory(ROOT, 'd', 1n);
    const file = put(files, dir, 'f', 'text');
    const link = files.symlink(ROOT, 'l', 'd/f', 1n);
    const rows: readonly [string, number, number][] = [
      ['lookup', files.lookup(dir, 'f'), file],
      ['lookup of nothing', files.lookup(dir, 'x'), -ERRNO.NOENT],
      ['lookup in a file', files.lookup(file, 'x'), -ERRNO.NOTDIR],
      ['lookup in no inode', files.lookup(99, 'x'), -ERRNO.NOENT],
      ['create what exists', files.createFile(dir, 'f', 1n), -ERRNO.EXIST],
      ['create in a file', files.createFile(file, 'x', 1n), -ERRNO.NOTDIR],
      ['create a name with a slash', files.createFile(dir, 'a/b', 1n), -ERRNO.INVAL],
      ['create a name with a zero', files.createFile(dir, 'a\0', 1n), -ERRNO.INVAL],
      ['create an empty name', files.createFile(dir, '', 1n), -ERRNO.NOENT],
      [
        'create a name of 256 bytes',
        files.createFile(dir, 'ä'.repeat(128), 1n),
        -ERRNO.NAMETOOLONG,
      ],
      ['create a directory that exists', files.makeDirectory(ROOT, 'd', 1n), -ERRNO.EXIST],
      ['create an empty link', files.symlink(ROOT, 'e', '', 1n), -ERRNO.NOENT],
      [
        'create too long a link',
        files.symlink(ROOT, 'e', 'x'.repeat(4097), 1n),
        -ERRNO.NAMETOOLONG,
      ],
      ['link a directory', files.link(dir, ROOT, 'x', 1n), -ERRNO.PERM],
      ['link no inode', files.link(99, ROOT, 'x', 1n), -ERRNO.NOENT],
      ['link to a name that exists', files.link(file, ROOT, 'd', 1n), -ERRNO.EXIST],
      ['unlink a directory', files.unlink(ROOT, 'd', 1n), -ERRNO.ISDIR],
      ['unlink dot', files.unlink(ROOT, '.', 1n), -ERRNO.ISDIR],
      ['unlink nothing', files.unlink(ROOT, 'x', 1n), -ERRNO.NOENT],
      ['remove a file as a directory', files.removeDirectory(dir, 'f', 1n), -ERRNO.NOTDIR],
      ['remove a full directory', files.removeDirectory(ROOT, 'd', 1n), -ERRNO.NOTEMPTY],
      ['remove dot', files.removeDirectory(ROOT, '.', 1n), -ERRNO.INVAL],
      ['remove dot dot', files.removeDirectory(ROOT, '..', 1n), -ERRNO.NOTEMPTY],
      ['read a directory', files.read(dir, 0, new Uint8Array(1)), -ERRNO.ISDIR],
      ['write a directory', files.write(dir, 0, new Uint8Array(1), 1n), -ERRNO.ISDIR],
      ['read a link', files.read(link, 0, new Uint8Array(1)), -ERRNO.INVAL],
      ['truncate a directory', files.truncate(dir, 0, 1n), -ERRNO.ISDIR],
      ['truncate to too much', files.truncate(file, 2 ** 40, 1n), -ERRNO.FBIG],
      ['allocate nothing', files.allocate(file, 0, 0, 1n), -ERRNO.INVAL],
      ['allocate too much', files.allocate(file, 2 ** 34, 1, 1n), -ERRNO.FBIG],
      ['write too far', files.write(file, 2 ** 34, new Uint8Array(1), 1n), -ERRNO.FBIG],
    ];
    for (const [name, actual, expected] of rows) expect([name, actual]).toEqual([name, expected]);
    expect(files.readLink(link)).toBe('d/f');
    expect(files.readLink(file)).toBe(-ERRNO.INVAL);
    expect(tree(files)).toEqual(['/d/', '/d/f: text', '/l -> d/f']);
    expect(files.parent(dir)).toBe(ROOT);
    expect(files.parent(ROOT)).toBe(ROOT);
  });

  it('list entries in order of their making, with cookies that stay valid', () => {
    const files = new FileSystem();
    for (let index = 0; index < 100; index++) files.createFile(ROOT, `f${index}`, 1n);
    const first = files.entriesAfter(ROOT, 0, 10);
    expect(first.map(({ name }) => name)).toEqual(Array.from({ length: 10 }, (_, i) => `f${i}`));
    for (let index = 0; index < 60; index++) files.unlink(ROOT, `f${index}`, 1n);
    files.createFile(ROOT, 'late', 1n);
    const rest = files.entriesAfter(ROOT, first.at(-1)?.cookie as number, 100);
    const expected = Array.from({ length: 40 }, (_, i) => `f${i + 60}`);
    expect(rest.map(({ name }) => name)).toEqual([...expected, 'late']);
    expect(files.entriesAfter(ROOT, 5, 1).map(({ name }) => name)).toEqual(['f60']);
    expect(files.entriesAfter(put(files, ROOT, 'x', ''), 0, 9)).toEqual([]);
  });

  it('behave like a map by name over random operations', () => {
    const random = randomSource(7);
    const files = new FileSystem();
    const names: string[] = [];
    for (let count = 0; count < 4_000; count++) {
      const name = `n${random(300)}`;
      const at = names.indexOf(name);
      if (random(2) === 0) {
        const expected = at < 0 ? 'made' : -ERRNO.EXIST;
        const result = files.createFile(ROOT, name, 1n);
        expect(result > 0 ? 'made' : result).toBe(expected);
        if (at < 0) names.push(name);
      } else {
        expect(files.unlink(ROOT, name, 1n)).toBe(at < 0 ? -ERRNO.NOENT : 0);
        if (at >= 0) names.splice(at, 1);
      }
    }
    expect(files.entriesAfter(ROOT, 0, 1000).map((entry) => entry.name)).toEqual(names);
  });
});

describe('rename', () => {
  const setUp = (): FileSystem => {
    const files = new FileSystem();
    put(files, ROOT, 'a', 'A');
    put(files, ROOT, 'b', 'B');
    const full = files.makeDirectory(ROOT, 'full', 1n);
    files.makeDirectory(ROOT, 'empty', 1n);
    put(files, full, 'x', 'X');
    files.makeDirectory(full, 'sub', 1n);
    return files;
  };
  const rows: readonly [from: string, to: string, result: number, tree: string][] = [
    ['a', 'new', 0, 'b full/ full/x full/sub/ empty/ new'],
    ['a', 'b', 0, 'full/ full/x full/sub/ empty/ b'],
    ['a', 'a', 0, 'a b full/ full/x full/sub/ empty/'],
    ['a', 'full', -ERRNO.ISDIR, ''],
    ['a', 'empty', -ERRNO.ISDIR, ''],
    ['full', 'a', -ERRNO.NOTDIR, ''],
    ['empty', 'full', -ERRNO.NOTEMPTY, ''],
    ['full', 'empty', 0, 'a b empty/ empty/x empty/sub/'],
    ['missing', 'b', -ERRNO.NOENT, ''],
    ['a', 'x/y', -ERRNO.INVAL, ''],
    ['.', 'b', -ERRNO.BUSY, ''],
    ['a', '..', -ERRNO.BUSY, ''],
  ];
  for (const [from, to, result, expected] of rows) {
    it(`of ${from} to ${to}`, () => {
      const files = setUp();
      const before = tree(files);
      expect(files.rename(ROOT, from, ROOT, to, 1n)).toBe(result);
      const after = tree(files);
      if (result < 0) expect(after).toEqual(before);
      else expect(after.map((line) => line.slice(1).split(':')[0]).join(' ')).toBe(expected);
    });
  }

  it('does not move a directory into itself, and updates the parent of a moved one', () => {
    const files = setUp();
    const full = files.lookup(ROOT, 'full');
    const sub = files.lookup(full, 'sub');
    expect(files.rename(ROOT, 'full', sub, 'deep', 1n)).toBe(-ERRNO.INVAL);
    expect(files.rename(ROOT, 'full', full, 'self', 1n)).toBe(-ERRNO.INVAL);
    expect(files.rename(full, 'sub', ROOT, 'sub', 1n)).toBe(0);
    expect(files.parent(sub)).toBe(ROOT);
  });

  it('between two names of one file does nothing', () => {
    const files = setUp();
    files.link(files.lookup(ROOT, 'a'), ROOT, 'a2', 1n);
    const before = tree(files);
    expect(files.rename(ROOT, 'a', ROOT, 'a2', 1n)).toBe(0);
    expect(tree(files)).toEqual(before);
  });
});

describe('inodes', () => {
  it('count names and live on while they are open', () => {
    const files = new FileSystem();
    const inode = put(files, ROOT, 'f', 'text');
    files.link(inode, ROOT, 'g', 1n);
    expect(files.stat(inode).links).toBe(2);
    files.retain(inode);
    files.unlink(ROOT, 'f', 1n);
    files.unlink(ROOT, 'g', 1n);
    expect(files.stat(inode).links).toBe(0);
    expect(files.link(inode, ROOT, 'h', 1n)).toBe(-ERRNO.NOENT);
    expect(textOf(files, inode)).toBe('text');
    files.synchroniseAll();
    expect(textOf(files, inode)).toBe('text');
    files.release(inode);
    expect(files.read(inode, 0, new Uint8Array(1))).toBe(-ERRNO.BADF);
  });

  it('a removed directory that is open takes no entries', () => {
    const files = new FileSystem();
    const inode = files.makeDirectory(ROOT, 'd', 1n);
    files.retain(inode);
    files.removeDirectory(ROOT, 'd', 1n);
    expect(files.createFile(inode, 'f', 1n)).toBe(-ERRNO.NOENT);
    expect(files.synchronise(inode, false)).toBe(0);
    files.release(inode);
  });

  it('keep times: of writes, of changes, and as set', () => {
    const files = new FileSystem({ createdNs: 5n });
    const inode = files.createFile(ROOT, 'f', 10n);
    files.write(inode, 0, bytesOf('x'), 20n);
    expect(files.stat(inode)).toMatchObject({ accessedNs: 10n, modifiedNs: 20n, changedNs: 20n });
    files.setTimes(inode, 3n, null, 30n);
    expect(files.stat(inode)).toMatchObject({ accessedNs: 3n, modifiedNs: 20n, changedNs: 30n });
    files.setTimes(inode, null, 4n, 40n);
    expect(files.stat(inode)).toMatchObject({ accessedNs: 3n, modifiedNs: 4n, changedNs: 40n });
    expect(files.stat(ROOT)).toMatchObject({ accessedNs: 5n, modifiedNs: 10n, changedNs: 10n });
  });
});

describe('limits', () => {
  it('space ends with a short write, then NOSPC; removal and truncation give it back', () => {
    const files = new FileSystem({ bytesMax: 10 * 4096 });
    const inode = files.createFile(ROOT, 'f', 1n);
    expect(files.write(inode, 100, new Uint8Array(20 * 4096), 1n)).toBe(10 * 4096 - 100);
    expect(files.write(inode, 10 * 4096, new Uint8Array(1), 1n)).toBe(-ERRNO.NOSPC);
    expect(files.write(inode, 0, new Uint8Array(4096), 1n)).toBe(4096);
    const other = files.createFile(ROOT, 'g', 1n);
    expect(files.write(other, 0, new Uint8Array(1), 1n)).toBe(-ERRNO.NOSPC);
    expect(files.allocate(other, 0, 1, 1n)).toBe(-ERRNO.NOSPC);
    files.truncate(inode, 9 * 4096, 1n);
    expect(files.write(other, 0, new Uint8Array(1), 1n)).toBe(1);
    files.retain(inode);
    files.unlink(ROOT, 'f', 1n);
    expect(files.write(other, 4096, new Uint8Array(1), 1n)).toBe(-ERRNO.NOSPC);
    files.release(inode);
    expect(files.write(other, 4096, new Uint8Array(9 * 4096), 1n)).toBe(9 * 4096);
  });

  it('a hole takes no space, a reservation does, and writing to one takes no more', () => {
    const files = new FileSystem({ bytesMax: 4 * 4096 });
    const inode = files.createFile(ROOT, 'f', 1n);
    expect(files.truncate(inode, 2 ** 30, 1n)).toBe(0);
    expect(files.allocate(inode, 4096, 4 * 4096, 1n)).toBe(0);
    expect(files.stat(inode).size).toBe(2 ** 30);
    expect(files.write(inode, 0, new Uint8Array(1), 1n)).toBe(-ERRNO.NOSPC);
    expect(files.write(inode, 4096, new Uint8Array(4 * 4096), 1n)).toBe(4 * 4096);
  });

  it('inodes end with NOSPC', () => {
    const files = new FileSystem({ inodesMax: 3 });
    expect(files.createFile(ROOT, 'a', 1n)).toBe(2);
    expect(files.makeDirectory(ROOT, 'b', 1n)).toBe(3);
    expect(files.createFile(ROOT, 'c', 1n)).toBe(-ERRNO.NOSPC);
    expect(files.symlink(ROOT, 'c', 't', 1n)).toBe(-ERRNO.NOSPC);
    files.unlink(ROOT, 'a', 1n);
    files.synchroniseAll();
    expect(files.createFile(ROOT, 'c', 1n)).toBe(4);
  });

  it('a file that is made and removed for ever takes bounded memory', () => {
    const files = new FileSystem({ bytesMax: 2 ** 24 });
    for (let count = 0; count < 1_500; count++) {
      const inode = files.createFile(ROOT, 'temporary', 1n);
      expect(files.write(inode, 0, new Uint8Array(60_000), 1n)).toBe(60_000);
      files.unlink(ROOT, 'temporary', 1n);
    }
    const { nodes, changes } = files.capture() as { nodes: unknown[]; changes: unknown[] };
    expect(changes.length).toBeLessThanOrEqual(1024);
    expect(nodes.length).toBeLessThanOrEqual(1025);
    files.releaseAll();
    files.synchroniseAll();
    expect((files.capture() as { nodes: unknown[] }).nodes.length).toBe(1);
  });

  it('the free space is that of what is there, after any operations', () => {
    for (let seed = 0; seed < 20; seed++) {
      const random = randomSource(seed);
      const files = new FileSystem({ bytesMax: 4096 * 400 });
      const open: number[] = [];
      for (let step = 0; step < 200; step++) {
        const name = `f${random(6)}`;
        const inode = files.lookup(ROOT, name);
        const at = random(100_000);
        switch (random(9)) {
          case 0:
            files.createFile(ROOT, name, 1n);
            break;
          case 1:
            files.unlink(ROOT, name, 1n);
            break;
          case 2:
            files.rename(ROOT, name, ROOT, `f${random(6)}`, 1n);
            break;
          case 3:
            if (inode > 0) files.truncate(inode, at, 1n);
            break;
          case 4:
            if (inode > 0) files.allocate(inode, at, 1 + random(50_000), 1n);
            break;
          case 5:
            if (inode < 0) break;
            files.retain(inode);
            open.push(inode);
            break;
          case 6:
            if (open.length > 0) files.release(open.pop() as number);
            break;
          case 7:
            if (random(20) > 0) break;
            files.crash(random);
            open.length = 0;
            break;
          default:
            if (inode > 0) files.write(inode, at, new Uint8Array(random(50_000)), 1n);
        }
        if (random(10) === 0) files.synchronise(random(2) === 0 || inode < 0 ? ROOT : inode, false);
      }
      const copy = new FileSystem({ bytesMax: 4096 * 400 });
      copy.restore(structuredClone(files.capture()));
      const [free, expected] = [files, copy].map((each) => {
        return each.write(each.createFile(ROOT, 'rest', 1n), 0, new Uint8Array(4096 * 500), 1n);
      });
      expect([seed, free]).toEqual([seed, expected]);
    }
  });
});
