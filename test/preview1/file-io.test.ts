import { describe, expect, it } from 'vitest';
import { FDFLAG, OFLAG, RIGHT } from '../../wasm/preview1/abi.ts';
import { no, shown, Wasi } from './wasi.ts';

const CREATE = { oflags: OFLAG.CREAT };

describe('reading and writing a file', () => {
  it('moves the offset, which can be sought and told', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    expect(wasi.tell(fd)).toBe(0);
    expect(wasi.write(fd, 'hello, world')).toBe(12);
    expect(wasi.tell(fd)).toBe(12);
    expect(wasi.read(fd)).toBe('');
    expect(wasi.seek(fd, -5n, 1)).toBe(7);
    expect(wasi.read(fd, 3)).toBe('wor');
    expect(wasi.seek(fd, 0n, 0)).toBe(0);
    expect(wasi.read(fd)).toBe('hello, world');
    expect(wasi.seek(fd, -2n, 2)).toBe(10);
    expect(wasi.seek(fd, 1000n, 1)).toBe(1010);
    expect(wasi.read(fd)).toBe('');
    expect(wasi.seek(fd, -2000n, 1)).toBe(no('INVAL'));
    expect(wasi.tell(fd)).toBe(1010);
    expect(wasi.write(fd, '!')).toBe(1);
    expect(wasi.stat(fd)).toMatchObject({ size: 1011 });
  });

  it('at an offset leaves the offset alone', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    expect(wasi.pwrite(fd, '\0\x01\x02\x03', 0n)).toBe(4);
    expect(wasi.pread(fd, 4, 0n)).toBe('\0\x01\x02\x03');
    expect(wasi.pread(fd, 4, 2n)).toBe('\x02\x03');
    expect(wasi.pwrite(fd, '\x01\0', 2n)).toBe(2);
    expect(wasi.pread(fd, 9, 0n)).toBe('\0\x01\x01\0');
    expect(wasi.pread(fd, 9, 4n)).toBe('');
    expect(wasi.pread(fd, 9, -1n)).toBe('');
    expect(wasi.pwrite(fd, 'x', -1n)).toBe(no('FBIG'));
    expect(wasi.tell(fd)).toBe(0);
  });

  it('uses all vectors, in order, and skips empty ones', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    const [a, b, result] = [wasi.put('abc'), wasi.put('defg'), wasi.room(4)];
    const from = wasi.vectors([a, 3], [0, 0], [b, 4], [a, 1]);
    expect(wasi.errno('fd_write', fd, from, 4, result)).toBe('SUCCESS');
    expect(wasi.u32(result)).toBe(8);
    const [c, d, count] = [wasi.room(3), wasi.room(9), wasi.room(4)];
    const into = wasi.vectors([c, 3], [d, 9]);
    expect(wasi.errno('fd_pread', fd, into, 2, 0n, count)).toBe('SUCCESS');
    expect([wasi.u32(count), wasi.text(c, 3), wasi.text(d, 5)]).toEqual([8, 'abc', 'defga']);
    expect(wasi.errno('fd_read', fd, into, 0, count)).toBe('SUCCESS');
    expect(wasi.u32(count)).toBe(0);
  });

  it('sees at once what another descriptor wrote', () => {
    const wasi = new Wasi();
    const reader = wasi.open('f', { ...CREATE, rights: RIGHT.FD_READ });
    const writer = wasi.open('f', { rights: RIGHT.FD_WRITE });
    wasi.write(writer, 'x');
    expect(wasi.read(reader)).toBe('x');
  });

  it('appends in append mode, wherever the offset is, but not at an offset of its own', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', { ...CREATE, flags: FDFLAG.APPEND });
    wasi.write(fd, 'aaaa');
    wasi.seek(fd, 0n);
    wasi.write(fd, 'bbbb');
    expect(wasi.tell(fd)).toBe(8);
    expect(wasi.pwrite(fd, 'c', 0n)).toBe(1);
    expect(wasi.tell(fd)).toBe(8);
    expect(wasi.pread(fd, 99, 0n)).toBe('caaabbbb');
    expect(wasi.errno('fd_fdstat_set_flags', fd, 0)).toBe('SUCCESS');
    wasi.seek(fd, 0n);
    wasi.write(fd, 'dd');
    expect(wasi.pread(fd, 99, 0n)).toBe('ddaabbbb');
  });

  it('fails by what the descriptor is and may', () => {
    const wasi = new Wasi();
    const file = wasi.open('f', CREATE);
    const reader = wasi.open('f', { rights: RIGHT.FD_READ });
    const writer = wasi.open('f', { rights: RIGHT.FD_WRITE });
    const directory = wasi.open('.', { oflags: OFLAG.DIRECTORY });
    const rows: [string, unknown, unknown][] = [
      ['read no descriptor', wasi.read(99), no('BADF')],
      ['read a negative descriptor', wasi.read(-1), no('BADF')],
      ['read what was opened for writing', wasi.read(writer), no('BADF')],
      ['read a directory', wasi.read(directory), no('BADF')],
      ['write what was opened for reading', wasi.write(reader, 'x'), no('BADF')],
      ['write a directory', wasi.write(directory, 'x'), no('BADF')],
      ['pread without the right to seek', wasi.pread(reader, 1, 0n), no('BADF')],
      ['pwrite without the right to seek', wasi.pwrite(writer, 'x', 0n), no('BADF')],
      ['pread a directory', wasi.pread(directory, 1, 0n), no('BADF')],
      ['pread the console', wasi.pread(0, 1, 0n), no('SPIPE')],
      ['pwrite the console', wasi.pwrite(1, 'x', 0n), no('SPIPE')],
      ['seek the console', wasi.seek(1, 0n), no('SPIPE')],
      ['tell the console', wasi.tell(1), no('SPIPE')],
      ['seek a directory', wasi.seek(directory, 0n), no('BADF')],
      ['tell a directory', wasi.tell(directory), no('BADF')],
      ['seek without the right', wasi.seek(reader, 1n), no('BADF')],
      ['seek by an unknown whence', wasi.seek(file, 0n, 3), no('INVAL')],
      ['seek past what numbers hold', wasi.seek(file, 2n ** 60n), no('INVAL')],
      [
        'seek by too much',
        wasi.seek(file, 2n ** 63n - 1n) && wasi.seek(file, 2n ** 62n),
        no('INVAL'),
      ],
      ['write standard input', wasi.write(0, 'x'), no('BADF')],
      ['read standard output', wasi.read(1), no('BADF')],
    ];
    for (const [name, result, expected] of rows) {
      expect([name, shown(result)]).toEqual([name, shown(expected)]);
    }
  });

  it('the right to tell suffices to ask for the offset by seeking', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', { ...CREATE, rights: RIGHT.FD_TELL | RIGHT.FD_WRITE });
    wasi.write(fd, 'abc');
    expect(wasi.tell(fd)).toBe(3);
    expect(wasi.seek(fd, 0n, 1)).toBe(3);
    expect(wasi.seek(fd, 0n, 0)).toBe(no('BADF'));
    const seeker = wasi.open('f', { rights: RIGHT.FD_SEEK });
    expect(wasi.tell(seeker)).toBe(0);
  });

  it('touches nothing outside of the memory, and does nothing then', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    wasi.write(fd, 'text');
    const end = wasi.memoryBytes();
    const good = wasi.vectors([1000, 4]);
    const bad = wasi.vectors([1000, 1], [end - 1, 2]);
    const huge = wasi.vectors([0, 0x7fffffff], [0, 0xffffffff]);
    const rows: [string, number, number, number][] = [
      ['a vector past the end', bad, 2, 2000],
      ['vectors past the end', end - 8, 2, 2000],
      ['vectors at the very end', end, 1, 2000],
      ['a result past the end', good, 1, end - 3],
      ['lengths beyond 32 bits', huge, 2, 2000],
    ];
    for (const [name, vectors, count, result] of rows) {
      for (const call of ['fd_read', 'fd_write']) {
        const errno = wasi.errno(call, fd, vectors, count, result);
        expect([name, errno]).toEqual([name, 'FAULT']);
      }
      for (const call of ['fd_pread', 'fd_pwrite']) {
        const errno = wasi.errno(call, fd, vectors, count, 0n, result);
        expect([name, errno]).toEqual([name, 'FAULT']);
      }
    }
    expect(wasi.errno('fd_read', fd, good, 1025, 2000)).toBe('INVAL');
    expect(wasi.errno('fd_read', fd, good, -1, 2000)).toBe('INVAL');
    expect(wasi.tell(fd)).toBe(4);
    expect(wasi.stat(fd)).toMatchObject({ size: 4 });
  });

  it('writes what fits when space ends, and says NOSPC only when nothing does', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    expect(wasi.errno('fd_allocate', fd, 0n, BigInt(2 ** 30 - 4096))).toBe('SUCCESS');
    wasi.seek(fd, BigInt(2 ** 30 - 2));
    expect(wasi.write(fd, 'abcd')).toBe(2);
    expect(wasi.write(fd, 'cd')).toBe(no('NOSPC'));
    expect(wasi.tell(fd)).toBe(2 ** 30);
    expect(wasi.errno('fd_allocate', fd, 0n, BigInt(2 ** 30 + 1))).toBe('NOSPC');
  });
});

describe('the console', () => {
  it('takes what is written to 1 and 2 as it comes, and gives nothing to read', () => {
    const wasi = new Wasi();
    expect(wasi.write(1, 'out')).toBe(3);
    expect(wasi.write(2, 'err')).toBe(3);
    expect(wasi.write(1, '')).toBe(0);
    const [a, b, result] = [wasi.put('a'), wasi.put('bc'), wasi.room(4)];
    wasi.call('fd_write', 1, wasi.vectors([a, 1], [b, 2]), 2, result);
    expect(wasi.port.written).toEqual(['out', 'err', 'abc']);
    expect(wasi.read(0)).toBe('');
  });

  it('is a terminal to libraries: a character device that cannot seek', () => {
    const wasi = new Wasi();
    for (const fd of [0, 1, 2]) {
      const stat = wasi.fdstat(fd) as { filetype: number; rights: number };
      expect(stat.filetype).toBe(2);
      expect(stat.rights & (RIGHT.FD_SEEK | RIGHT.FD_TELL)).toBe(0);
      expect(wasi.stat(fd)).toMatchObject({ device: 2, inode: fd, filetype: 2, size: 0, links: 1 });
    }
    const file = wasi.fdstat(wasi.open('f', CREATE));
    expect(file).toMatchObject({ filetype: 4 });
  });
});

describe('synchronous writing and fd_sync', () => {
  const survivors = (act: (wasi: Wasi) => void): string => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    wasi.close(fd);
    wasi.port.files.synchroniseAll();
    act(wasi);
    wasi.port.files.crash(() => 0);
    const again = new Wasi();
    again.port.files.restore(wasi.port.files.capture());
    return String(again.read(again.open('f')));
  };
  const rows: [string, (wasi: Wasi) => void, string][] = [
    ['a plain write is lost', (wasi) => wasi.write(wasi.open('f', CREATE), 'x'), ''],
    ['SYNC', (wasi) => wasi.write(wasi.open('f', { ...CREATE, flags: FDFLAG.SYNC }), 'x'), 'x'],
    ['DSYNC', (wasi) => wasi.write(wasi.open('f', { ...CREATE, flags: FDFLAG.DSYNC }), 'x'), 'x'],
    [
      'RSYNC alone',
      (wasi) => wasi.write(wasi.open('f', { ...CREATE, flags: FDFLAG.RSYNC }), 'x'),
      '',
    ],
    [
      'SYNC at an offset',
      (wasi) => wasi.pwrite(wasi.open('f', { ...CREATE, flags: FDFLAG.SYNC }), 'x', 0n),
      'x',
    ],
    [
      'fd_sync',
      (wasi) => {
        const fd = wasi.open('f', CREATE);
        wasi.write(fd, 'x');
        expect(wasi.errno('fd_sync', fd)).toBe('SUCCESS');
      },
      'x',
    ],
    [
      'fd_datasync',
      (wasi) => {
        const fd = wasi.open('f', CREATE);
        wasi.write(fd, 'x');
        expect(wasi.errno('fd_datasync', fd)).toBe('SUCCESS');
      },
      'x',
    ],
  ];
  for (const [name, act, expected] of rows) {
    it(`${name}: after a loss of power the file has "${expected}"`, () => {
      expect(survivors(act)).toBe(expected);
    });
  }

  it('fails by what the descriptor is and may', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', { ...CREATE, rights: RIGHT.FD_WRITE });
    for (const name of ['fd_sync', 'fd_datasync']) {
      expect(wasi.errno(name, fd)).toBe('NOTCAPABLE');
      expect(wasi.errno(name, 1)).toBe('INVAL');
      expect(wasi.errno(name, 99)).toBe('BADF');
      expect(wasi.errno(name, 3)).toBe('SUCCESS');
    }
  });

  it('takes its time', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    const before = wasi.localNs();
    wasi.write(fd, new Uint8Array(4000));
    expect(wasi.localNs() - before).toBe(2_000);
    wasi.call('fd_sync', fd);
    expect(wasi.localNs() - before).toBe(2_000 + 101_000);
  });
});
