import { describe, expect, it } from 'vitest';
import {
  BROADCAST_MAC,
  DROP,
  formatMac,
  fragmentIpv4,
  IpReassembly,
  isGroupMac,
  macOfAddress,
  mix32,
  nodeAddress,
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
  type TcpOptions,
  type TcpSegment,
} from '../../sim/index.ts';

/** Numbers that differ from case to case and are the same in every run. */
class Numbers {
  private state: number;

  constructor(seed: number) {
    this.state = seed;
  }

  below(limit: number): number {
    this.state = (this.state + 0x9e37_79b9) >>> 0;
    return (mix32(this.state) >>> 0) % limit;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}

const ENDS = { source: nodeAddress(0), target: nodeAddress(1) };

function packetOf(numbers: Numbers, length: number): IpPacket {
  return {
    identification: numbers.below(65_536),
    dontFragment: false,
    moreFragments: false,
    fragmentOffset: 0,
    timeToLive: 64,
    protocol: 17,
    ...ENDS,
    payload: numbers.bytes(length),
  };
}

function optionsOf(numbers: Numbers): TcpOptions {
  const word = (): number => numbers.below(0x1_0000_0000);
  return {
    ...(numbers.below(2) === 0 ? {} : { segmentBytes: numbers.below(65_536) }),
    ...(numbers.below(2) === 0 ? {} : { windowShift: numbers.below(15) }),
    ...(numbers.below(2) === 0 ? {} : { sackPermitted: true }),
    ...(numbers.below(2) === 0 ? {} : { sackBlocks: [[word(), word()] as const] }),
    ...(numbers.below(2) === 0 ? {} : { timeStamps: { value: word(), echo: word() } }),
  };
}

function segmentOf(numbers: Numbers): TcpSegment {
  return {
    sourcePort: numbers.below(65_536),
    targetPort: numbers.below(65_536),
    sequence: numbers.below(0x1_0000_0000),
    acknowledgement: numbers.below(0x1_0000_0000),
    flags: numbers.below(256),
    window: numbers.below(65_536),
    urgent: numbers.below(65_536),
    options: optionsOf(numbers),
    payload: numbers.bytes(numbers.below(1_460)),
  };
}

describe('headers on the wire say the same after writing and reading', () => {
  const numbers = new Numbers(1);

  it('TCP with any options', () => {
    for (let round = 0; round < 300; round++) {
      const segment = segmentOf(numbers);
      expect(parseTcp(serializeTcp(segment, ENDS), ENDS)).toEqual(segment);
    }
  });

  it('UDP, with the checksum of 0 that means none', () => {
    for (let length = 0; length < 300; length++) {
      const datagram = { sourcePort: length, targetPort: 53, payload: numbers.bytes(length) };
      const bytes = serializeUdp(datagram, ENDS);
      expect(parseUdp(bytes, ENDS)).toEqual(datagram);
      bytes.fill(0, 6, 8);
      expect(parseUdp(bytes, ENDS)).toEqual(datagram);
    }
  });

  it('ICMP, ARP, Ethernet', () => {
    const message = { type: 8, code: 0, rest: 0xdead_beef, payload: numbers.bytes(57) };
    expect(parseIcmp(serializeIcmp(message))).toEqual(message);
    const arp = {
      operation: 1,
      senderMac: macOfAddress(ENDS.source),
      senderAddress: ENDS.source,
      targetMac: 0,
      targetAddress: ENDS.target,
    };
    expect(parseArp(serializeArp(arp))).toEqual(arp);
    const frame = {
      target: BROADCAST_MAC,
      source: macOfAddress(ENDS.source),
      type: 0x0806,
      payload: serializeArp(arp),
    };
    expect(parseEthernet(serializeEthernet(frame))).toEqual(frame);
    expect(formatMac(macOfAddress(nodeAddress(0)))).toBe('02:00:0a:00:00:01');
    expect([BROADCAST_MAC, 0x0100_5e00_0001, macOfAddress(1)].map(isGroupMac)).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('IPv4, whose padding is cut off', () => {
    const packet = packetOf(numbers, 21);
    const padded = new Uint8Array(60);
    padded.set(serializeIpv4(packet));
    expect(parseIpv4(padded)).toEqual(packet);
  });

  it('agrees with a header that others have computed', () => {
    // The example of RFC 1071's many explanations: 45 00 00 73 … has the checksum b8 61.
    const header = Uint8Array.from(
      '450000730000400040110000c0a80001c0a800c7'.match(/../g) ?? [],
      (byte) => Number.parseInt(byte, 16),
    );
    const written = serializeIpv4({
      identification: 0,
      dontFragment: true,
      moreFragments: false,
      fragmentOffset: 0,
      timeToLive: 64,
      protocol: 17,
      source: 0xc0a8_0001,
      target: 0xc0a8_00c7,
      payload: new Uint8Array(0x73 - 20),
    });
    header.set([0xb8, 0x61], 10);
    expect(written.subarray(0, 20)).toEqual(header);
  });
});

describe('pieces of packets', () => {
  it('come together in any order, with repeats, and only once all are there', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const numbers = new Numbers(seed);
      const packet = packetOf(numbers, 1 + numbers.below(9_000));
      const pieces = fragmentIpv4(packet, 68 + numbers.below(1_433));
      const order = [...pieces, ...pieces.slice(1)]
        .map((piece) => ({ piece, key: numbers.below(1_000) }))
        .sort((a, b) => a.key - b.key)
        .map(({ piece }) => piece);
      const reassembly = new IpReassembly();
      const seen = new Set<number>();
      for (const piece of order) {
        seen.add(piece.fragmentOffset);
        const whole = reassembly.take(piece, 5);
        if (seen.size < pieces.length) expect(whole).toBeNull();
        else {
          expect(whole).toEqual(packet);
          break;
        }
      }
    }
  });

  it('that contradict each other are thrown away, and so are those that wait too long', () => {
    const packet = packetOf(new Numbers(3), 3_000);
    const [first, second, third] = fragmentIpv4(packet, 1_500);
    if (first === undefined || second === undefined || third === undefined) throw new Error();
    const reassembly = new IpReassembly();
    expect(reassembly.take(first, 0)).toBeNull();
    const overlapping = { ...second, fragmentOffset: second.fragmentOffset - 8 };
    expect(reassembly.take(overlapping, 0)).toBe(DROP.FRAME_FRAGMENT);
    expect(reassembly.capture()).toEqual([]);
    expect(reassembly.take(first, 0)).toBeNull();
    expect(reassembly.take(second, 31 * NS_PER_S)).toBeNull();
    expect(reassembly.take(third, 31 * NS_PER_S)).toBeNull();
    expect(reassembly.take(first, 32 * NS_PER_S)).toEqual(packet);
  });

  it('are kept up to a limit, the oldest going first', () => {
    const reassembly = new IpReassembly();
    for (let identification = 0; identification < 200; identification++) {
      const [piece] = fragmentIpv4({ ...packetOf(new Numbers(1), 3_000), identification }, 1_500);
      if (piece !== undefined) expect(reassembly.take(piece, 0)).toBeNull();
    }
    expect(reassembly.capture()).toHaveLength(64);
  });
});

describe('hostile bytes', () => {
  it('give a reason and never throw', () => {
    const numbers = new Numbers(9);
    let refused = 0;
    for (let round = 0; round < 3_000; round++) {
      const bytes = serializeIpv4({
        ...packetOf(numbers, 0),
        payload: serializeTcp(segmentOf(numbers), ENDS),
      });
      const hurt = bytes.slice(0, numbers.below(bytes.length + 1));
      for (let hits = numbers.below(4); hits > 0; hits--) {
        hurt[numbers.below(hurt.length + 1)] = numbers.below(256);
      }
      for (const result of [
        parseIpv4(hurt),
        parseTcp(hurt, ENDS),
        parseUdp(hurt, ENDS),
        parseIcmp(hurt),
        parseArp(hurt),
        parseEthernet(hurt),
      ]) {
        if (typeof result === 'number') refused++;
      }
    }
    expect(refused).toBeGreaterThan(9_000);
  });

  it('with endless or cut options read as none', () => {
    const segment = segmentOf(new Numbers(2));
    const bytes = serializeTcp({ ...segment, options: { windowShift: 3 } }, ENDS);
    bytes[22] = 0;
    expect(parseTcp(bytes, ENDS)).toBe(DROP.CHECKSUM);
    expect(parseTcp(bytes.subarray(0, 19), ENDS)).toBe(DROP.FRAME_LENGTH);
  });
});
