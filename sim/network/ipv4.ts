import { assert } from '../kernel/assert.ts';
import { DROP } from './drop.ts';
import { cutPayload, type IpPacket } from './ip-packet.ts';
import { addWords, byteAt, foldSum, get16, get32, put16, put32 } from './wire-bytes.ts';

/** Header bytes without options (RFC 791 section 3.1). */
export const IPV4_HEADER_BYTES = 20;
const PACKET_BYTES_MAX = 65_535;
const VERSION_AND_LENGTH = 0x45;
const FLAG_DONT_FRAGMENT = 0x4000;
const FLAG_MORE_FRAGMENTS = 0x2000;

/** Takes a packet apart (padding may follow it), or gives why it is dropped (see DROP). */
export function parseIpv4(bytes: Uint8Array): IpPacket | number {
  if (bytes.length < IPV4_HEADER_BYTES) return DROP.FRAME_LENGTH;
  const headerBytes = (byteAt(bytes, 0) & 15) * 4;
  const totalBytes = get16(bytes, 2);
  if (byteAt(bytes, 0) >> 4 !== 4 || headerBytes < IPV4_HEADER_BYTES) return DROP.FRAME_HEADER;
  if (totalBytes < headerBytes || totalBytes > bytes.length) return DROP.FRAME_LENGTH;
  if (foldSum(addWords(0, bytes.subarray(0, headerBytes))) !== 0) return DROP.CHECKSUM;
  const fragment = get16(bytes, 6);
  const payload = bytes.subarray(headerBytes, totalBytes);
  const fragmentOffset = (fragment & 0x1fff) * 8;
  if (fragmentOffset + payload.length > PACKET_BYTES_MAX) return DROP.FRAME_FRAGMENT;
  return {
    identification: get16(bytes, 4),
    dontFragment: (fragment & FLAG_DONT_FRAGMENT) !== 0,
    moreFragments: (fragment & FLAG_MORE_FRAGMENTS) !== 0,
    fragmentOffset,
    timeToLive: byteAt(bytes, 8),
    protocol: byteAt(bytes, 9),
    source: get32(bytes, 12),
    target: get32(bytes, 16),
    payload,
  };
}

export function serializeIpv4(packet: IpPacket): Uint8Array {
  const { payload, fragmentOffset } = packet;
  const totalBytes = IPV4_HEADER_BYTES + payload.length;
  assert(totalBytes <= PACKET_BYTES_MAX && fragmentOffset % 8 === 0, 'a packet has a size');
  const bytes = new Uint8Array(totalBytes);
  bytes[0] = VERSION_AND_LENGTH;
  put16(bytes, 2, totalBytes);
  put16(bytes, 4, packet.identification);
  const flags =
    (packet.dontFragment ? FLAG_DONT_FRAGMENT : 0) |
    (packet.moreFragments ? FLAG_MORE_FRAGMENTS : 0);
  put16(bytes, 6, flags | (fragmentOffset / 8));
  bytes[8] = packet.timeToLive;
  bytes[9] = packet.protocol;
  put32(bytes, 12, packet.source);
  put32(bytes, 16, packet.target);
  put16(bytes, 10, foldSum(addWords(0, bytes.subarray(0, IPV4_HEADER_BYTES))));
  bytes.set(payload, IPV4_HEADER_BYTES);
  return bytes;
}

/** The packet in pieces that fit an MTU of at least 28 bytes. */
export function fragmentIpv4(packet: IpPacket, mtuBytes: number): readonly IpPacket[] {
  const eachBytes = Math.floor((mtuBytes - IPV4_HEADER_BYTES) / 8) * 8;
  assert(eachBytes > 0, 'an MTU has room for a fragment');
  return cutPayload(packet, eachBytes);
}
