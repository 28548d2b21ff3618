import { describe, expect, it } from 'vitest';
import {
  decodeCanonical,
  encodeCanonical,
  nodeAddress,
  NO_DEGRADATION,
  NS_PER_MS,
  NS_PER_S,
  type NetworkEvent,
} from '../../sim/index.ts';
import { failure } from '../support/failure.ts';
import { mesh, NetLoop, type NetLoopState } from '../support/net-loop.ts';
import { EchoServer, TransferClient } from '../support/net-programs.ts';

/** Three nodes, transfers both ways over bad links, and cuts that come and go. */
function busy(seed: number): NetLoop {
  const client = (node: number, to: number, bytes: number, chunk: number): TransferClient => {
    return new TransferClient({
      node,
      address: nodeAddress(to),
      port: 80,
      bytes,
      chunk,
      stream: node,
    });
  };
  return new NetLoop({
    nodes: ['a', 'b', 'c'],
    links: mesh(3, { loss: 60_000, jitterNs: NS_PER_MS / 2, bandwidth: 20_000_000 }),
    seed,
    programs: [
      new EchoServer(1, 80),
      new EchoServer(2, 80),
      client(0, 1, 60_000, 7_000),
      client(0, 2, 9_000, 100),
      client(2, 1, 30_000, 30_000),
      client(2, 2, 100_000, 60_000),
    ],
  });
}

/** Cuts, mends, degrades and crashes by the count of events, as a plan would. */
function disturb(loop: NetLoop, count: number): void {
  if (count === 60)
    loop.network.cut([
      [0, 1],
      [1, 2],
    ]);
  if (count === 90)
    loop.network.degrade([0, 2], { ...NO_DEGRADATION, loss: 100_000, extraLatencyNs: NS_PER_MS });
  if (count === 120) loop.network.heal();
  if (count === 200) loop.network.setUp(1, false);
  if (count === 210) loop.network.setUp(1, true);
}

function finish(loop: NetLoop, from: number, onStep: (count: number) => void): void {
  for (let count = from; loop.nowNs < 20 * NS_PER_S; count++) {
    onStep(count);
    disturb(loop, count);
    if (!loop.step()) break;
  }
}

interface Ending {
  readonly chains: readonly string[];
  readonly digest: string;
  readonly nowNs: number;
}

function ending(loop: NetLoop): Ending {
  return { chains: loop.chains(), digest: loop.network.digest(), nowNs: loop.nowNs };
}

describe('a saved network', () => {
  it('goes on as the original from every fifth event', () => {
    const original = busy(5);
    const saved: [number, NetLoopState, string][] = [];
    finish(original, 0, (count) => {
      if (count % 5 === 0) {
        saved.push([count, original.capture(), original.network.digest()]);
      }
    });
    expect(saved.length).toBeGreaterThan(40);
    for (const [count, state, digest] of saved) {
      const copy = busy(77);
      copy.restore(state);
      expect(copy.network.digest(), `at event ${count}`).toBe(digest);
      finish(copy, count, () => undefined);
      expect(ending(copy), `from event ${count}`).toEqual(ending(original));
    }
  });

  it('survives canonical encoding, with the events that wait', () => {
    const original = busy(6);
    const states: Uint8Array[] = [];
    finish(original, 0, (count) => {
      if (count !== 150) return;
      states.push(encodeCanonical({ ...original.capture() }));
    });
    const copy = busy(8);
    copy.restore(decodeCanonical(states[0] as Uint8Array) as unknown as NetLoopState);
    finish(copy, 150, () => undefined);
    expect(ending(copy)).toEqual(ending(original));
  });

  it('is not changed by what happens after it was saved', () => {
    const loop = busy(5);
    let saved: NetLoopState | undefined;
    let before = new Uint8Array(0);
    finish(loop, 0, (count) => {
      if (count !== 100) return;
      saved = loop.capture();
      before = encodeCanonical(saved.network).slice();
    });
    expect(encodeCanonical(saved?.network)).toEqual(before);
  });

  it('can be restored again and again into a network that was used', () => {
    const loop = busy(5);
    let saved: NetLoopState | undefined;
    finish(loop, 0, (count) => {
      if (count === 100) saved = loop.capture();
    });
    const first = ending(loop);
    for (let round = 0; round < 2; round++) {
      loop.restore(saved as NetLoopState);
      finish(loop, 100, () => undefined);
      expect(ending(loop)).toEqual(first);
    }
  });

  it('frees all that it held once every socket is closed', () => {
    const loop = busy(5);
    finish(loop, 0, () => undefined);
    for (const node of [0, 1, 2]) loop.stack(node).closeAll(loop.nowNs);
    loop.run();
    for (const node of [0, 1, 2]) {
      const state = loop.stack(node).capture() as { tcp: { sockets: unknown[] } };
      expect(state.tcp.sockets).toEqual([]);
      expect(loop.stack(node).heldBytes).toBe(0);
    }
  });
});

describe('determinism', () => {
  it('the same seed gives the same logs, another seed other ones', () => {
    const run = (seed: number): Ending => {
      const loop = busy(seed);
      finish(loop, 0, () => undefined);
      return ending(loop);
    };
    expect(run(1)).toEqual(run(1));
    expect(run(2)).not.toEqual(run(1));
  });

  it('a difference of one byte is a difference of digest', () => {
    const digests = [0, 1].map((value) => {
      const loop = new NetLoop({ nodes: ['a'], links: [] });
      const [from, to] = [loop.stack(0).open('udp'), loop.stack(0).open('udp')];
      loop.stack(0).bind(to, 0, 9);
      loop.stack(0).sendTo(from, Uint8Array.of(value, 0), nodeAddress(0), 9);
      loop.run();
      return [loop.stack(0).digest(), loop.network.digest()];
    });
    expect(digests[0]?.[0]).toMatch(/^[0-9a-f]{16}$/);
    expect(digests[0]?.[0]).not.toBe(digests[1]?.[0]);
    expect(digests[0]?.[1]).not.toBe(digests[1]?.[1]);
  });
});

describe('a damaged state', () => {
  it.each([
    ['nothing', null],
    ['another version', { version: 9 }],
    ['too many nodes', 'nodes'],
    ['a field too much', 'extra'],
    ['a socket without a state', 'socket'],
  ])('%s is refused', (_, damage) => {
    const loop = busy(5);
    for (let count = 0; count < 50; count++) loop.step();
    const state = loop.network.capture() as {
      stacks: { tcp: { sockets: { block: Record<string, unknown> }[] } }[];
      up: boolean[];
    };
    let given: unknown = damage;
    if (damage === 'nodes') given = { ...state, up: [...state.up, true] };
    if (damage === 'extra') given = { ...state, more: 1 };
    if (damage === 'socket') {
      (state.stacks[0]?.tcp.sockets[0]?.block ?? {})['state'] = 'asleep';
      given = state;
    }
    const error = failure(() => loop.network.restore(given));
    expect(error.code).toMatch(/^bundle\/shape$/);
    expect(error.place).toMatch(/^network/);
  });
});

describe('events', () => {
  it('that wait are plain data', () => {
    const loop = busy(5);
    const waiting: NetworkEvent[] = [];
    for (let count = 0; count < 60; count++) loop.step();
    loop.queue.capture().events.forEach(({ payload: event }) => waiting.push(event));
    expect(waiting.length).toBeGreaterThan(3);
    expect(decodeCanonical(encodeCanonical(waiting))).toEqual(waiting);
  });
});
