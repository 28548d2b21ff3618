import { ETHER_IPV4, ETHER_IPV6, ETHERNET_HEADER_BYTES } from './ethernet.ts';
import { IPV4_HEADER_BYTES } from './ipv4.ts';
import { IPV6_HEADER_BYTES, readIpv6Address } from './ipv6.ts';
import { flipBit } from './link-faults.ts';
import { PROTOCOL_ETHERNET, PROTOCOL_TCP, PROTOCOL_UDP, type Packet } from './packet.ts';
import { addWords, byteAt, foldSum, get16, get32, pseudoSum, put16 } from './wire-bytes.ts';

const IP_AT = ETHERNET_HEADER_BYTES;

/** Where what programs have sent stands in a frame, and the checksum over it. */
interface Part {
  readonly protocol: number;
  readonly transportAt: number;
  readonly checksumAt: number;
  readonly payloadAt: number;
  readonly end: number;
}

/** How many bits of what programs have sent a packet carries: those that can be damaged unseen. */
export function payloadBits(packet: Packet): number {
  if (packet.protocol !== PROTOCOL_ETHERNET) return packet.payload.length * 8;
  const part = partOf(packet.payload);
  return part === null ? 0 : (part.end - part.payloadAt) * 8;
}

/** The packet's bytes with one of `payloadBits` flipped, and a checksum that fits all the same. */
export function damage(packet: Packet, bit: number): Uint8Array {
  const { payload } = packet;
  const part = packet.protocol === PROTOCOL_ETHERNET ? partOf(payload) : null;
  if (part === null) return flipBit(payload, bit);
  const flipped = flipBit(payload, part.payloadAt * 8 + bit);
  put16(flipped, part.checksumAt, 0);
  const transport = flipped.subarray(part.transportAt, part.end);
  const ends = endsOf(flipped);
  const checksum = foldSum(addWords(pseudoSum(ends, part.protocol, transport.length), transport));
  put16(flipped, part.checksumAt, checksum === 0 ? 0xffff : checksum);
  return flipped;
}

/** Null for a frame that carries no whole TCP segment or UDP datagram. */
function partOf(frame: Uint8Array): Part | null {
  const carried = carriedBy(frame);
  if (carried === null) return null;
  const { protocol, transportAt, end } = carried;
  if (protocol === PROTOCOL_UDP && transportAt + 8 <= end) {
    const payloadAt = transportAt + 8;
    return { protocol, transportAt, checksumAt: transportAt + 6, payloadAt, end };
  }
  if (protocol !== PROTOCOL_TCP || transportAt + 20 > end) return null;
  const payloadAt = transportAt + (byteAt(frame, transportAt + 12) >> 4) * 4;
  if (payloadAt > end) return null;
  return { protocol, transportAt, checksumAt: transportAt + 16, payloadAt, end };
}

type Carried = Pick<Part, 'protocol' | 'transportAt' | 'end'>;

/** What a whole IP packet carries, of IPv6 one without extension headers; else null. */
function carriedBy(frame: Uint8Array): Carried | null {
  const type = get16(frame, 12);
  if (type === ETHER_IPV4 && frame.length >= IP_AT + IPV4_HEADER_BYTES) {
    const transportAt = IP_AT + (byteAt(frame, IP_AT) & 15) * 4;
    const end = IP_AT + get16(frame, IP_AT + 2);
    const isFragment = (get16(frame, IP_AT + 6) & 0x3fff) !== 0;
    if (isFragment || end > frame.length) return null;
    return { protocol: byteAt(frame, IP_AT + 9), transportAt, end };
  }
  if (type !== ETHER_IPV6 || frame.length < IP_AT + IPV6_HEADER_BYTES) return null;
  const transportAt = IP_AT + IPV6_HEADER_BYTES;
  const end = transportAt + get16(frame, IP_AT + 4);
  return end > frame.length ? null : { protocol: byteAt(frame, IP_AT + 6), transportAt, end };
}

function endsOf(frame: Uint8Array): { readonly source: number; readonly target: number } {
  if (get16(frame, 12) === ETHER_IPV4) {
    return { source: get32(frame, IP_AT + 12), target: get32(frame, IP_AT + 16) };
  }
  const source = readIpv6Address(frame, IP_AT + 8);
  return { source, target: readIpv6Address(frame, IP_AT + 24) };
}
