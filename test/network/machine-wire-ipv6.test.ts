import { describe, expect, it } from 'vitest';
import {
  DROP,
  ERRNO,
  ETHER_IPV6,
  fragmentIp,
  ICMP6_ECHO_REQUEST,
  ICMP6_SOLICITATION,
  ipv4Of,
  ipv6Of,
  macOfAddress,
  mix32,
  nodeAddress,
  NS_PER_MS,
  NS_PER_S,
  parseEthernet,
  parseIcmp6,
  parseIpv6,
  parseUdp,
  serializeEthernet,
  serializeIcmp6,
  serializeIp,
  serializeUdp,
  type IpPacket,
  type LinkDef,
} from '../../sim/index.ts';
import { FramedLoop } from '../support/framed-loop.ts';
import { link, mesh, NetLoop } from '../support/net-loop.ts';
import { EchoServer, TransferClient } from '../support/net-programs.ts';

const [HOST, MACHINE, OTHER, NOBODY] = [0, 1, 2, 3].map((node) => ipv6Of(nodeAddress(node))) as [
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

  /** Sends a frame from machine 1 and gives why it was dropped, or 0. */
  send(frame: Uint8Array): number {
    const before = this.drops().length;
    this.loop.network.sendFrame(1, frame);
    return this.drops()[before] ?? 0;
  }

  sendIp(packet: Partial<IpPacket> & { readonly payload: Uint8Array }): number {
    return this.send(ipFrame(packet));
  }

  drops(): readonly number[] {
    const events = this.loop.allEvents();
    return events.filter(({ kind }) => kind === 'net/drop').map(({ result }) => result);
  }

  settle(): void {
    this.loop.run(this.loop.nowNs + 20 * NS_PER_MS);
  }
}

function ipPacket(packet: Partial<IpPacket> & { readonly payload: Uint8Array }): IpPacket {
  return {
    identification: 7,
    dontFragment: true,
    moreFragments: false,
    fragmentOffset: 0,
    timeToLive: 64,
    protocol: 17,
    source: MACHINE,
    target: HOST,
    ...packet,
  };
}

function frameOf(packet: Uint8Array, target: number): Uint8Array {
  const macs = { target: macOfAddress(target), source: macOfAddress(MACHINE) };
  return serializeEthernet({ ...macs, type: ETHER_IPV6, payload: packet });
}

function ipFrame(packet: Partial<IpPacket> & { readonly payload: Uint8Array }): Uint8Array {
  const whole = ipPacket(packet);
  return frameOf(serializeIp(whole), whole.target);
}

function ipOf(frame: Uint8Array | undefined): IpPacket {
  const ethernet = parseEthernet(frame ?? new Uint8Array(0));
  if (typeof ethernet === 'number') throw new Error(`dropped: ${ethernet}`);
  expect(ethernet.type).toBe(ETHER_IPV6);
  const packet = parseIpv6(ethernet.payload);
  if (typeof packet === 'number') throw new Error(`dropped: ${packet}`);
  return packet;
}

function udpTo(target: number, length: number): Uint8Array {
  const payload = Uint8Array.from({ length }, (_, at) => mix32(at) & 255);
  return serializeUdp({ sourcePort: 5_000, targetPort: 53, payload }, { source: MACHINE, target });
}

describe('CR-88: sockets answer a machine that speaks IPv6 as it speaks', () => {
  it('over TCP, both ways, with loss and delay', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const bytes = 1 + ((seed * 7_919) % 40_000);
      const plan = { node: 0, address: MACHINE, port: 80, bytes, chunk: 2_000, stream: seed };
      const client = new TransferClient(plan);
      const loss = seed % 2 === 0 ? 50_000 : 0;
      const through = new FramedLoop({
        link: { loss, jitterNs: NS_PER_MS / 4 },
        seed,
        programs: [client, new EchoServer(1, 80)],
      });
      through.run();
      const end = { phase: 'done', sent: bytes, received: bytes, wrong: 0, error: 0 };
      expect(client.state, `seed ${seed}`).toMatchObject(end);
      const types = new Set(
        through.frames.map((frame) => (frame[12] ?? 0) * 256 + (frame[13] ?? 0)),
      );
      expect([...types]).toEqual([ETHER_IPV6]);
    }
  });

  it('keeps two connections apart that differ in nothing but the family', () => {
    const [four, six] = [ipv4Of(MACHINE), MACHINE].map((address, stream) => {
      return new TransferClient({ node: 0, address, port: 80, bytes: 5_000, chunk: 500, stream });
    }) as [TransferClient, TransferClient];
    const programs = [four, six, new EchoServer(1, 80)];
    const through = new FramedLoop({ link: {}, seed: 1, programs });
    through.run();
    for (const { state } of [four, six]) {
      expect(state).toMatchObject({ phase: 'done', received: 5_000, wrong: 0 });
    }
  });

  it('over UDP, in pieces where they are too large for a frame, until IPv4 is spoken again', () => {
    const bench = new Bench();
    const stack = bench.loop.stack(0);
    const socket = stack.open('udp');
    stack.bind(socket, ipv4Of(HOST), 53);
    expect(bench.sendIp({ payload: udpTo(HOST, 100) })).toBe(0);
    const pieces = fragmentIp(ipPacket({ payload: udpTo(HOST, 4_000) }), 1_500);
    expect(pieces).toHaveLength(3);
    for (const piece of [...pieces].reverse()) expect(bench.sendIp(piece)).toBe(0);
    bench.settle();
    const buffer = new Uint8Array(5_000);
    for (const count of [100, 4_000]) {
      const end = { count, address: ipv4Of(MACHINE), port: 5_000 };
      expect(stack.receiveFrom(socket, buffer, false)).toEqual(end);
    }
    stack.sendTo(socket, buffer.subarray(0, 4_000), ipv4Of(MACHINE), 5_000);
    bench.settle();
    const answers = bench.arrived.map(({ frame }) => ipOf(frame));
    expect(answers.map(({ payload }) => payload.length)).toEqual([1_448, 1_448, 1_112]);
    const whole = Uint8Array.from(answers.flatMap(({ payload }) => [...payload]));
    expect(parseUdp(whole, { source: HOST, target: MACHINE })).toMatchObject({ sourcePort: 53 });
    stack.sendTo(socket, buffer.subarray(0, 10), ipv4Of(MACHINE), 5_001);
    bench.settle();
    expect(parseEthernet(bench.arrived[3]?.frame ?? buffer)).toMatchObject({ type: 0x0800 });
  });

  it('also after the network was saved and restored', () => {
    const [bench, other] = [new Bench(), new Bench()];
    const stack = bench.loop.stack(0);
    const socket = stack.open('udp');
    stack.bind(socket, 0, 53);
    bench.sendIp({ payload: udpTo(HOST, 9) });
    bench.settle();
    other.loop.restore(structuredClone(bench.loop.capture()));
    expect(other.loop.network.digest()).toBe(bench.loop.network.digest());
    other.loop.stack(0).sendTo(socket, new Uint8Array(3), ipv4Of(MACHINE), 5_000);
    other.settle();
    expect(ipOf(other.arrived[0]?.frame)).toMatchObject({ source: HOST, target: MACHINE });
  });
});

describe('ICMPv6', () => {
  it('tells the machine, and is told by it, that a port is nobody’s', () => {
    const bench = new Bench();
    expect(bench.sendIp({ payload: udpTo(HOST, 10) })).toBe(0);
    bench.settle();
    const refusal = ipOf(bench.arrived[0]?.frame);
    const message = parseIcmp6(refusal.payload, refusal);
    if (typeof message === 'number') throw new Error();
    expect(message).toMatchObject({ type: 1, code: 4 });
    expect(parseIpv6(message.payload)).toMatchObject({ source: MACHINE, target: HOST });
    const stack = bench.loop.stack(0);
    const socket = stack.open('udp');
    stack.bind(socket, 0, 53);
    bench.sendIp({ payload: udpTo(HOST, 10) });
    bench.settle();
    stack.connect(socket, ipv4Of(MACHINE), 5_000);
    stack.send(socket, new Uint8Array(3));
    bench.settle();
    const seen = ipOf(bench.arrived.at(-1)?.frame);
    const ends = { source: MACHINE, target: HOST };
    const quoted = serializeIp(seen).subarray(0, 48);
    const payload = serializeIcmp6({ type: 1, code: 4, rest: 0, payload: quoted }, ends);
    expect(bench.sendIp({ protocol: 58, payload })).toBe(0);
    bench.settle();
    expect(stack.send(socket, new Uint8Array(3))).toBe(-ERRNO.CONNREFUSED);
  });

  it('answers an echo request for a node of sockets', () => {
    const bench = new Bench();
    const request = { type: ICMP6_ECHO_REQUEST, code: 0, rest: 77, payload: new Uint8Array(56) };
    const ends = { source: MACHINE, target: HOST };
    expect(bench.sendIp({ protocol: 58, payload: serializeIcmp6(request, ends) })).toBe(0);
    bench.settle();
    const reply = ipOf(bench.arrived[0]?.frame);
    expect(reply).toMatchObject({ source: HOST, target: MACHINE });
    expect(parseIcmp6(reply.payload, reply)).toEqual({ ...request, type: 129 });
  });

  it('says which size a link carries: nobody on the way makes pieces', () => {
    const bench = new Bench({ faults: { mtu: { bytes: 1_280, oversize: 'fragment' } } });
    const payload = udpTo(OTHER, 1_400);
    expect(bench.sendIp({ target: OTHER, payload })).toBe(DROP.TOO_BIG);
    bench.settle();
    expect(bench.arrived.map(({ node }) => node)).toEqual([1]);
    const word = ipOf(bench.arrived[0]?.frame);
    expect(parseIcmp6(word.payload, word)).toMatchObject({ type: 2, code: 0, rest: 1_280 });
    expect(bench.sendIp({ target: OTHER, payload: udpTo(OTHER, 1_000) })).toBe(0);
  });
});

describe('neighbour discovery', () => {
  /** Asks from an address of 16 bytes, by the group address that such questions go to. */
  function ask(wanted: number, from: readonly number[], change = 0): Uint8Array {
    const packet = new Uint8Array(72);
    packet.set([0x60, 0, 0, 0, 0, 32, 58, 255]);
    packet.set(from, 8);
    packet.set([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 1], 24);
    packet[40] = ICMP6_SOLICITATION;
    packet.set(addressBytes(wanted), 48);
    packet.set([1, 1], 64);
    let sum = 32 + 58;
    for (let at = 8; at < 72; at += 2) sum += (packet[at] ?? 0) * 256 + (packet[at + 1] ?? 0);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    packet[42] = (~sum >>> 8) & 255;
    packet[43] = (~sum & 255) ^ change;
    const macs = { target: 0x3333_ff00_0001, source: macOfAddress(MACHINE) };
    return serializeEthernet({ ...macs, type: ETHER_IPV6, payload: packet });
  }

  const LINK_LOCAL = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];

  it('is answered from the table for whom a link leads to, and for nobody else', () => {
    const bench = new Bench({}, [link(1, 0), link(0, 1)]);
    bench.loop.network.cut([[1, 0]]);
    for (const address of [HOST, OTHER, MACHINE, NOBODY]) {
      expect(bench.send(ask(address, addressBytes(MACHINE)))).toBe(0);
    }
    expect(bench.send(ask(HOST, new Array<number>(16).fill(0)))).toBe(0);
    bench.settle();
    expect(bench.arrived).toHaveLength(1);
    const [{ frame, atNs }] = bench.arrived as [(typeof bench.arrived)[0]];
    expect(atNs).toBe(2 * NS_PER_MS);
    expect(parseEthernet(frame)).toMatchObject({
      source: macOfAddress(HOST),
      target: macOfAddress(MACHINE),
    });
    const packet = ipOf(frame);
    expect(packet).toMatchObject({ source: HOST, target: MACHINE, timeToLive: 255 });
    expect(parseIcmp6(packet.payload, packet)).toMatchObject({ type: 136, rest: 0x6000_0000 });
    const mac = [...packet.payload.subarray(24)];
    expect(mac).toEqual([2, 1, 2, 0, 10, 0, 0, 1]);
    expect([...packet.payload.subarray(8, 24)]).toEqual(addressBytes(HOST));
  });

  it('answers to an address of the link alone, and drops a damaged question', () => {
    const bench = new Bench();
    expect(bench.send(ask(HOST, LINK_LOCAL, 4))).toBe(DROP.CHECKSUM);
    expect(bench.send(ask(HOST, LINK_LOCAL))).toBe(0);
    bench.settle();
    expect([...(bench.arrived[0]?.frame.subarray(38, 54) ?? [])]).toEqual(LINK_LOCAL);
  });
});

describe('hostile frames of IPv6', () => {
  it('are dropped, each with its reason', () => {
    const bench = new Bench();
    const good = ipFrame({ payload: udpTo(HOST, 4) });
    const change = (at: number, value: number): Uint8Array => {
      const bytes = good.slice();
      bytes[at] = value;
      return bytes;
    };
    expect(bench.send(good.subarray(0, 40))).toBe(DROP.FRAME_LENGTH);
    expect(bench.send(change(14, 0x40))).toBe(DROP.FRAME_HEADER);
    expect(bench.send(change(18, 0xff))).toBe(DROP.FRAME_LENGTH);
    expect(bench.send(change(22, 0xfe))).toBe(DROP.FRAME_ADDRESS);
    expect(bench.send(change(45, 1))).toBe(DROP.FRAME_ADDRESS);
    expect(bench.send(change(61, 1))).toBe(DROP.CHECKSUM);
    expect(bench.send(change(20, 0))).toBe(DROP.FRAME_LENGTH);
    expect(bench.sendIp({ protocol: 99, payload: new Uint8Array(9) })).toBe(DROP.FRAME_PROTOCOL);
    expect(bench.sendIp({ source: OTHER, payload: udpTo(HOST, 4) })).toBe(DROP.FRAME_ADDRESS);
    expect(bench.sendIp({ target: NOBODY, payload: udpTo(NOBODY, 4) })).toBe(DROP.NO_ROUTE);
  });

  it('of random bytes never throw and change nothing that lasts', () => {
    const bench = new Bench();
    const good = ipFrame({ payload: udpTo(HOST, 40) });
    for (let round = 0; round < 3_000; round++) {
      const bytes = good.slice(0, (mix32(round) >>> 0) % (good.length + 1));
      for (let hit = 0; hit < 3; hit++) {
        const draw = mix32(round * 3 + hit + 99_999) >>> 0;
        bytes[14 + (draw % 70)] = draw >>> 24;
      }
      bench.loop.network.sendFrame(1, bytes);
    }
    bench.loop.run(100 * NS_PER_S);
    expect(bench.loop.queue.length).toBe(0);
    expect(bench.loop.stack(0).heldBytes).toBe(0);
  });

  it('can be damaged so that their checksums still fit', () => {
    const bench = new Bench({ faults: { corruptUndetected: 1_000_000 } });
    bench.sendIp({ target: OTHER, payload: udpTo(OTHER, 64) });
    bench.settle();
    const packet = ipOf(bench.arrived[0]?.frame);
    expect(packet.payload).not.toEqual(udpTo(OTHER, 64));
    expect(parseUdp(packet.payload, packet)).toMatchObject({ sourcePort: 5_000 });
  });
});

function addressBytes(address: number): number[] {
  const low = ipv4Of(address);
  const bytes = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  return [...bytes, low >>> 24, (low >>> 16) & 255, (low >>> 8) & 255, low & 255];
}
