import { describe, expect, it } from 'vitest';
import { NS_PER_MS, type SocketStack } from '../../sim/index.ts';
import { FDFLAG, RIGHTS_SOCKET } from '../../wasm/preview1/abi.ts';
import { SOCKET_FUNCTIONS } from '../../wasm/preview1/functions.ts';
import { accept, address, bind, connect, end, openSocket, receive, send } from './sockets.ts';
import { no, shown, Wasi } from './wasi.ts';

const NONBLOCK = FDFLAG.NONBLOCK;

/** A peer (node 1) that listens on port 80. */
function withServer(): { wasi: Wasi; peer: SocketStack; server: number } {
  const wasi = new Wasi({ peers: ['peer'] });
  const peer = wasi.loop.stack(1);
  const server = peer.open('tcp');
  peer.bind(server, 0, 80);
  peer.listen(server, 8);
  return { wasi, peer, server };
}

/** A guest whose descriptor 5 is connected to a socket of the peer's. */
function connected(): { wasi: Wasi; peer: SocketStack; other: number; fd: number } {
  const { wasi, peer, server } = withServer();
  const fd = openSocket(wasi, 'tcp');
  expect(connect(wasi, fd, 1, 80)).toBe('SUCCESS');
  wasi.moveTo(wasi.localNs() + 5 * NS_PER_MS);
  return { wasi, peer, other: peer.accept(server), fd };
}

describe('connections', () => {
  it('are made by waiting, and carry bytes both ways', () => {
    const { wasi, peer, other, fd } = connected();
    expect(wasi.localNs()).toBeGreaterThan(2 * NS_PER_MS);
    expect(send(wasi, fd, 'ping')).toBe(4);
    wasi.moveTo(wasi.localNs() + 2 * NS_PER_MS);
    const into = new Uint8Array(9);
    expect(peer.receive(other, into, false)).toBe(4);
    expect(Buffer.from(into.subarray(0, 4)).toString()).toBe('ping');
    peer.send(other, Buffer.from('pong'));
    expect(receive(wasi, fd, 100)).toBe('pong');
    expect(wasi.waits).toEqual([
      { deadlineNs: null, interests: [{ socket: 1, readiness: 'read' }] },
    ]);
  });

  it('move bytes by fd_read and fd_write too', () => {
    const { wasi, peer, other, fd } = connected();
    expect(wasi.write(fd, 'ping')).toBe(4);
    peer.send(other, Buffer.from('pong'));
    expect(wasi.read(fd)).toBe('pong');
    peer.receive(other, new Uint8Array(4), false);
    peer.close(other);
    expect(wasi.read(fd)).toBe('');
  });

  it('take from and give to several vectors', () => {
    const { wasi, peer, other, fd } = connected();
    const [a, b, result] = [wasi.put('ab'), wasi.put('cde'), wasi.room(4)];
    wasi.call('sock_send', fd, wasi.vectors([a, 2], [0, 0], [b, 3]), 3, 0, result);
    wasi.moveTo(wasi.localNs() + 2 * NS_PER_MS);
    const into = new Uint8Array(9);
    expect(peer.receive(other, into, false)).toBe(5);
    expect(Buffer.from(into.subarray(0, 5)).toString()).toBe('abcde');
    peer.send(other, into.subarray(0, 5));
    const [c, d, count] = [wasi.room(2), wasi.room(9), wasi.room(4)];
    wasi.call('fd_read', fd, wasi.vectors([c, 2], [d, 9]), 2, count);
    expect([wasi.u32(count), wasi.text(c, 2), wasi.text(d, 3)]).toEqual([5, 'ab', 'cde']);
  });

  it('peek leaves bytes, waitall waits for all of them', () => {
    const { wasi, peer, other, fd } = connected();
    peer.send(other, Buffer.from('abc'));
    expect(receive(wasi, fd, 2, 1)).toBe('ab');
    const vectors = wasi.vectors([8, 1], [16, 9]);
    expect(wasi.errno('sock_recv', fd, vectors, 2, 1, 32, 40)).toBe('SUCCESS');
    expect([wasi.u32(32), wasi.text(8, 1), wasi.text(16, 2)]).toEqual([3, 'a', 'bc']);
    wasi.peersAct = () => {
      wasi.peersAct = () => undefined;
      peer.send(other, Buffer.from('defg'));
    };
    expect(receive(wasi, fd, 5, 2)).toBe('abcde');
    expect(wasi.waits.length).toBe(1);
    peer.close(other);
    expect(receive(wasi, fd, 5, 2)).toBe('fg');
  });

  it('a blocking send waits until all is taken, also across a checkpoint', () => {
    const { wasi, peer, other, fd } = connected();
    const total = 150_000;
    const into = new Uint8Array(total);
    let received = 0;
    wasi.peersAct = () => {
      const got = peer.receive(other, into.subarray(received), false);
      if (got > 0) received += got;
      wasi.transplant();
    };
    const bytes = Uint8Array.from({ length: total }, (_, index) => index % 251);
    expect(send(wasi, fd, bytes)).toBe(total);
    expect(wasi.waits.length).toBeGreaterThan(0);
    wasi.moveTo(wasi.localNs() + 1000 * NS_PER_MS);
    expect(received).toBe(total);
    expect(Buffer.compare(into, bytes)).toBe(0);
  });

  it('a non-blocking descriptor never waits', () => {
    const { wasi, peer, other, fd } = connected();
    wasi.call('fd_fdstat_set_flags', fd, NONBLOCK);
    expect(receive(wasi, fd, 9)).toBe(no('AGAIN'));
    expect(wasi.read(fd)).toBe(no('AGAIN'));
    let sent = 0;
    for (;;) {
      const count = send(wasi, fd, new Uint8Array(50_000));
      if (count < 0) {
        expect(count).toBe(no('AGAIN'));
        break;
      }
      sent += count;
    }
    expect(sent).toBeGreaterThan(50_000);
    peer.close(other);
    expect(wasi.waits).toEqual([]);
  });

  it('are refused, and the error is told once', () => {
    const { wasi } = withServer();
    const fd = openSocket(wasi, 'tcp');
    expect(connect(wasi, fd, 1, 81)).toBe('CONNREFUSED');
    const other = openSocket(wasi, 'tcp');
    wasi.call('fd_fdstat_set_flags', other, NONBLOCK);
    expect(connect(wasi, other, 1, 81)).toBe('INPROGRESS');
    expect(connect(wasi, other, 1, 81)).toBe('ALREADY');
    expect(end(wasi, 'sock_getpeeraddr', other)).toBe(no('NOTCONN'));
    wasi.moveTo(wasi.localNs() + 10 * NS_PER_MS);
    const [value, size] = [wasi.room(4), wasi.put([4, 0, 0, 0])];
    expect(wasi.errno('sock_getsockopt', other, 0, 2, value, size)).toBe('SUCCESS');
    expect(wasi.u32(value)).toBe(14);
    wasi.call('sock_getsockopt', other, 0, 2, value, size);
    expect(wasi.u32(value)).toBe(0);
  });

  it('end in the directions that shutdown names', () => {
    const { wasi, peer, other, fd } = connected();
    for (const how of [0, 4, -1]) expect(wasi.errno('sock_shutdown', fd, how)).toBe('INVAL');
    expect(wasi.errno('sock_shutdown', fd, 2)).toBe('SUCCESS');
    expect(send(wasi, fd, 'x')).toBe(no('PIPE'));
    wasi.moveTo(wasi.localNs() + 2 * NS_PER_MS);
    expect(peer.receive(other, new Uint8Array(1), false)).toBe(0);
    expect(wasi.errno('sock_shutdown', fd, 1)).toBe('SUCCESS');
    expect(receive(wasi, fd, 1)).toBe('');
    expect(wasi.errno('sock_shutdown', openSocket(wasi, 'tcp'), 3)).toBe('NOTCONN');
  });

  it('give up after the timeouts that were set', () => {
    const { wasi, fd } = connected();
    const timeval = wasi.put([0, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x13, 0, 0, 0, 0, 0, 0]);
    expect(wasi.errno('sock_setsockopt', fd, 0, 11, timeval, 16)).toBe('SUCCESS');
    const before = wasi.localNs();
    expect(receive(wasi, fd, 1)).toBe(no('AGAIN'));
    expect(wasi.localNs() - before).toBe(5_000_000 + 1_000);
  });
});

describe('listeners', () => {
  it('that are preopened accept as stock programs do', () => {
    const listeners = [{ kind: 'tcp', port: 8080 } as const, { kind: 'udp', port: 53 } as const];
    const wasi = new Wasi({ peers: ['peer'], listeners });
    const peer = wasi.loop.stack(1);
    wasi.call('sched_yield');
    expect(wasi.fdstat(5)).toMatchObject({ filetype: 6, rights: RIGHTS_SOCKET });
    expect(wasi.fdstat(6)).toMatchObject({ filetype: 5 });
    expect(wasi.errno('fd_prestat_get', 5, 0)).toBe('BADF');
    wasi.call('fd_fdstat_set_flags', 5, NONBLOCK);
    expect(accept(wasi, 5)).toBe(no('AGAIN'));
    wasi.call('fd_fdstat_set_flags', 5, 0);
    const client = peer.open('tcp');
    peer.connect(client, 0x0a000001, 8080);
    const fd = accept(wasi, 5, NONBLOCK);
    expect(fd).toBe(7);
    expect(wasi.fdstat(fd)).toMatchObject({ filetype: 6, flags: NONBLOCK });
    peer.send(client, Buffer.from('hello'));
    wasi.moveTo(wasi.localNs() + 5 * NS_PER_MS);
    expect(wasi.read(fd)).toBe('hello');
    expect(wasi.stat(fd)).toMatchObject({ device: 2, filetype: 6 });
  });

  it('that cannot be opened end the guest', () => {
    const twice = { kind: 'tcp', port: 80 } as const;
    const wasi = new Wasi({ listeners: [twice, twice] });
    expect(() => wasi.call('sched_yield')).toThrow(
      'trap listener: the socket tcp:80 cannot be opened',
    );
  });

  it('are made by bind and listen, and accept in both forms', () => {
    const wasi = new Wasi({ peers: ['peer'] });
    const fd = openSocket(wasi, 'tcp');
    expect(bind(wasi, fd, 0)).toBe('SUCCESS');
    const local = end(wasi, 'sock_getlocaladdr', fd);
    if (typeof local === 'number') throw new Error('no end');
    expect(local.port).toBeGreaterThan(1023);
    expect(wasi.errno('sock_listen', fd, 0)).toBe('SUCCESS');
    const peer = wasi.loop.stack(1);
    for (let count = 0; count < 2; count++) peer.connect(peer.open('tcp'), 0x0a000001, local.port);
    expect(accept(wasi, fd)).toBe(6);
    const first = SOCKET_FUNCTIONS.find((row) => row.name === 'sock_accept');
    if (first === undefined) throw new Error('no first form');
    const result = wasi.room(4);
    expect(wasi.make(() => wasi.preview1.bind(first), [fd, result])).toBe(0);
    expect(wasi.u32(result)).toBe(7);
    expect(end(wasi, 'sock_getpeeraddr', 6)).toMatchObject({ family: 1, bytes: [10, 0, 0, 2] });
  });
});

describe('datagrams', () => {
  it('go to and come from ends that are named', () => {
    const wasi = new Wasi({ peers: ['peer'] });
    const peer = wasi.loop.stack(1);
    const server = peer.open('udp');
    peer.bind(server, 0, 53);
    const fd = openSocket(wasi, 'udp');
    expect(wasi.fdstat(fd)).toMatchObject({ filetype: 5 });
    const [at, result] = [wasi.put('query'), wasi.room(4)];
    const to = address(wasi, 10, 0, 0, 2);
    const args = [fd, wasi.vectors([at, 5]), 1, to, 53, 0, result] as const;
    expect(wasi.errno('sock_send_to', ...args)).toBe('SUCCESS');
    expect(wasi.u32(result)).toBe(5);
    wasi.moveTo(wasi.localNs() + 2 * NS_PER_MS);
    const got = peer.receiveFrom(server, new Uint8Array(9), false);
    if (typeof got === 'number') throw new Error('nothing came');
    peer.sendTo(server, Buffer.from('answer'), got.address, got.port);
    const [into, from, port, count, out] = [64, 128, 256, 260, 264];
    const record = wasi.vectors([from, 128]);
    const receiveArgs = [fd, wasi.vectors([into, 4], [into + 4, 9]), 2, record, 0] as const;
    expect(wasi.errno('sock_recv_from', ...receiveArgs, port, count, out)).toBe('SUCCESS');
    expect([wasi.u32(count), wasi.text(into, 6)]).toEqual([6, 'answer']);
    expect([wasi.u32(port), ...wasi.data.subarray(from, from + 6)]).toEqual([
      53, 1, 0, 10, 0, 0, 2,
    ]);
  });

  it('tell the sender in the first form as a native address', () => {
    const wasi = new Wasi({ peers: ['peer'] });
    const peer = wasi.loop.stack(1);
    const fd = openSocket(wasi, 'udp');
    bind(wasi, fd, 53);
    const client = peer.open('udp');
    peer.bind(client, 0, 0x1234);
    peer.sendTo(client, Buffer.from('hi'), 0x0a000001, 53);
    const row = SOCKET_FUNCTIONS.find(
      (each) => each.name === 'sock_recv_from' && each.parameters.length === 7,
    );
    if (row === undefined) throw new Error('no first form');
    const record = wasi.vectors([128, 16]);
    expect(
      wasi.make(() => wasi.preview1.bind(row), [fd, wasi.vectors([64, 9]), 1, record, 0, 200, 204]),
    ).toBe(0);
    expect([...wasi.data.subarray(128, 136)]).toEqual([2, 0, 0x12, 0x34, 10, 0, 0, 2]);
  });

  it('of a connected socket keep their limits', () => {
    const wasi = new Wasi({ peers: ['peer'] });
    const peer = wasi.loop.stack(1);
    const server = peer.open('udp');
    peer.bind(server, 0, 53);
    const fd = openSocket(wasi, 'udp');
    expect(send(wasi, fd, 'x')).toBe(no('DESTADDRREQ'));
    expect(connect(wasi, fd, 1, 53)).toBe('SUCCESS');
    for (const text of ['one', '', 'two']) expect(send(wasi, fd, text)).toBe(text.length);
    expect(send(wasi, fd, new Uint8Array(65_508))).toBe(no('MSGSIZE'));
    wasi.moveTo(wasi.localNs() + 2 * NS_PER_MS);
    const sizes = [1, 2, 3].map(() => peer.receive(server, new Uint8Array(9), false));
    expect(sizes).toEqual([3, 0, 3]);
    wasi.call('fd_fdstat_set_flags', fd, NONBLOCK);
    expect(receive(wasi, fd, 9)).toBe(no('AGAIN'));
  });
});

describe('what is no socket', () => {
  it('is told apart from what is no descriptor', () => {
    const wasi = new Wasi();
    const calls: [string, (number | bigint)[]][] = [
      ['sock_accept', [0, 0]],
      ['sock_recv', [0, 0, 0, 0, 0]],
      ['sock_send', [0, 0, 0, 0]],
      ['sock_shutdown', [1]],
      ['sock_bind', [0, 0]],
      ['sock_listen', [1]],
      ['sock_connect', [0, 0]],
      ['sock_send_to', [0, 0, 0, 0, 0, 0]],
      ['sock_recv_from', [0, 0, 0, 0, 0, 0, 0]],
      ['sock_getlocaladdr', [0, 0]],
      ['sock_getpeeraddr', [0, 0]],
      ['sock_getsockopt', [0, 0, 0, 4]],
      ['sock_setsockopt', [0, 0, 0, 4]],
    ];
    for (const [name, args] of calls) {
      for (const [fd, errno] of [
        [1, 'NOTSOCK'],
        [3, 'NOTSOCK'],
        [99, 'BADF'],
      ] as const) {
        expect([name, fd, wasi.errno(name, fd, ...args)]).toEqual([name, fd, errno]);
      }
    }
  });

  it('and bad arguments change nothing', () => {
    const { wasi, peer, fd } = connected();
    const edge = wasi.memoryBytes();
    const good = wasi.vectors([0, 4]);
    const rows: [string, string, (number | bigint)[]][] = [
      ['FAULT', 'sock_accept', [fd, 0, edge - 3]],
      ['INVAL', 'sock_accept', [fd, FDFLAG.APPEND, 0]],
      ['INVAL', 'sock_accept', [fd, 0, 64]],
      ['INVAL', 'sock_recv', [fd, good, 1, 4, 64, 68]],
      ['FAULT', 'sock_recv', [fd, good, 1, 0, edge, 68]],
      ['FAULT', 'sock_recv', [fd, good, 1, 0, 64, edge - 1]],
      ['FAULT', 'sock_recv', [fd, edge - 7, 1, 0, 64, 68]],
      ['INVAL', 'sock_send', [fd, good, 1, 1, 64]],
      ['FAULT', 'sock_send', [fd, good, 1, 0, edge - 3]],
      ['FAULT', 'sock_open', [1, 2, edge]],
      ['AFNOSUPPORT', 'sock_open', [2, 2, 64]],
      ['AFNOSUPPORT', 'sock_open', [3, 2, 64]],
      ['INVAL', 'sock_open', [1, 3, 64]],
      ['FAULT', 'sock_bind', [fd, edge - 7, 80]],
      ['FAULT', 'sock_bind', [fd, wasi.vectors([edge - 3, 4]), 80]],
      ['INVAL', 'sock_bind', [fd, wasi.vectors([0, 5]), 80]],
      ['INVAL', 'sock_bind', [fd, wasi.vectors([0, 4]), 65_536]],
      ['INVAL', 'sock_connect', [fd, wasi.vectors([0, 4]), -1]],
      ['ISCONN', 'sock_connect', [fd, address(wasi, 10, 0, 0, 2), 80]],
      ['INVAL', 'sock_getlocaladdr', [fd, wasi.vectors([0, 16]), 64]],
      ['FAULT', 'sock_getlocaladdr', [fd, wasi.vectors([0, 128]), edge]],
    ];
    for (const [errno, name, args] of rows) {
      expect([name, args, wasi.errno(name, ...args)]).toEqual([name, args, errno]);
    }
    expect(peer.pendingConnections(1)).toBe(0);
  });
});

describe('addresses', () => {
  it('come as IPv4, as IPv6 that stands for IPv4, and with a family', () => {
    const mapped = [...new Array<number>(10).fill(0), 255, 255, 127, 0, 0, 1];
    const loopback = [...new Array<number>(15).fill(0), 1];
    const family = (bytes: number[], number: number): number[] => {
      return [number, 0, ...bytes, ...new Array<number>(126 - bytes.length).fill(0)];
    };
    const rows: [number[], string, number[]?][] = [
      [[0, 0, 0, 0], 'SUCCESS', [0, 0, 0, 0]],
      [[127, 0, 0, 1], 'SUCCESS', [127, 0, 0, 1]],
      [mapped, 'SUCCESS', [127, 0, 0, 1]],
      [loopback, 'SUCCESS', [127, 0, 0, 1]],
      [new Array<number>(16).fill(0), 'SUCCESS', [0, 0, 0, 0]],
      [[32, 1, 13, 184, ...new Array<number>(12).fill(1)], 'AFNOSUPPORT'],
      [family([127, 0, 0, 1], 1), 'SUCCESS', [127, 0, 0, 1]],
      [family(loopback, 2), 'SUCCESS', [127, 0, 0, 1]],
      [family([127, 0, 0, 1], 3), 'AFNOSUPPORT'],
      [[9, 9, 9, 9], 'ADDRNOTAVAIL'],
    ];
    for (const [bytes, errno, local] of rows) {
      const wasi = new Wasi();
      const fd = openSocket(wasi, 'tcp');
      expect([bytes, wasi.errno('sock_bind', fd, address(wasi, ...bytes), 80)]).toEqual([
        bytes,
        errno,
      ]);
      if (local === undefined) continue;
      expect(end(wasi, 'sock_getlocaladdr', fd)).toEqual({ family: 1, bytes: local, port: 80 });
    }
  });

  it('are told in the first form with a type', () => {
    const { wasi, fd } = connected();
    for (const name of ['sock_getlocaladdr', 'sock_getpeeraddr']) {
      const row = SOCKET_FUNCTIONS.find(
        (each) => each.name === name && each.parameters.length === 4,
      );
      if (row === undefined) throw new Error('no first form');
      const record = wasi.vectors([128, 16]);
      expect(wasi.make(() => wasi.preview1.bind(row), [fd, record, 160, 164])).toBe(0);
      const last = name === 'sock_getpeeraddr' ? 2 : 1;
      expect([...wasi.data.subarray(128, 132), wasi.u32(160)]).toEqual([10, 0, 0, last, 4]);
      expect(wasi.u32(164)).toBeGreaterThan(0);
    }
  });
});

describe('options', () => {
  const get = (wasi: Wasi, fd: number, level: number, name: number, size = 4): unknown => {
    const [value, length] = [wasi.room(16), wasi.put([16, 0, 0, 0])];
    const errno = wasi.errno('sock_getsockopt', fd, level, name, value, size === 0 ? length : size);
    return errno === 'SUCCESS'
      ? [wasi.u32(value), ...(size === 0 ? [wasi.u32(length)] : [])]
      : errno;
  };
  const set = (wasi: Wasi, fd: number, level: number, name: number, ...words: number[]): string => {
    const bytes = new Uint8Array(Int32Array.from(words).buffer);
    return wasi.errno('sock_setsockopt', fd, level, name, wasi.put(bytes), bytes.length);
  };

  it('are kept, at the levels of WasmEdge, wasi-libc and TCP', () => {
    const wasi = new Wasi();
    const fd = openSocket(wasi, 'tcp');
    const rows: [level: number, name: number, word: number, kept: number][] = [
      [0, 0, 1, 1],
      [0x7fffffff, 0, 0, 0],
      [0, 4, 1, 1],
      [0, 5, 100_000, 100_000],
      [0, 6, 1, 4096],
      [0, 7, 1, 1],
      [6, 1, 1, 1],
      [0, 3, 1, 0],
      [0, 8, 1, 0],
      [0, 10, 9, 1],
    ];
    for (const [level, name, word, kept] of rows) {
      expect([name, set(wasi, fd, level, name, word)]).toEqual([name, 'SUCCESS']);
      expect([name, get(wasi, fd, level, name)]).toEqual([name, [kept]]);
      expect([name, get(wasi, fd, level, name, 0)]).toEqual([name, [kept, 4]]);
    }
    expect(set(wasi, fd, 0, 9, 1, 7)).toBe('SUCCESS');
    expect(get(wasi, fd, 0, 9, 8)).toEqual([1]);
    expect(get(wasi, fd, 0, 9, 4)).toBe('INVAL');
    expect(set(wasi, fd, 0, 9, 1)).toBe('INVAL');
    expect(set(wasi, fd, 0, 12, 2, 0, 500_000, 0)).toBe('SUCCESS');
    expect(get(wasi, fd, 0, 12, 16)).toEqual([2]);
    expect(set(wasi, fd, 0, 12, 2)).toBe('INVAL');
    expect(set(wasi, fd, 0, 12, -1, -1, 0, 0)).toBe('DOM');
  });

  it('that only tell cannot be set; others do not exist', () => {
    const wasi = new Wasi();
    const tcp = openSocket(wasi, 'tcp');
    expect(get(wasi, tcp, 0, 1)).toEqual([2]);
    expect(get(wasi, openSocket(wasi, 'udp'), 0, 1)).toEqual([1]);
    expect(get(wasi, tcp, 0, 13)).toEqual([0]);
    bind(wasi, tcp, 80);
    wasi.call('sock_listen', tcp, 1);
    expect(get(wasi, tcp, 0, 13)).toEqual([1]);
    for (const name of [1, 2, 13, 14, 99, -1])
      expect(set(wasi, tcp, 0, name, 1)).toBe('NOPROTOOPT');
    for (const name of [14, 99, -1]) expect(get(wasi, tcp, 0, name)).toBe('NOPROTOOPT');
    expect(get(wasi, tcp, 1, 0)).toBe('NOPROTOOPT');
    expect(set(wasi, tcp, 1, 0, 1)).toBe('NOPROTOOPT');
    expect(get(wasi, tcp, 6, 2)).toBe('NOPROTOOPT');
    const edge = wasi.memoryBytes();
    expect(wasi.errno('sock_getsockopt', tcp, 0, 1, edge - 3, 4)).toBe('FAULT');
    expect(wasi.errno('sock_getsockopt', tcp, 0, 1, 0, edge - 3)).toBe('FAULT');
    expect(wasi.errno('sock_setsockopt', tcp, 0, 0, edge - 3, 4)).toBe('FAULT');
    expect(wasi.errno('sock_setsockopt', tcp, 0, 0, 0, 3)).toBe('INVAL');
  });
});

describe('sock_getaddrinfo', () => {
  interface Asked {
    readonly node?: string;
    readonly service?: string;
    readonly family?: number;
    readonly type?: number;
    readonly flags?: number;
    readonly countMax?: number;
    readonly self?: boolean;
  }

  /** A chain of records at 1000, 1100, …, each with its buffers. */
  const ask = (wasi: Wasi, asked: Asked): unknown => {
    const { node = '', service = '', countMax = 3, family = 0, type = 2, flags = 0 } = asked;
    const view = wasi.memory();
    wasi.data.fill(0, 900, 1400);
    view.setUint16(900, flags, true);
    view.setUint8(902, family);
    view.setUint8(903, type);
    for (let index = 0; index < 3; index++) {
      const at = 1000 + 100 * index;
      view.setUint32(at + 12, at + 28, true);
      view.setUint32(at + 24, asked.self === true ? at : index < 2 ? at + 100 : 0, true);
      view.setUint32(at + 28 + 4, 26, true);
      view.setUint32(at + 28 + 8, at + 40, true);
    }
    wasi.touched(900, 500);
    const first = wasi.put([1000 & 255, 1000 >> 8, 0, 0]);
    const [name, port, count] = [wasi.put(node), wasi.put(service), wasi.room(4)];
    const args = [name, node.length, port, service.length, 900, first, countMax, count] as const;
    const errno = wasi.errno('sock_getaddrinfo', ...args);
    if (errno !== 'SUCCESS') return errno;
    return Array.from({ length: wasi.u32(count) }, (_, index) => {
      const at = 1000 + 100 * index;
      const native = [...wasi.data.subarray(at + 40, at + 46)];
      const kinds = [...wasi.data.subarray(at + 2, at + 5), wasi.data[at + 28], wasi.u32(at + 32)];
      return [kinds.join(' '), native.join(' ')];
    });
  };

  const tcp = '1 2 1 1 14';
  const rows: [string, Asked, unknown][] = [
    ['a node', { node: 'peer', service: '80' }, [[tcp, '0 80 10 0 0 2']]],
    ['zeros that are counted', { node: 'peer\0', service: '8080\0' }, [[tcp, '31 144 10 0 0 2']]],
    [
      'a datagram service',
      { node: 'peer', service: 'domain', type: 1 },
      [['1 1 2 1 14', '0 53 10 0 0 2']],
    ],
    ['no service', { node: 'peer' }, [[tcp, '0 0 10 0 0 2']]],
    ['the node itself', { node: 'lone' }, [[tcp, '0 0 10 0 0 1']]],
    ['no node', { service: '80' }, [[tcp, '0 80 127 0 0 1']]],
    ['no node, to listen', { service: '80', flags: 1 }, [[tcp, '0 80 0 0 0 0']]],
    ['nothing', {}, 'AINONAME'],
    ['an unknown node', { node: 'nobody' }, 'AINONAME'],
    ['an unknown service', { node: 'peer', service: 'gopher' }, 'AISERVICE'],
    ['a service out of range', { node: 'peer', service: '65536' }, 'AISERVICE'],
    ['IPv6', { node: 'peer', family: 2 }, 'AIFAMILY'],
    ['no room for results', { node: 'peer', countMax: 0 }, []],
    ['a record that follows itself', { node: 'peer', self: true }, [[tcp, '0 0 10 0 0 2']]],
  ];
  for (const [name, asked, expected] of rows) {
    it(`answers for ${name}`, () => {
      expect(ask(new Wasi({ peers: ['peer'] }), asked)).toEqual(expected);
    });
  }

  it('writes nothing outside of the memory', () => {
    const wasi = new Wasi({ peers: ['peer'] });
    const edge = wasi.memoryBytes();
    const name = wasi.put('peer');
    const call = (...args: number[]): string => wasi.errno('sock_getaddrinfo', ...args);
    const pointer = wasi.put(Uint8Array.of(0xf0, 0xff, 0xff, 0xff));
    expect(call(edge - 3, 4, 0, 0, 0, 64, 1, 68)).toBe('FAULT');
    expect(call(name, 4, edge, 1, 0, 64, 1, 68)).toBe('FAULT');
    expect(call(name, 4, 0, 0, edge - 27, 64, 1, 68)).toBe('FAULT');
    expect(call(name, 4, 0, 0, 0, edge - 3, 1, 68)).toBe('FAULT');
    expect(call(name, 4, 0, 0, 0, 64, 1, edge - 3)).toBe('FAULT');
    expect(call(name, 4, 0, 0, 0, pointer, 1, 68)).toBe('FAULT');
  });
});

describe('names of the second version', () => {
  it('do what the plain names do', () => {
    const wasi = new Wasi();
    const result = wasi.room(4);
    expect(wasi.errno('sock_open_v2', 1, 2, result)).toBe('SUCCESS');
    const fd = wasi.u32(result);
    expect(wasi.errno('sock_bind_v2', fd, address(wasi, 0, 0, 0, 0), 80)).toBe('SUCCESS');
    expect(wasi.errno('sock_listen_v2', fd, 1)).toBe('SUCCESS');
    expect(shown(end(wasi, 'sock_getlocaladdr_v2', fd))).toMatchObject({ port: 80 });
    wasi.call('fd_fdstat_set_flags', fd, NONBLOCK);
    expect(wasi.errno('sock_accept_v2', fd, 0, result)).toBe('AGAIN');
  });
});
