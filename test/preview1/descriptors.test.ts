import { describe, expect, it } from 'vitest';
import {
  FDFLAG,
  OFLAG,
  RIGHT,
  RIGHTS_ALL,
  RIGHTS_DIRECTORY,
  RIGHTS_FILE,
} from '../../wasm/preview1/abi.ts';
import { no, Wasi, type Filestat } from './wasi.ts';

const CREATE = { oflags: OFLAG.CREAT };

describe('descriptors', () => {
  it('take the lowest free number', () => {
    const wasi = new Wasi();
    const opened = Array.from({ length: 4 }, () => wasi.open('f', CREATE));
    expect(opened).toEqual([5, 6, 7, 8]);
    expect([wasi.close(6), wasi.close(0), wasi.close(5)]).toEqual([0, 0, 0]);
    const again = Array.from({ length: 4 }, () => wasi.open('f', CREATE));
    expect(again).toEqual([0, 5, 6, 9]);
    expect(wasi.close(7)).toBe(0);
    expect(wasi.close(7)).toBe(no('BADF'));
  });

  it('end with MFILE, and then nothing is made', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    const state = wasi.preview1.capture() as { descriptors: unknown[] };
    const { descriptors } = state;
    while (descriptors.length < 65_536) descriptors.push(descriptors[fd]);
    for (let count = 0; count < 65_530; count++) wasi.port.files.retain(2);
    wasi.preview1.restore(state);
    expect(wasi.open('g', CREATE)).toBe(no('MFILE'));
    expect(wasi.stat('g')).toBe(no('NOENT'));
    wasi.close(40_000);
    expect(wasi.open('g', CREATE)).toBe(40_000);
  });

  it('are renumbered, which closes what was there', () => {
    const wasi = new Wasi();
    const [one, two] = [wasi.open('1', CREATE), wasi.open('2', CREATE)];
    wasi.write(one, 'first');
    expect(wasi.errno('fd_renumber', one, two)).toBe('SUCCESS');
    expect(wasi.close(one)).toBe(no('BADF'));
    expect(wasi.tell(two)).toBe(5);
    expect(wasi.errno('fd_renumber', two, two)).toBe('SUCCESS');
    expect(wasi.errno('fd_renumber', two, 77)).toBe('BADF');
    expect(wasi.errno('fd_renumber', 77, two)).toBe('BADF');
    wasi.unlink('2');
    expect(wasi.port.files.lookup(1, '2')).toBe(no('NOENT'));
    for (const standard of [0, 1, 2]) {
      const target = wasi.open('3', CREATE);
      expect(wasi.errno('fd_renumber', standard, target)).toBe('SUCCESS');
      expect(wasi.fdstat(standard)).toBe(no('BADF'));
      expect(wasi.fdstat(target)).toMatchObject({ filetype: 2 });
    }
  });

  it('may take the place of a preopened directory, or close it', () => {
    const wasi = new Wasi();
    wasi.mkdir('d');
    const fd = wasi.open('d', { oflags: OFLAG.DIRECTORY });
    const { inode } = wasi.stat(fd) as Filestat;
    expect(wasi.errno('fd_renumber', fd, 3)).toBe('SUCCESS');
    expect(wasi.stat(3)).toMatchObject({ inode });
    expect(wasi.errno('fd_prestat_get', 3, 0)).toBe('BADF');
    expect(wasi.close(4)).toBe(0);
    expect(wasi.fdstat(4)).toBe(no('BADF'));
  });
});

describe('preopened directories', () => {
  it('are / and ., and the search for them ends with BADF', () => {
    const wasi = new Wasi();
    const names: string[] = [];
    for (let fd = 3; ; fd++) {
      const result = wasi.room(8);
      const errno = wasi.errno('fd_prestat_get', fd, result);
      if (errno === 'BADF') break;
      expect(wasi.data[result]).toBe(0);
      const length = wasi.u32(result + 4);
      const path = wasi.room(length + 1);
      expect(wasi.errno('fd_prestat_dir_name', fd, path, length + 1)).toBe('SUCCESS');
      expect(wasi.errno('fd_prestat_dir_name', fd, path, length - 1)).toBe('NAMETOOLONG');
      names.push(wasi.text(path, length));
    }
    expect(names).toEqual(['/', '.']);
    const end = wasi.memoryBytes();
    expect(wasi.errno('fd_prestat_get', 3, end - 7)).toBe('FAULT');
    expect(wasi.errno('fd_prestat_dir_name', 3, end, 1)).toBe('FAULT');
    for (const fd of [0, 1, 2, 5, 1000, -1]) {
      expect(wasi.errno('fd_prestat_get', fd, 0)).toBe('BADF');
      expect(wasi.errno('fd_prestat_dir_name', fd, 0, 9)).toBe('BADF');
    }
    const file = wasi.open('f', CREATE);
    expect(wasi.errno('fd_prestat_get', file, 0)).toBe('BADF');
  });

  it('may do all that applies to directories and pass all rights on', () => {
    const wasi = new Wasi();
    const stat = { filetype: 3, flags: 0, rights: RIGHTS_DIRECTORY, inheriting: RIGHTS_ALL };
    expect(wasi.fdstat(3)).toEqual(stat);
    expect(wasi.fdstat(4)).toEqual(stat);
    expect(RIGHTS_DIRECTORY & (RIGHT.FD_FILESTAT_SET_SIZE | RIGHT.FD_SEEK | RIGHT.FD_READ)).toBe(0);
    const again = wasi.open('.', { rights: RIGHTS_DIRECTORY, inheriting: RIGHTS_ALL });
    expect(wasi.fdstat(again)).toEqual(stat);
  });
});

describe('rights', () => {
  it('of a new descriptor are those asked for that apply to its kind', () => {
    const wasi = new Wasi();
    const file = wasi.open('f', CREATE);
    expect(wasi.fdstat(file)).toMatchObject({ rights: RIGHTS_FILE, inheriting: 0 });
    wasi.mkdir('d');
    const rights = RIGHT.FD_SEEK | RIGHT.FD_READ | RIGHT.PATH_OPEN;
    const directory = wasi.open('d', { rights, inheriting: RIGHT.FD_READ });
    const stat = { filetype: 3, rights: RIGHT.PATH_OPEN, inheriting: RIGHT.FD_READ };
    expect(wasi.fdstat(directory)).toMatchObject(stat);
    expect(wasi.fdstat(wasi.open('f', { rights: 0 }))).toMatchObject({ rights: 0 });
  });

  it('that the directory does not pass on are refused', () => {
    const wasi = new Wasi();
    wasi.mkdir('d');
    const dir = wasi.open('d', { inheriting: RIGHT.FD_READ | RIGHT.FD_WRITE });
    const open = (rights: number, inheriting = 0): number =>
      wasi.open('f', { ...CREATE, dir, rights, inheriting });
    expect(open(RIGHT.FD_READ | RIGHT.FD_SEEK)).toBe(no('NOTCAPABLE'));
    expect(open(RIGHT.FD_READ, RIGHT.FD_TELL)).toBe(no('NOTCAPABLE'));
    expect(wasi.stat('d/f')).toBe(no('NOENT'));
    expect(open(RIGHT.FD_READ, RIGHT.FD_WRITE)).toBeGreaterThan(4);
  });

  it('can be given up but not taken back', () => {
    const wasi = new Wasi();
    const rights = RIGHT.FD_READ | RIGHT.FD_WRITE | RIGHT.FD_SEEK | RIGHT.FD_TELL;
    const fd = wasi.open('f', { ...CREATE, rights });
    const set = (base: number, inheriting = 0): string =>
      wasi.errno('fd_fdstat_set_rights', fd, BigInt(base), BigInt(inheriting));
    expect(set(rights)).toBe('SUCCESS');
    expect(wasi.write(fd, 'abc')).toBe(3);
    expect(set(RIGHT.FD_SEEK | RIGHT.FD_TELL)).toBe('SUCCESS');
    expect(wasi.write(fd, 'x')).toBe(no('BADF'));
    expect(wasi.read(fd)).toBe(no('BADF'));
    expect(wasi.seek(fd, 1n)).toBe(1);
    expect(set(rights)).toBe('NOTCAPABLE');
    expect(set(0, RIGHT.FD_READ)).toBe('NOTCAPABLE');
    expect(wasi.errno('fd_fdstat_set_rights', fd, -1n, 0n)).toBe('NOTCAPABLE');
    expect(wasi.errno('fd_fdstat_set_rights', 99, 0n, 0n)).toBe('BADF');
  });

  it('decide what the calls of a directory may do', () => {
    const rows: [right: number, call: (wasi: Wasi, dir: number) => unknown][] = [
      [RIGHT.PATH_OPEN, (wasi, dir) => wasi.open('f', { dir, rights: 0, inheriting: 0 })],
      [RIGHT.PATH_CREATE_FILE, (wasi, dir) => wasi.open('n', { ...CREATE, dir, rights: 0 })],
      [RIGHT.PATH_CREATE_DIRECTORY, (wasi, dir) => wasi.mkdir('n', dir)],
      [RIGHT.PATH_REMOVE_DIRECTORY, (wasi, dir) => wasi.rmdir('e', dir)],
      [RIGHT.PATH_UNLINK_FILE, (wasi, dir) => wasi.unlink('f', dir)],
      [RIGHT.PATH_SYMLINK, (wasi, dir) => wasi.symlink('t', 'n', dir)],
      [RIGHT.PATH_READLINK, (wasi, dir) => wasi.readlink('l', 99, dir)],
      [RIGHT.PATH_LINK_SOURCE, (wasi, dir) => wasi.link('f', 'n', { dir, toDir: 3 })],
      [RIGHT.PATH_LINK_TARGET, (wasi, dir) => wasi.link('f', 'n', { dir: 3, toDir: dir })],
      [RIGHT.PATH_RENAME_SOURCE, (wasi, dir) => wasi.rename('f', 'n', { dir, toDir: 3 })],
      [RIGHT.PATH_RENAME_TARGET, (wasi, dir) => wasi.rename('f', 'n', { dir: 3, toDir: dir })],
      [RIGHT.FD_READDIR, (wasi, dir) => wasi.readdir(dir, 99, 0n)],
      [RIGHT.FD_FILESTAT_GET, (wasi, dir) => wasi.stat(dir)],
      [
        RIGHT.PATH_FILESTAT_GET,
        (wasi, dir) => 0 - wasi.call('path_filestat_get', dir, 0, wasi.put('f'), 1, 0),
      ],
      [
        RIGHT.PATH_FILESTAT_SET_TIMES,
        (wasi, dir) =>
          0 - wasi.call('path_filestat_set_times', dir, 0, wasi.put('f'), 1, 0n, 0n, 0),
      ],
      [
        RIGHT.FD_FILESTAT_SET_TIMES,
        (wasi, dir) => 0 - wasi.call('fd_filestat_set_times', dir, 0n, 0n, 0),
      ],
      [RIGHT.FD_FDSTAT_SET_FLAGS, (wasi, dir) => 0 - wasi.call('fd_fdstat_set_flags', dir, 0)],
      [RIGHT.FD_SYNC, (wasi, dir) => 0 - wasi.call('fd_sync', dir)],
      [RIGHT.FD_DATASYNC, (wasi, dir) => 0 - wasi.call('fd_datasync', dir)],
    ];
    for (const [right, call] of rows) {
      const make = (rights: number): [Wasi, number] => {
        const wasi = new Wasi();
        wasi.close(wasi.open('f', CREATE));
        wasi.mkdir('e');
        wasi.symlink('f', 'l');
        return [wasi, wasi.open('.', { rights, inheriting: RIGHTS_ALL })];
      };
      const expected = [right, no('NOTCAPABLE')];
      expect([right, call(...make(RIGHTS_DIRECTORY & ~right))]).toEqual(expected);
      const allowed = call(...make(right | RIGHT.PATH_OPEN));
      expect([right, allowed === no('NOTCAPABLE')]).toEqual([right, false]);
      expect([right, typeof allowed === 'number' && allowed < 0]).toEqual([right, false]);
    }
  });

  it('decide what the calls of a file may do', () => {
    const rows: [right: number, call: (wasi: Wasi, fd: number) => number, errno: number][] = [
      [RIGHT.FD_ADVISE, (wasi, fd) => 0 - wasi.call('fd_advise', fd, 0n, 0n, 0), no('NOTCAPABLE')],
      [RIGHT.FD_ALLOCATE, (wasi, fd) => 0 - wasi.call('fd_allocate', fd, 0n, 1n), no('NOTCAPABLE')],
      [
        RIGHT.FD_FILESTAT_SET_SIZE,
        (wasi, fd) => 0 - wasi.call('fd_filestat_set_size', fd, 1n),
        no('NOTCAPABLE'),
      ],
      [
        RIGHT.FD_FILESTAT_SET_TIMES,
        (wasi, fd) => 0 - wasi.call('fd_filestat_set_times', fd, 0n, 0n, 0),
        no('NOTCAPABLE'),
      ],
      [
        RIGHT.FD_FILESTAT_GET,
        (wasi, fd) => 0 - wasi.call('fd_filestat_get', fd, 0),
        no('NOTCAPABLE'),
      ],
      [
        RIGHT.FD_FDSTAT_SET_FLAGS,
        (wasi, fd) => 0 - wasi.call('fd_fdstat_set_flags', fd, 0),
        no('NOTCAPABLE'),
      ],
    ];
    for (const [right, call, errno] of rows) {
      const wasi = new Wasi();
      const without = wasi.open('f', { ...CREATE, rights: RIGHTS_FILE & ~right });
      expect([right, call(wasi, without)]).toEqual([right, errno]);
      expect([right, call(wasi, wasi.open('f', { ...CREATE, rights: right }))]).toEqual([right, 0]);
    }
  });
});

describe('fd_fdstat_set_flags', () => {
  it('sets the flags that there are', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    for (const flags of [0, FDFLAG.APPEND, 31]) {
      expect(wasi.errno('fd_fdstat_set_flags', fd, flags)).toBe('SUCCESS');
      expect(wasi.fdstat(fd)).toMatchObject({ flags });
    }
    for (const flags of [32, -1])
      expect(wasi.errno('fd_fdstat_set_flags', fd, flags)).toBe('INVAL');
    expect(wasi.errno('fd_fdstat_set_flags', 99, 0)).toBe('BADF');
    expect(wasi.errno('fd_fdstat_set_flags', 1, FDFLAG.NONBLOCK)).toBe('SUCCESS');
    expect(wasi.errno('fd_fdstat_get', fd, wasi.memoryBytes() - 23)).toBe('FAULT');
  });
});

describe('attributes', () => {
  it('tell of a file what POSIX tells', () => {
    const wasi = new Wasi();
    wasi.moveTo(1_000_000_000);
    const nowNs = wasi.port.realtimeNs();
    const fd = wasi.open('f', CREATE);
    wasi.link('f', 'g');
    wasi.write(fd, 'text');
    const stat = wasi.stat(fd) as Filestat;
    expect(stat).toMatchObject({ device: 1, filetype: 4, links: 2, size: 4, accessedNs: nowNs });
    expect(stat.modifiedNs).toBeGreaterThan(nowNs);
    expect(wasi.stat('g')).toEqual(stat);
    expect(wasi.stat(3)).toMatchObject({ device: 1, inode: 1, filetype: 3 });
    expect(wasi.errno('fd_filestat_get', fd, wasi.memoryBytes() - 63)).toBe('FAULT');
  });

  it('of size are set by truncation and allocation', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    const size = (): number => (wasi.stat(fd) as Filestat).size;
    const calls: [string, bigint[], string, number][] = [
      ['fd_allocate', [0n, 100n], 'SUCCESS', 100],
      ['fd_allocate', [10n, 10n], 'SUCCESS', 100],
      ['fd_allocate', [90n, 20n], 'SUCCESS', 110],
      ['fd_allocate', [0n, 0n], 'INVAL', 110],
      ['fd_allocate', [2n ** 62n, 1n], 'FBIG', 110],
      ['fd_allocate', [-1n, 1n], 'FBIG', 110],
      ['fd_allocate', [2n ** 34n, 1n], 'FBIG', 110],
      ['fd_filestat_set_size', [50n], 'SUCCESS', 50],
      ['fd_filestat_set_size', [2n ** 34n], 'SUCCESS', 2 ** 34],
      ['fd_filestat_set_size', [2n ** 34n + 1n], 'FBIG', 2 ** 34],
      ['fd_filestat_set_size', [-1n], 'FBIG', 2 ** 34],
      ['fd_filestat_set_size', [0n], 'SUCCESS', 0],
      ['fd_advise', [0n, 10n], 'SUCCESS', 0],
      ['fd_advise', [2n ** 63n - 1n, 1n], 'INVAL', 0],
    ];
    for (const [name, args, errno, after] of calls) {
      const extra = name === 'fd_advise' ? [4] : [];
      expect([name, args, wasi.errno(name, fd, ...args, ...extra)]).toEqual([name, args, errno]);
      expect(size()).toBe(after);
    }
    expect(wasi.errno('fd_advise', fd, 0n, 0n, 6)).toBe('INVAL');
    expect(wasi.errno('fd_advise', fd, 0n, 0n, -1)).toBe('INVAL');
    expect(wasi.errno('fd_advise', 1, 0n, 0n, 0)).toBe('SPIPE');
    expect(wasi.errno('fd_allocate', 1, 0n, 1n)).toBe('SPIPE');
    expect(wasi.errno('fd_filestat_set_size', 1, 0n)).toBe('INVAL');
    for (const name of ['fd_allocate', 'fd_filestat_set_size', 'fd_advise']) {
      expect(wasi.errno(name, 3, 0n, 1n, 0)).toBe('NOTCAPABLE');
    }
  });

  it('of time are set as flags say', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    const times = (): bigint[] => {
      const { accessedNs, modifiedNs } = wasi.stat(fd) as Filestat;
      return [accessedNs, modifiedNs];
    };
    const set = (flags: number): string => wasi.errno('fd_filestat_set_times', fd, 11n, 22n, flags);
    const [first] = times() as [bigint];
    expect(set(0)).toBe('SUCCESS');
    expect(times()).toEqual([first, first]);
    expect(set(1)).toBe('SUCCESS');
    expect(times()).toEqual([11n, first]);
    expect(set(4)).toBe('SUCCESS');
    expect(times()).toEqual([11n, 22n]);
    const nowNs = wasi.port.realtimeNs();
    expect(set(2 | 4)).toBe('SUCCESS');
    expect(times()).toEqual([nowNs, 22n]);
    expect(set(8)).toBe('SUCCESS');
    expect(times()[1]).toBeGreaterThan(nowNs);
    for (const flags of [3, 12, 16, -1]) expect(set(flags)).toBe('INVAL');
    expect(wasi.errno('fd_filestat_set_times', fd, -1n, 0n, 1)).toBe('SUCCESS');
    expect(times()[0]).toBe(2n ** 64n - 1n);
    expect(wasi.errno('fd_filestat_set_times', 1, 0n, 0n, 0)).toBe('NOTCAPABLE');
    expect(wasi.errno('fd_filestat_set_times', 3, 5n, 6n, 5)).toBe('SUCCESS');
    expect(wasi.stat(3)).toMatchObject({ accessedNs: 5n, modifiedNs: 6n });
  });
});

describe('a directory is no file', () => {
  it('for every call that wants one', () => {
    const wasi = new Wasi();
    const dir = wasi.open('.', { oflags: OFLAG.DIRECTORY });
    const vectors = wasi.vectors([0, 8]);
    const calls: [string, (number | bigint)[]][] = [
      ['fd_read', [vectors, 1, 16]],
      ['fd_write', [vectors, 1, 16]],
      ['fd_pread', [vectors, 1, 0n, 16]],
      ['fd_pwrite', [vectors, 1, 0n, 16]],
      ['fd_seek', [0n, 0, 16]],
      ['fd_seek', [0n, 1, 16]],
      ['fd_tell', [16]],
      ['fd_allocate', [0n, 0n]],
      ['fd_filestat_set_size', [0n]],
    ];
    for (const [name, args] of calls) {
      expect(['ISDIR', 'BADF', 'NOTCAPABLE']).toContain(wasi.errno(name, dir, ...args));
    }
  });
});
