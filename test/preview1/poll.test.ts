import { describe, expect, it } from 'vitest';
import { OFLAG, RIGHT } from '../../wasm/preview1/abi.ts';
import { NS_PER_MS } from '../../sim/index.ts';
import { openSocket } from './sockets.ts';
import { Ended, Wasi } from './wasi.ts';

type Subscription =
  | { readonly clock: number; readonly timeout: bigint; readonly flags?: number }
  | { readonly read: number }
  | { readonly write: number }
  | { readonly tag: number };

interface PolledEvent {
  readonly userdata: number;
  readonly error: number;
  readonly type: number;
  readonly bytes: number;
  readonly hangup: number;
}

/** One `poll_oneoff`; userdata are 100, 101, … in order. A number is an errno. */
function poll(wasi: Wasi, ...subscriptions: Subscription[]): PolledEvent[] | string {
  const count = subscriptions.length;
  const [from, to, result] = [wasi.room(48 * count), wasi.room(32 * count), wasi.room(4)];
  const view = wasi.memory();
  wasi.data.fill(0, from, from + 48 * count);
  for (const [index, each] of subscriptions.entries()) {
    const at = from + 48 * index;
    view.setBigUint64(at, BigInt(100 + index), true);
    if ('clock' in each) {
      view.setUint32(at + 16, each.clock, true);
      view.setBigUint64(at + 24, each.timeout, true);
      view.setUint16(at + 40, each.flags ?? 0, true);
    } else if ('tag' in each) {
      view.setUint8(at + 8, each.tag);
    } else {
      view.setUint8(at + 8, 'read' in each ? 1 : 2);
      view.setUint32(at + 16, 'read' in each ? each.read : each.write, true);
    }
  }
  wasi.touched(from, 48 * count);
  const errno = wasi.errno('poll_oneoff', from, to, count, result);
  if (errno !== 'SUCCESS') return errno;
  return Array.from({ length: wasi.u32(result) }, (_, index) => {
    const at = to + 32 * index;
    return {
      userdata: Number(view.getBigUint64(at, true)),
      error: view.getUint16(at + 8, true),
      type: view.getUint8(at + 10),
      bytes: Number(view.getBigUint64(at + 16, true)),
      hangup: view.getUint16(at + 24, true),
    };
  });
}

const clockEvent = (userdata: number, error = 0): PolledEvent => {
  return { userdata, error, type: 0, bytes: 0, hangup: 0 };
};

describe('poll_oneoff on clocks', () => {
  const START = 5 * NS_PER_MS;
  const monotonic = (ns: number): bigint => BigInt(ns) + 1_000_000_000n;
  const realtime = (ns: number): bigint => BigInt(ns) + 1_767_225_600_000_000_000n;
  const rows: [name: string, subscriptions: Subscription[], wakesNs: number, events: number[]][] = [
    ['relative, monotonic', [{ clock: 1, timeout: 1000n }], START + 1000, [100]],
    ['relative, realtime', [{ clock: 0, timeout: 1000n }], START + 1000, [100]],
    [
      'absolute, monotonic',
      [{ clock: 1, timeout: monotonic(START + 7), flags: 1 }],
      START + 7,
      [100],
    ],
    [
      'absolute, realtime',
      [{ clock: 0, timeout: realtime(START + 7), flags: 1 }],
      START + 7,
      [100],
    ],
    ['absolute, past', [{ clock: 1, timeout: 1n, flags: 1 }], START, [100]],
    ['absolute, at the start of time', [{ clock: 0, timeout: 0n, flags: 1 }], START, [100]],
    ['no time at all', [{ clock: 1, timeout: 0n }], START, [100]],
    [
      'the first of several',
      [
        { clock: 1, timeout: 9n },
        { clock: 1, timeout: 4n },
      ],
      START + 4,
      [101],
    ],
    [
      'two at once',
      [
        { clock: 1, timeout: 4n },
        { clock: 0, timeout: 4n },
      ],
      START + 4,
      [100, 101],
    ],
  ];
  for (const [name, subscriptions, wakesNs, events] of rows) {
    it(`wakes at the time: ${name}`, () => {
      const wasi = new Wasi();
      wasi.moveTo(START);
      expect(poll(wasi, ...subscriptions)).toEqual(events.map((userdata) => clockEvent(userdata)));
      expect(wasi.localNs()).toBe(wakesNs + 1000);
      expect(wasi.waits.length).toBe(wakesNs > START ? 1 : 0);
    });
  }

  it('never wakes at the end of time', () => {
    for (const timeout of [2n ** 64n - 1n, 2n ** 53n]) {
      const sleep = (): unknown => poll(new Wasi(), { clock: 1, timeout });
      expect(sleep).toThrow(Ended);
    }
  });

  it('tells of a wrong subscription by an event, and of a wrong tag by its errno', () => {
    const wasi = new Wasi();
    const later = { clock: 1, timeout: 1_000_000n };
    expect(poll(wasi, later, { clock: 2, timeout: 0n })).toEqual([clockEvent(101, 28)]);
    expect(poll(wasi, { clock: 9, timeout: 0n })).toEqual([clockEvent(100, 28)]);
    expect(poll(wasi, { clock: 1, timeout: 0n, flags: 2 })).toEqual([clockEvent(100, 28)]);
    expect(poll(wasi, { tag: 3 })).toBe('INVAL');
    expect(poll(wasi)).toBe('INVAL');
    expect(wasi.localNs()).toBe(5 * 1000);
  });

  it('reads and writes nothing outside of the memory', () => {
    const wasi = new Wasi();
    const end = wasi.memoryBytes();
    expect(wasi.errno('poll_oneoff', end - 47, 0, 1, 100)).toBe('FAULT');
    expect(wasi.errno('poll_oneoff', 0, end - 31, 1, 100)).toBe('FAULT');
    expect(wasi.errno('poll_oneoff', 0, 100, 1, end - 3)).toBe('FAULT');
    expect(wasi.errno('poll_oneoff', 0, 0, 2 ** 17, 100)).toBe('FAULT');
    expect(wasi.errno('poll_oneoff', 0, 0, 2 ** 17 + 1, 100)).toBe('INVAL');
    expect(wasi.errno('poll_oneoff', 0, 0, -1, 100)).toBe('INVAL');
  });
});

describe('poll_oneoff on descriptors', () => {
  it('finds files and consoles ready at once', () => {
    const wasi = new Wasi();
    const fd = wasi.open('f', { oflags: OFLAG.CREAT });
    wasi.write(fd, 'hello');
    wasi.seek(fd, 2n);
    const later = { clock: 1, timeout: 1_000_000n };
    const common = { error: 0, hangup: 0 };
    expect(
      poll(wasi, later, { read: fd }, { write: fd }, { read: 0 }, { write: 1 }, { read: 3 }),
    ).toEqual([
      { userdata: 101, type: 1, bytes: 3, ...common },
      { userdata: 102, type: 2, bytes: 0, ...common },
      { userdata: 103, type: 1, bytes: 0, ...common },
      { userdata: 104, type: 2, bytes: 0, ...common },
      { userdata: 105, type: 1, bytes: 0, ...common },
    ]);
    expect(wasi.waits).toEqual([]);
  });

  it('tells of bad descriptors and missing rights by events', () => {
    const wasi = new Wasi();
    const unpolled = wasi.open('f', { oflags: OFLAG.CREAT, rights: RIGHT.FD_READ });
    const events = poll(wasi, { read: 99 }, { read: unpolled }, { write: 0 }, { read: 1 });
    if (typeof events === 'string') throw new Error(events);
    expect(events.map(({ error }) => error)).toEqual([8, 76, 76, 76]);
  });

  it('waits for a socket or the clock, whichever comes first', () => {
    const wasi = new Wasi({ peers: ['peer'] });
    const peer = wasi.loop.stack(1);
    const server = peer.open('tcp');
    peer.bind(server, 0, 80);
    peer.listen(server, 1);
    const fd = openSocket(wasi, 'tcp');
    wasi.errno('fd_fdstat_set_flags', fd, 4);
    expect(wasi.errno('sock_connect', fd, wasi.vectors([wasi.put([10, 0, 0, 2]), 4]), 80)).toBe(
      'INPROGRESS',
    );
    expect(poll(wasi, { write: fd }, { clock: 1, timeout: 1000n })).toEqual([clockEvent(101)]);
    const [connected] = poll(
      wasi,
      { write: fd },
      { clock: 1, timeout: 100_000_000n },
    ) as PolledEvent[];
    expect(connected).toMatchObject({ userdata: 100, type: 2, error: 0, hangup: 0 });
    expect(connected?.bytes).toBeGreaterThan(1000);
    wasi.moveTo(wasi.localNs() + 5 * NS_PER_MS);
    const accepted = peer.accept(server);
    expect(accepted).toBeGreaterThan(0);
    peer.send(accepted, Buffer.from('hello'));
    const before = wasi.localNs();
    expect(poll(wasi, { read: fd }, { clock: 1, timeout: 100_000_000n })).toEqual([
      { userdata: 100, error: 0, type: 1, bytes: 5, hangup: 0 },
    ]);
    expect(wasi.localNs() - before).toBeGreaterThan(NS_PER_MS / 2);
    expect(wasi.read(fd)).toBe('hello');
    peer.close(accepted);
    const [ended] = poll(wasi, { read: fd }) as PolledEvent[];
    expect(ended).toMatchObject({ userdata: 100, bytes: 0, hangup: 1 });
    expect(wasi.read(fd)).toBe('');
  });

  it('tells how many connections wait on a listener', () => {
    const wasi = new Wasi({ peers: ['peer'], listeners: [{ kind: 'tcp', port: 80 }] });
    wasi.call('sched_yield');
    const peer = wasi.loop.stack(1);
    for (let count = 0; count < 2; count++) peer.connect(peer.open('tcp'), 0x0a000001, 80);
    wasi.moveTo(20 * NS_PER_MS);
    expect(poll(wasi, { read: 5 })).toEqual([
      { userdata: 100, error: 0, type: 1, bytes: 2, hangup: 0 },
    ]);
  });
});
