import { describe, expect, it } from 'vitest';
import { decodeCanonical, encodeCanonical } from '../../sim/index.ts';
import { OFLAG } from '../../wasm/preview1/abi.ts';
import { Preview1 } from '../../wasm/preview1/preview1.ts';
import { PREVIEW1_FUNCTIONS } from '../../wasm/preview1/functions.ts';
import { failure } from '../support/failure.ts';
import { openSocket } from './sockets.ts';
import { Wasi } from './wasi.ts';

const CREATE = { oflags: OFLAG.CREAT };

describe('the log', () => {
  it('has one event for each call that is over, with its result, at the time of the call', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', CREATE);
    wasi.write(fd, 'four');
    wasi.read(99);
    wasi.seek(fd, 1n);
    wasi.read(fd, 2);
    wasi.write(1, 'out');
    const seen = wasi.port.calls.map(({ kind, result, atNs }) => [kind, result, atNs]);
    expect(seen).toEqual([
      ['wasi/path_open', 5, 0],
      ['wasi/fd_write', 4, 1000],
      ['wasi/fd_read', -8, 2001],
      ['wasi/fd_seek', 1, 3001],
      ['wasi/fd_read', 2, 3201],
      ['wasi/fd_write', 3, 4201],
    ]);
  });

  it('tells inputs, and the bytes that cross the border either way, apart', () => {
    const input = (act: (wasi: Wasi) => unknown): string => {
      const wasi = new Wasi();
      const fd = wasi.open('f', CREATE);
      wasi.write(fd, 'abcd');
      act(wasi);
      const last = wasi.port.calls.at(-1);
      return `${last?.kind} ${last?.input}`;
    };
    const same = (wasi: Wasi): unknown => wasi.pread(5, 4, 0n);
    expect(input(same)).toBe(input(same));
    const variants = [
      same,
      (wasi: Wasi) => wasi.pread(5, 4, 1n),
      (wasi: Wasi) => wasi.pread(5, 4, 2n ** 40n),
      (wasi: Wasi) => wasi.pread(6, 4, 0n),
      (wasi: Wasi) => wasi.pwrite(5, 'abcd', 0n),
      (wasi: Wasi) => wasi.pwrite(5, 'abce', 0n),
      (wasi: Wasi) => wasi.write(5, 'abcd'),
      (wasi: Wasi) => wasi.write(1, 'abcd'),
    ];
    expect(new Set(variants.map(input)).size).toBe(variants.length);
    const other = new Wasi();
    other.write(other.open('f', CREATE), 'abcx');
    other.pread(5, 4, 0n);
    const last = other.port.calls.at(-1);
    expect(`${last?.kind} ${last?.input}`).not.toBe(input(same));
  });

  it('has a kind for every function', () => {
    const wasi = new Wasi();
    const kinds = new Set<string>();
    for (const { name, parameters } of PREVIEW1_FUNCTIONS) {
      const args = Array.from(parameters, (letter) => (letter === 'I' ? 0n : -1));
      try {
        wasi.call(name, ...args);
      } catch {
        // The guest ended; the call is logged all the same.
      }
      kinds.add(wasi.port.calls.at(-1)?.kind as string);
    }
    expect([...kinds]).toEqual(PREVIEW1_FUNCTIONS.map(({ name }) => `wasi/${name}`));
  });
});

describe('every function', () => {
  it('is there, 46 of them, and takes as many arguments as its type says', () => {
    expect(PREVIEW1_FUNCTIONS.length).toBe(46);
    for (const { name, parameters, method } of PREVIEW1_FUNCTIONS) {
      const expected = name === 'sched_yield' ? 0 : parameters.length + 1;
      expect([name, method.length]).toEqual([name, expected]);
    }
  });

  it('takes time, also when it fails', () => {
    const wasi = new Wasi();
    for (const { name, parameters, returnsErrno } of PREVIEW1_FUNCTIONS) {
      if (!returnsErrno) continue;
      const before = wasi.localNs();
      wasi.call(name, ...Array.from(parameters, (letter) => (letter === 'I' ? 0n : -1)));
      expect([name, wasi.localNs() > before]).toEqual([name, true]);
    }
  });

  it('stands any arguments', () => {
    const edges = [0, -1, 1, 0x7fffffff, -0x80000000, 262_143, 262_140, 65_536, 5, 3];
    const bigs = [0n, -1n, 1n, 2n ** 63n - 1n, -(2n ** 63n), 262_143n];
    for (const { name, parameters, returnsErrno } of PREVIEW1_FUNCTIONS) {
      if (!returnsErrno || name === 'proc_raise') continue;
      const wasi = new Wasi();
      for (let round = 0; round < 40; round++) {
        wasi.open('f', CREATE);
        const args = Array.from(parameters, (letter, index) => {
          const list = letter === 'I' ? bigs : edges;
          return list[(round * 7 + index * (round + 3)) % list.length] as number | bigint;
        });
        const errno = wasi.call(name, ...args);
        expect(errno >= 0 && errno <= 76).toBe(true);
      }
    }
  });

  it('says whether it may wait', () => {
    const waiting = PREVIEW1_FUNCTIONS.filter(({ name }) => {
      return Preview1.suspends('wasi_snapshot_preview1', name);
    });
    expect(waiting.map(({ name }) => name)).toEqual([
      'fd_read',
      'fd_write',
      'poll_oneoff',
      'sock_accept',
      'sock_recv',
      'sock_send',
    ]);
    expect(Preview1.suspends('wasi_snapshot_preview1', 'sock_connect')).toBe(true);
    expect(Preview1.suspends('wasi_snapshot_preview1', 'sock_bind')).toBe(false);
    expect(Preview1.suspends('env', 'fd_read')).toBe(false);
  });
});

describe('the state', () => {
  const sample = (): Wasi => {
    const wasi = new Wasi({ listeners: [{ kind: 'udp', port: 53 }] });
    wasi.write(wasi.open('f', { ...CREATE, flags: 1 }), 'text');
    wasi.mkdir('d');
    wasi.open('d', { rights: 1 << 14 });
    openSocket(wasi, 'tcp');
    wasi.close(2);
    return wasi;
  };

  it('is canonical plain data that goes on where it was', () => {
    const wasi = sample();
    const state = wasi.preview1.capture();
    const copy = new Preview1(wasi, { listeners: [{ kind: 'udp', port: 53 }] });
    copy.restore(decodeCanonical(encodeCanonical(state)));
    expect(copy.capture()).toEqual(state);
    wasi.preview1 = copy;
    expect(wasi.tell(6)).toBe(4);
    expect(wasi.fdstat(7)).toMatchObject({ filetype: 3, rights: 1 << 14 });
    expect(wasi.fdstat(8)).toMatchObject({ filetype: 6 });
    expect(wasi.open('g', CREATE)).toBe(2);
  });

  it('is not touched by what happens after', () => {
    const wasi = sample();
    const state = wasi.preview1.capture();
    const text = JSON.stringify(state);
    wasi.write(6, 'more');
    wasi.close(7);
    expect(JSON.stringify(state)).toBe(text);
    wasi.preview1.restore(state);
    wasi.write(6, 'more');
    expect(JSON.stringify(state)).toBe(text);
  });

  it('making a host changes neither files nor network', () => {
    const wasi = sample();
    const before = [wasi.port.files.digest(), JSON.stringify(wasi.port.sockets.capture())];
    const other = new Preview1(wasi, { listeners: [{ kind: 'tcp', port: 99 }] });
    const after = [wasi.port.files.digest(), JSON.stringify(wasi.port.sockets.capture())];
    expect(after).toEqual(before);
    expect(other.capture()).toMatchObject({ started: false });
  });

  it('damaged is refused with a code', () => {
    const wasi = sample();
    const damages: readonly ((state: Record<string, never>) => unknown)[] = [
      (state) => delete state['progress'],
      (state) => (state['extra'] = 1 as never),
      (state) => (state['progress'] = -1 as never),
      (state) => ((state['descriptors'] as { kind: string }[])[0].kind = 'pipe'),
      (state) => ((state['descriptors'] as { rights: number }[])[0].rights = 2 ** 30),
      (state) => ((state['descriptors'] as { stream: number }[])[0].stream = 3),
      (state) => ((state['descriptors'] as { offset: number }[])[6].offset = -1),
      (state) => ((state['descriptors'] as { type: string }[])[8].type = 'unix'),
    ];
    for (const damage of damages) {
      const state = structuredClone(wasi.preview1.capture()) as Record<string, never>;
      damage(state);
      expect(failure(() => wasi.preview1.restore(state)).code).toBe('bundle/shape');
    }
  });
});
