import { describe, expect, it } from 'vitest';
import {
  ERRNO,
  LOOPBACK_ADDRESS,
  nodeAddress,
  NS_PER_MS,
  NS_PER_S,
  READINESS,
  readTraffic,
  type LinkDef,
} from '../../sim/index.ts';
import { mesh, NetLoop } from '../support/net-loop.ts';
import { EchoServer, pattern, patternByte, TransferClient } from '../support/net-programs.ts';

interface Transfer {
  readonly seed?: number;
  readonly link?: Partial<LinkDef>;
  readonly bytes: number;
  readonly chunk?: number;
  readonly clients?: number;
}

function transfer(options: Transfer): { loop: NetLoop; clients: TransferClient[] } {
  const clients = Array.from({ length: options.clients ?? 1 }, (_, stream) => {
    const chunk = options.chunk ?? 3_000;
    const { bytes } = options;
    const to = { address: nodeAddress(1), port: 80 };
    return new TransferClient({ node: 0, ...to, bytes, chunk, stream });
  });
  const loop = new NetLoop({
    nodes: ['a', 'b'],
    links: mesh(2, options.link ?? {}),
    seed: options.seed ?? 1,
    programs: [...clients, new EchoServer(1, 80)],
  });
  return { loop, clients };
}

/** Both ends of a connection that is open, at 10 ms. */
function connected(link: Partial<LinkDef> = {}): { loop: NetLoop; client: number; server: number } {
  const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2, link) });
  const listening = loop.stack(1).open('tcp');
  loop.stack(1).bind(listening, 0, 80);
  loop.stack(1).listen(listening, 1);
  const client = loop.stack(0).open('tcp');
  loop.stack(0).connect(client, nodeAddress(1), 80);
  loop.run(10 * NS_PER_MS);
  return { loop, client, server: loop.stack(1).accept(listening) };
}

describe('a stream arrives whole and in order', () => {
  const kinds: readonly [string, Partial<LinkDef>][] = [
    ['a plain link', {}],
    ['jitter', { latencyNs: 5 * NS_PER_MS, jitterNs: 4 * NS_PER_MS }],
    ['one packet of fifty lost', { loss: 20_000 }],
    ['one packet of four lost, with jitter', { loss: 250_000, jitterNs: NS_PER_MS / 2 }],
    ['a narrow link that loses', { bandwidth: 1_000_000, loss: 30_000 }],
  ];
  it.each(kinds)('over %s, for each of 40 seeds', (_, link) => {
    for (let seed = 1; seed <= 40; seed++) {
      const bytes = 1 + ((seed * 7_919) % 60_000);
      const { loop, clients } = transfer({ seed, link, bytes, chunk: 1 + ((seed * 613) % 5_000) });
      loop.run();
      const [client] = clients;
      expect(client?.state, `seed ${seed}`).toMatchObject({
        phase: 'done',
        sent: bytes,
        received: bytes,
        wrong: 0,
        error: 0,
      });
    }
  });

  it('on ten connections at once over one link', () => {
    for (let seed = 1; seed <= 5; seed++) {
      const link = { loss: 50_000, jitterNs: NS_PER_MS / 2 };
      const { loop, clients } = transfer({ seed, link, bytes: 20_000, clients: 10 });
      loop.run();
      for (const { state } of clients) {
        expect(state).toMatchObject({ phase: 'done', received: 20_000, wrong: 0, error: 0 });
      }
    }
  });

  it('on the loopback', () => {
    const to = { address: LOOPBACK_ADDRESS, port: 80 };
    const client = new TransferClient({
      node: 0,
      ...to,
      bytes: 1_000_000,
      chunk: 50_000,
      stream: 3,
    });
    const programs = [client, new EchoServer(0, 80)];
    const loop = new NetLoop({ nodes: ['a'], links: [], programs });
    loop.run();
    expect(client.state).toMatchObject({ received: 1_000_000, wrong: 0, error: 0 });
  });

  it('is never cut off by many small writes', () => {
    const { loop, clients } = transfer({ bytes: 5_000, chunk: 1, link: { loss: 100_000 } });
    loop.run();
    expect(clients[0]?.state).toMatchObject({ received: 5_000, wrong: 0, error: 0 });
  });
});

describe('cost in events', () => {
  it('a bulk transfer takes few more than one and a half a segment', () => {
    const { loop, client, server } = connected();
    const before = loop.handled;
    const buffer = new Uint8Array(65_536);
    let sent = 0;
    let received = 0;
    while (received < 1_460_000) {
      const count = loop
        .stack(0)
        .send(client, buffer.subarray(0, Math.min(65_536, 1_460_000 - sent)));
      if (count > 0) sent += count;
      const got = loop.stack(1).receive(server, buffer, false);
      if (got > 0) received += got;
      if (got < 0) expect(loop.step()).toBe(true);
    }
    expect((loop.handled - before) / 1_000).toBeLessThan(1.6);
  });

  it('a request and its answer take two packets, and a timer now and then', () => {
    const { loop, client, server } = connected();
    const before = loop.handled;
    const buffer = new Uint8Array(100);
    for (let round = 0; round < 1_000; round++) {
      loop.stack(0).send(client, buffer);
      while (loop.stack(1).receive(server, buffer, false) < 0) loop.step();
      loop.stack(1).send(server, buffer);
      while (loop.stack(0).receive(client, buffer, false) < 0) loop.step();
    }
    expect(loop.allEvents().filter(({ kind }) => kind === 'net/send')).toHaveLength(3 + 2_000);
    expect((loop.handled - before) / 1_000).toBeLessThan(2.2);
  });

  it('an idle connection takes none', () => {
    const { loop } = connected();
    loop.run();
    const { handled } = loop;
    loop.run(1_000 * NS_PER_S);
    expect(loop.handled).toBe(handled);
    expect(loop.queue.length).toBe(0);
  });
});

describe('half close', () => {
  it('ends one direction and leaves the other open', () => {
    const { loop, client, server } = connected();
    const [a, b] = [loop.stack(0), loop.stack(1)];
    const buffer = new Uint8Array(100);
    a.send(client, pattern(1, 0, 10));
    expect(a.shutdown(client, 'write')).toBe(0);
    expect(a.send(client, buffer)).toBe(-ERRNO.PIPE);
    loop.run(20 * NS_PER_MS);
    expect(b.receive(server, buffer, false)).toBe(10);
    expect(b.receive(server, buffer, false)).toBe(0);
    expect(b.readiness(server) & READINESS.HANGUP).toBe(READINESS.HANGUP);
    expect(b.send(server, pattern(2, 0, 50))).toBe(50);
    loop.run(30 * NS_PER_MS);
    expect(a.receive(client, buffer, false)).toBe(50);
    expect(buffer.subarray(0, 50)).toEqual(pattern(2, 0, 50));
    expect(a.receive(client, buffer, false)).toBe(-ERRNO.AGAIN);
    b.shutdown(server, 'write');
    loop.run(NS_PER_S);
    expect(a.receive(client, buffer, false)).toBe(0);
  });

  it('reading can be shut down: what is there is read, what comes later is thrown away', () => {
    const { loop, client, server } = connected();
    const [a, b] = [loop.stack(0), loop.stack(1)];
    a.send(client, new Uint8Array(10));
    loop.run(20 * NS_PER_MS);
    expect(b.shutdown(server, 'read')).toBe(0);
    const buffer = new Uint8Array(100);
    expect(b.receive(server, buffer, false)).toBe(10);
    a.send(client, new Uint8Array(20));
    loop.run(NS_PER_S);
    expect(b.receive(server, buffer, false)).toBe(0);
    expect(a.readiness(client)).toBe(READINESS.WRITABLE);
  });

  it('sends what is queued before the end, over a link that loses', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { loop, clients } = transfer({
        seed,
        bytes: 50_000,
        chunk: 50_000,
        link: { loss: 200_000 },
      });
      loop.run();
      expect(clients[0]?.state).toMatchObject({ received: 50_000, error: 0 });
    }
  });
});

describe('back-pressure', () => {
  it('takes what the two buffers hold, then no more until the peer reads', () => {
    const { loop, client, server } = connected();
    const [a, b] = [loop.stack(0), loop.stack(1)];
    const chunk = new Uint8Array(10_000);
    let sent = 0;
    for (let time = 1; time < 100; time++) {
      for (;;) {
        const count = a.send(client, chunk);
        if (count < 0) break;
        sent += count;
      }
      loop.run(time * NS_PER_S);
    }
    expect(sent).toBe(2 * 131_072);
    expect(a.send(client, chunk)).toBe(-ERRNO.AGAIN);
    expect(a.readiness(client)).toBe(0);
    expect(b.readableBytes(server)).toBe(131_072);
    const buffer = new Uint8Array(131_072);
    let received = b.receive(server, buffer, false);
    loop.run(loop.nowNs + NS_PER_S);
    expect(a.readiness(client)).toBe(READINESS.WRITABLE);
    for (;;) {
      const count = b.receive(server, buffer, false);
      if (count < 0) break;
      received += count;
      loop.run(loop.nowNs + NS_PER_S);
    }
    expect(received).toBe(sent);
    loop.run();
    expect(loop.queue.length).toBe(0);
  });

  it('survives the loss of the segment that opens the window again', () => {
    const { loop, client, server } = connected();
    const [a, b] = [loop.stack(0), loop.stack(1)];
    b.setOption(server, 'receive-buffer', 4_096);
    a.send(client, new Uint8Array(140_000));
    loop.run(5 * NS_PER_S);
    loop.network.cut([[1, 0]]);
    const buffer = new Uint8Array(200_000);
    let received = b.receive(server, buffer, false);
    loop.run(6 * NS_PER_S);
    expect(b.receive(server, buffer, false)).toBe(-ERRNO.AGAIN);
    loop.network.heal();
    while (received < 131_072 && loop.step()) {
      const count = b.receive(server, buffer, false);
      if (count > 0) received += count;
    }
    expect(received).toBe(131_072);
  });

  it('keeps a connection whose window stays shut for hours', () => {
    const { loop, client, server } = connected();
    const [a, b] = [loop.stack(0), loop.stack(1)];
    while (a.send(client, new Uint8Array(10_000)) > 0) loop.run(loop.nowNs + 50 * NS_PER_MS);
    loop.run(20_000 * NS_PER_S);
    expect(a.readiness(client)).toBe(0);
    const buffer = new Uint8Array(131_072);
    expect(b.receive(server, buffer, false)).toBe(131_072);
    loop.run(loop.nowNs + NS_PER_S);
    expect(b.receive(server, buffer, false)).toBe(131_072);
  });

  it('peeking takes nothing away', () => {
    const { loop, client, server } = connected();
    loop.stack(0).send(client, pattern(4, 0, 30));
    loop.run(20 * NS_PER_MS);
    const buffer = new Uint8Array(20);
    for (const peek of [true, true, false]) {
      expect(loop.stack(1).receive(server, buffer, peek)).toBe(20);
      expect(buffer).toEqual(pattern(4, 0, 20));
    }
    expect(loop.stack(1).receive(server, buffer, false)).toBe(10);
    expect(buffer[0]).toBe(patternByte(4, 20));
  });

  it('bounds what all sockets of a node hold', () => {
    const { loop } = connected();
    const [a, b] = [loop.stack(0), loop.stack(1)];
    const listening = b.open('tcp');
    b.bind(listening, 0, 81);
    b.setOption(listening, 'receive-buffer', 4_194_304);
    b.listen(listening, 100);
    const ids = Array.from({ length: 40 }, () => a.open('tcp'));
    for (const id of ids) {
      a.setOption(id, 'send-buffer', 4_194_304);
      a.connect(id, nodeAddress(1), 81);
    }
    loop.run(NS_PER_S);
    const block = new Uint8Array(1_048_576);
    const total = (): number => {
      return ids.reduce((sum, id) => sum + Math.max(0, a.send(id, block)), 0);
    };
    let sent = 0;
    for (let count = total(); count > 0; count = total()) sent += count;
    expect(sent).toBe(64 * 1_048_576);
  });
});

describe('recovery', () => {
  /** Loses the packets of a link with these ordinals and keeps all others. */
  const lose = (loop: NetLoop, name: string, ordinals: readonly number[]): void => {
    loop.decisions.setSources([
      {
        door: 'override',
        choose: ({ stream }) => {
          return stream.name === `link/${name}/loss` && ordinals.includes(stream.ordinal) ? 1 : 0;
        },
      },
    ]);
  };

  it.each([
    ['one segment needs no time-out', [4], 10],
    ['three segments of one window needs no time-out', [4, 6, 9], 10],
    ['the last segment needs one', [21], 300],
  ])('of %s', (_, ordinals, tookMsMax) => {
    const { loop, client, server } = connected({ loss: 1 });
    lose(loop, 'a/b', ordinals);
    const sent = pattern(6, 0, 29_200);
    loop.stack(0).send(client, sent);
    const received = new Uint8Array(29_200);
    while (loop.stack(1).readableBytes(server) < 29_200) expect(loop.step()).toBe(true);
    const tookNs = loop.nowNs - 10 * NS_PER_MS;
    loop.stack(1).receive(server, received, false);
    expect(received).toEqual(sent);
    expect(tookNs).toBeLessThan(tookMsMax * NS_PER_MS);
    expect(tookNs).toBeGreaterThan((tookMsMax / 3) * NS_PER_MS);
  });

  it('takes the new part of a segment of which a part is known', () => {
    const { loop, client, server } = connected();
    loop.network.cut([[1, 0]]);
    loop.stack(0).send(client, pattern(5, 0, 100));
    loop.stack(0).send(client, pattern(5, 100, 150));
    loop.run(50 * NS_PER_MS);
    expect(loop.stack(1).readableBytes(server)).toBe(100);
    loop.run(NS_PER_S);
    expect(loop.stack(1).readableBytes(server)).toBe(250);
    const received = new Uint8Array(300);
    expect(loop.stack(1).receive(server, received, false)).toBe(250);
    expect(received.subarray(0, 250)).toEqual(pattern(5, 0, 250));
  });
});

describe('small segments', () => {
  it('are not sent to fill the rest of a window', () => {
    const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2) });
    const listening = loop.stack(1).open('tcp');
    loop.stack(1).bind(listening, 0, 80);
    loop.stack(1).setOption(listening, 'receive-buffer', 5_000);
    loop.stack(1).listen(listening, 1);
    const client = loop.stack(0).open('tcp');
    loop.stack(0).setOption(client, 'no-delay', 1);
    loop.stack(0).connect(client, nodeAddress(1), 80);
    loop.run(10 * NS_PER_MS);
    loop.stack(0).send(client, new Uint8Array(20_000));
    const sizes = loop
      .allEvents()
      .filter(({ kind, guest, atNs }) => {
        return kind === 'net/send' && guest === 0 && atNs === 10 * NS_PER_MS;
      })
      .map(({ result }) => readTraffic(result).bytes);
    expect(sizes).toEqual([1_460, 1_460, 1_460]);
  });

  it('wait for an acknowledgement, unless told not to (Nagle)', () => {
    for (const [noDelay, packets] of [
      [0, 2],
      [1, 10],
    ] as const) {
      const { loop, client } = connected();
      loop.stack(0).setOption(client, 'no-delay', noDelay);
      for (let write = 0; write < 10; write++) loop.stack(0).send(client, Uint8Array.of(write));
      loop.run(NS_PER_S);
      const sends = loop.allEvents().filter(({ kind, guest, atNs }) => {
        return kind === 'net/send' && guest === 0 && atNs >= 10 * NS_PER_MS;
      });
      expect(sends).toHaveLength(packets);
    }
  });
});
