import { describe, expect, it } from 'vitest';
import { ERRNO, ROOT, type DiskRuleDef, type Inode } from '../../sim/index.ts';
import { ALWAYS, SickDisk, type SickDiskOptions } from './disk-support.ts';
import { bytesOf, put, tree } from './support.ts';

const PAGE = 4096;

/** `count` pages, each filled with its letter from `first` on. */
function pages(count: number, first = 'a'): Uint8Array {
  const bytes = new Uint8Array(count * PAGE);
  for (let page = 0; page < count; page++) {
    bytes.fill(first.charCodeAt(0) + page, page * PAGE, (page + 1) * PAGE);
  }
  return bytes;
}

/** The letter of each page; '?' for a page of several. */
function letters(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += PAGE) {
    const page = bytes.subarray(at, at + PAGE);
    const first = page[0] as number;
    text += page.every((byte) => byte === first) ? String.fromCharCode(first || 46) : '?';
  }
  return text;
}

/** A disk whose file `f` has durable pages and is named durably; the base rule is quiet. */
function prepared(rule: Partial<DiskRuleDef>, options: SickDiskOptions = {}) {
  const sick = new SickDisk({ ...options, rules: { fault: rule } });
  const { files } = sick;
  const file = files.createFile(ROOT, 'f', 1n);
  files.write(file, 0, pages(4), 1n);
  expect(files.synchronise(file, false)).toBe(0);
  expect(files.synchronise(ROOT, false)).toBe(0);
  expect(sick.decisions.decisionCount).toBe(0);
  sick.disk.rules.start('fault');
  return { sick, files, file };
}

const none = (): number => 0;

describe('a modelled disk without faults', () => {
  it('draws nothing, takes no time and does what it says', () => {
    const { sick, files, file } = prepared({});
    files.write(file, PAGE, pages(1, 'x'), 2n);
    files.synchronise(file, true);
    sick.crash(none);
    expect(letters(sick.content(file))).toBe('axcd');
    expect([sick.decisions.decisionCount, files.takeDelayNs(), sick.struck]).toEqual([0, 0, []]);
  });
});

describe('errors that a guest sees', () => {
  it('a read fails with IO and gives nothing', () => {
    const { sick, files, file } = prepared({ readError: ALWAYS });
    expect(files.read(file, 0, new Uint8Array(8))).toBe(-ERRNO.IO);
    expect(sick.struck).toEqual(['read-error /f page 0']);
  });

  it('a write fails with IO and changes nothing', () => {
    const { sick, files, file } = prepared({ writeError: ALWAYS });
    expect(files.write(file, 0, bytesOf('new'), 2n)).toBe(-ERRNO.IO);
    expect(letters(sick.content(file))).toBe('abcd');
  });

  it('a failed sync leaves pages dirty, so that the next one writes them', () => {
    const { sick, files, file } = prepared({ syncError: ALWAYS });
    files.write(file, 0, pages(1, 'x'), 2n);
    expect(files.synchronise(file, false)).toBe(-ERRNO.IO);
    expect(files.synchronise(ROOT, false)).toBe(-ERRNO.IO);
    sick.disk.lift(false);
    expect(files.synchronise(file, false)).toBe(0);
    sick.crash(none);
    expect(letters(sick.content(file))).toBe('xbcd');
  });

  it('a failed sync that marks pages clean loses them silently (fsyncgate)', () => {
    const { sick, files, file } = prepared({ syncError: ALWAYS, failedSync: 'clean' });
    files.write(file, 0, pages(1, 'x'), 2n);
    expect(files.synchronise(file, false)).toBe(-ERRNO.IO);
    sick.disk.lift(false);
    files.write(file, PAGE, pages(1, 'y'), 3n);
    expect(files.synchronise(file, false)).toBe(0);
    expect(letters(sick.content(file))).toBe('xycd');
    sick.crash(() => 1);
    expect(letters(sick.content(file))).toBe('aycd');
  });

  it('space ends with NOSPC, a quota with DQUOT, and rewriting goes on', () => {
    for (const [rule, errno] of [
      [{ capacityBytes: 6 * PAGE }, ERRNO.NOSPC],
      [{ quotaBytes: 6 * PAGE }, ERRNO.DQUOT],
      [{ capacityBytes: 6 * PAGE, quotaBytes: 6 * PAGE }, ERRNO.NOSPC],
    ] as const) {
      const { files, file } = prepared(rule);
      expect(files.write(file, 4 * PAGE, pages(3), 2n)).toBe(2 * PAGE);
      expect(files.write(file, 6 * PAGE, pages(1), 2n)).toBe(-errno);
      expect(files.allocate(file, 6 * PAGE, 1, 2n)).toBe(-errno);
      expect(files.write(file, 0, pages(1, 'x'), 2n)).toBe(PAGE);
    }
  });

  it('a capacity below what is used refuses growth only', () => {
    const { files, file } = prepared({ capacityBytes: 0 });
    expect(files.write(file, 4 * PAGE, pages(1), 2n)).toBe(-ERRNO.NOSPC);
    expect(files.write(file, 0, pages(4, 'w'), 2n)).toBe(4 * PAGE);
  });
});

describe('writes that the device acknowledges and does not make (CR-90)', () => {
  it('a lying flush keeps the bytes volatile until an honest one', () => {
    const { sick, files, file } = prepared({ lyingFlush: ALWAYS });
    files.write(file, 0, pages(1, 'x'), 2n);
    expect(files.synchronise(file, false)).toBe(0);
    sick.crash(none);
    expect(letters(sick.content(file))).toBe('abcd');
    files.write(file, 0, pages(1, 'y'), 3n);
    files.synchronise(file, false);
    sick.disk.lift(false);
    const other = files.createFile(ROOT, 'g', 1n);
    files.write(other, 0, bytesOf('z'), 3n);
    files.synchronise(other, false);
    sick.crash(none);
    expect(letters(sick.content(file))).toBe('ybcd');
  });

  it('a lying flush of a directory keeps its entries volatile', () => {
    const { sick, files } = prepared({ lyingFlush: ALWAYS });
    files.symlink(ROOT, 'l', 'x', 1n);
    expect(files.synchronise(ROOT, false)).toBe(0);
    sick.crash(none);
    expect(files.lookup(ROOT, 'l')).toBe(-ERRNO.NOENT);
  });

  it('a lost write shows after the page cache is gone, or at once without one', () => {
    for (const pageCache of [true, false]) {
      const { sick, files, file } = prepared({ lostWrite: ALWAYS }, { disk: { pageCache } });
      files.write(file, PAGE, pages(2, 'x'), 2n);
      expect(files.synchronise(file, false)).toBe(0);
      expect(letters(sick.content(file))).toBe(pageCache ? 'axyd' : 'abcd');
      sick.crash(() => 1);
      expect(letters(sick.content(file))).toBe('abcd');
      expect(sick.struck).toEqual(['lost-write /f page 1', 'lost-write /f page 2']);
    }
  });

  it('a lost write at the end of the file leaves zeros', () => {
    const { sick, files, file } = prepared({ lostWrite: ALWAYS });
    files.write(file, 4 * PAGE, pages(1, 'x'), 2n);
    files.synchronise(file, false);
    sick.crash(none);
    expect(letters(sick.content(file))).toBe('abcd.');
  });

  it('a torn write keeps the first sectors of a page', () => {
    const cuts = new Set<number>();
    for (let seed = 0; seed < 60; seed++) {
      const { sick, files, file } = prepared({ tornWrite: ALWAYS }, { seed });
      files.write(file, PAGE, pages(1, 'x'), 2n);
      files.synchronise(file, false);
      sick.crash(none);
      const page = sick.content(file).subarray(PAGE, 2 * PAGE);
      const cut = page.indexOf('b'.charCodeAt(0));
      cuts.add(cut);
      expect(page.subarray(cut).every((byte) => byte === 'b'.charCodeAt(0))).toBe(true);
    }
    expect([...cuts].sort((a, b) => a - b)).toEqual([512, 1024, 1536, 2048, 2560, 3072, 3584]);
  });

  it('a misdirected write lands on another page, and its own keeps the old bytes', () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const { sick, files, file } = prepared({ misdirectedWrite: ALWAYS }, { seed });
      files.write(file, PAGE, pages(1, 'x'), 2n);
      files.synchronise(file, false);
      sick.crash(none);
      seen.add(letters(sick.content(file)));
    }
    expect([...seen].sort()).toEqual(['abcx', 'abxd', 'xbcd']);
  });
});

describe('reads of a sick medium', () => {
  it('bit rot turns one bit over for good', () => {
    const { sick, files, file } = prepared({ bitRot: ALWAYS });
    const before = pages(4);
    const rotten = sick.content(file);
    sick.disk.lift(false);
    const flipped = [...rotten].flatMap((byte, at) => {
      return byte === before[at] ? [] : [byte ^ (before[at] as number)];
    });
    expect(flipped).toHaveLength(1);
    expect(Math.log2(flipped[0] as number) % 1).toBe(0);
    sick.crash(none);
    expect(Buffer.compare(sick.content(file), rotten)).toBe(0);
    files.write(file, 0, pages(4), 2n);
    expect(letters(sick.content(file))).toBe('abcd');
  });

  it('spares what is in memory alone', () => {
    const { sick, files, file } = prepared({ bitRot: ALWAYS, latentError: ALWAYS });
    files.write(file, 0, pages(4, 'p'), 2n);
    expect(letters(sick.content(file))).toBe('pqrs');
  });

  it('a page that cannot be read stays so until it is written as a whole', () => {
    const { sick, files, file } = prepared({
      latentError: ALWAYS,
      fromByte: PAGE,
      toByte: 2 * PAGE,
    });
    const into = new Uint8Array(PAGE);
    expect(files.read(file, 0, into)).toBe(PAGE);
    expect(files.read(file, PAGE, into)).toBe(-ERRNO.IO);
    sick.disk.lift(false);
    expect(files.read(file, PAGE + 7, into.subarray(0, 1))).toBe(-ERRNO.IO);
    expect(files.read(file, 2 * PAGE, into)).toBe(PAGE);
    expect(files.write(file, PAGE + 7, bytesOf('x'), 2n)).toBe(-ERRNO.IO);
    sick.crash(none);
    expect(files.read(file, PAGE, into)).toBe(-ERRNO.IO);
    expect(files.write(file, PAGE, pages(1, 'x'), 2n)).toBe(PAGE);
    files.synchronise(file, false);
    expect(letters(sick.content(file))).toBe('axcd');
  });

  it('lifting with repair makes it readable again', () => {
    const { sick, files, file } = prepared({ latentError: ALWAYS });
    expect(files.read(file, 0, new Uint8Array(1))).toBe(-ERRNO.IO);
    sick.disk.lift(true);
    expect(letters(sick.content(file))).toBe('abcd');
  });

  it('a misdirected read gives another page, once', () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const { sick, files, file } = prepared({ misdirectedRead: ALWAYS }, { seed });
      const into = new Uint8Array(PAGE);
      expect(files.read(file, PAGE, into)).toBe(PAGE);
      seen.add(letters(into));
      sick.disk.lift(false);
      expect(letters(sick.content(file))).toBe('abcd');
    }
    expect([...seen].sort()).toEqual(['a', 'c', 'd']);
  });
});

describe('what a rule applies to', () => {
  const fails = (sick: SickDisk, file: Inode): boolean => {
    return sick.files.read(file, 0, new Uint8Array(1)) < 0;
  };

  it('a path with stars, also of a file that was moved or has no name any more', () => {
    const sick = new SickDisk({ rule: { readError: ALWAYS, path: '/data/*.log' } });
    const { files } = sick;
    const data = files.makeDirectory(ROOT, 'data', 1n);
    const log = put(files, data, 'a.log', 'x');
    const other = put(files, data, 'a.db', 'x');
    expect([fails(sick, log), fails(sick, other)]).toEqual([true, false]);
    files.rename(data, 'a.db', data, 'b.log', 2n);
    files.rename(data, 'a.log', ROOT, 'a.log', 2n);
    expect([fails(sick, log), fails(sick, other)]).toEqual([false, true]);
    files.retain(other);
    files.unlink(data, 'b.log', 2n);
    expect(fails(sick, other)).toBe(true);
  });

  it('bytes of the file', () => {
    const { files, file } = prepared({ readError: ALWAYS, fromByte: 100, toByte: 200 });
    const at = (offset: number): number => files.read(file, offset, new Uint8Array(10));
    expect([at(0), at(90), at(91), at(199), at(200)]).toEqual([10, 10, -29, -29, 10]);
  });
});

describe('what operations take', () => {
  it('a base, their bytes, and up to a jitter; a stall on top (CR-56)', () => {
    const { files, file } = prepared({ readLatencyNs: 1_000, bytesPerSecond: 1_000_000 });
    files.read(file, 0, new Uint8Array(500));
    expect([files.takeDelayNs(), files.takeDelayNs()]).toEqual([501_000, 0]);
    files.write(file, 0, new Uint8Array(100), 2n);
    expect(files.takeDelayNs()).toBe(100_000);
    const slow = prepared({ syncLatencyNs: 7, jitterNs: 5, stall: ALWAYS, stallNs: 1_000_000 });
    slow.files.synchronise(slow.file, false);
    const ns = slow.files.takeDelayNs();
    expect(ns >= 1_000_007 && ns <= 1_000_012).toBe(true);
  });

  it('a loss of power within a sync may undo it; after it, never', () => {
    for (const [atNs, expected] of [
      [50, 'abcd'],
      [100, 'xbcd'],
    ] as const) {
      const { sick, files, file } = prepared({ syncLatencyNs: 100 });
      files.write(file, 0, pages(1, 'x'), 2n);
      files.synchronise(file, false);
      sick.crash(none, atNs);
      expect(letters(sick.content(file))).toBe(expected);
    }
  });
});

describe('a loss of power by policy', () => {
  /** All contents that a crash may leave after two writes to page 0 and one to page 2. */
  function outcomes(crash: 'file' | 'ordered' | 'reordered'): string[] {
    const seen = new Set<string>();
    for (let seed = 0; seed < 100; seed++) {
      const { sick, files, file } = prepared({}, { seed, disk: { crash } });
      files.write(file, 0, pages(1, 'x'), 2n);
      files.write(file, 2 * PAGE, pages(1, 'z'), 2n);
      files.write(file, 0, pages(1, 'y'), 2n);
      sick.crash();
      seen.add(letters(sick.content(file)));
    }
    return [...seen].sort();
  }

  it('keeps all or nothing of a file, a prefix of writes, or a prefix of each page', () => {
    expect(outcomes('file')).toEqual(['abcd', 'ybzd']);
    expect(outcomes('ordered')).toEqual(['abcd', 'xbcd', 'xbzd', 'ybzd']);
    expect(outcomes('reordered')).toEqual(['abcd', 'abzd', 'xbcd', 'xbzd', 'ybcd', 'ybzd']);
  });

  it('keeps entries in order with the policy "ordered"', () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 60; seed++) {
      const sick = new SickDisk({ seed, disk: { crash: 'ordered' } });
      for (const name of ['a', 'b', 'c']) sick.files.symlink(ROOT, name, 'x', 1n);
      sick.crash();
      seen.add(tree(sick.files).join(' '));
    }
    const all = ['', '/a -> x', '/a -> x /b -> x', '/a -> x /b -> x /c -> x'];
    expect([...seen].sort()).toEqual(all);
  });

  it('tears the first write that it does not keep, at a sector', () => {
    let tears = 0;
    for (let seed = 0; seed < 60; seed++) {
      const disk = { crash: 'ordered', tear: ALWAYS } as const;
      const { sick, files, file } = prepared({}, { seed, disk });
      files.write(file, 0, pages(1, 'x'), 2n);
      sick.crash();
      const page = sick.content(file).subarray(0, PAGE);
      const cut = page.indexOf('a'.charCodeAt(0));
      if (cut < 0) continue;
      tears++;
      expect([cut % 512, cut > 0]).toEqual([0, true]);
    }
    expect(tears).toBeGreaterThan(10);
  });
});

describe('the atlas', () => {
  /** How many of the nodes had a page of one file damaged, for each of its 16 pages. */
  function damaged(rule: Partial<DiskRuleDef>, faultyMax: number, seed: number): number[] {
    const atlas = { nodes: [0, 1, 2, 3, 4], faultyMax, chunkBytes: PAGE };
    const counts = new Array<number>(16).fill(0);
    for (const node of atlas.nodes) {
      const sick = new SickDisk({ seed, node, atlas, rules: { fault: rule } });
      const { files } = sick;
      const file = files.createFile(ROOT, 'f', 1n);
      files.write(file, 0, new Uint8Array(16 * PAGE).fill(97), 1n);
      files.synchronise(file, false);
      files.synchronise(ROOT, false);
      sick.disk.rules.start('fault');
      files.write(file, 0, new Uint8Array(16 * PAGE).fill(98), 2n);
      files.synchronise(file, false);
      sick.crash(none);
      const into = new Uint8Array(PAGE);
      for (let turn = 0; turn < 10; turn++) {
        for (let page = 0; page < 16; page++) files.read(file, page * PAGE, into);
      }
      sick.disk.lift(false);
      for (let page = 0; page < 16; page++) {
        const count = files.read(file, page * PAGE, into);
        if (count < 0 || into.some((byte) => byte !== 98)) counts[page] = (counts[page] ?? 0) + 1;
      }
    }
    return counts;
  }

  const faults: readonly (keyof DiskRuleDef)[] = [
    'lostWrite',
    'tornWrite',
    'misdirectedWrite',
    'lyingFlush',
    'bitRot',
    'latentError',
  ];
  it.each(faults)('keeps damage at or below f of n replicas of each page: %s', (fault) => {
    for (const faultyMax of [0, 1, 2]) {
      let worst = 0;
      for (let seed = 1; seed <= 5; seed++) {
        worst = Math.max(worst, ...damaged({ [fault]: ALWAYS }, faultyMax, seed));
      }
      expect(worst).toBe(faultyMax);
    }
  });
});
