import { describe, expect, it } from 'vitest';
import {
  DROP,
  LINK_FLOOR_NS,
  nodeAddress,
  NO_DEGRADATION,
  NS_PER_MS,
  NS_PER_S,
  readTraffic,
  VIRTUAL_NS_MAX,
  type Decision,
  type LinkDef,
  type LoggedEvent,
} from '../../sim/index.ts';
import { LINK_PACKETS_MAX } from '../../sim/network/link.ts';
import { failure } from '../support/failure.ts';
import { link, mesh, NetLoop } from '../support/net-loop.ts';
import { EchoServer, TransferClient } from '../support/net-programs.ts';

const B = nodeAddress(1);

/** A sender on node 0 and a receiver on node 1. */
function datagrams(loop: NetLoop): { send: (size?: number, node?: number) => void; to: number } {
  const from = loop.stack(0).open('udp');
  const to = loop.stack(1).open('udp');
  loop.stack(1).setOption(to, 'receive-buffer', 4_194_304);
  loop.stack(1).bind(to, 0, 9);
  return {
    send: (size = 1, node = 1) =>
      loop.stack(0).sendTo(from, new Uint8Array(size), nodeAddress(node), 9),
    to,
  };
}

function times(events: readonly LoggedEvent[], kind: string): number[] {
  return events.filter((event) => event.kind === kind).map(({ atNs }) => atNs);
}

function drops(events: readonly LoggedEvent[]): number[] {
  return events.filter(({ kind }) => kind === 'net/drop').map(({ result }) => result);
}

describe('time', () => {
  const cases: readonly [string, Partial<LinkDef>, readonly number[], readonly number[]][] = [
    ['latency', { latencyNs: 3 * NS_PER_MS }, [1, 1], [3_000_000, 3_000_000]],
    // 28 bytes of header and 972 of payload are 8,000 bits: 8 ms at 1 Mbit a second.
    ['bandwidth', { bandwidth: 1_000_000 }, [972, 972, 0], [9_000_000, 17_000_000, 17_224_000]],
  ];
  it.each(cases)(
    'CR-88: %s act at exact virtual times on the modelled route',
    (_, values, sizes, arrivals) => {
      const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2, values) });
      const { send } = datagrams(loop);
      for (const size of sizes) send(size);
      loop.run();
      expect(times(loop.allEvents(), 'net/deliver')).toEqual(arrivals);
    },
  );

  it('CR-54: a packet takes between latency less jitter and latency, both ends included', () => {
    const values = { latencyNs: LINK_FLOOR_NS + 3, jitterNs: 3 };
    const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2, values) });
    const { send } = datagrams(loop);
    for (let count = 0; count < 200; count++) send();
    loop.run();
    const seen = new Set(times(loop.allEvents(), 'net/deliver'));
    expect([...seen].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3].map((n) => LINK_FLOOR_NS + n));
  });

  it.each([
    [LINK_FLOOR_NS, 1],
    [NS_PER_MS, NS_PER_MS - LINK_FLOOR_NS + 1],
    [LINK_FLOOR_NS - 1, 0],
  ])('CR-54: a link of %d ns less %d ns of jitter is below the floor', (latencyNs, jitterNs) => {
    const links = [link(0, 1, { latencyNs, jitterNs })];
    const error = failure(() => new NetLoop({ nodes: ['a', 'b'], links }));
    expect([error.code, error.place]).toEqual(['scenario/jitter', 'link a/b']);
  });

  it('CR-54: the lookahead is the least latency less jitter over the links into a node', () => {
    const links = [
      link(0, 1, { latencyNs: 5_000, jitterNs: 1_000 }),
      link(2, 1, { latencyNs: 6_000, jitterNs: 3_000 }),
      link(1, 2, { latencyNs: 9_000 }),
    ];
    const { network } = new NetLoop({ nodes: ['a', 'b', 'c'], links });
    const lookaheads = (): number[] => [0, 1, 2].map((node) => network.lookaheadNs(node));
    expect(lookaheads()).toEqual([Infinity, 3_000, 9_000]);
    network.cut([[2, 1]]);
    network.degrade([], { ...NO_DEGRADATION, extraLatencyNs: 1_000 });
    expect(lookaheads()).toEqual([Infinity, 3_000, 9_000]);
  });

  it('what would arrive after the end of time is dropped', () => {
    const values = { latencyNs: VIRTUAL_NS_MAX };
    const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2, values) });
    const { send } = datagrams(loop);
    send();
    loop.nowNs = 1;
    send();
    expect(loop.queue.length).toBe(1);
    expect(drops(loop.allEvents())).toEqual([DROP.TOO_LATE]);
  });

  it('segments of one connection never overtake each other, within the bounds of the link', () => {
    const values = { latencyNs: 5 * NS_PER_MS, jitterNs: 4 * NS_PER_MS };
    const client = new TransferClient({
      node: 0,
      address: B,
      port: 80,
      bytes: 50_000,
      chunk: 9_000,
      stream: 1,
    });
    const programs = [client, new EchoServer(1, 80)];
    const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2, values), programs });
    loop.run();
    const events = loop.allEvents();
    const sent = events.filter(({ kind, guest }) => kind === 'net/send' && guest === 0);
    const came = events.filter(({ kind, guest }) => kind === 'net/deliver' && guest === 1);
    expect(came.map(({ input }) => input)).toEqual(sent.map(({ input }) => input));
    came.forEach(({ atNs }, index) => {
      const tookNs = atNs - (sent[index]?.atNs ?? 0);
      expect(tookNs).toBeGreaterThanOrEqual(NS_PER_MS);
      expect(tookNs).toBeLessThanOrEqual(5 * NS_PER_MS);
    });
  });
});

describe('what is carried', () => {
  it('is logged with its digest, the other node and the size', () => {
    const loop = new NetLoop({ nodes: ['a', 'b', 'c'], links: mesh(3) });
    const { send } = datagrams(loop);
    send(7);
    loop.run();
    const [sent, delivered] = loop.allEvents();
    expect(sent).toMatchObject({ kind: 'net/send', guest: 0, atNs: 0 });
    expect(delivered).toMatchObject({ kind: 'net/deliver', guest: 1, atNs: NS_PER_MS });
    expect(readTraffic(sent?.result ?? 0)).toEqual({ peer: 1, bytes: 7 });
    expect(readTraffic(delivered?.result ?? 0)).toEqual({ peer: 0, bytes: 7 });
    expect(delivered?.input).toBe(sent?.input);
  });

  it('is bounded for each link', () => {
    const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2) });
    const { send } = datagrams(loop);
    for (let count = 0; count < LINK_PACKETS_MAX + 3; count++) send();
    expect(loop.queue.length).toBe(LINK_PACKETS_MAX);
    expect(drops(loop.allEvents())).toEqual([1, 2, 3].map(() => DROP.LINK_FULL));
    loop.run();
    send();
    expect(loop.queue.length).toBe(1);
  });

  it('is bounded in bytes, too', () => {
    const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2) });
    const { send } = datagrams(loop);
    for (let count = 0; count < 1_030; count++) send(65_507);
    expect(drops(loop.allEvents())).toEqual([1, 2, 3, 4, 5].map(() => DROP.LINK_FULL));
  });

  it('goes nowhere without a link back', () => {
    const loop = new NetLoop({ nodes: ['a', 'b'], links: [link(0, 1)] });
    const id = loop.stack(0).open('tcp');
    loop.stack(0).connect(id, B, 80);
    loop.run(10 * NS_PER_MS);
    expect(drops(loop.allEvents())).toEqual([DROP.NO_ROUTE]);
  });
});

describe('cuts', () => {
  const opened = (): { loop: NetLoop; send: (size?: number, node?: number) => void } => {
    const loop = new NetLoop({ nodes: ['a', 'b', 'c'], links: mesh(3) });
    return { loop, ...datagrams(loop) };
  };

  it('CR-89: a cut has a direction', () => {
    const { loop, send } = opened();
    const back = loop.stack(1).open('udp');
    const home = loop.stack(0).open('udp');
    loop.stack(0).bind(home, 0, 9);
    loop.network.cut([[0, 1]]);
    send();
    loop.stack(1).sendTo(back, Uint8Array.of(1), nodeAddress(0), 9);
    loop.run();
    expect(drops(loop.allEvents())).toEqual([DROP.CUT]);
    expect(times(loop.allEvents(), 'net/deliver')).toEqual([NS_PER_MS]);
  });

  it('CR-89: what is in flight when a cut begins is lost, even if it heals before the arrival', () => {
    const { loop, send } = opened();
    send();
    loop.run(NS_PER_MS / 4);
    loop.network.cut([[0, 1]]);
    loop.run(NS_PER_MS / 2);
    loop.network.heal();
    send();
    loop.run();
    const events = loop.allEvents();
    expect(drops(events)).toEqual([DROP.CUT_IN_FLIGHT]);
    expect(times(events, 'net/drop')).toEqual([NS_PER_MS]);
    expect(times(events, 'net/deliver')).toEqual([1.5 * NS_PER_MS]);
  });

  it('CR-89: a cut is persistent and draws nothing; other links keep what they had', () => {
    const values = { loss: 500_000, jitterNs: 1_000 };
    const run = (cut: boolean): { events: LoggedEvent[]; decisions: Decision[] } => {
      const loop = new NetLoop({ nodes: ['a', 'b', 'c'], links: mesh(3, values) });
      const { send } = datagrams(loop);
      if (cut) loop.network.cut([[0, 1]]);
      for (let count = 0; count < 100; count++) {
        send(1, 1);
        send(1, 2);
      }
      loop.run();
      return { events: loop.allEvents(), decisions: loop.allDecisions() };
    };
    const [plain, cut] = [run(false), run(true)];
    expect(drops(cut.events).filter((reason) => reason === DROP.CUT)).toHaveLength(100);
    expect(cut.decisions.filter(({ stream }) => stream.startsWith('link/a/b/'))).toEqual([]);
    expect(answers(cut.decisions, 'link/a/c/')).toEqual(answers(plain.decisions, 'link/a/c/'));
  });

  it('are logged with how many links they changed', () => {
    const { loop } = opened();
    loop.network.cut([
      [0, 1],
      [1, 0],
      [0, 0],
      [0, 7],
    ]);
    loop.network.cut([
      [0, 1],
      [0, 2],
    ]);
    loop.network.heal();
    loop.network.heal();
    const notes = loop.allEvents().map(({ kind, guest, result }) => [kind, guest, result]);
    expect(notes).toEqual([
      ['net/cut', -1, 2],
      ['net/cut', -1, 1],
      ['net/heal', -1, 3],
      ['net/heal', -1, 0],
    ]);
  });

  it('leave the loopback alone', () => {
    const { loop } = opened();
    loop.network.cut([
      [0, 0],
      [0, 1],
      [1, 0],
    ]);
    const [from, to] = [loop.stack(0).open('udp'), loop.stack(0).open('udp')];
    loop.stack(0).bind(to, 0, 9);
    loop.stack(0).sendTo(from, Uint8Array.of(5), nodeAddress(0), 9);
    loop.run();
    expect(loop.stack(0).readableBytes(to)).toBe(1);
  });
});

describe('degrading', () => {
  it('adds latency and loss to the links between the named nodes, until it ends', () => {
    const loop = new NetLoop({ nodes: ['a', 'b', 'c'], links: mesh(3) });
    const { send } = datagrams(loop);
    const arrivals = (): number[] => {
      const before = loop.allEvents().length;
      const startNs = loop.nowNs;
      send(1, 1);
      send(1, 2);
      loop.run();
      const events = loop.allEvents().slice(before);
      return events
        .filter(({ kind, guest }) => kind === 'net/deliver' && guest > 0)
        .map(({ atNs }) => atNs - startNs);
    };
    loop.network.degrade([0, 1], { ...NO_DEGRADATION, extraLatencyNs: 4 * NS_PER_MS });
    expect(arrivals()).toEqual([NS_PER_MS, 5 * NS_PER_MS]);
    loop.network.degrade([], { ...NO_DEGRADATION, loss: 1_000_000 });
    expect(arrivals()).toEqual([]);
    loop.network.degrade([], NO_DEGRADATION);
    expect(arrivals()).toEqual([NS_PER_MS, NS_PER_MS]);
  });

  it('never makes a link lose less', () => {
    const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2, { loss: 1_000_000 }) });
    const { send } = datagrams(loop);
    loop.network.degrade([], { ...NO_DEGRADATION, loss: 1 });
    send();
    expect(drops(loop.allEvents())).toEqual([DROP.LOSS]);
  });
});

/** What a stream was asked and answered, without its place among all decisions. */
function answers(decisions: readonly Decision[], prefix: string): unknown[] {
  return decisions
    .filter(({ stream }) => stream.startsWith(prefix))
    .map(({ stream, ordinal, atNs, arity, choice }) => [stream, ordinal, atNs, arity, choice]);
}

describe('keyed decisions', () => {
  const values = { loss: 200_000, latencyNs: 2 * NS_PER_MS, jitterNs: NS_PER_MS };

  /** Nodes a and b talk; c and d, if they are there, talk as well. */
  function run(nodes: readonly string[], links: readonly LinkDef[], chatter: boolean): Decision[] {
    const place = (name: string): number => nodes.indexOf(name);
    const programs = [
      new EchoServer(place('b'), 80),
      new TransferClient({
        node: place('a'),
        address: nodeAddress(place('b')),
        port: 80,
        bytes: 20_000,
        chunk: 1_000,
        stream: 1,
      }),
    ];
    if (chatter) {
      programs.unshift(new EchoServer(place('d'), 80));
      programs.push(
        new TransferClient({
          node: place('c'),
          address: nodeAddress(place('d')),
          port: 80,
          bytes: 30_000,
          chunk: 700,
          stream: 2,
        }),
      );
    }
    const loop = new NetLoop({ nodes, links, seed: 99, programs });
    loop.run(60 * NS_PER_S);
    return loop.allDecisions().filter(({ stream }) => /^link\/[ab]\/[ab]\//.test(stream));
  }

  const alone = answers(run(['a', 'b'], mesh(2, values), false), '');
  it.each([
    ['a node after the others', ['a', 'b', 'c', 'd']],
    ['a node before the others', ['c', 'd', 'a', 'b']],
    ['nodes in another order', ['d', 'b', 'c', 'a']],
  ])('CR-60: adding %s, its links and its traffic shifts no decision', (_, nodes) => {
    const others = answers(run(nodes, mesh(4, values), true), '');
    expect(alone.length).toBeGreaterThan(100);
    const sorted = (list: unknown[]): unknown[] =>
      list.map((item) => JSON.stringify(item)).toSorted();
    expect(sorted(others)).toEqual(sorted(alone));
  });

  it('CR-60: a link without loss or jitter decides nothing', () => {
    const loop = new NetLoop({
      nodes: ['a', 'b'],
      links: mesh(2),
      programs: [
        new EchoServer(1, 80),
        new TransferClient({ node: 0, address: B, port: 80, bytes: 9_000, chunk: 900, stream: 1 }),
      ],
    });
    loop.run();
    expect(loop.allDecisions()).toEqual([]);
  });
});
