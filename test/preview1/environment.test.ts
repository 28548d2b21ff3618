import { describe, expect, it } from 'vitest';
import { Wasi, Ended } from './wasi.ts';

/** The texts that a pair of functions such as `args_get` and `args_sizes_get` gives. */
function texts(wasi: Wasi, get: string, sizes: string): string[] {
  const [count, bytes] = [wasi.room(4), wasi.room(4)];
  expect(wasi.errno(sizes, count, bytes)).toBe('SUCCESS');
  const [number, total] = [wasi.u32(count), wasi.u32(bytes)];
  const [list, buffer] = [wasi.room(4 * number), wasi.room(total)];
  expect(wasi.errno(get, list, buffer)).toBe('SUCCESS');
  const starts = Array.from({ length: number }, (_, index) => wasi.u32(list + 4 * index));
  const ends = [...starts.slice(1), buffer + total];
  return starts.map((start, index) => wasi.text(start, (ends[index] as number) - start));
}

describe('arguments and environment', () => {
  it('are given as texts that end in zero', () => {
    const wasi = new Wasi({
      args: ['program', 'ä', ''],
      env: [
        ['NAME', 'value'],
        ['EMPTY', ''],
      ],
    });
    expect(texts(wasi, 'args_get', 'args_sizes_get')).toEqual(['program\0', 'ä\0', '\0']);
    const env = texts(wasi, 'environ_get', 'environ_sizes_get');
    expect(env).toEqual(['NAME=value\0', 'EMPTY=\0']);
  });

  it('may be none', () => {
    const wasi = new Wasi({ args: [], env: [] });
    expect(texts(wasi, 'args_get', 'args_sizes_get')).toEqual([]);
    expect(texts(wasi, 'environ_get', 'environ_sizes_get')).toEqual([]);
  });

  it('go nowhere outside of the memory', () => {
    const wasi = new Wasi({ args: ['a', 'b'], env: [['A', 'b']] });
    const end = wasi.memoryBytes();
    for (const name of ['args_sizes_get', 'environ_sizes_get']) {
      expect(wasi.errno(name, end - 3, 0)).toBe('FAULT');
      expect(wasi.errno(name, 0, -1)).toBe('FAULT');
    }
    for (const name of ['args_get', 'environ_get']) {
      expect(wasi.errno(name, end - 3, 0)).toBe('FAULT');
      expect(wasi.errno(name, 0, end - 3)).toBe('FAULT');
    }
  });
});

describe('clocks', () => {
  it('have a resolution of a nanosecond; those of processor time do not exist', () => {
    const wasi = new Wasi();
    const result = wasi.room(8);
    for (const [id, errno] of [
      [0, 'SUCCESS'],
      [1, 'SUCCESS'],
      [2, 'INVAL'],
      [3, 'INVAL'],
      [4, 'INVAL'],
    ] as const) {
      expect([id, wasi.errno('clock_res_get', id, result)]).toEqual([id, errno]);
      expect([id, wasi.errno('clock_time_get', id, 0n, result)]).toEqual([id, errno]);
    }
    wasi.call('clock_res_get', 0, result);
    expect(wasi.u64(result)).toBe(1n);
  });

  it('tell the time of the node, which a reading moves by 20 ns', () => {
    const wasi = new Wasi();
    const result = 8;
    wasi.moveTo(5_000_000_123);
    wasi.call('clock_time_get', 1, 0n, result);
    expect(wasi.u64(result)).toBe(6_000_000_123n);
    wasi.call('clock_time_get', 1, 1000n, result);
    expect(wasi.u64(result)).toBe(6_000_000_143n);
    wasi.call('clock_time_get', 0, 0n, result);
    expect(wasi.u64(result)).toBe(1_767_225_605_000_000_163n);
  });

  it('write nothing outside of the memory', () => {
    const wasi = new Wasi();
    const end = wasi.memoryBytes();
    expect(wasi.errno('clock_time_get', 1, 0n, end - 7)).toBe('FAULT');
    expect(wasi.errno('clock_res_get', 1, -8)).toBe('FAULT');
    expect(wasi.errno('clock_time_get', 1, 0n, end - 8)).toBe('SUCCESS');
  });
});

describe('random_get', () => {
  it('fills the buffer by one decision', () => {
    const wasi = new Wasi();
    expect(wasi.errno('random_get', 1000, 33)).toBe('SUCCESS');
    const first = wasi.data.slice(1000, 1033);
    expect(new Set(first).size).toBeGreaterThan(20);
    expect(wasi.data[1033]).toBe(0xaa);
    expect(wasi.port.decisions.decisionCount).toBe(1);
    const again = new Wasi();
    again.call('random_get', 2000, 33);
    expect(again.data.slice(2000, 2033)).toEqual(first);
  });

  it('asks for nothing when there is no room, and for nothing outside of the memory', () => {
    const wasi = new Wasi();
    expect(wasi.errno('random_get', 0, 0)).toBe('SUCCESS');
    expect(wasi.errno('random_get', wasi.memoryBytes(), 1)).toBe('FAULT');
    expect(wasi.errno('random_get', 8, -1)).toBe('FAULT');
    expect(wasi.port.decisions.decisionCount).toBe(0);
  });
});

describe('the process', () => {
  const endOf = (run: () => void): string => {
    try {
      run();
    } catch (error) {
      if (error instanceof Ended) return error.how;
      throw error;
    }
    return 'goes on';
  };

  it('ends with its exit code, closing what it has open', () => {
    for (const [code, shown] of [
      [0, 0],
      [33, 33],
      [-1, 4_294_967_295],
    ] as const) {
      const wasi = new Wasi();
      const fd = wasi.open('f', { oflags: 1 });
      wasi.unlink('f');
      expect(endOf(() => wasi.call('proc_exit', code))).toBe(`exit ${shown}`);
      expect(wasi.port.calls.at(-1)).toMatchObject({ kind: 'wasi/proc_exit', result: 0 });
      wasi.port.files.synchroniseAll();
      expect(wasi.port.files.capture()).toMatchObject({ nodes: [{ inode: 1 }] });
      expect(fd).toBe(5);
    }
  });

  it('ends by a signal with 128 and its number, unless the signal is ignored', () => {
    const rows: [number, string][] = [
      [0, 'goes on'],
      [1, 'exit 129'],
      [6, 'exit 134'],
      [9, 'exit 137'],
      [15, 'exit 143'],
      [16, 'goes on'],
      [17, 'goes on'],
      [22, 'goes on'],
      [27, 'goes on'],
      [30, 'exit 158'],
    ];
    for (const [signal, how] of rows) {
      const wasi = new Wasi();
      expect([signal, endOf(() => wasi.call('proc_raise', signal))]).toEqual([signal, how]);
    }
    const wasi = new Wasi();
    for (const signal of [18, 19, 20, 21]) expect(wasi.errno('proc_raise', signal)).toBe('NOTSUP');
    for (const signal of [-1, 31]) expect(wasi.errno('proc_raise', signal)).toBe('INVAL');
  });

  it('yields by taking time', () => {
    const wasi = new Wasi();
    expect(wasi.errno('sched_yield')).toBe('SUCCESS');
    expect(wasi.localNs()).toBe(100);
  });
});
