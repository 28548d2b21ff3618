import { describe, expect, it } from 'vitest';
import { FileSystem, ROOT, type Inode } from '../../sim/index.ts';
import { answers, bytesOf, put, randomSource, textOf, tree } from './support.ts';

/** Every tree that a crash can leave after `prepare`, with the decisions that lead there. */
function outcomes(prepare: (files: FileSystem) => void): Map<string, string[]> {
  const results = new Map<string, string[]>();
  const queue: number[][] = [[]];
  for (const chosen of queue) {
    const files = new FileSystem();
    prepare(files);
    let asked = 0;
    files.crash((arity) => {
      expect(arity).toBe(2);
      return chosen[asked++] ?? 0;
    });
    for (let extra = chosen.length; extra < asked; extra++) {
      queue.push([...chosen, ...new Array<number>(extra - chosen.length).fill(0), 1]);
    }
    const after = tree(files).join(' ');
    results.set(after, [...(results.get(after) ?? []), chosen.join('')]);
  }
  return results;
}

function leaves(prepare: (files: FileSystem) => void): string[] {
  return [...outcomes(prepare).keys()].sort();
}

describe('a loss of power', () => {
  it('keeps a synced file in a synced directory, whatever is decided', () => {
    const all = leaves((files) => {
      const dir = files.makeDirectory(ROOT, 'd', 1n);
      const file = put(files, dir, 'f', 'text');
      files.synchronise(file, false);
      files.synchronise(dir, false);
    });
    expect(all).toEqual(['/d/ /d/f: text']);
  });

  const rows: readonly [string, (files: FileSystem) => void, string[]][] = [
    [
      'may lose a file whose directory was not synced',
      (files) => files.synchronise(put(files, ROOT, 'f', 'text'), false),
      ['', '/f: text'],
    ],
    [
      'may lose the bytes of a file that was not synced, but not its synced name',
      (files) => {
        put(files, ROOT, 'f', 'text');
        files.synchronise(ROOT, false);
      },
      ['/f: ', '/f: text'],
    ],
    [
      'leaves the bytes of the last sync, or the present ones',
      (files) => {
        const file = put(files, ROOT, 'f', 'old');
        files.synchroniseAll();
        files.write(file, 0, bytesOf('n'), 3n);
        files.write(file, 2, bytesOf('w!'), 3n);
      },
      ['/f: nlw!', '/f: old'],
    ],
    [
      'may bring a removed file back',
      (files) => {
        put(files, ROOT, 'f', 'text');
        files.synchroniseAll();
        files.unlink(ROOT, 'f', 3n);
      },
      ['', '/f: text'],
    ],
    [
      'does not bring back what was removed before the sync of its directory',
      (files) => {
        put(files, ROOT, 'f', 'text');
        files.synchroniseAll();
        files.unlink(ROOT, 'f', 3n);
        files.synchronise(ROOT, false);
      },
      [''],
    ],
    [
      'leaves the old or the new file where one was renamed over the other',
      (files) => {
        put(files, ROOT, 'f', 'old');
        files.synchroniseAll();
        const temporary = put(files, ROOT, 't', 'new');
        files.synchronise(temporary, false);
        files.rename(ROOT, 't', ROOT, 'f', 3n);
      },
      ['/f: new', '/f: old', '/f: old /t: new'],
    ],
    [
      'leaves an empty file where the new one was not synced before the rename',
      (files) => {
        put(files, ROOT, 'f', 'old');
        files.synchroniseAll();
        put(files, ROOT, 't', 'new');
        files.rename(ROOT, 't', ROOT, 'f', 3n);
        files.synchronise(ROOT, false);
      },
      ['/f: ', '/f: new'],
    ],
    [
      'keeps or loses changes of unrelated entries each by itself',
      (files) => {
        files.symlink(ROOT, 'a', 'x', 1n);
        files.symlink(ROOT, 'b', 'x', 1n);
      },
      ['', '/a -> x', '/a -> x /b -> x', '/b -> x'],
    ],
    [
      'loses what was made in a directory with the directory',
      (files) => files.symlink(files.makeDirectory(ROOT, 'd', 1n), 'a', 'x', 1n),
      ['', '/d/', '/d/ /d/a -> x'],
    ],
    [
      'a move between directories is one change',
      (files) => {
        const one = files.makeDirectory(ROOT, 'one', 1n);
        const two = files.makeDirectory(ROOT, 'two', 1n);
        put(files, one, 'f', 'text');
        files.synchroniseAll();
        files.rename(one, 'f', two, 'f', 2n);
      },
      ['/one/ /one/f: text /two/', '/one/ /two/ /two/f: text'],
    ],
    [
      'the sync of the directory that an entry left or came to makes a move durable',
      (files) => {
        const one = files.makeDirectory(ROOT, 'one', 1n);
        const two = files.makeDirectory(ROOT, 'two', 1n);
        put(files, one, 'f', 'text');
        files.synchroniseAll();
        files.rename(one, 'f', two, 'f', 2n);
        files.synchronise(one, false);
      },
      ['/one/ /two/ /two/f: text'],
    ],
    [
      'the sync of a new directory deep in the tree makes its path durable',
      (files) => {
        const deep = files.makeDirectory(files.makeDirectory(ROOT, 'a', 1n), 'b', 1n);
        files.symlink(ROOT, 'other', 'x', 1n);
        files.synchronise(deep, false);
      },
      ['/a/ /a/b/', '/a/ /a/b/ /other -> x'],
    ],
    [
      'crossing moves of directories leave one tree',
      (files) => {
        const a = files.makeDirectory(ROOT, 'a', 1n);
        const b = files.makeDirectory(ROOT, 'b', 1n);
        files.makeDirectory(ROOT, 'c', 1n);
        files.synchroniseAll();
        files.rename(ROOT, 'a', b, 'a', 1n);
        files.rename(b, 'a', ROOT, 'a', 1n);
        files.rename(ROOT, 'b', a, 'b', 1n);
        files.rename(ROOT, 'c', b, 'c', 1n);
      },
      ['/a/ /a/b/ /a/b/c/', '/c/ /a/ /a/b/', '/b/ /b/a/ /c/', '/b/ /c/ /a/', '/a/ /b/ /c/'],
    ],
    [
      'moves deep in the tree never make a circle',
      (files) => {
        const a = files.makeDirectory(ROOT, 'a', 1n);
        const x = files.makeDirectory(a, 'x', 1n);
        const b = files.makeDirectory(ROOT, 'b', 1n);
        const y = files.makeDirectory(b, 'y', 1n);
        files.synchroniseAll();
        files.rename(ROOT, 'a', y, 'a', 1n);
        files.rename(y, 'a', ROOT, 'a', 1n);
        files.rename(ROOT, 'b', x, 'b', 1n);
      },
      [
        '/a/ /a/x/ /a/x/b/ /a/x/b/y/',
        '/a/ /a/x/ /b/ /b/y/',
        '/b/ /b/y/ /a/ /a/x/',
        '/b/ /b/y/ /b/y/a/ /b/y/a/x/',
      ],
    ],
    [
      'a second name that was lost does not take the file with the first',
      (files) => {
        const file = put(files, ROOT, 'f', 'text');
        files.synchroniseAll();
        files.link(file, ROOT, 'g', 1n);
        files.unlink(ROOT, 'f', 1n);
      },
      ['/f: text', '/f: text /g: text', '/g: text'],
    ],
  ];
  for (const [name, prepare, expected] of rows) {
    it(name, () => expect(leaves(prepare)).toEqual(expected.sort()));
  }

  it('asks for changes in order, then for files by inode, and answers 1 keep', () => {
    const files = new FileSystem();
    put(files, ROOT, 'a', 'A');
    put(files, ROOT, 'b', 'B');
    files.crash(answers(1, 1, 0, 1));
    expect(tree(files)).toEqual(['/a: ', '/b: B']);
    files.crash(answers());
    expect(tree(files)).toEqual(['/a: ', '/b: B']);
  });

  it('brings times back to those of the last sync; a data sync leaves them', () => {
    const files = new FileSystem();
    const inode = files.createFile(ROOT, 'f', 1n);
    files.write(inode, 0, bytesOf('x'), 2n);
    files.synchroniseAll();
    files.write(inode, 0, bytesOf('y'), 3n);
    files.synchronise(inode, true);
    files.crash(answers());
    expect(textOf(files, inode)).toBe('y');
    expect(files.stat(inode).modifiedNs).toBe(2n);
    files.write(inode, 0, bytesOf('z'), 4n);
    files.synchronise(inode, false);
    files.crash(answers());
    expect(files.stat(inode).modifiedNs).toBe(4n);
  });

  it('forgets descriptors: what was open without a name is gone', () => {
    const files = new FileSystem();
    const inode = put(files, ROOT, 'f', 'text');
    files.synchroniseAll();
    files.retain(inode);
    files.unlink(ROOT, 'f', 3n);
    files.synchronise(ROOT, false);
    expect(textOf(files, inode)).toBe('text');
    files.crash(answers());
    expect(files.capture()).toMatchObject({ nodes: [{ inode: ROOT }], changes: [] });
  });

  it('gives the same state for the same decisions', () => {
    const run = (): string => {
      const files = new FileSystem();
      disturb(files, randomSource(3), 300, new Set());
      files.crash(randomSource(4));
      return files.digest();
    };
    expect(run()).toBe(run());
  });

  it('never loses a file that was named durably and has had a name ever since', () => {
    for (let seed = 0; seed < 150; seed++) {
      const random = randomSource(seed);
      const files = new FileSystem();
      for (let life = 0; life < 3; life++) {
        const safe = new Set<Inode>();
        disturb(files, random, 60, safe);
        files.crash((arity) => random(arity));
        const names = countNames(files, ROOT, new Map());
        for (const inode of safe)
          expect([seed, inode, names.has(inode)]).toEqual([seed, inode, true]);
        const { nodes } = files.capture() as { nodes: { inode: number; names: number }[] };
        for (const node of nodes) {
          if (node.inode !== ROOT) expect(node.names).toBe(names.get(node.inode));
        }
        const copy = new FileSystem();
        copy.restore(structuredClone(files.capture()));
        expect(copy.digest()).toBe(files.digest());
      }
    }
  });
});

/** Random operations. `safe` collects the files that no crash may lose. */
function disturb(
  files: FileSystem,
  random: (below: number) => number,
  count: number,
  safe: Set<Inode>,
): void {
  const directories = (): Inode[] => [ROOT, ...listed(files, ROOT, 'directory')];
  const pick = <T>(list: readonly T[]): T | undefined => list[random(list.length)];
  for (let step = 0; step < count; step++) {
    const directory = pick(directories()) as Inode;
    const name = `n${random(4)}`;
    const other = pick(directories()) as Inode;
    switch (random(9)) {
      case 0:
      case 1:
        files.createFile(directory, name, 1n);
        break;
      case 2:
        files.makeDirectory(directory, name, 1n);
        break;
      case 3:
        files.unlink(directory, name, 1n);
        break;
      case 4:
        files.removeDirectory(directory, name, 1n);
        break;
      case 5:
      case 6:
        files.rename(directory, name, other, `n${random(4)}`, 1n);
        break;
      case 7: {
        const file = pick(listed(files, ROOT, 'file'));
        if (file !== undefined) files.link(file, other, name, 1n);
        break;
      }
      default:
        files.synchronise(directory, false);
        for (const entry of files.entriesAfter(directory, 0, 1000)) {
          if (entry.kind === 'file') safe.add(entry.inode);
        }
    }
    const alive = new Set(listed(files, ROOT, 'file'));
    for (const inode of safe) if (!alive.has(inode)) safe.delete(inode);
  }
}

function listed(files: FileSystem, directory: Inode, kind: string): Inode[] {
  return files.entriesAfter(directory, 0, 1000).flatMap((entry) => {
    const below = entry.kind === 'directory' ? listed(files, entry.inode, kind) : [];
    return entry.kind === kind ? [entry.inode, ...below] : below;
  });
}

function countNames(files: FileSystem, directory: Inode, names: Map<Inode, number>) {
  for (const { inode, kind } of files.entriesAfter(directory, 0, 1000)) {
    names.set(inode, (names.get(inode) ?? 0) + 1);
    if (kind === 'directory') countNames(files, inode, names);
  }
  return names;
}
