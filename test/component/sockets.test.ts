import { beforeEach, describe, expect, it } from 'vitest';
import type { SocketStack, Wait } from '../../sim/index.ts';
import { LonePort } from '../support/lone-guest.ts';
import { NetLoop, mesh } from '../support/net-loop.ts';
import { DirectGuest, type Handle } from './direct-guest.ts';

const TCP = 'wasi:sockets/tcp#tcp-socket';
const UDP = 'wasi:sockets/udp#udp-socket';
const INCOMING = 'wasi:sockets/udp#incoming-datagram-stream';
const OUTGOING = 'wasi:sockets/udp#outgoing-datagram-stream';
const INPUT = 'wasi:io/streams#input-stream';
const OUTPUT = 'wasi:io/streams#output-stream';
const POLLABLE = 'wasi:io/poll#pollable';
const CLOSED = { ok: false, error: { tag: 'closed' } };

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const ok = (value?: unknown): unknown => ({ ok: true, value });
const error = (code: string): unknown => ({ ok: false, error: code });

/** Node k has 10.0.0.(k + 1). */
const address = (node: number, port: number): unknown => ({
  tag: 'ipv4',
  value: { port, address: [10, 0, 0, node + 1] },
});
const ANY = { tag: 'ipv4', value: { port: 0, address: [0, 0, 0, 0] } };
const IPV6 = {
  tag: 'ipv6',
  value: { port: 1, 'flow-info': 0, address: [0, 0, 0, 0, 0, 0, 0, 1], 'scope-id': 0 },
};

class NetPort extends LonePort {
  private readonly loop: NetLoop;
  private readonly node: number;

  constructor(loop: NetLoop, node: number) {
    super();
    this.loop = loop;
    this.node = node;
  }

  override get sockets(): SocketStack {
    return this.loop.stack(this.node);
  }
}

let loop: NetLoop;
let guests: DirectGuest[];
let networks: Handle[];

async function makeGuest(node: number): Promise<DirectGuest> {
  const guest = await DirectGuest.make(new NetPort(loop, node));
  guest.onWait = (wait: Wait) => {
    while (!loop.stack(node).isReady(wait.interests)) {
      if (!loop.step()) throw new Error('the wait never ends');
    }
    guest.port.nowNs = loop.nowNs;
  };
  return guest;
}

beforeEach(async () => {
  loop = new NetLoop({ nodes: ['left', 'right'], links: mesh(2) });
  guests = [await makeGuest(0), await makeGuest(1)];
  networks = guests.map(
    (guest) => guest.call('wasi:sockets/instance-network#instance-network') as Handle,
  );
});

function valueOf(outcome: unknown): unknown {
  expect(outcome).toMatchObject({ ok: true });
  return (outcome as { value: unknown }).value;
}

function create(node: number, kind: 'tcp' | 'udp'): Handle {
  const name = `wasi:sockets/${kind}-create-socket#create-${kind}-socket`;
  return valueOf(guests[node].call(name, 'ipv4')) as Handle;
}

const tcp = (node: number, method: string, ...values: unknown[]): unknown =>
  guests[node].call(`${TCP}.${method}`, ...values);
const udp = (node: number, method: string, ...values: unknown[]): unknown =>
  guests[node].call(`${UDP}.${method}`, ...values);

function block(node: number, pollable: unknown): void {
  guests[node].call(`${POLLABLE}.block`, pollable);
}

function listener(node: number, port: number): Handle {
  const socket = create(node, 'tcp');
  expect(tcp(node, 'start-bind', socket, networks[node], address(node, port))).toEqual(ok());
  expect(tcp(node, 'finish-bind', socket)).toEqual(ok());
  expect(tcp(node, 'start-listen', socket)).toEqual(ok());
  expect(tcp(node, 'finish-listen', socket)).toEqual(ok());
  return socket;
}

interface End {
  readonly socket: Handle;
  readonly input: Handle;
  readonly output: Handle;
}

function connected(): { client: End; server: End; listening: Handle } {
  const listening = listener(1, 80);
  const socket = create(0, 'tcp');
  expect(tcp(0, 'start-connect', socket, networks[0], address(1, 80))).toEqual(ok());
  block(0, tcp(0, 'subscribe', socket));
  const [input, output] = valueOf(tcp(0, 'finish-connect', socket)) as Handle[];
  block(1, tcp(1, 'subscribe', listening));
  const accepted = valueOf(tcp(1, 'accept', listening)) as Handle[];
  return {
    client: { socket, input, output },
    server: { socket: accepted[0], input: accepted[1], output: accepted[2] },
    listening,
  };
}

describe('wasi:sockets/tcp', () => {
  it('connects, carries bytes both ways, and ends', () => {
    const { client, server, listening } = connected();
    expect(tcp(1, 'is-listening', listening)).toBe(true);
    expect(tcp(1, 'is-listening', server.socket)).toBe(false);
    expect(tcp(0, 'address-family', client.socket)).toBe('ipv4');
    expect(tcp(0, 'remote-address', client.socket)).toEqual(ok(address(1, 80)));
    expect(tcp(1, 'local-address', server.socket)).toEqual(ok(address(1, 80)));
    expect(tcp(1, 'remote-address', server.socket)).toEqual(tcp(0, 'local-address', client.socket));

    expect(guests[1].call(`${INPUT}.read`, server.input, 10n)).toEqual(ok(text('')));
    const write = `${OUTPUT}.blocking-write-and-flush`;
    expect(guests[0].call(write, client.output, text('ping'))).toEqual(ok());
    expect(guests[1].call(`${INPUT}.blocking-read`, server.input, 10n)).toEqual(ok(text('ping')));
    expect(guests[1].call(write, server.output, text('pong'))).toEqual(ok());
    expect(guests[0].call(`${INPUT}.blocking-skip`, client.input, 2n)).toEqual(ok(2n));
    expect(guests[0].call(`${INPUT}.read`, client.input, 10n)).toEqual(ok(text('ng')));

    expect(tcp(0, 'shutdown', client.socket, 'send')).toEqual(ok());
    expect(guests[1].call(`${INPUT}.blocking-read`, server.input, 10n)).toEqual(CLOSED);
    expect(guests[0].call(write, client.output, text('late'))).toEqual(CLOSED);
    expect(guests[1].call(write, server.output, text('still'))).toEqual(ok());
    expect(guests[0].call(`${INPUT}.blocking-read`, client.input, 10n)).toEqual(ok(text('still')));
  });

  it('a socket closes with the last of its handles', () => {
    const { client, server } = connected();
    guests[0].drop(TCP, client.socket);
    guests[0].drop(INPUT, client.input);
    const write = `${OUTPUT}.blocking-write-and-flush`;
    expect(guests[0].call(write, client.output, text('x'))).toEqual(ok());
    expect(guests[1].call(`${INPUT}.blocking-read`, server.input, 10n)).toEqual(ok(text('x')));
    guests[0].drop(OUTPUT, client.output);
    expect(guests[1].call(`${INPUT}.blocking-read`, server.input, 10n)).toEqual(CLOSED);
  });

  it('dropping the output stream ends the sending direction only', () => {
    const { client, server } = connected();
    guests[0].drop(OUTPUT, client.output);
    expect(guests[1].call(`${INPUT}.blocking-read`, server.input, 10n)).toEqual(CLOSED);
    const write = `${OUTPUT}.blocking-write-and-flush`;
    expect(guests[1].call(write, server.output, text('back'))).toEqual(ok());
    expect(guests[0].call(`${INPUT}.blocking-read`, client.input, 10n)).toEqual(ok(text('back')));
  });

  it('check-write promises what write then takes, and waits for room', () => {
    const { client, server } = connected();
    const check = (): number =>
      Number(valueOf(guests[0].call(`${OUTPUT}.check-write`, client.output)));
    let sent = 0;
    for (let room = check(); room > 0; room = check()) {
      const bytes = new Uint8Array(Math.min(room, 60_000)).fill(sent & 255);
      expect(guests[0].call(`${OUTPUT}.write`, client.output, bytes)).toEqual(ok());
      sent += bytes.length;
    }
    expect(sent).toBeGreaterThan(60_000);
    const ready = guests[0].call(`${OUTPUT}.subscribe`, client.output);
    expect(guests[0].call(`${POLLABLE}.ready`, ready)).toBe(false);
    let received = 0;
    while (received < sent) {
      const got = guests[1].call(`${INPUT}.blocking-skip`, server.input, 100_000n);
      received += Number(valueOf(got));
    }
    block(0, ready);
    expect(check()).toBeGreaterThan(0);
  });

  it('a blocking write waits as often as it takes, and splices carry a stream on', () => {
    const { client, server } = connected();
    const write = `${OUTPUT}.blocking-write-and-flush`;
    const chunk = new Uint8Array(4096).fill(7);
    let echoed = 0;
    // While one call of this guest waits, the test makes others: their writes would be mixed up.
    guests[0].checksWrites = false;
    guests[0].onWait = () => {
      echoed += Number(
        valueOf(guests[1].call(`${OUTPUT}.blocking-splice`, server.output, server.input, 70_000n)),
      );
      for (let step = 0; step < 50; step++) loop.step();
      guests[0].call(`${INPUT}.skip`, client.input, 1_000_000n);
    };
    for (let count = 0; count < 100; count++) {
      expect(guests[0].call(write, client.output, chunk)).toEqual(ok());
    }
    expect(guests[0].waits.length).toBeGreaterThan(1);
    expect(echoed).toBeGreaterThan(100_000);
  });

  it('a refused connection', () => {
    const socket = create(0, 'tcp');
    expect(tcp(0, 'start-connect', socket, networks[0], address(1, 81))).toEqual(ok());
    expect(tcp(0, 'finish-connect', socket)).toEqual(error('would-block'));
    expect(tcp(0, 'start-connect', socket, networks[0], address(1, 81))).toEqual(
      error('concurrency-conflict'),
    );
    block(0, tcp(0, 'subscribe', socket));
    expect(tcp(0, 'finish-connect', socket)).toEqual(error('connection-refused'));
    expect(tcp(0, 'finish-connect', socket)).toEqual(error('not-in-progress'));
    expect(tcp(0, 'start-connect', socket, networks[0], address(1, 81))).toEqual(
      error('invalid-state'),
    );
  });

  it('a connection that is reset fails the stream, by name', () => {
    const { client, server } = connected();
    const write = `${OUTPUT}.blocking-write-and-flush`;
    expect(guests[0].call(write, client.output, text('unread'))).toEqual(ok());
    loop.run();
    for (const [resource, handle] of [
      [TCP, server.socket],
      [INPUT, server.input],
      [OUTPUT, server.output],
    ] as const) {
      guests[1].drop(resource, handle);
    }
    const failed = guests[0].call(`${INPUT}.blocking-read`, client.input, 10n) as {
      error: { tag: string; value: Handle };
    };
    expect(failed.error.tag).toBe('last-operation-failed');
    const code = guests[0].call('wasi:sockets/network#network-error-code', failed.error.value);
    expect(code).toBe('connection-reset');
    expect(guests[0].call('wasi:filesystem/types#filesystem-error-code', failed.error.value)).toBe(
      null,
    );
    expect(guests[0].call(`${INPUT}.read`, client.input, 10n)).toEqual(CLOSED);
  });

  it.each([
    ['finish-bind', [], 'not-in-progress'],
    ['finish-connect', [], 'not-in-progress'],
    ['finish-listen', [], 'not-in-progress'],
    ['start-listen', [], 'invalid-state'],
    ['accept', [], 'invalid-state'],
    ['local-address', [], 'invalid-state'],
    ['remote-address', [], 'invalid-state'],
    ['shutdown', ['both'], 'invalid-state'],
    ['set-listen-backlog-size', [0n], 'invalid-argument'],
    ['set-keep-alive-idle-time', [0n], 'invalid-argument'],
    ['set-keep-alive-interval', [0n], 'invalid-argument'],
    ['set-keep-alive-count', [0], 'invalid-argument'],
    ['set-hop-limit', [0], 'invalid-argument'],
    ['set-receive-buffer-size', [0n], 'invalid-argument'],
    ['set-send-buffer-size', [0n], 'invalid-argument'],
  ])('%s(%s) on a fresh socket: %s', (method, values, code) => {
    expect(tcp(0, method, create(0, 'tcp'), ...values)).toEqual(error(code));
  });

  it('binds once, to addresses of its own', () => {
    const bind = (to: unknown): unknown => tcp(0, 'start-bind', create(0, 'tcp'), networks[0], to);
    expect(bind(IPV6)).toEqual(error('invalid-argument'));
    expect(bind(address(1, 5))).toEqual(error('address-not-bindable'));
    const multicast = { tag: 'ipv4', value: { port: 5, address: [224, 0, 0, 1] } };
    expect(bind(multicast)).toEqual(error('invalid-argument'));
    const first = listener(0, 5);
    expect(bind(address(0, 5))).toEqual(error('address-in-use'));
    expect(tcp(0, 'start-bind', first, networks[0], address(0, 6))).toEqual(error('invalid-state'));
    expect(tcp(0, 'accept', first)).toEqual(error('would-block'));
    expect(bind(ANY)).toEqual(ok());
  });

  it.each([IPV6, ANY, address(1, 0)])('connecting to %j is no argument', (to) => {
    const socket = create(0, 'tcp');
    expect(tcp(0, 'start-connect', socket, networks[0], to)).toEqual(error('invalid-argument'));
  });

  it('keeps its options, and an accepted socket has room of its own', () => {
    const socket = create(0, 'tcp');
    for (const [name, value] of [
      ['keep-alive-enabled', true],
      ['keep-alive-idle-time', 5_000_000_000n],
      ['keep-alive-interval', 6_000_000_000n],
      ['keep-alive-count', 7],
      ['hop-limit', 8],
      ['receive-buffer-size', 8192n],
      ['send-buffer-size', 16_384n],
    ] as const) {
      expect(tcp(0, `set-${name}`, socket, value)).toEqual(ok());
      expect(tcp(0, name, socket)).toEqual(ok(value));
    }
    expect(tcp(0, 'set-listen-backlog-size', socket, 5n)).toEqual(ok());
    const { server } = connected();
    expect(tcp(1, 'set-listen-backlog-size', server.socket, 5n)).toEqual(error('invalid-state'));
    expect(tcp(1, 'keep-alive-enabled', server.socket)).toEqual(ok(false));
  });

  it('IPv6 does not exist', () => {
    for (const kind of ['tcp', 'udp']) {
      const name = `wasi:sockets/${kind}-create-socket#create-${kind}-socket`;
      expect(guests[0].call(name, 'ipv6')).toEqual(error('not-supported'));
    }
  });
});

describe('wasi:sockets/udp', () => {
  function bound(node: number, port: number): Handle {
    const socket = create(node, 'udp');
    expect(udp(node, 'start-bind', socket, networks[node], address(node, port))).toEqual(ok());
    expect(udp(node, 'finish-bind', socket)).toEqual(ok());
    return socket;
  }

  function streams(node: number, socket: Handle, remote: unknown): readonly [Handle, Handle] {
    return valueOf(udp(node, 'stream', socket, remote)) as [Handle, Handle];
  }

  it('carries datagrams with their senders', () => {
    const left = bound(0, 7);
    const right = bound(1, 8);
    const [, toRight] = streams(0, left, null);
    const [fromLeft] = streams(1, right, null);
    expect(udp(0, 'address-family', left)).toBe('ipv4');
    expect(guests[1].call(`${INCOMING}.receive`, fromLeft, 5n)).toEqual(ok([]));
    expect(guests[0].call(`${OUTGOING}.check-send`, toRight)).toEqual(ok(16n));
    const datagrams = ['one', 'two'].map((value) => ({
      data: text(value),
      'remote-address': address(1, 8),
    }));
    expect(guests[0].call(`${OUTGOING}.send`, toRight, datagrams)).toEqual(ok(2n));
    block(1, guests[1].call(`${INCOMING}.subscribe`, fromLeft));
    loop.run();
    expect(guests[1].call(`${INCOMING}.receive`, fromLeft, 0n)).toEqual(ok([]));
    expect(guests[1].call(`${INCOMING}.receive`, fromLeft, 5n)).toEqual(
      ok(['one', 'two'].map((value) => ({ data: text(value), 'remote-address': address(0, 7) }))),
    );
    const ready = guests[0].call(`${OUTGOING}.subscribe`, toRight);
    expect(guests[0].call(`${POLLABLE}.ready`, ready)).toBe(true);
    expect(guests[0].call(`${POLLABLE}.ready`, udp(0, 'subscribe', left))).toBe(true);
  });

  it('with a peer sends to nobody else, and can be let go of it', () => {
    const left = bound(0, 7);
    const right = bound(1, 8);
    const [incoming, outgoing] = streams(0, left, address(1, 8));
    const [fromLeft] = streams(1, right, null);
    expect(udp(0, 'remote-address', left)).toEqual(ok(address(1, 8)));
    const send = (remote: unknown): unknown => {
      guests[0].call(`${OUTGOING}.check-send`, outgoing);
      const datagram = { data: text('x'), 'remote-address': remote };
      return guests[0].call(`${OUTGOING}.send`, outgoing, [datagram]);
    };
    expect(send(null)).toEqual(ok(1n));
    expect(send(address(1, 8))).toEqual(ok(1n));
    expect(send(address(1, 9))).toEqual(error('invalid-argument'));
    loop.run();
    expect(valueOf(guests[1].call(`${INCOMING}.receive`, fromLeft, 9n))).toHaveLength(2);
    expect(() => udp(0, 'stream', left, null)).toThrow(
      expect.objectContaining({ code: 'wasi-misuse' }),
    );
    guests[0].drop(INCOMING, incoming);
    guests[0].drop(OUTGOING, outgoing);
    streams(0, left, null);
    expect(udp(0, 'remote-address', left)).toEqual(error('invalid-state'));
  });

  it.each([
    ['no address', 'invalid-argument', null, 1],
    ['IPv6', 'invalid-argument', IPV6, 1],
    ['port 0', 'invalid-argument', address(1, 0), 1],
    ['65,508 bytes', 'datagram-too-large', address(1, 8), 65_508],
  ])('a datagram with %s: %s', (_, code, remote, length) => {
    const [, outgoing] = streams(0, bound(0, 7), null);
    guests[0].call(`${OUTGOING}.check-send`, outgoing);
    const datagram = { data: new Uint8Array(length), 'remote-address': remote };
    expect(guests[0].call(`${OUTGOING}.send`, outgoing, [datagram])).toEqual(error(code));
  });

  it('sends no more than it was permitted', () => {
    const [, outgoing] = streams(0, bound(0, 7), null);
    const datagram = { data: text('x'), 'remote-address': address(1, 8) };
    expect(() => guests[0].call(`${OUTGOING}.send`, outgoing, [datagram])).toThrow(
      expect.objectContaining({ code: 'wasi-misuse' }),
    );
  });

  it('needs to be bound first, keeps its options', () => {
    const socket = create(0, 'udp');
    expect(udp(0, 'finish-bind', socket)).toEqual(error('not-in-progress'));
    expect(udp(0, 'stream', socket, null)).toEqual(error('invalid-state'));
    expect(udp(0, 'local-address', socket)).toEqual(error('invalid-state'));
    expect(udp(0, 'start-bind', socket, networks[0], ANY)).toEqual(ok());
    expect(udp(0, 'finish-bind', socket)).toEqual(ok());
    expect(udp(0, 'local-address', socket)).toMatchObject({ ok: true });
    expect(udp(0, 'stream', socket, IPV6)).toEqual(error('invalid-argument'));
    for (const [name, value] of [
      ['unicast-hop-limit', 8],
      ['receive-buffer-size', 8192n],
      ['send-buffer-size', 16_384n],
    ] as const) {
      expect(udp(0, `set-${name}`, socket, value)).toEqual(ok());
      expect(udp(0, name, socket)).toEqual(ok(value));
    }
    guests[0].drop(UDP, socket);
  });
});

describe('wasi:sockets/ip-name-lookup', () => {
  const STREAM = 'wasi:sockets/ip-name-lookup#resolve-address-stream';

  function resolve(name: string): unknown {
    return guests[0].call('wasi:sockets/ip-name-lookup#resolve-addresses', networks[0], name);
  }

  it.each([
    ['right', [10, 0, 0, 2]],
    ['10.0.0.77', [10, 0, 0, 77]],
  ])('%s is %j', (name, expected) => {
    const stream = valueOf(resolve(name)) as Handle;
    expect(guests[0].call(`${POLLABLE}.ready`, guests[0].call(`${STREAM}.subscribe`, stream))).toBe(
      true,
    );
    const next = `${STREAM}.resolve-next-address`;
    expect(guests[0].call(next, stream)).toEqual(ok({ tag: 'ipv4', value: expected }));
    expect(guests[0].call(next, stream)).toEqual(ok(null));
    guests[0].drop(STREAM, stream);
  });

  it('a name that nobody has', () => {
    const stream = valueOf(resolve('nobody')) as Handle;
    const next = guests[0].call(`${STREAM}.resolve-next-address`, stream);
    expect(next).toEqual(error('name-unresolvable'));
  });

  it.each(['', 'two words', '-x', 'a..b', 'x'.repeat(254), 'exämple'])('%j is no name', (name) => {
    expect(resolve(name)).toEqual(error('invalid-argument'));
  });
});

describe('sockets of a guest', () => {
  it('are saved and restored with their states', async () => {
    const { client } = connected();
    const state = guests[0].host.capture();
    const other = await makeGuest(0);
    other.host.restore(state);
    expect(other.call(`${TCP}.remote-address`, client.socket)).toEqual(ok(address(1, 80)));
    guests[0] = other;
    other.drop(TCP, client.socket);
    other.drop(INPUT, client.input);
    expect(other.call(`${OUTPUT}.check-write`, client.output)).toMatchObject({ ok: true });
    other.drop(OUTPUT, client.output);
    expect(other.host.capture()).toMatchObject({ records: [] });
    guests[0].drop('wasi:sockets/network#network', networks[0]);
  });
});
