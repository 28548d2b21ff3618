import { describe, expect, it } from 'vitest';
import {
  DROP,
  ERRNO,
  EPHEMERAL_PORT_MIN,
  LOOPBACK_ADDRESS,
  nodeAddress,
  NS_PER_MS,
  NS_PER_S,
  READINESS,
  SOCKETS_MAX,
  type SocketStack,
} from '../../sim/index.ts';
import { link, mesh, NetLoop } from '../support/net-loop.ts';

const { READABLE, WRITABLE, HANGUP, ERROR } = READINESS;
const B = nodeAddress(1);

function pair(seed = 1): NetLoop {
  return new NetLoop({ nodes: ['a', 'b'], links: mesh(2), seed });
}

function listener(stack: SocketStack, port: number, backlog = 8): number {
  const id = stack.open('tcp');
  expect(stack.bind(id, 0, port)).toBe(0);
  expect(stack.listen(id, backlog)).toBe(0);
  return id;
}

/** A connection from a to port 80 of b: both ends. */
function connected(loop: NetLoop): { client: number; server: number; listening: number } {
  const listening = listener(loop.stack(1), 80);
  const client = loop.stack(0).open('tcp');
  expect(loop.stack(0).connect(client, B, 80)).toBe(-ERRNO.INPROGRESS);
  loop.run(loop.nowNs + 10 * NS_PER_MS);
  expect(loop.stack(0).connectResult(client)).toBe(0);
  const server = loop.stack(1).accept(listening);
  expect(server).toBeGreaterThan(0);
  return { client, server, listening };
}

describe('connecting', () => {
  it('takes three packets and two trips until both ends are ready', () => {
    const loop = pair();
    const listening = listener(loop.stack(1), 80);
    const client = loop.stack(0).open('tcp');
    loop.stack(0).connect(client, B, 80);
    expect(loop.stack(0).readiness(client)).toBe(0);
    loop.run(2 * NS_PER_MS);
    expect(loop.stack(0).connectResult(client)).toBe(0);
    expect(loop.stack(0).readiness(client)).toBe(WRITABLE);
    expect(loop.stack(1).readiness(listening)).toBe(0);
    loop.run(3 * NS_PER_MS);
    expect(loop.stack(1).readiness(listening)).toBe(READABLE);
    expect(loop.stack(1).pendingConnections(listening)).toBe(1);
    expect(loop.allEvents().filter(({ kind }) => kind === 'net/send')).toHaveLength(3);
  });

  it('knows both ends by address and port', () => {
    const loop = pair();
    const { client, server } = connected(loop);
    const local = { address: nodeAddress(0), port: EPHEMERAL_PORT_MIN };
    const remote = { address: B, port: 80 };
    expect(loop.stack(0).localAddress(client)).toEqual(local);
    expect(loop.stack(0).peerAddress(client)).toEqual(remote);
    expect(loop.stack(1).localAddress(server)).toEqual(remote);
    expect(loop.stack(1).peerAddress(server)).toEqual(local);
  });

  it.each([
    ['nobody listens', B, 81, -ERRNO.CONNREFUSED, 2 * NS_PER_MS],
    ['nobody listens on this very node', LOOPBACK_ADDRESS, 81, -ERRNO.CONNREFUSED, 20_000],
  ])('is refused where %s', (_, address, port, result, atNs) => {
    const loop = pair();
    const id = loop.stack(0).open('tcp');
    expect(loop.stack(0).connect(id, address, port)).toBe(-ERRNO.INPROGRESS);
    loop.run();
    expect(loop.stack(0).connectResult(id)).toBe(result);
    expect(loop.allEvents().at(-1)?.atNs).toBe(atNs);
    expect(loop.stack(0).readiness(id) & (ERROR | WRITABLE | READABLE)).not.toBe(0);
  });

  it.each([
    ['an address that nobody has', 0x0a00_0009, 80, -ERRNO.HOSTUNREACH],
    ['an address outside the world', 0xc0a8_0001, 80, -ERRNO.HOSTUNREACH],
    ['a node without a link', nodeAddress(2), 80, -ERRNO.HOSTUNREACH],
    ['port 0', B, 0, -ERRNO.CONNREFUSED],
  ])('fails at once for %s', (_, address, port, result) => {
    const loop = new NetLoop({ nodes: ['a', 'b', 'c'], links: mesh(2) });
    const id = loop.stack(0).open('tcp');
    expect(loop.stack(0).connect(id, address, port)).toBe(result);
    expect(loop.queue.length).toBe(0);
  });

  it('times out after 127 s and seven SYNs when nobody answers', () => {
    const loop = pair();
    loop.network.setUp(1, false);
    const id = loop.stack(0).open('tcp');
    loop.stack(0).connect(id, B, 80);
    loop.run(127 * NS_PER_S - 1);
    expect(loop.stack(0).connectResult(id)).toBe(-ERRNO.INPROGRESS);
    loop.run(127 * NS_PER_S);
    expect(loop.stack(0).connectResult(id)).toBe(-ERRNO.TIMEDOUT);
    const sent = loop.allEvents().filter(({ kind }) => kind === 'net/send');
    expect(sent.map(({ atNs }) => atNs / NS_PER_S)).toEqual([0, 1, 3, 7, 15, 31, 63]);
  });

  it('succeeds late when the first SYNs are lost', () => {
    const loop = pair();
    const listening = listener(loop.stack(1), 80);
    loop.network.cut([[0, 1]]);
    const id = loop.stack(0).open('tcp');
    loop.stack(0).connect(id, B, 80);
    loop.run(2 * NS_PER_S);
    loop.network.heal();
    loop.run(3 * NS_PER_S + 3 * NS_PER_MS);
    expect(loop.stack(0).connectResult(id)).toBe(0);
    expect(loop.stack(1).pendingConnections(listening)).toBe(1);
  });

  it('can be tried again on a socket that was refused', () => {
    const loop = pair();
    const id = loop.stack(0).open('tcp');
    loop.stack(0).connect(id, B, 80);
    loop.run(10 * NS_PER_MS);
    expect(loop.stack(0).connectResult(id)).toBe(-ERRNO.CONNREFUSED);
    listener(loop.stack(1), 80);
    expect(loop.stack(0).connect(id, B, 80)).toBe(-ERRNO.INPROGRESS);
    expect(loop.stack(0).connect(id, B, 80)).toBe(-ERRNO.ALREADY);
    loop.run(20 * NS_PER_MS);
    expect(loop.stack(0).connectResult(id)).toBe(0);
    expect(loop.stack(0).connect(id, B, 80)).toBe(-ERRNO.ISCONN);
  });

  it('works on the loopback, by either of the own addresses', () => {
    const loop = pair();
    const listening = listener(loop.stack(0), 80);
    const [one, two, three] = [LOOPBACK_ADDRESS, nodeAddress(0), 0].map((address) => {
      const id = loop.stack(0).open('tcp');
      expect(loop.stack(0).connect(id, address, 80)).toBe(-ERRNO.INPROGRESS);
      return id;
    }) as [number, number, number];
    loop.run(NS_PER_MS);
    expect(loop.stack(0).pendingConnections(listening)).toBe(3);
    expect(loop.stack(0).localAddress(one)).toMatchObject({ address: LOOPBACK_ADDRESS });
    expect(loop.stack(0).localAddress(two)).toMatchObject({ address: nodeAddress(0) });
    expect(loop.stack(0).peerAddress(three)).toEqual({ address: LOOPBACK_ADDRESS, port: 80 });
  });

  it('opens from both ends at once', () => {
    const loop = pair();
    const ids = [0, 1].map((node) => {
      const id = loop.stack(node).open('tcp');
      expect(loop.stack(node).bind(id, 0, 7_000 + node)).toBe(0);
      return id;
    }) as [number, number];
    loop.stack(0).connect(ids[0], B, 7_001);
    loop.stack(1).connect(ids[1], nodeAddress(0), 7_000);
    loop.run(NS_PER_S);
    expect(loop.stack(0).connectResult(ids[0])).toBe(0);
    expect(loop.stack(1).connectResult(ids[1])).toBe(0);
    expect(loop.stack(0).send(ids[0], Uint8Array.of(1, 2, 3))).toBe(3);
    loop.run(2 * NS_PER_S);
    expect(loop.stack(1).readableBytes(ids[1])).toBe(3);
  });

  it('drops SYNs beyond the backlog, which come again', () => {
    const loop = pair();
    const listening = listener(loop.stack(1), 80, 2);
    const ids = Array.from({ length: 5 }, () => loop.stack(0).open('tcp'));
    for (const id of ids) loop.stack(0).connect(id, B, 80);
    loop.run(500 * NS_PER_MS);
    expect(loop.stack(1).pendingConnections(listening)).toBe(2);
    const taken: number[] = [];
    while (taken.length < 5) {
      const id = loop.stack(1).accept(listening);
      if (id > 0) taken.push(id);
      else expect(loop.step()).toBe(true);
    }
    loop.run(loop.nowNs + NS_PER_S);
    expect(ids.map((id) => loop.stack(0).connectResult(id))).toEqual([0, 0, 0, 0, 0]);
  });
});

describe('binding', () => {
  interface Case {
    readonly title: string;
    readonly kind: 'tcp' | 'udp';
    readonly first: readonly [address: number, port: number];
    readonly second: readonly [address: number, port: number];
    readonly reuse?: boolean;
    readonly listens?: boolean;
    readonly result: number;
  }
  const A = nodeAddress(0);
  const cases: readonly Case[] = [
    { title: 'equal ends', kind: 'tcp', first: [A, 9], second: [A, 9], result: -ERRNO.ADDRINUSE },
    { title: 'any and one', kind: 'tcp', first: [0, 9], second: [A, 9], result: -ERRNO.ADDRINUSE },
    { title: 'one and any', kind: 'tcp', first: [A, 9], second: [0, 9], result: -ERRNO.ADDRINUSE },
    {
      title: 'two addresses',
      kind: 'tcp',
      first: [A, 9],
      second: [LOOPBACK_ADDRESS, 9],
      result: 0,
    },
    { title: 'two ports', kind: 'tcp', first: [A, 9], second: [A, 10], result: 0 },
    { title: 'equal, reused', kind: 'tcp', first: [0, 9], second: [0, 9], reuse: true, result: 0 },
    {
      title: 'equal, reused, but one listens',
      kind: 'tcp',
      first: [0, 9],
      second: [0, 9],
      reuse: true,
      listens: true,
      result: -ERRNO.ADDRINUSE,
    },
    { title: 'equal ends', kind: 'udp', first: [A, 9], second: [A, 9], result: -ERRNO.ADDRINUSE },
    { title: 'any and one', kind: 'udp', first: [0, 9], second: [A, 9], result: -ERRNO.ADDRINUSE },
    { title: 'equal, reused', kind: 'udp', first: [0, 9], second: [0, 9], reuse: true, result: 0 },
    {
      title: "another node's address",
      kind: 'udp',
      first: [A, 9],
      second: [B, 9],
      result: -ERRNO.ADDRNOTAVAIL,
    },
    {
      title: "another node's address",
      kind: 'tcp',
      first: [A, 9],
      second: [B, 9],
      result: -ERRNO.ADDRNOTAVAIL,
    },
  ];

  it.each(cases)('$kind, $title', ({ kind, first, second, reuse, listens, result }) => {
    const stack = pair().stack(0);
    const [one, two] = [stack.open(kind), stack.open(kind)];
    if (reuse === true) for (const id of [one, two]) stack.setOption(id, 'reuse-address', 1);
    expect(stack.bind(one, ...first)).toBe(0);
    if (listens === true) stack.listen(one, 1);
    expect(stack.bind(two, ...second)).toBe(result);
    expect(stack.bind(one, ...first)).toBe(-ERRNO.INVAL);
  });

  it('gives TCP and UDP ports of their own', () => {
    const stack = pair().stack(0);
    const [tcp, udp] = [stack.open('tcp'), stack.open('udp')];
    expect([stack.bind(tcp, 0, 53), stack.bind(udp, 0, 53)]).toEqual([0, 0]);
  });

  it('hands out ephemeral ports in order and skips those in use', () => {
    const stack = pair().stack(0);
    const taken = stack.open('tcp');
    stack.bind(taken, 0, EPHEMERAL_PORT_MIN + 1);
    const ports = [0, 0, 0].map(() => {
      const id = stack.open('tcp');
      stack.bind(id, 0, 0);
      const end = stack.localAddress(id);
      return typeof end === 'number' ? end : end.port - EPHEMERAL_PORT_MIN;
    });
    expect(ports).toEqual([0, 2, 3]);
  });

  it('frees a port when its last socket is closed', () => {
    const stack = pair().stack(0);
    const one = stack.open('tcp');
    stack.bind(one, 0, 80);
    stack.listen(one, 1);
    stack.close(one);
    expect(stack.bind(stack.open('tcp'), 0, 80)).toBe(0);
  });

  it('refuses a port with connections in TIME-WAIT, for a minute, unless it is reused', () => {
    const loop = pair();
    const { client, server, listening } = connected(loop);
    loop.stack(1).close(server);
    loop.stack(1).close(listening);
    loop.run(loop.nowNs + 10 * NS_PER_MS);
    loop.stack(0).close(client);
    loop.run(loop.nowNs + NS_PER_S);
    const stack = loop.stack(1);
    expect(stack.bind(stack.open('tcp'), 0, 80)).toBe(-ERRNO.ADDRINUSE);
    const reusing = stack.open('tcp');
    stack.setOption(reusing, 'reuse-address', 1);
    expect(stack.bind(reusing, 0, 80)).toBe(0);
    stack.close(reusing);
    loop.run(loop.nowNs + 60 * NS_PER_S);
    expect(stack.bind(stack.open('tcp'), 0, 80)).toBe(0);
  });
});

describe('calls in the wrong state', () => {
  it('a socket that does not exist', () => {
    const stack = pair().stack(0);
    const buffer = new Uint8Array(1);
    const results = [
      stack.bind(9, 0, 0),
      stack.listen(9, 1),
      stack.connect(9, B, 80),
      stack.connectResult(9),
      stack.accept(9),
      stack.send(9, buffer),
      stack.receive(9, buffer, false),
      stack.sendTo(9, buffer, B, 80),
      stack.receiveFrom(9, buffer, false),
      stack.shutdown(9, 'both'),
      stack.localAddress(9),
      stack.peerAddress(9),
      stack.readableBytes(9),
      stack.pendingConnections(9),
      stack.setOption(9, 'linger', 1),
      stack.option(9, 'linger'),
    ];
    expect(results).toEqual(results.map(() => -ERRNO.BADF));
    expect(stack.readiness(9)).toBe(READABLE | WRITABLE | ERROR);
    expect(stack.isReady([{ socket: 9, readiness: 'read' }])).toBe(true);
    stack.close(9);
  });

  it('a new, a listening, a connecting socket', () => {
    const loop = pair();
    const stack = loop.stack(0);
    const buffer = new Uint8Array(1);
    const fresh = stack.open('tcp');
    expect(stack.send(fresh, buffer)).toBe(-ERRNO.NOTCONN);
    expect(stack.receive(fresh, buffer, false)).toBe(-ERRNO.NOTCONN);
    expect(stack.accept(fresh)).toBe(-ERRNO.INVAL);
    expect(stack.shutdown(fresh, 'write')).toBe(-ERRNO.NOTCONN);
    expect(stack.peerAddress(fresh)).toBe(-ERRNO.NOTCONN);
    expect(stack.connectResult(fresh)).toBe(-ERRNO.NOTCONN);
    expect(stack.localAddress(fresh)).toEqual({ address: 0, port: 0 });
    expect(stack.readiness(fresh)).toBe(WRITABLE | HANGUP);
    const listening = listener(stack, 80);
    expect(stack.accept(listening)).toBe(-ERRNO.AGAIN);
    expect(stack.connect(listening, B, 80)).toBe(-ERRNO.INVAL);
    expect(stack.send(listening, buffer)).toBe(-ERRNO.NOTCONN);
    const connecting = stack.open('tcp');
    stack.connect(connecting, B, 80);
    expect(stack.send(connecting, buffer)).toBe(-ERRNO.AGAIN);
    expect(stack.receive(connecting, buffer, false)).toBe(-ERRNO.AGAIN);
    expect(stack.listen(connecting, 1)).toBe(-ERRNO.INVAL);
  });

  it('TCP calls on UDP sockets', () => {
    const stack = pair().stack(0);
    const id = stack.open('udp');
    expect(stack.listen(id, 1)).toBe(-ERRNO.NOTSUP);
    expect(stack.accept(id)).toBe(-ERRNO.NOTSUP);
    expect(stack.connectResult(id)).toBe(-ERRNO.NOTSUP);
    expect(stack.pendingConnections(id)).toBe(-ERRNO.NOTSUP);
  });
});

describe('limits', () => {
  it('a node has a bounded number of sockets', () => {
    const stack = pair().stack(0);
    for (let count = 0; count < SOCKETS_MAX; count++) expect(stack.open('udp')).toBe(count + 1);
    expect(stack.open('udp')).toBe(-ERRNO.MFILE);
    expect(stack.open('tcp')).toBe(-ERRNO.MFILE);
    stack.close(1);
    expect(stack.open('tcp')).toBe(SOCKETS_MAX + 1);
  });

  it('a node that has all its sockets accepts nothing until one is closed', () => {
    const loop = pair();
    const stack = loop.stack(1);
    const listening = listener(stack, 80);
    const last = Array.from({ length: SOCKETS_MAX - 1 }, () => stack.open('udp')).at(-1) ?? 0;
    const id = loop.stack(0).open('tcp');
    loop.stack(0).connect(id, B, 80);
    loop.run(500 * NS_PER_MS);
    expect(loop.allEvents().at(-1)).toMatchObject({ kind: 'net/drop', result: DROP.BACKLOG });
    stack.close(last);
    loop.run(2 * NS_PER_S);
    expect(stack.pendingConnections(listening)).toBe(1);
  });
});

describe('options', () => {
  it.each([
    ['no-delay', 0, 1, 1],
    ['keep-alive', 0, 7, 1],
    ['receive-buffer', 131_072, 1, 4_096],
    ['send-buffer', 131_072, 1e12, 4_194_304],
    ['linger', 0, 1, 1],
    ['linger-seconds', 0, 5, 5],
    ['receive-timeout', 0, NS_PER_S, NS_PER_S],
    ['hop-limit', 64, 0, 1],
  ])('%s is %d at first; set to %d it becomes %d', (name, initial, value, result) => {
    const stack = pair().stack(0);
    for (const id of [stack.open('tcp'), stack.open('udp')]) {
      expect(stack.option(id, name)).toBe(initial);
      expect(stack.setOption(id, name, value)).toBe(0);
      expect(stack.option(id, name)).toBe(result);
    }
  });

  it('others are refused, special ones can only be read', () => {
    const loop = pair();
    const stack = loop.stack(0);
    const [tcp, udp] = [stack.open('tcp'), stack.open('udp')];
    expect(stack.setOption(tcp, 'colour', 1)).toBe(-ERRNO.NOPROTOOPT);
    expect(stack.setOption(tcp, 'toString', 1)).toBe(-ERRNO.NOPROTOOPT);
    expect(stack.option(tcp, 'toString')).toBe(-ERRNO.NOPROTOOPT);
    expect(stack.setOption(tcp, 'linger', 0.5)).toBe(-ERRNO.INVAL);
    expect(stack.setOption(tcp, 'type', 1)).toBe(-ERRNO.NOPROTOOPT);
    expect([stack.option(tcp, 'type'), stack.option(udp, 'type')]).toEqual([1, 2]);
    expect(stack.option(tcp, 'listening')).toBe(0);
    stack.listen(tcp, 1);
    expect(stack.option(tcp, 'listening')).toBe(1);
    const refused = stack.open('tcp');
    stack.connect(refused, B, 80);
    loop.run(10 * NS_PER_MS);
    expect(stack.option(refused, 'error')).toBe(ERRNO.CONNREFUSED);
    expect(stack.option(refused, 'error')).toBe(0);
  });

  it('an accepted socket has those of its listener', () => {
    const loop = pair();
    const listening = listener(loop.stack(1), 80);
    loop.stack(1).setOption(listening, 'no-delay', 1);
    const client = loop.stack(0).open('tcp');
    loop.stack(0).connect(client, B, 80);
    loop.run(10 * NS_PER_MS);
    expect(loop.stack(1).option(loop.stack(1).accept(listening), 'no-delay')).toBe(1);
  });
});

describe('names', () => {
  const aliases = new Map([
    ['service', [1, 0]],
    ['b', [0]],
  ]);
  it.each([
    ['a', [nodeAddress(0)]],
    ['b', [nodeAddress(1)]],
    ['service', [nodeAddress(1), nodeAddress(0)]],
    ['localhost', [LOOPBACK_ADDRESS]],
    ['10.0.0.2', [nodeAddress(1)]],
    ['255.255.255.255', [0xffff_ffff]],
    ['0.0.0.0', [0]],
    ['256.0.0.1', []],
    ['10.0.0.02', []],
    ['A', []],
    ['', []],
    ['constructor', []],
  ])('%s', (name, addresses) => {
    const loop = new NetLoop({ nodes: ['a', 'b'], links: [link(0, 1)], aliases });
    expect(loop.stack(0).resolve(name)).toEqual(addresses);
  });
});
