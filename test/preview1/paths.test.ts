import { describe, expect, it } from 'vitest';
import { FDFLAG, OFLAG, RIGHT, RIGHTS_ALL } from '../../wasm/preview1/abi.ts';
import { no, shown, Wasi, type Filestat } from './wasi.ts';

const CREATE = { oflags: OFLAG.CREAT };

/** A directory with one of everything. */
function setUp(): Wasi {
  const wasi = new Wasi();
  wasi.mkdir('dir');
  wasi.mkdir('dir/nested');
  wasi.mkdir('empty');
  wasi.write(wasi.open('file', CREATE), 'text');
  wasi.close(wasi.open('dir/nested/file', CREATE));
  wasi.symlink('file', 'to-file');
  wasi.symlink('dir', 'to-dir');
  wasi.symlink('none', 'dangling');
  wasi.symlink('loop', 'loop');
  return wasi;
}

describe('path_open', () => {
  type Options = Parameters<Wasi['open']>[1];
  const { CREAT, DIRECTORY, EXCL, TRUNC } = OFLAG;
  const read = RIGHT.FD_READ;
  const write = RIGHT.FD_WRITE;
  const rows: [name: string, path: string, options: Options, result: string | null][] = [
    ['a file', 'file', {}, null],
    ['a file with dots in its path', 'dir/.//nested/../../dir/nested/../nested///./file', {}, null],
    ['a file by an absolute path', '/file', {}, 'PERM'],
    ['a file outside', '../file', {}, 'PERM'],
    ['a file by a way outside', 'dir/../../dir/file', {}, 'PERM'],
    ['a file with a zero after it', 'file\0', {}, 'INVAL'],
    ['a file with a slash after it', 'file/', {}, 'NOTDIR'],
    ['a file with slashes after it', 'file///', {}, 'NOTDIR'],
    ['a file as a directory', 'file', { oflags: DIRECTORY }, 'NOTDIR'],
    ['something in a file', 'file/x', {}, 'NOTDIR'],
    ['nothing', 'none', {}, 'NOENT'],
    ['the empty path', '', {}, 'NOENT'],
    ['nothing in nothing', 'none/none', CREATE, 'NOENT'],
    ['too long a name', 'x'.repeat(256), CREATE, 'NAMETOOLONG'],
    ['too long a path', './'.repeat(2049), {}, 'NAMETOOLONG'],
    ['a directory', 'dir', { rights: read }, null],
    ['a directory with a slash', 'dir/nested/', { rights: read }, null],
    ['a directory with slashes', 'dir/nested///', { rights: read }, null],
    ['a directory as one', 'dir', { oflags: DIRECTORY, rights: read }, null],
    ['a directory to write', 'dir', { oflags: DIRECTORY, rights: read | write }, 'ISDIR'],
    ['a directory, cut', 'dir', { oflags: TRUNC, rights: read }, 'ISDIR'],
    ['a directory, made', 'dir', { oflags: CREAT, rights: read }, 'ISDIR'],
    ['the directory itself', '.', { rights: 0, inheriting: 0 }, null],
    ['the directory itself, non-blocking', '.', { rights: 0, flags: FDFLAG.NONBLOCK }, null],
    ['a new file', 'new', CREATE, null],
    ['a new file with a slash', 'new/', CREATE, 'ISDIR'],
    ['a new file as a directory', 'new', { oflags: CREAT | DIRECTORY }, 'INVAL'],
    ['a new file that must be new', 'new', { oflags: CREAT | EXCL }, null],
    ['an old file that must be new', 'file', { oflags: CREAT | EXCL }, 'EXIST'],
    ['a directory that must be new', 'dir', { oflags: CREAT | EXCL }, 'EXIST'],
    ['a link that must be new', 'dangling', { oflags: CREAT | EXCL, follow: true }, 'EXIST'],
    ['exclusion without making', 'file', { oflags: EXCL }, null],
    ['a link', 'to-file', {}, 'LOOP'],
    ['a link, followed', 'to-file', { follow: true }, null],
    ['a link as a directory', 'to-dir', { oflags: DIRECTORY, rights: 0 }, 'NOTDIR'],
    [
      'a link as a directory, followed',
      'to-dir',
      { oflags: DIRECTORY, follow: true, rights: 0 },
      null,
    ],
    ['a link with a slash', 'to-dir/', { rights: 0 }, null],
    ['a link to a file as a directory', 'to-file', { oflags: DIRECTORY, follow: true }, 'NOTDIR'],
    ['a dangling link', 'dangling', {}, 'LOOP'],
    ['a dangling link as a directory', 'dangling', { oflags: DIRECTORY }, 'NOTDIR'],
    ['a dangling link, followed', 'dangling', { follow: true }, 'NOENT'],
    ['a dangling link, made', 'dangling', { ...CREATE, follow: true }, null],
    ['a link to itself', 'loop', {}, 'LOOP'],
    ['a link to itself, followed', 'loop', { follow: true }, 'LOOP'],
    ['from no descriptor', 'file', { dir: 99 }, 'BADF'],
    ['from the console', 'file', { dir: 1 }, 'NOTDIR'],
    ['with unknown flags', 'file', { oflags: 16 }, 'INVAL'],
    ['with unknown descriptor flags', 'file', { flags: 32 }, 'INVAL'],
    ['with all descriptor flags', 'file', { flags: 31 }, null],
  ];
  for (const [name, path, options, expected] of rows) {
    it(`opens ${name}: ${expected ?? 'yes'}`, () => {
      const result = setUp().open(path, options);
      if (expected === null) expect(shown(result)).toBeGreaterThan(4);
      else expect(shown(result)).toBe(expected);
    });
  }

  it('cuts a file with TRUNC, and makes one where a dangling link leads', () => {
    const wasi = setUp();
    wasi.open('file', { oflags: OFLAG.TRUNC });
    expect(wasi.stat('file')).toMatchObject({ size: 0 });
    wasi.open('dangling', { ...CREATE, follow: true });
    expect(wasi.stat('none')).toMatchObject({ filetype: 4 });
  });

  it('makes or cuts only with the right of the directory', () => {
    const wasi = setUp();
    const all = wasi.fdstat(3) as { rights: number };
    const without = (right: number): number =>
      wasi.open('.', { rights: all.rights & ~right, inheriting: RIGHTS_ALL });
    const dir = without(RIGHT.PATH_FILESTAT_SET_SIZE);
    expect(wasi.open('file', { dir, oflags: OFLAG.TRUNC })).toBe(no('PERM'));
    expect(wasi.stat('file')).toMatchObject({ size: 4 });
    const other = without(RIGHT.PATH_CREATE_FILE);
    expect(wasi.open('new', { ...CREATE, dir: other })).toBe(no('NOTCAPABLE'));
  });

  it('opens for synchronous writing only where the directory passes the right on', () => {
    const wasi = setUp();
    const open = (flags: number, inheriting: number): unknown => {
      const dir = wasi.open('.', {
        rights: RIGHT.PATH_OPEN,
        inheriting: RIGHT.FD_WRITE | inheriting,
      });
      return shown(wasi.open('file', { dir, flags, rights: RIGHT.FD_WRITE, inheriting: 0 }));
    };
    for (const flag of [FDFLAG.SYNC, FDFLAG.RSYNC]) {
      expect(open(flag, RIGHT.FD_DATASYNC)).toBe('NOTCAPABLE');
      expect(open(flag, RIGHT.FD_SYNC)).toBeGreaterThan(4);
    }
    expect(open(FDFLAG.DSYNC, 0)).toBe('NOTCAPABLE');
    expect(open(FDFLAG.DSYNC, RIGHT.FD_SYNC)).toBeGreaterThan(4);
    expect(open(FDFLAG.DSYNC, RIGHT.FD_DATASYNC)).toBeGreaterThan(4);
  });

  it('does nothing when its arguments lie outside of the memory', () => {
    const wasi = setUp();
    const end = wasi.memoryBytes();
    const call = (path: number, length: number, result: number): string =>
      wasi.errno('path_open', 3, 0, path, length, OFLAG.CREAT, 0n, 0n, 0, result);
    expect(call(end - 1, 2, 0)).toBe('FAULT');
    expect(call(0, -1, 0)).toBe('FAULT');
    const path = wasi.put('unmade');
    expect(call(path, 6, end - 3)).toBe('FAULT');
    expect(wasi.stat('unmade')).toBe(no('NOENT'));
    expect(wasi.errno('path_open', 3, 2, wasi.put('file'), 4, 0, 0n, 0n, 0, 0)).toBe('INVAL');
  });

  it('takes only UTF-8', () => {
    const wasi = setUp();
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
      const at = wasi.put(bytes);
      const args = [3, 0, at, bytes.length, OFLAG.CREAT, 0n, 0n, 0, wasi.room(4)] as const;
      expect(wasi.errno('path_open', ...args)).toBe('ILSEQ');
      expect(wasi.errno('path_unlink_file', 3, wasi.put(bytes), bytes.length)).toBe('ILSEQ');
    }
    expect(wasi.open('ü\ufffd🙂', CREATE)).toBeGreaterThan(4);
    expect(wasi.unlink('ü\ufffd🙂')).toBe(0);
  });
});

describe('directories', () => {
  const rows: [call: 'mkdir' | 'rmdir' | 'unlink', path: string, result: string | 0][] = [
    ['mkdir', 'new', 0],
    ['mkdir', 'new/', 0],
    ['mkdir', 'dir/new', 0],
    ['mkdir', 'dir', 'EXIST'],
    ['mkdir', 'dir/', 'EXIST'],
    ['mkdir', '.', 'EXIST'],
    ['mkdir', 'dir/..', 'EXIST'],
    ['mkdir', 'file', 'EXIST'],
    ['mkdir', 'file/', 'NOTDIR'],
    ['mkdir', 'dangling', 'EXIST'],
    ['mkdir', 'none/new', 'NOENT'],
    ['mkdir', '', 'NOENT'],
    ['mkdir', '/new', 'PERM'],
    ['mkdir', '../new', 'PERM'],
    ['rmdir', 'empty', 0],
    ['rmdir', 'empty/', 0],
    ['rmdir', 'dir', 'NOTEMPTY'],
    ['rmdir', 'file', 'NOTDIR'],
    ['rmdir', 'file/', 'NOTDIR'],
    ['rmdir', 'none', 'NOENT'],
    ['rmdir', 'none/', 'NOENT'],
    ['rmdir', 'to-dir', 'NOTDIR'],
    ['rmdir', 'to-dir/', 'NOTDIR'],
    ['rmdir', '.', 'INVAL'],
    ['rmdir', 'empty/.', 'INVAL'],
    ['rmdir', 'dir/..', 'NOTEMPTY'],
    ['unlink', 'file', 0],
    ['unlink', 'file/', 'NOTDIR'],
    ['unlink', 'dir', 'ISDIR'],
    ['unlink', 'dir/', 'ISDIR'],
    ['unlink', '.', 'ISDIR'],
    ['unlink', 'none', 'NOENT'],
    ['unlink', 'to-file', 0],
    ['unlink', 'to-dir', 0],
    ['unlink', 'to-dir/', 'NOTDIR'],
    ['unlink', 'dangling', 0],
    ['unlink', 'loop', 0],
    ['unlink', 'loop/x', 'LOOP'],
  ];
  for (const [call, path, result] of rows) {
    it(`${call} ${JSON.stringify(path)}: ${result === 0 ? 'done' : result}`, () => {
      expect(shown(setUp()[call](path))).toBe(result);
    });
  }

  it('that are removed while open stay without entries', () => {
    const wasi = setUp();
    const dir = wasi.open('empty', { oflags: OFLAG.DIRECTORY, rights: RIGHTS_ALL & ~64 });
    expect(wasi.rmdir('empty')).toBe(0);
    expect(wasi.open('f', { ...CREATE, dir })).toBe(no('NOENT'));
    expect(wasi.mkdir('f', dir)).toBe(no('NOENT'));
    expect(wasi.stat(dir)).toMatchObject({ filetype: 3, links: 0 });
    expect(wasi.close(dir)).toBe(0);
  });
});

describe('symbolic links', () => {
  const rows: [target: string, path: string, result: string | 0][] = [
    ['anything', 'new', 0],
    ['../outside', 'new', 0],
    ['anything', 'new/', 'NOENT'],
    ['anything', 'dir', 'EXIST'],
    ['anything', 'dir/', 'EXIST'],
    ['anything', 'file', 'EXIST'],
    ['anything', 'file/', 'NOTDIR'],
    ['anything', 'dangling', 'EXIST'],
    ['/absolute', 'new', 'PERM'],
    ['', 'new', 'NOENT'],
    ['x\0', 'new', 'INVAL'],
    ['x'.repeat(4096), 'new', 0],
    ['x'.repeat(4097), 'new', 'NAMETOOLONG'],
    ['anything', 'none/new', 'NOENT'],
  ];
  for (const [target, path, result] of rows) {
    const short = target.length > 20 ? `x (${target.length})` : target;
    it(`to ${JSON.stringify(short)} at ${path}: ${result === 0 ? 'made' : result}`, () => {
      expect(shown(setUp().symlink(target, path))).toBe(result);
    });
  }

  it('are read as far as there is room, and nothing else is', () => {
    const wasi = setUp();
    wasi.symlink('target', 'link');
    expect(wasi.readlink('link', 10)).toBe('target');
    expect(wasi.readlink('link', 4)).toBe('targ');
    expect(wasi.readlink('link', 0)).toBe('');
    expect(wasi.readlink('link/')).toBe(no('NOENT'));
    expect(wasi.readlink('to-dir/')).toBe(no('INVAL'));
    expect(wasi.readlink('file')).toBe(no('INVAL'));
    expect(wasi.readlink('dir')).toBe(no('INVAL'));
    expect(wasi.readlink('none')).toBe(no('NOENT'));
    const end = wasi.memoryBytes();
    const args = [3, wasi.put('link'), 4] as const;
    expect(wasi.errno('path_readlink', ...args, end - 3, 4, 0)).toBe('FAULT');
    expect(wasi.errno('path_readlink', ...args, 0, 4, end - 3)).toBe('FAULT');
  });

  it('have attributes of their own, apart from what they lead to', () => {
    const wasi = setUp();
    const link = wasi.stat('to-file') as Filestat;
    expect(link).toMatchObject({ filetype: 7, size: 4, links: 1 });
    expect(wasi.stat('to-file', true)).toEqual(wasi.stat('file'));
    expect(wasi.stat('dangling', true)).toBe(no('NOENT'));
    expect(wasi.stat('to-dir/')).toMatchObject({ filetype: 3 });
    expect(wasi.stat('file/')).toBe(no('NOTDIR'));
    const set = (path: string, follow: number, flags: number): string =>
      wasi.errno('path_filestat_set_times', 3, follow, wasi.put(path), path.length, 1n, 2n, flags);
    expect(set('to-file', 0, 5)).toBe('SUCCESS');
    expect(wasi.stat('to-file')).toMatchObject({ accessedNs: 1n, modifiedNs: 2n });
    expect(wasi.stat('file')).not.toMatchObject({ modifiedNs: 2n });
    expect(set('to-file', 1, 4)).toBe('SUCCESS');
    expect(wasi.stat('file')).toMatchObject({ modifiedNs: 2n });
    expect(set('file', 0, 12)).toBe('INVAL');
    expect(set('file', 0, 3)).toBe('INVAL');
    expect(set('file', 2, 4)).toBe('INVAL');
    expect(set('none', 0, 4)).toBe('NOENT');
    const at = wasi.memoryBytes() - 63;
    expect(wasi.errno('path_filestat_get', 3, 0, wasi.put('file'), 4, at)).toBe('FAULT');
    expect(wasi.errno('path_filestat_get', 3, 2, wasi.put('file'), 4, 0)).toBe('INVAL');
  });
});

describe('path_link', () => {
  const rows: [from: string, to: string, follow: boolean, result: string | 0][] = [
    ['file', 'new', false, 0],
    ['file', 'dir/new', false, 0],
    ['file', 'file', false, 'EXIST'],
    ['file', 'dir', false, 'EXIST'],
    ['file', 'dangling', false, 'EXIST'],
    ['file', 'new/', false, 'NOENT'],
    ['file/', 'new', false, 'NOTDIR'],
    ['dir', 'new', false, 'PERM'],
    ['none', 'new', false, 'NOENT'],
    ['dangling', 'new', false, 0],
    ['loop', 'new', false, 0],
    ['dangling', 'new', true, 'NOENT'],
    ['loop', 'new', true, 'LOOP'],
    ['to-dir', 'new', true, 'PERM'],
    ['file', 'none/new', false, 'NOENT'],
    ['file', '../new', false, 'PERM'],
  ];
  for (const [from, to, follow, result] of rows) {
    const way = follow ? ', followed' : '';
    it(`${from} as ${to}${way}: ${result === 0 ? 'done' : result}`, () => {
      expect(shown(setUp().link(from, to, { follow }))).toBe(result);
    });
  }

  it('gives one file two names, and links themselves if they are not followed', () => {
    const wasi = setUp();
    wasi.link('to-file', 'link');
    wasi.link('to-file', 'followed', { follow: true });
    expect(wasi.stat('link')).toEqual(wasi.stat('to-file'));
    expect(wasi.stat('followed')).toEqual(wasi.stat('file'));
    expect(wasi.stat('file')).toMatchObject({ links: 2 });
    const path = wasi.put('x');
    expect(wasi.errno('path_link', 3, 2, wasi.put('file'), 4, 3, path, 1)).toBe('INVAL');
  });
});

describe('path_rename', () => {
  const rows: [from: string, to: string, result: string | 0][] = [
    ['file', 'new', 0],
    ['file', 'dir/nested/file', 0],
    ['file', 'file', 0],
    ['file', 'empty', 'ISDIR'],
    ['file', 'new/', 'NOTDIR'],
    ['file/', 'new', 'NOTDIR'],
    ['dir', 'new', 0],
    ['dir/', 'new', 0],
    ['dir', 'new/', 0],
    ['dir/', 'new/', 0],
    ['dir', 'empty', 0],
    ['dir', 'empty/', 0],
    ['empty', 'dir', 'NOTEMPTY'],
    ['empty', 'file', 'NOTDIR'],
    ['empty', 'dir/nested/file', 'NOTDIR'],
    ['dir', 'dir/nested/new', 'INVAL'],
    ['none', 'new', 'NOENT'],
    ['.', 'new', 'BUSY'],
    ['dir/.', 'new', 'BUSY'],
    ['dir', 'dir/..', 'BUSY'],
    ['to-file', 'new', 0],
    ['to-dir', 'empty', 'ISDIR'],
    ['to-dir/', 'new', 'NOTDIR'],
    ['file', 'to-dir', 0],
    ['file', '/new', 'PERM'],
  ];
  for (const [from, to, result] of rows) {
    it(`${from} to ${to}: ${result === 0 ? 'done' : result}`, () => {
      const wasi = setUp();
      const before = wasi.stat(from);
      expect(shown(wasi.rename(from, to))).toBe(result);
      if (result !== 0 || from === to) return;
      expect(wasi.stat(from)).toBe(no('NOENT'));
      const { inode } = before as Filestat;
      expect(wasi.stat(to)).toMatchObject({ inode });
    });
  }

  it('moves between descriptors', () => {
    const wasi = setUp();
    const dir = wasi.open('dir', { oflags: OFLAG.DIRECTORY, rights: RIGHTS_ALL & ~64 });
    expect(wasi.rename('file', 'moved', { toDir: dir })).toBe(0);
    expect(wasi.stat('dir/moved')).toMatchObject({ size: 4 });
    expect(wasi.rename('nested', '../nested', { dir, toDir: dir })).toBe(no('PERM'));
  });
});

describe('fd_readdir', () => {
  it('lists in order of making, dots first, and goes on from any cookie', () => {
    const wasi = setUp();
    const names = ['.', '..', 'dir', 'empty', 'file', 'to-file', 'to-dir', 'dangling', 'loop'];
    const all = wasi.readdir(3, 4096, 0n);
    if (typeof all === 'number') throw new Error('no listing');
    expect(all.entries.map(({ name }) => name)).toEqual(names);
    expect(all.entries.map(({ filetype }) => filetype)).toEqual([3, 3, 3, 3, 4, 7, 7, 7, 7]);
    for (const [index, { name, next, inode }] of all.entries.entries()) {
      const rest = wasi.readdir(3, 4096, next);
      if (typeof rest === 'number') throw new Error('no listing');
      expect(rest.entries.map((entry) => entry.name)).toEqual(names.slice(index + 1));
      if (index > 1) expect(wasi.stat(name)).toMatchObject({ inode });
    }
    const nested = wasi.open('dir/nested', { rights: RIGHT.FD_READDIR | RIGHT.FD_FILESTAT_GET });
    const dots = wasi.readdir(nested, 4096, 0n);
    const dir = wasi.stat('dir') as Filestat;
    const { inode } = wasi.stat(nested) as Filestat;
    expect(dots).toMatchObject({ entries: [{ inode }, { inode: dir.inode }, { name: 'file' }] });
    expect(wasi.readdir(3, 4096, -1n)).toEqual({ used: 0, entries: [] });
    expect(wasi.readdir(3, 4096, 1000n)).toEqual({ used: 0, entries: [] });
  });

  it('fills a buffer of any size to its end, cutting the last entry', () => {
    const wasi = setUp();
    const whole = wasi.readdir(3, 4096, 0n) as { used: number };
    const buffer = 1000;
    wasi.call('fd_readdir', 3, buffer, 4096, 0n, 16);
    const expected = wasi.data.slice(buffer, buffer + whole.used);
    for (let room = 0; room <= whole.used + 1; room++) {
      wasi.data.fill(0xee, buffer, buffer + 4096);
      wasi.touched(buffer, 4096);
      expect(wasi.errno('fd_readdir', 3, buffer, room, 0n, 16)).toBe('SUCCESS');
      const used = wasi.u32(16);
      expect(used).toBe(Math.min(room, whole.used));
      expect(wasi.data.slice(buffer, buffer + used)).toEqual(expected.slice(0, used));
      expect(wasi.data[buffer + used]).toBe(0xee);
    }
  });

  it('finds every entry of a large directory once, also while others come and go', () => {
    const wasi = new Wasi();
    for (let index = 0; index < 1000; index++) wasi.close(wasi.open(`file.${index}`, CREATE));
    const seen: string[] = [];
    let cookie = 0n;
    for (let round = 0; ; round++) {
      const listing = wasi.readdir(3, 256, cookie);
      if (typeof listing === 'number') throw new Error('no listing');
      seen.push(...listing.entries.map(({ name }) => name));
      cookie = listing.entries.at(-1)?.next ?? cookie;
      if (listing.used < 256) break;
      wasi.unlink(`file.${round}`);
      wasi.close(wasi.open(`late.${round}`, CREATE));
    }
    expect(seen.filter((name) => name.startsWith('file.')).length).toBe(1000);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('fails by what the descriptor is and may', () => {
    const wasi = setUp();
    expect(wasi.readdir(wasi.open('file'), 99, 0n)).toBe(no('NOTDIR'));
    expect(wasi.readdir(1, 99, 0n)).toBe(no('NOTDIR'));
    expect(wasi.readdir(99, 99, 0n)).toBe(no('BADF'));
    const end = wasi.memoryBytes();
    expect(wasi.errno('fd_readdir', 3, end - 9, 10, 0n, 0)).toBe('FAULT');
    expect(wasi.errno('fd_readdir', 3, 0, 10, 0n, end - 3)).toBe('FAULT');
  });
});
