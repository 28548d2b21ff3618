import { describe, expect, it } from 'vitest';
import {
  ERRNO,
  LOOPBACK_ADDRESS,
  nodeAddress,
  NS_PER_MS,
  READINESS,
  type LinkDef,
} from '../../sim/index.ts';
import { mesh, NetLoop } from '../support/net-loop.ts';

const A = nodeAddress(0);
const B = nodeAddress(1);

function pair(link: Partial<LinkDef> = {}, seed = 1): NetLoop {
  return new NetLoop({ nodes: ['a', 'b'], links: mesh(2, link), seed });
}

function bound(loop: NetLoop, node: number, port: number): number {
  const id = loop.stack(node).open('udp');
  expect(loop.stack(node).bind(id, 0, port)).toBe(0);
  return id;
}

/** Every datagram that has come: its first byte. */
function received(loop: NetLoop, node: number, id: number): number[] {
  const buffer = new Uint8Array(10);
  const values: number[] = [];
  while (loop.stack(node).receive(id, buffer, false) > 0) values.push(buffer[0] as number);
  return values;
}

describe('datagrams', () => {
  it('arrive whole, with their sender, and are cut off where there is no room', () => {
    const loop = pair();
    const [from, to] = [bound(loop, 0, 500), bound(loop, 1, 501)];
    expect(loop.stack(0).sendTo(from, Uint8Array.of(1, 2, 3, 4), B, 501)).toBe(4);
    expect(loop.stack(0).sendTo(from, new Uint8Array(0), B, 501)).toBe(0);
    expect(loop.stack(0).sendTo(from, new Uint8Array(65_507), B, 501)).toBe(65_507);
    loop.run();
    const buffer = new Uint8Array(3);
    const stack = loop.stack(1);
    expect(stack.readiness(to)).toBe(READINESS.READABLE | READINESS.WRITABLE);
    expect(stack.readableBytes(to)).toBe(4);
    const first = { count: 3, address: A, port: 500 };
    expect(stack.receiveFrom(to, buffer, true)).toEqual(first);
    expect(stack.receiveFrom(to, buffer, false)).toEqual(first);
    expect(buffer).toEqual(Uint8Array.of(1, 2, 3));
    expect(stack.receiveFrom(to, buffer, false)).toEqual({ count: 0, address: A, port: 500 });
    expect(stack.receive(to, new Uint8Array(70_000), false)).toBe(65_507);
    expect(stack.receiveFrom(to, buffer, false)).toBe(-ERRNO.AGAIN);
    expect(stack.readiness(to)).toBe(READINESS.WRITABLE);
  });

  it('overtake each other by jitter', () => {
    const loop = pair({ latencyNs: 5 * NS_PER_MS, jitterNs: 4 * NS_PER_MS });
    const [from, to] = [bound(loop, 0, 500), bound(loop, 1, 501)];
    for (let value = 0; value < 50; value++) {
      loop.stack(0).sendTo(from, Uint8Array.of(value), B, 501);
    }
    loop.run();
    const values = received(loop, 1, to);
    const inOrder = Array.from({ length: 50 }, (_, value) => value);
    expect(values).not.toEqual(inOrder);
    expect(values.toSorted((a, b) => a - b)).toEqual(inOrder);
  });

  it('are lost as often as the link says', () => {
    const loop = pair({ loss: 300_000 });
    const [from, to] = [bound(loop, 0, 500), bound(loop, 1, 501)];
    let count = 0;
    for (let value = 0; value < 4_000; value++) {
      loop.stack(0).sendTo(from, Uint8Array.of(1), B, 501);
      loop.run();
      count += received(loop, 1, to).length;
    }
    // 2,800 are expected; the standard deviation is 29.
    expect(Math.abs(count - 2_800)).toBeLessThan(150);
  });

  it('go to the best of several sockets: connected, then of that address, then of any', () => {
    const loop = pair();
    const stack = loop.stack(1);
    const open = (address: number): number => {
      const id = stack.open('udp');
      stack.setOption(id, 'reuse-address', 1);
      expect(stack.bind(id, address, 501)).toBe(0);
      return id;
    };
    const [any, exact, connected] = [open(0), open(B), open(0)];
    stack.connect(connected, A, 500);
    const from = bound(loop, 0, 500);
    const other = bound(loop, 0, 502);
    const local = bound(loop, 1, 503);
    loop.stack(0).sendTo(from, Uint8Array.of(1), B, 501);
    loop.stack(0).sendTo(other, Uint8Array.of(2), B, 501);
    stack.sendTo(local, Uint8Array.of(3), LOOPBACK_ADDRESS, 501);
    loop.run();
    expect(received(loop, 1, connected)).toEqual([1]);
    expect(received(loop, 1, exact)).toEqual([2]);
    expect(received(loop, 1, any)).toEqual([3]);
  });

  it('beyond the receive buffer are dropped', () => {
    const loop = pair();
    const [from, to] = [bound(loop, 0, 500), bound(loop, 1, 501)];
    loop.stack(1).setOption(to, 'receive-buffer', 4_096);
    for (let value = 1; value <= 10; value++) {
      loop.stack(0).sendTo(from, new Uint8Array(960).fill(value), B, 501);
    }
    loop.run();
    expect(received(loop, 1, to)).toEqual([1, 2, 3, 4]);
  });
});

describe('a connected socket', () => {
  it('sends to and hears only its peer', () => {
    const loop = pair();
    const [one, other] = [bound(loop, 0, 500), bound(loop, 0, 502)];
    const to = bound(loop, 1, 501);
    expect(loop.stack(1).send(to, Uint8Array.of(1))).toBe(-ERRNO.DESTADDRREQ);
    expect(loop.stack(1).peerAddress(to)).toBe(-ERRNO.NOTCONN);
    expect(loop.stack(1).connect(to, A, 500)).toBe(0);
    expect(loop.stack(1).peerAddress(to)).toEqual({ address: A, port: 500 });
    expect(loop.stack(1).localAddress(to)).toEqual({ address: B, port: 501 });
    loop.stack(0).sendTo(other, Uint8Array.of(1), B, 501);
    loop.stack(0).sendTo(one, Uint8Array.of(2), B, 501);
    expect(loop.stack(1).send(to, Uint8Array.of(3))).toBe(1);
    loop.run();
    expect(received(loop, 1, to)).toEqual([2]);
    expect(received(loop, 0, one)).toEqual([3]);
  });

  it('learns that nobody has the port', () => {
    const loop = pair();
    const from = loop.stack(0).open('udp');
    loop.stack(0).connect(from, B, 501);
    expect(loop.stack(0).send(from, Uint8Array.of(1))).toBe(1);
    loop.run();
    expect(loop.stack(0).readiness(from) & READINESS.ERROR).toBe(READINESS.ERROR);
    expect(loop.stack(0).receive(from, new Uint8Array(1), false)).toBe(-ERRNO.CONNREFUSED);
    expect(loop.stack(0).send(from, Uint8Array.of(1))).toBe(1);
  });

  it('can be shut down', () => {
    const loop = pair();
    const from = loop.stack(0).open('udp');
    expect(loop.stack(0).shutdown(from, 'both')).toBe(-ERRNO.NOTCONN);
    loop.stack(0).connect(from, B, 501);
    expect(loop.stack(0).shutdown(from, 'both')).toBe(0);
    expect(loop.stack(0).send(from, Uint8Array.of(1))).toBe(-ERRNO.PIPE);
    expect(loop.stack(0).receive(from, new Uint8Array(1), false)).toBe(0);
  });
});

describe('what cannot be sent', () => {
  it.each([
    ['too large', 65_508, B, 501, -ERRNO.MSGSIZE],
    ['to nobody', 1, 0x0a00_0009, 501, -ERRNO.HOSTUNREACH],
    ['to all', 1, 0xffff_ffff, 501, -ERRNO.HOSTUNREACH],
    ['to port 0', 1, B, 0, -ERRNO.INVAL],
  ])('%s', (_, size, address, port, result) => {
    const loop = pair();
    const from = loop.stack(0).open('udp');
    expect(loop.stack(0).sendTo(from, new Uint8Array(size), address, port)).toBe(result);
    expect(loop.queue.length).toBe(0);
  });

  it('from the loopback to another node', () => {
    const loop = pair();
    const from = loop.stack(0).open('udp');
    loop.stack(0).bind(from, LOOPBACK_ADDRESS, 500);
    expect(loop.stack(0).sendTo(from, Uint8Array.of(1), B, 501)).toBe(-ERRNO.INVAL);
    expect(loop.stack(0).sendTo(from, Uint8Array.of(1), A, 500)).toBe(1);
    loop.run();
    expect(received(loop, 0, from)).toEqual([]);
  });
});
