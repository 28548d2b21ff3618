import { assert } from '../kernel/assert.ts';
import { ipv4Of, ipv6Of } from './address.ts';
import { DROP } from './drop.ts';
import { cutPayload, type IpPacket } from './ip-packet.ts';
import { byteAt, get16, get32, put16, put32 } from './wire-bytes.ts';

/** Bytes of the header without extensions (RFC 8200 section 3). */
export const IPV6_HEADER_BYTES = 40;
/** The least MTU of a link that carries IPv6 (RFC 8200 section 5). */
export const IPV6_MTU_BYTES_MIN = 1_280;
const FRAGMENT_HEADER_BYTES = 8;
const PAYLOAD_BYTES_MAX = 65_535;
/** Extension headers (IANA, "IPv6 Extension Header Types"). */
const HEADER_HOP_BY_HOP = 0;
const HEADER_FRAGMENT = 44;
const HEADER_DESTINATION = 60;
/** The world's prefix: fd00::/96. */
const PREFIX_WORD = 0xfd00;
/** An address of another prefix. */
const FOREIGN = -1;

/**
 * Takes a packet apart (padding may follow it), or gives why it is dropped (see DROP). Both ends
 * must have the world's prefix; options for hops and the destination are skipped (RFC 8200).
 */
export function parseIpv6(bytes: Uint8Array): IpPacket | number {
  if (bytes.length < IPV6_HEADER_BYTES) return DROP.FRAME_LENGTH;
  if (byteAt(bytes, 0) >> 4 !== 6) return DROP.FRAME_HEADER;
  const end = IPV6_HEADER_BYTES + get16(bytes, 4);
  if (end > bytes.length) return DROP.FRAME_LENGTH;
  const [source, target] = [readIpv6Address(bytes, 8), readIpv6Address(bytes, 24)];
  if (source === FOREIGN || target === FOREIGN) return DROP.FRAME_ADDRESS;
  let protocol = byteAt(bytes, 6);
  let at = IPV6_HEADER_BYTES;
  while (protocol === HEADER_HOP_BY_HOP || protocol === HEADER_DESTINATION) {
    if (at + 8 > end) return DROP.FRAME_LENGTH;
    protocol = byteAt(bytes, at);
    at += 8 * (byteAt(bytes, at + 1) + 1);
  }
  const isFragment = protocol === HEADER_FRAGMENT;
  const headerEnd = isFragment ? at + FRAGMENT_HEADER_BYTES : at;
  if (headerEnd > end) return DROP.FRAME_LENGTH;
  const place = isFragment ? get16(bytes, at + 2) : 0;
  const fragmentOffset = place & 0xfff8;
  const payload = bytes.subarray(headerEnd, end);
  if (fragmentOffset + payload.length > PAYLOAD_BYTES_MAX) return DROP.FRAME_FRAGMENT;
  return {
    identification: isFragment ? get32(bytes, at + 4) : 0,
    dontFragment: true,
    moreFragments: (place & 1) !== 0,
    fragmentOffset,
    timeToLive: byteAt(bytes, 7),
    protocol: isFragment ? byteAt(bytes, at) : protocol,
    source,
    target,
    payload,
  };
}

export function serializeIpv6(packet: IpPacket): Uint8Array {
  const { payload, fragmentOffset, moreFragments, protocol } = packet;
  const isFragment = fragmentOffset > 0 || moreFragments;
  const extraBytes = isFragment ? FRAGMENT_HEADER_BYTES : 0;
  assert(extraBytes + payload.length <= PAYLOAD_BYTES_MAX, 'a packet has a size');
  assert(fragmentOffset % 8 === 0, 'fragments begin at multiples of 8');
  const bytes = new Uint8Array(IPV6_HEADER_BYTES + extraBytes + payload.length);
  bytes[0] = 0x60;
  put16(bytes, 4, extraBytes + payload.length);
  bytes[6] = isFragment ? HEADER_FRAGMENT : protocol;
  bytes[7] = packet.timeToLive;
  writeIpv6Address(bytes, 8, packet.source);
  writeIpv6Address(bytes, 24, packet.target);
  if (isFragment) {
    bytes[IPV6_HEADER_BYTES] = protocol;
    put16(bytes, IPV6_HEADER_BYTES + 2, fragmentOffset | (moreFragments ? 1 : 0));
    put32(bytes, IPV6_HEADER_BYTES + 4, packet.identification);
  }
  bytes.set(payload, IPV6_HEADER_BYTES + extraBytes);
  return bytes;
}

/** The packet in pieces that fit an MTU of at least 56 bytes. */
export function fragmentIpv6(packet: IpPacket, mtuBytes: number): readonly IpPacket[] {
  const roomBytes = mtuBytes - IPV6_HEADER_BYTES - FRAGMENT_HEADER_BYTES;
  assert(roomBytes >= 8, 'an MTU has room for a fragment');
  return cutPayload(packet, Math.floor(roomBytes / 8) * 8);
}

/** The address of 16 bytes as a number, or -1 if it has another prefix. */
export function readIpv6Address(bytes: Uint8Array, at: number): number {
  if (get16(bytes, at) !== PREFIX_WORD) return FOREIGN;
  for (let offset = 2; offset < 12; offset += 2) {
    if (get16(bytes, at + offset) !== 0) return FOREIGN;
  }
  return ipv6Of(get32(bytes, at + 12));
}

export function writeIpv6Address(bytes: Uint8Array, at: number, address: number): void {
  put16(bytes, at, PREFIX_WORD);
  put32(bytes, at + 12, ipv4Of(address));
}
