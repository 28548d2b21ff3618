import { describe, expect, it } from 'vitest';
import {
  DROP,
  MILLION,
  nodeAddress,
  NO_DEGRADATION,
  NS_PER_MS,
  NS_PER_S,
  type LinkDef,
  type LinkFaultsDef,
} from '../../sim/index.ts';
import { mesh, NetLoop } from '../support/net-loop.ts';
import { EchoServer, TransferClient, type TransferPlan } from '../support/net-programs.ts';

const ALWAYS = MILLION;

interface Pair {
  readonly loop: NetLoop;
  /** Sends a datagram whose first byte is its number. */
  readonly send: (size?: number) => void;
  /** The first bytes of what came, in the order of arrival. */
  readonly received: () => number[];
  readonly drops: () => number[];
}

function transfer(bytes: number): TransferPlan {
  return { node: 0, address: nodeAddress(1), port: 80, bytes, chunk: 2_000, stream: 0 };
}

function pair(faults: LinkFaultsDef, values: Partial<LinkDef> = {}, seed = 1): Pair {
  const loop = new NetLoop({ nodes: ['a', 'b'], links: mesh(2, { ...values, faults }), seed });
  const from = loop.stack(0).open('udp');
  const to = loop.stack(1).open('udp');
  loop.stack(1).setOption(to, 'receive-buffer', 4_194_304);
  loop.stack(1).bind(to, 0, 9);
  let number = 0;
  return {
    loop,
    send: (size = 1) => {
      const bytes = new Uint8Array(size).fill(number++);
      loop.stack(0).sendTo(from, bytes, nodeAddress(1), 9);
    },
    received: () => {
      const seen: number[] = [];
      const bytes = new Uint8Array(65_536);
      while (typeof loop.stack(1).receiveFrom(to, bytes, false) !== 'number') {
        seen.push(bytes[0] as number);
      }
      return seen;
    },
    drops: () => {
      return loop.allEvents().flatMap(({ kind, result }) => (kind === 'net/drop' ? [result] : []));
    },
  };
}

describe('what a link does to packets', () => {
  it('duplicates: a second copy comes within the gap, and each is counted', () => {
    const { loop, send, received } = pair({ duplicate: { chance: ALWAYS, gapNs: 5 } });
    for (let count = 0; count < 50; count++) send();
    loop.run();
    expect(received()).toHaveLength(100);
    const times = loop
      .allEvents()
      .flatMap(({ kind, atNs }) => (kind === 'net/deliver' ? [atNs] : []));
    expect(Math.max(...times)).toBe(NS_PER_MS + 5);
    const state = loop.network.capture() as { inFlight: number; links: unknown[] };
    expect([state.inFlight, state.links]).toEqual([0, []]);
  });

  it('reorders: a late packet is overtaken, within the window', () => {
    const { loop, send, received } = pair({ reorder: { chance: 300_000, windowNs: NS_PER_MS } });
    for (let count = 0; count < 100; count++) {
      send();
      loop.run(loop.nowNs + 10_000);
    }
    loop.run();
    const order = received();
    const sorted = order.toSorted((a, b) => a - b);
    expect(sorted).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(order).not.toEqual(sorted);
    expect(loop.nowNs).toBeLessThanOrEqual(100 * 10_000 + 2 * NS_PER_MS);
  });

  it('drops a damaged packet where its checksum is looked at', () => {
    const { loop, send, received, drops } = pair({ corrupt: ALWAYS });
    send();
    loop.run();
    expect(received()).toEqual([]);
    expect(drops()).toEqual([DROP.CHECKSUM]);
  });

  it('flips exactly one bit past the checksum, and logs which', () => {
    const { loop, send, received } = pair({ corruptUndetected: ALWAYS });
    for (let count = 0; count < 64; count++) send();
    loop.run();
    const flips = loop.allEvents().flatMap(({ kind, result }) => {
      return kind === 'net/corrupt' ? [result] : [];
    });
    expect(received()).toEqual(flips.map((bit, index) => index ^ (1 << bit)));
    expect(new Set(flips).size).toBe(8);
  });

  it('loses in bursts of the stated share and length', () => {
    const burst = { enter: 50_000, leave: 200_000, loss: ALWAYS };
    const run = pair({ burst }, {}, 3);
    const lost: boolean[] = [];
    for (let count = 0; count < 3_000; count++) {
      const before = run.loop.events.eventCount;
      run.send();
      lost.push(run.loop.events.eventCount - before === 2);
    }
    const share = lost.filter(Boolean).length / lost.length;
    // The stationary share of bad packets: enter / (enter + leave) = 1/5.
    expect(share).toBeGreaterThan(0.15);
    expect(share).toBeLessThan(0.25);
    const runs = lost.filter((each, index) => each && !lost[index - 1]).length;
    // A burst lasts 1 / leave = 5 packets on average.
    expect(lost.filter(Boolean).length / runs).toBeGreaterThan(4);
    expect(new Set(run.drops())).toEqual(new Set([DROP.BURST]));
  });

  it('a queue takes as many bytes as it may, and drops the tail', () => {
    // 1,000 bytes a packet with its header, 8 ms each at 1 Mbit a second; the queue takes three.
    const { loop, send, received, drops } = pair({ queueBytes: 3_000 }, { bandwidth: 1_000_000 });
    for (let count = 0; count < 5; count++) send(972);
    loop.run();
    expect(received()).toEqual([0, 1, 2]);
    expect(drops()).toEqual([DROP.QUEUE_FULL, DROP.QUEUE_FULL]);
  });

  it('RED drops more the more waits', () => {
    const red = { fromBytes: 2_000, toBytes: 100_000, chance: 500_000 };
    const { loop, send, drops } = pair({ red }, { bandwidth: 1_000_000 });
    for (let count = 0; count < 2; count++) send(972);
    expect(drops()).toEqual([]);
    for (let count = 0; count < 400; count++) send(972);
    loop.run();
    const all = drops();
    expect(new Set(all)).toEqual(new Set([DROP.RED]));
    expect(all.length).toBeGreaterThan(250);
    const decisions = loop.allDecisions().filter(({ stream }) => stream === 'link/a/b/red');
    // Below the threshold and above the end nothing is drawn.
    expect(decisions.length).toBeLessThan(390);
  });

  it.each([
    ['drop', [472, 473], [0], [DROP.TOO_BIG]],
    ['fragment', [472, 473, 5_000], [0, 1, 2], []],
  ] as const)('an MTU makes larger datagrams %s', (oversize, sizes, arrived, dropped) => {
    const { loop, send, received, drops } = pair({ mtu: { bytes: 500, oversize } });
    for (const size of sizes) send(size);
    loop.run();
    expect([received(), drops()]).toEqual([arrived, dropped]);
  });

  it('a fragmented datagram pays for each header, and is lost with any of its pieces', () => {
    // 1,400 bytes and 8 of header go as 480 + 480 + 448, each with 20 bytes of header: 1,468 bytes.
    const mtu = { bytes: 500, oversize: 'fragment' } as const;
    const timed = pair({ mtu }, { bandwidth: 1_000_000 });
    timed.send(1_400);
    timed.loop.run();
    expect(timed.loop.nowNs).toBe(NS_PER_MS + 1_468 * 8_000);
    const lossy = pair({ mtu }, { loss: 300_000 });
    for (let count = 0; count < 200; count++) lossy.send(1_400);
    const lost = lossy.drops().length;
    // 1 - 0.7^3 = 66 % of 200.
    expect(lost).toBeGreaterThan(110);
    expect(lost).toBeLessThan(155);
  });

  it('TCP sends what the MTU carries, so that a small one stops nothing', () => {
    const echo = new EchoServer(1, 80);
    const client = new TransferClient(transfer(50_000));
    const links = mesh(2, { faults: { mtu: { bytes: 576, oversize: 'drop' } } });
    const loop = new NetLoop({ nodes: ['a', 'b'], links, programs: [echo, client] });
    loop.run();
    expect(client.state).toMatchObject({ received: 50_000, wrong: 0, error: 0 });
    expect(loop.allEvents().filter(({ kind }) => kind === 'net/drop')).toEqual([]);
  });
});

describe('links that change', () => {
  it('CR-59: a cut that is mended by its own end leaves other cuts', () => {
    const { loop, send, received } = pair({});
    const { network } = loop;
    expect(network.cut([[0, 1]])).toBe(1);
    expect(network.cut([[0, 1]])).toBe(0);
    expect(network.mend([[0, 1]])).toBe(0);
    send();
    expect(network.mend([[0, 1]])).toBe(1);
    send();
    loop.run();
    expect(received()).toEqual([1]);
  });

  it.each([
    ['drop', []],
    ['deliver', [0]],
  ] as const)('CR-89: a cut may %s what is in flight', (inFlight, arrived) => {
    const { loop, send, received } = pair({});
    send();
    loop.network.cut([[0, 1]], inFlight);
    send();
    loop.run();
    expect(received()).toEqual(arrived);
  });

  it('a stuck link holds what is sent and lets it go in order', () => {
    const { loop, send, received } = pair({}, { jitterNs: NS_PER_MS / 2 });
    loop.network.stick([[0, 1]]);
    for (let count = 0; count < 20; count++) send();
    loop.run(NS_PER_S);
    expect(received()).toEqual([]);
    const held = structuredClone(loop.capture());
    expect(loop.network.release([[0, 1]], NS_PER_S)).toBe(1);
    loop.run();
    expect(received()).toEqual(Array.from({ length: 20 }, (_, index) => index));
    expect(loop.nowNs).toBeLessThanOrEqual(NS_PER_S + NS_PER_MS);
    // The same from a checkpoint in the middle of it.
    const chains = loop.chains();
    loop.restore(held);
    loop.network.release([[0, 1]], NS_PER_S);
    loop.run();
    expect(loop.chains()).toEqual(chains);
  });

  it('CR-89: a cut loses what a stuck link holds', () => {
    const { loop, send, received, drops } = pair({});
    loop.network.stick([[0, 1]]);
    send();
    loop.network.cut([[0, 1]]);
    loop.network.heal();
    send();
    loop.network.release([[0, 1]], 0);
    loop.run();
    expect(received()).toEqual([1]);
    expect(drops()).toEqual([DROP.CUT_IN_FLIGHT]);
  });

  it('a degradation stands for the link’s own faults, and its end gives them back', () => {
    const { loop, send, received } = pair({ corrupt: ALWAYS });
    const faults: LinkFaultsDef = { corrupt: 1, duplicate: { chance: ALWAYS, gapNs: 0 } };
    loop.network.degrade([], { ...NO_DEGRADATION, faults });
    send();
    loop.network.degrade([], NO_DEGRADATION);
    send();
    loop.run();
    expect(received()).toEqual([0, 0]);
  });

  it('a slow link has the lesser of two bandwidths', () => {
    const { loop, send } = pair({}, { bandwidth: 2_000_000 });
    loop.network.degrade([], { ...NO_DEGRADATION, bandwidth: 1_000_000 });
    send(972);
    loop.run();
    expect(loop.nowNs).toBe(9 * NS_PER_MS);
  });

  it('CR-59: everything can be lifted at once', () => {
    const { loop, send, received } = pair({});
    const { network } = loop;
    network.stick([[0, 1]]);
    network.stick([[0, 1]]);
    send();
    network.cut([[0, 1]], 'deliver');
    network.degrade([], { ...NO_DEGRADATION, loss: MILLION });
    network.lift(0);
    send();
    loop.run();
    expect(received().toSorted((a, b) => a - b)).toEqual([0, 1]);
  });
});

describe('decisions of links', () => {
  const every: LinkFaultsDef = {
    burst: { enter: 100_000, leave: 300_000, loss: 500_000 },
    duplicate: { chance: 200_000, gapNs: NS_PER_MS },
    reorder: { chance: 200_000, windowNs: NS_PER_MS },
    corrupt: 100_000,
    corruptUndetected: 100_000,
    mtu: { bytes: 576, oversize: 'fragment' },
  };

  it('CR-60: each fault draws on a stream of its own, so that one more moves no other', () => {
    const draws = (faults: LinkFaultsDef): Map<string, string> => {
      const { loop, send } = pair(faults, { loss: 100_000 });
      for (let count = 0; count < 60; count++) send(100);
      loop.run();
      const found = new Map<string, string>();
      for (const { stream, choice, arity } of loop.allDecisions()) {
        found.set(stream, `${found.get(stream) ?? ''} ${choice}/${arity}`);
      }
      return found;
    };
    expect([...draws({}).keys()]).toEqual(['link/a/b/loss']);
    const one = draws({ corrupt: 100_000 });
    const both = draws({ corrupt: 100_000, duplicate: { chance: 200_000, gapNs: 7 } });
    for (const [stream, choices] of one) expect(both.get(stream)).toBe(choices);
  });

  it('CR-75, CR-101: goes on equally from a checkpoint in the middle of every fault', () => {
    const make = (): NetLoop => {
      const client = new TransferClient(transfer(40_000));
      const faults = { ...every, corruptUndetected: 1 };
      const links = mesh(2, { loss: 20_000, jitterNs: NS_PER_MS / 2, faults });
      return new NetLoop({ nodes: ['a', 'b'], links, programs: [new EchoServer(1, 80), client] });
    };
    const whole = make();
    whole.run();
    const run = make();
    let checked = 0;
    for (let step = 0; run.step(); step++) {
      if (step % 40 !== 0) continue;
      const other = make();
      other.restore(structuredClone(run.capture()));
      other.run();
      expect(other.chains()).toEqual(whole.chains());
      checked++;
    }
    expect(checked).toBeGreaterThan(3);
  });
});
