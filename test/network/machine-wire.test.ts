import { describe, expect, it } from 'vitest';
import {
  ARP_REPLY,
  ARP_REQUEST,
  BROADCAST_MAC,
  DROP,
  ERRNO,
  ETHER_ARP,
  ETHER_IPV4,
  ICMP_ECHO_REQUEST,
  macOfAddress,
  mix32,
  nodeAddress,
  NS_PER_MS,
  NS_PER_S,
  parseArp,
  parseEthernet,
  parseIcmp,
  parseIpv4,
  parseTcp,
  parseUdp,
  serializeArp,
  serializeEthernet,
  serializeIcmp,
  serializeIpv4,
  serializeTcp,
  serializeUdp,
  type IpPacket,
  type LinkDef,
  type LinkFaultsDef,
} from '../../sim/index.ts';
import { FAR_LATENCY_NS, FramedLoop } from '../support/framed-loop.ts';
import { link, mesh, NetLoop } from '../support/net-loop.ts';
import { EchoServer, TransferClient } from '../support/net-programs.ts';

const [HOST, MACHINE, OTHER, NOBODY] = [0, 1, 2, 3].map(nodeAddress) as [
  number,
  number,
  number,
  number,
];

/** A node of sockets (0) and machines (1 and 2); what reaches machines is kept. */
class Bench {
  readonly arrived: { readonly node: number; readonly frame: Uint8Array; readonly atNs: number }[] =
    [];
  readonly loop: NetLoop;

  constructor(values: Partial<LinkDef> = {}, links?: readonly LinkDef[]) {
    this.loop = new NetLoop({
      nodes: ['host', 'machine', 'other'],
      links: links ?? mesh(3, values),
      machines: new Set([1, 2]),
      frameArrives: (node, frame, atNs) => this.arrived.push({ node, frame, atNs }) > 0,
    });
  }

  /** Sends a frame from a machine and gives why it was dropped, or 0. */
  send(frame: Uint8Array, from = 1): number {
    this.loop.network.sendFrame(from, frame);
    return this.drops().at(-1) ?? 0;
  }

  sendIp(packet: Partial<IpPacket> & { readonly payload: Uint8Array }, from = 1): number {
    const target = packet.target ?? HOST;
    return this.send(ipFrame({ target, ...packet }), from);
  }

  drops(): readonly number[] {
    const events = this.loop.allEvents();
    return events.filter(({ kind }) => kind === 'net/drop').map(({ result }) => result);
  }
}

function ipFrame(packet: Partial<IpPacket> & { readonly payload: Uint8Array }): Uint8Array {
  const whole: IpPacket = {
    identification: 7,
    dontFragment: false,
    moreFragments: false,
    fragmentOffset: 0,
    timeToLive: 64,
    protocol: 17,
    source: MACHINE,
    target: HOST,
    ...packet,
  };
  const macs = { target: macOfAddress(whole.target), source: macOfAddress(MACHINE) };
  return serializeEthernet({ ...macs, type: ETHER_IPV4, payload: serializeIpv4(whole) });
}

/** A frame's IPv4 packet. */
function ipOf(frame: Uint8Array | undefined): IpPacket {
  const ethernet = parseEthernet(frame ?? new Uint8Array(0));
  if (typeof ethernet === 'number') throw new Error(`dropped: ${ethernet}`);
  const packet = parseIpv4(ethernet.payload);
  if (typeof packet === 'number') throw new Error(`dropped: ${packet}`);
  return packet;
}

function udpTo(target: number, length: number, sourcePort = 5_000): Uint8Array {
  const payload = Uint8Array.from({ length }, (_, at) => mix32(at) & 255);
  return serializeUdp({ sourcePort, targetPort: 53, payload }, { source: MACHINE, target });
}

describe('CR-88: sockets talk to a stack behind frames as they do to sockets', () => {
  const kinds: readonly [string, Partial<LinkDef>][] = [
    ['a plain link', {}],
    ['jitter', { latencyNs: 5 * NS_PER_MS, jitterNs: 4 * NS_PER_MS }],
    ['one packet of twenty lost', { loss: 50_000 }],
    ['a narrow link that loses', { bandwidth: 1_000_000, loss: 30_000 }],
    [
      'reordering and duplicates',
      {
        faults: {
          reorder: { chance: 100_000, windowNs: NS_PER_MS },
          duplicate: { chance: 100_000, gapNs: NS_PER_MS },
        },
      },
    ],
  ];
  it.each(kinds)('over %s', (_, values) => {
    for (let seed = 1; seed <= 15; seed++) {
      const bytes = 1 + ((seed * 7_919) % 60_000);
      const plan = { node: 0, address: MACHINE, port: 80, bytes, chunk: 2_000, stream: seed };
      const framed = new TransferClient(plan);
      const through = new FramedLoop({
        link: values,
        seed,
        programs: [framed, new EchoServer(1, 80)],
      });
      through.run();
      expect(framed.state, `seed ${seed}`).toMatchObject({
        phase: 'done',
        sent: bytes,
        received: bytes,
        wrong: 0,
        error: 0,
      });
      expect(through.near.network.stack(0).heldBytes).toBe(0);
    }
  });

  it('and at the very same times where nothing is lost', () => {
    const plan = { node: 0, address: MACHINE, port: 80, bytes: 50_000, chunk: 2_000, stream: 1 };
    const [framed, direct] = [new TransferClient(plan), new TransferClient(plan)];
    const through = new FramedLoop({
      link: {},
      seed: 1,
      programs: [framed, new EchoServer(1, 80)],
    });
    through.run();
    const latencyNs = NS_PER_MS + FAR_LATENCY_NS;
    const loop = new NetLoop({
      nodes: ['a', 'b'],
      links: mesh(2, { latencyNs }),
      programs: [direct, new EchoServer(1, 80)],
    });
    loop.run();
    expect(framed.state).toEqual(direct.state);
    const sent = (events: ReturnType<NetLoop['allEvents']>, guest: number): readonly number[] => {
      return events
        .filter((event) => event.kind === 'net/send' && event.guest === guest)
        .map(({ atNs }) => atNs);
    };
    expect(sent(through.near.allEvents(), 0)).toEqual(sent(loop.allEvents(), 0));
    expect(sent(through.far.allEvents(), 1)).toEqual(sent(loop.allEvents(), 1));
  });

  it('offers and takes segment sizes and window scales by option', () => {
    const bench = new Bench();
    const stack = bench.loop.stack(0);
    stack.connect(stack.open('tcp'), MACHINE, 80);
    bench.loop.run(5 * NS_PER_MS);
    const packet = ipOf(bench.arrived[0]?.frame);
    expect(parseTcp(packet.payload, packet)).toMatchObject({
      flags: 2,
      window: 65_535,
      options: { segmentBytes: 1_460, windowShift: 7 },
    });
    expect(bench.arrived[0]?.atNs).toBe(NS_PER_MS);
  });

  it('keeps to a machine that scales nothing and takes small segments only', () => {
    const bench = new Bench();
    const stack = bench.loop.stack(0);
    const listening = stack.open('tcp');
    stack.bind(listening, 0, 80);
    stack.listen(listening, 5);
    const ends = { source: MACHINE, target: HOST };
    const base = { sourcePort: 4_000, targetPort: 80, urgent: 0, payload: new Uint8Array(0) };
    const first = 0xffff_fff0;
    const syn = { ...base, sequence: first, acknowledgement: 0, flags: 2, window: 9_000 };
    const say = (segment: typeof syn & { options?: { segmentBytes: number } }): void => {
      const payload = serializeTcp({ options: {}, ...segment }, ends);
      expect(bench.sendIp({ protocol: 6, payload })).toBe(0);
      bench.loop.run(bench.loop.nowNs + 5 * NS_PER_MS);
    };
    say({ ...syn, options: { segmentBytes: 700 } });
    const answer = ipOf(bench.arrived[0]?.frame);
    const synAck = parseTcp(answer.payload, answer);
    if (typeof synAck === 'number') throw new Error();
    expect(synAck).toMatchObject({ flags: 18, acknowledgement: 0xffff_fff1 });
    expect(synAck.options).toEqual({ segmentBytes: 1_460 });
    // Across the end of the numbers of 32 bits.
    const acknowledgement = (synAck.sequence + 1) % 0x1_0000_0000;
    const text = Uint8Array.from({ length: 40 }, (_, at) => at);
    say({ ...syn, flags: 24, sequence: first + 1, acknowledgement, payload: text });
    const accepted = stack.accept(listening);
    const buffer = new Uint8Array(100);
    expect(stack.receive(accepted, buffer, false)).toBe(40);
    expect(buffer.subarray(0, 40)).toEqual(text);
    bench.arrived.length = 0;
    stack.send(accepted, new Uint8Array(2_000));
    bench.loop.run(bench.loop.nowNs + 5 * NS_PER_MS);
    const sizes = bench.arrived.map(({ frame }) => {
      const packet = ipOf(frame);
      const segment = parseTcp(packet.payload, packet);
      if (typeof segment === 'number') throw new Error();
      expect(segment.acknowledgement).toBe((first + 41) % 0x1_0000_0000);
      return segment.payload.length;
    });
    // The rest waits for an acknowledgement (Nagle's algorithm).
    expect(sizes).toEqual([700, 700]);
  });
});

describe('UDP and ICMP', () => {
  it('passes datagrams both ways, in pieces where they are too large for a frame', () => {
    const bench = new Bench();
    const stack = bench.loop.stack(0);
    const socket = stack.open('udp');
    stack.bind(socket, 0, 53);
    for (const length of [0, 100, 1_472]) {
      expect(bench.sendIp({ payload: udpTo(HOST, length) })).toBe(0);
    }
    const large = udpTo(HOST, 4_000);
    for (const [at, end] of [
      [2_960, 4_008],
      [0, 1_480],
      [1_480, 2_960],
    ] as const) {
      const moreFragments = end < 4_008;
      const payload = large.subarray(at, end);
      expect(bench.sendIp({ fragmentOffset: at, moreFragments, payload })).toBe(0);
    }
    bench.loop.run(5 * NS_PER_MS);
    const buffer = new Uint8Array(5_000);
    for (const count of [0, 100, 1_472, 4_000]) {
      expect(stack.receiveFrom(socket, buffer, false)).toEqual({
        count,
        address: MACHINE,
        port: 5_000,
      });
      expect(buffer.subarray(0, count)).toEqual(large.subarray(8, 8 + count));
    }
    stack.sendTo(socket, buffer.subarray(0, 4_000), MACHINE, 5_000);
    bench.loop.run(10 * NS_PER_MS);
    const pieces = bench.arrived.map(({ frame }) => ipOf(frame));
    expect(pieces.map(({ payload }) => payload.length)).toEqual([1_480, 1_480, 1_048]);
    const whole = Uint8Array.from(pieces.flatMap(({ payload }) => [...payload]));
    expect(parseUdp(whole, { source: HOST, target: MACHINE })).toMatchObject({ sourcePort: 53 });
  });

  it('tells the machine, and is told by it, that a port is nobody’s', () => {
    const bench = new Bench();
    expect(bench.sendIp({ payload: udpTo(HOST, 10) })).toBe(0);
    bench.loop.run(5 * NS_PER_MS);
    const refusal = ipOf(bench.arrived[0]?.frame);
    const message = parseIcmp(refusal.payload);
    expect(message).toMatchObject({ type: 3, code: 3 });
    if (typeof message === 'number') throw new Error();
    expect(parseIpv4(message.payload)).toMatchObject({ source: MACHINE, target: HOST });
    const stack = bench.loop.stack(0);
    const socket = stack.open('udp');
    stack.connect(socket, MACHINE, 99);
    stack.send(socket, new Uint8Array(3));
    bench.loop.run(10 * NS_PER_MS);
    const seen = ipOf(bench.arrived.at(-1)?.frame);
    const quoted = serializeIpv4(seen).subarray(0, 28);
    const payload = serializeIcmp({ type: 3, code: 3, rest: 0, payload: quoted });
    const before = bench.drops().length;
    bench.sendIp({ protocol: 1, payload });
    expect(bench.drops()).toHaveLength(before);
    bench.loop.run(20 * NS_PER_MS);
    expect(stack.send(socket, new Uint8Array(3))).toBe(-ERRNO.CONNREFUSED);
  });

  it('answers an echo request for a node of sockets, over the links', () => {
    const bench = new Bench();
    const request = { type: ICMP_ECHO_REQUEST, code: 0, rest: 77, payload: new Uint8Array(56) };
    bench.sendIp({ protocol: 1, payload: serializeIcmp(request) });
    bench.loop.run(5 * NS_PER_MS);
    const reply = ipOf(bench.arrived[0]?.frame);
    expect(parseIcmp(reply.payload)).toEqual({ ...request, type: 0 });
    expect(reply).toMatchObject({ source: HOST, target: MACHINE });
    expect(bench.arrived[0]?.atNs).toBe(2 * NS_PER_MS);
  });
});

describe('frames between machines', () => {
  it('travel the links as they are, with their loss, delay, cuts and duplicates', () => {
    const bench = new Bench({ loss: 300_000, jitterNs: NS_PER_MS / 2 });
    const frame = ipFrame({ target: OTHER, payload: udpTo(OTHER, 64) });
    for (let time = 0; time < 200; time++) bench.loop.network.sendFrame(1, frame);
    bench.loop.run(NS_PER_S);
    expect(bench.arrived.length).toBeGreaterThan(100);
    expect(bench.arrived.length).toBeLessThan(180);
    for (const each of bench.arrived) expect(each).toMatchObject({ node: 2, frame });
    expect(new Set(bench.arrived.map(({ atNs }) => atNs)).size).toBeGreaterThan(50);
    const streams = new Set(bench.loop.allDecisions().map(({ stream }) => stream));
    expect([...streams]).toEqual(['link/machine/other/loss', 'link/machine/other/jitter']);
    bench.loop.network.cut([[1, 2]]);
    expect(bench.send(frame)).toBe(DROP.CUT);
  });

  it('can be damaged so that their checksums still fit, and so that they do not', () => {
    const faults: LinkFaultsDef = { corruptUndetected: 1_000_000 };
    const bench = new Bench({ faults });
    bench.sendIp({ target: OTHER, payload: udpTo(OTHER, 64) });
    bench.loop.run(NS_PER_S);
    const packet = ipOf(bench.arrived[0]?.frame);
    const datagram = parseUdp(packet.payload, packet);
    if (typeof datagram === 'number') throw new Error();
    const sent = udpTo(OTHER, 64).subarray(8);
    const bits = datagram.payload.map((byte, at) => {
      const different = byte ^ (sent[at] ?? 0);
      return [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (different >> bit) & 1).length;
    });
    expect(bits.reduce((sum, count) => sum + count, 0)).toBe(1);
    const damaged = new Bench({ faults: { corrupt: 1_000_000 } });
    damaged.sendIp({ target: OTHER, payload: udpTo(OTHER, 64) });
    damaged.loop.run(NS_PER_S);
    expect(damaged.arrived).toEqual([]);
    expect(damaged.drops()).toEqual([DROP.CHECKSUM]);
  });

  it('are cut into pieces for a small MTU, or refused with word of its size', () => {
    const bench = new Bench({ faults: { mtu: { bytes: 600, oversize: 'fragment' } } });
    bench.sendIp({ target: OTHER, payload: udpTo(OTHER, 1_000) });
    bench.loop.run(5 * NS_PER_MS);
    expect(bench.arrived.map(({ node }) => node)).toEqual([2, 2]);
    bench.arrived.length = 0;
    const payload = udpTo(OTHER, 1_000);
    expect(bench.sendIp({ target: OTHER, dontFragment: true, payload })).toBe(DROP.TOO_BIG);
    bench.loop.run(10 * NS_PER_MS);
    const [word] = bench.arrived;
    expect(word?.node).toBe(1);
    expect(parseIcmp(ipOf(word?.frame).payload)).toMatchObject({ type: 3, code: 4, rest: 600 });
  });
});

describe('ARP', () => {
  const ask = (targetAddress: number): Uint8Array => {
    const senderMac = macOfAddress(MACHINE);
    const payload = serializeArp({
      operation: ARP_REQUEST,
      senderMac,
      senderAddress: MACHINE,
      targetMac: 0,
      targetAddress,
    });
    return serializeEthernet({
      target: BROADCAST_MAC,
      source: senderMac,
      type: ETHER_ARP,
      payload,
    });
  };

  it('is answered from the table for whom a link leads to, cut or not, and for nobody else', () => {
    const bench = new Bench({}, [link(1, 0), link(0, 1)]);
    bench.loop.network.cut([[1, 0]]);
    for (const address of [HOST, OTHER, MACHINE, NOBODY]) expect(bench.send(ask(address))).toBe(0);
    bench.loop.run(NS_PER_S);
    expect(bench.arrived).toHaveLength(1);
    const [reply] = bench.arrived;
    const frame = parseEthernet(reply?.frame ?? new Uint8Array(0));
    if (typeof frame === 'number') throw new Error();
    expect(parseArp(frame.payload)).toEqual({
      operation: ARP_REPLY,
      senderMac: macOfAddress(HOST),
      senderAddress: HOST,
      targetMac: macOfAddress(MACHINE),
      targetAddress: MACHINE,
    });
    expect(reply).toMatchObject({ node: 1, atNs: 2 * NS_PER_MS });
  });
});

describe('hostile frames', () => {
  it('are dropped, each with its reason', () => {
    const bench = new Bench();
    const good = ipFrame({ payload: udpTo(HOST, 4) });
    const change = (at: number, value: number): Uint8Array => {
      const bytes = good.slice();
      bytes[at] = value;
      return bytes;
    };
    expect(bench.send(new Uint8Array(3))).toBe(DROP.FRAME_LENGTH);
    expect(bench.send(change(0, 1))).toBe(DROP.FRAME_GROUP);
    expect(bench.send(change(5, 9))).toBe(DROP.FRAME_ADDRESS);
    expect(bench.send(change(11, 9))).toBe(DROP.FRAME_ADDRESS);
    expect(bench.send(change(13, 9))).toBe(DROP.FRAME_PROTOCOL);
    expect(bench.send(change(14, 0x65))).toBe(DROP.FRAME_HEADER);
    expect(bench.send(change(20, 5))).toBe(DROP.CHECKSUM);
    expect(bench.send(change(45, 5))).toBe(DROP.CHECKSUM);
    expect(bench.sendIp({ protocol: 99, payload: new Uint8Array(9) })).toBe(DROP.FRAME_PROTOCOL);
    expect(bench.sendIp({ source: OTHER, payload: udpTo(HOST, 4) })).toBe(DROP.FRAME_ADDRESS);
    expect(bench.sendIp({ target: NOBODY, payload: udpTo(NOBODY, 4) })).toBe(DROP.NO_ROUTE);
    expect(bench.send(change(12, 9))).toBe(DROP.FRAME_PROTOCOL);
  });

  it('of random bytes never throw and change nothing that lasts', () => {
    const bench = new Bench();
    const good = ipFrame({ payload: udpTo(HOST, 40) });
    for (let round = 0; round < 5_000; round++) {
      const bytes = good.slice(0, (mix32(round) >>> 0) % (good.length + 1));
      for (let hit = 0; hit < 3; hit++) {
        const draw = mix32(round * 3 + hit + 99_999) >>> 0;
        bytes[14 + (draw % 60)] = draw >>> 24;
      }
      bench.loop.network.sendFrame(1 + (round % 2), bytes);
    }
    bench.loop.run(100 * NS_PER_S);
    expect(bench.loop.queue.length).toBe(0);
    expect(bench.loop.stack(0).heldBytes).toBe(0);
  });
});

it('a saved network goes on equally, with frames under way and pieces that wait', () => {
  const run = (splitAt: number): readonly unknown[] => {
    const bench = new Bench({ jitterNs: NS_PER_MS / 2, loss: 100_000 });
    let { loop } = bench;
    const stack = loop.stack(0);
    stack.bind(stack.open('udp'), 0, 53);
    stack.connect(stack.open('tcp'), MACHINE, 80);
    for (let time = 0; time < 40; time++) {
      if (time === splitAt) {
        const state = structuredClone(loop.capture());
        const other = new Bench({ jitterNs: NS_PER_MS / 2, loss: 100_000 });
        other.loop.restore(state);
        bench.arrived.push(...other.arrived);
        loop = other.loop;
        other.arrived.push(...bench.arrived);
        return finish(other, time);
      }
      act(loop, time);
    }
    return finish(bench, 40);
  };
  const act = (loop: NetLoop, time: number): void => {
    loop.network.sendFrame(1, ipFrame({ target: OTHER, payload: udpTo(OTHER, 30 + time) }));
    const large = udpTo(HOST, 2_000);
    const moreFragments = time % 2 === 0;
    const [at, end] = moreFragments ? [0, 1_480] : [1_480, 2_008];
    const payload = large.subarray(at, end);
    loop.network.sendFrame(1, ipFrame({ fragmentOffset: at, moreFragments, payload }));
    loop.run(loop.nowNs + 100_000);
  };
  const finish = (bench: Bench, from: number): readonly unknown[] => {
    for (let time = from; time < 40; time++) act(bench.loop, time);
    bench.loop.run(NS_PER_S);
    return [bench.arrived.length, bench.loop.chains(), bench.loop.network.digest()];
  };
  const straight = run(-1);
  for (const splitAt of [1, 2, 17, 39]) expect(run(splitAt)).toEqual(straight);
});
