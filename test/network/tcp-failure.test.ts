import { describe, expect, it } from 'vitest';
import { ERRNO, nodeAddress, NS_PER_MS, NS_PER_S, READINESS } from '../../sim/index.ts';
import { mesh, NetLoop } from '../support/net-loop.ts';
import { EchoServer, TransferClient } from '../support/net-programs.ts';

const A = nodeAddress(0);
const B = nodeAddress(1);
const BYTES = new Uint8Array(100);

interface Ends {
  readonly loop: NetLoop;
  readonly client: number;
  readonly server: number;
  readonly listening: number;
}

/** Node a is connected from port 7000 to port 80 of node b, at 10 ms. */
function connected(): Ends {
  const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2) });
  const listening = listen(loop);
  const client = connect(loop);
  loop.run(10 * NS_PER_MS);
  return { loop, client, server: loop.stack(1).accept(listening), listening };
}

function listen(loop: NetLoop): number {
  const id = loop.stack(1).open('tcp');
  loop.stack(1).setOption(id, 'reuse-address', 1);
  expect(loop.stack(1).bind(id, 0, 80)).toBe(0);
  expect(loop.stack(1).listen(id, 8)).toBe(0);
  return id;
}

function connect(loop: NetLoop): number {
  const id = loop.stack(0).open('tcp');
  loop.stack(0).setOption(id, 'reuse-address', 1);
  expect(loop.stack(0).bind(id, A, 7_000)).toBe(0);
  expect(loop.stack(0).connect(id, B, 80)).toBe(-ERRNO.INPROGRESS);
  return id;
}

function crash(loop: NetLoop, node: number): void {
  loop.network.setUp(node, false);
}

function restart(loop: NetLoop, node: number): void {
  loop.network.setUp(node, true);
}

describe('a crashed peer', () => {
  it('is noticed by nobody who does not send', () => {
    const { loop, client } = connected();
    crash(loop, 1);
    loop.run(100_000 * NS_PER_S);
    expect(loop.stack(0).receive(client, BYTES, false)).toBe(-ERRNO.AGAIN);
    expect(loop.queue.length).toBe(0);
  });

  it('makes who sends time out, after fifteen repeats', () => {
    const { loop, client } = connected();
    crash(loop, 1);
    const before = loop.allEvents().length;
    expect(loop.stack(0).send(client, BYTES)).toBe(100);
    loop.run();
    const sends = loop
      .allEvents()
      .slice(before)
      .filter(({ kind }) => kind === 'net/send');
    expect(sends).toHaveLength(16);
    expect(Math.round(loop.nowNs / NS_PER_S)).toBe(925);
    expect(loop.stack(0).readiness(client) & READINESS.ERROR).toBe(READINESS.ERROR);
    expect(loop.stack(0).receive(client, BYTES.slice(), false)).toBe(-ERRNO.TIMEDOUT);
    expect(loop.stack(0).receive(client, BYTES.slice(), false)).toBe(0);
    expect(loop.stack(0).send(client, BYTES)).toBe(-ERRNO.PIPE);
  });

  it('resets the connection once it runs again', () => {
    const { loop, client } = connected();
    crash(loop, 1);
    loop.stack(0).send(client, BYTES);
    loop.run(500 * NS_PER_MS);
    restart(loop, 1);
    loop.run(2 * NS_PER_S);
    expect(loop.stack(0).receive(client, BYTES.slice(), false)).toBe(-ERRNO.CONNRESET);
  });

  it('loses what is in flight to it, and takes what arrives after its restart as news', () => {
    const { loop } = connected();
    loop.stack(0).send(connectFrom(loop, 7_001), BYTES);
    crash(loop, 1);
    loop.run(loop.nowNs + 10 * NS_PER_MS);
    restart(loop, 1);
    listen(loop);
    loop.run(loop.nowNs + 2 * NS_PER_S);
    expect(loop.stack(1).pendingConnections(lastId(loop, 1))).toBe(1);
  });

  it('that connects anew from the same port resets what was left, and gets through', () => {
    const { loop, server, listening } = connected();
    crash(loop, 0);
    restart(loop, 0);
    const client = connect(loop);
    loop.run(20 * NS_PER_MS);
    expect(loop.stack(1).receive(server, BYTES.slice(), false)).toBe(-ERRNO.CONNRESET);
    loop.run(2 * NS_PER_S);
    expect(loop.stack(0).connectResult(client)).toBe(0);
    expect(loop.stack(1).pendingConnections(listening)).toBe(1);
  });

  it('never sees a timer of its life before', () => {
    const { loop, client } = connected();
    loop.network.cut([[0, 1]]);
    loop.stack(0).send(client, BYTES);
    crash(loop, 0);
    restart(loop, 0);
    const before = loop.allEvents().length;
    expect(loop.queue.length).toBeGreaterThan(0);
    loop.run();
    expect(loop.allEvents()).toHaveLength(before);
  });
});

function connectFrom(loop: NetLoop, port: number): number {
  const id = loop.stack(0).open('tcp');
  loop.stack(0).bind(id, 0, port);
  loop.stack(0).connect(id, B, 80);
  return id;
}

/** The newest socket of a node. */
function lastId(loop: NetLoop, node: number): number {
  const next = loop.stack(node).open('udp');
  loop.stack(node).close(next);
  for (let id = next - 1; id > 0; id--) {
    if (loop.stack(node).option(id, 'listening') === 1) return id;
  }
  return 0;
}

describe('resets', () => {
  it('closing with unread bytes resets the peer', () => {
    const { loop, client, server } = connected();
    loop.stack(0).send(client, BYTES);
    loop.run(20 * NS_PER_MS);
    loop.stack(1).close(server);
    loop.run(30 * NS_PER_MS);
    expect(loop.stack(0).receive(client, BYTES.slice(), false)).toBe(-ERRNO.CONNRESET);
  });

  it('closing with a linger time of 0 resets the peer', () => {
    const { loop, client, server } = connected();
    loop.stack(1).setOption(server, 'linger', 1);
    loop.stack(1).close(server);
    loop.run(30 * NS_PER_MS);
    expect(loop.stack(0).receive(client, BYTES.slice(), false)).toBe(-ERRNO.CONNRESET);
  });

  it('sending to a peer that has closed works once, then fails', () => {
    const { loop, client, server } = connected();
    loop.stack(1).close(server);
    loop.run(20 * NS_PER_MS);
    expect(loop.stack(0).receive(client, BYTES.slice(), false)).toBe(0);
    expect(loop.stack(0).send(client, BYTES)).toBe(100);
    loop.run(30 * NS_PER_MS);
    expect(loop.stack(0).send(client, BYTES)).toBe(-ERRNO.CONNRESET);
    expect(loop.stack(0).send(client, BYTES)).toBe(-ERRNO.PIPE);
  });

  it('bytes that came before a reset can still be read', () => {
    const { loop, client, server } = connected();
    loop.stack(1).send(server, BYTES);
    loop.run(20 * NS_PER_MS);
    loop.stack(1).setOption(server, 'linger', 1);
    loop.stack(1).close(server);
    loop.run(30 * NS_PER_MS);
    expect(loop.stack(0).receive(client, BYTES.slice(), false)).toBe(100);
    expect(loop.stack(0).receive(client, BYTES.slice(), false)).toBe(-ERRNO.CONNRESET);
  });

  it('a listener that closes resets who waits', () => {
    const { loop, listening } = connected();
    const waiting = connectFrom(loop, 7_001);
    loop.run(20 * NS_PER_MS);
    const halfOpen = connectFrom(loop, 7_002);
    loop.run(loop.nowNs + NS_PER_MS);
    loop.stack(1).close(listening);
    loop.run(40 * NS_PER_MS);
    expect(loop.stack(0).receive(waiting, BYTES.slice(), false)).toBe(-ERRNO.CONNRESET);
    expect(loop.stack(0).send(halfOpen, BYTES)).toBe(-ERRNO.CONNRESET);
    expect(loop.stack(1).accept(listening)).toBe(-ERRNO.BADF);
  });

  it('a connection that is reset before it is accepted is accepted and then fails', () => {
    const { loop, listening } = connected();
    const waiting = connectFrom(loop, 7_001);
    loop.run(20 * NS_PER_MS);
    loop.stack(0).setOption(waiting, 'linger', 1);
    loop.stack(0).close(waiting);
    loop.run(30 * NS_PER_MS);
    const server = loop.stack(1).accept(listening);
    expect(loop.stack(1).receive(server, BYTES.slice(), false)).toBe(-ERRNO.CONNRESET);
  });

  it('the end of a program closes all its sockets', () => {
    const { loop, client } = connected();
    loop.stack(1).closeAll(loop.nowNs);
    loop.run(20 * NS_PER_MS);
    expect(loop.stack(0).receive(client, BYTES.slice(), false)).toBe(0);
    expect(loop.stack(0).connect(connectFrom(loop, 7_001), B, 80)).toBe(-ERRNO.ALREADY);
    loop.run(30 * NS_PER_MS);
    expect(loop.stack(0).connectResult(lastTcp(loop))).toBe(-ERRNO.CONNREFUSED);
  });
});

function lastTcp(loop: NetLoop): number {
  const next = loop.stack(0).open('tcp');
  loop.stack(0).close(next);
  return next - 1;
}

describe('after the end', () => {
  it('a closed connection whose peer is gone is given up, and costs nothing more', () => {
    const { loop, client } = connected();
    crash(loop, 1);
    loop.stack(0).send(client, BYTES);
    loop.stack(0).close(client);
    loop.run();
    expect(loop.nowNs / NS_PER_S).toBeLessThan(120);
    expect(capturedSockets(loop)).toBe(0);
  });

  it('a peer that never closes is forgotten after a minute, without an event', () => {
    const { loop, client } = connected();
    loop.stack(0).close(client);
    loop.run();
    expect(loop.nowNs / NS_PER_S).toBeLessThan(2);
    expect(capturedSockets(loop)).toBe(1);
    loop.nowNs += 61 * NS_PER_S;
    loop.stack(0).close(loop.stack(0).open('tcp'));
    expect(capturedSockets(loop)).toBe(0);
  });

  it('the same ends can be connected again at once', () => {
    const { loop, client, server, listening } = connected();
    loop.stack(1).close(server);
    loop.run(20 * NS_PER_MS);
    loop.stack(0).close(client);
    loop.run(NS_PER_S);
    const again = connect(loop);
    loop.run(loop.nowNs + 10 * NS_PER_MS);
    expect(loop.stack(0).connectResult(again)).toBe(0);
    expect(loop.stack(1).accept(listening)).toBeGreaterThan(server);
  });

  it('a FIN that comes again is acknowledged again', () => {
    const { loop, client, server } = connected();
    loop.stack(0).close(client);
    loop.run(20 * NS_PER_MS);
    loop.stack(1).close(server);
    loop.network.cut([[0, 1]]);
    loop.run(300 * NS_PER_MS);
    loop.network.heal();
    loop.run();
    expect(loop.nowNs / NS_PER_S).toBeLessThan(2);
    expect(capturedSockets(loop, 1)).toBe(1);
  });
});

/** How many TCP sockets a node keeps, with those that its program closed. */
function capturedSockets(loop: NetLoop, node = 0): number {
  const state = loop.stack(node).capture() as { tcp: { sockets: unknown[] } };
  return state.tcp.sockets.length;
}

describe('a partition', () => {
  it('stops a stream, which goes on where it was once it heals, for each of 10 seeds', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const to = { address: B, port: 80 };
      const plan = { node: 0, ...to, bytes: 150_000, chunk: 10_000, stream: seed };
      const client = new TransferClient(plan);
      const loop = new NetLoop({
        nodes: ['a', 'b'],
        links: mesh(2, { loss: 10_000, jitterNs: NS_PER_MS / 2 }),
        seed,
        programs: [client, new EchoServer(1, 80)],
      });
      loop.run(4 * NS_PER_MS + seed * 300_000);
      const oneWay = seed % 2 === 0;
      loop.network.cut(
        oneWay
          ? [[1, 0]]
          : [
              [0, 1],
              [1, 0],
            ],
      );
      loop.run(100 * NS_PER_MS);
      const { received } = client.state;
      loop.run(30 * NS_PER_S);
      expect(client.state.received).toBe(received);
      expect(client.state.phase).not.toBe('done');
      loop.network.heal();
      loop.run();
      expect(client.state).toMatchObject({ received: 150_000, wrong: 0, error: 0 });
    }
  });

  it('that lasts makes both ends time out', () => {
    const { loop, client, server } = connected();
    loop.network.cut([
      [0, 1],
      [1, 0],
    ]);
    loop.stack(0).send(client, BYTES);
    loop.stack(1).send(server, BYTES);
    loop.run();
    expect(loop.stack(0).send(client, BYTES)).toBe(-ERRNO.TIMEDOUT);
    expect(loop.stack(1).send(server, BYTES)).toBe(-ERRNO.TIMEDOUT);
  });
});
