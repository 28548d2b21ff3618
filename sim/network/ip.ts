import { isIpv6 } from './address.ts';
import type { IpPacket } from './ip-packet.ts';
import { fragmentIpv4, IPV4_HEADER_BYTES, serializeIpv4 } from './ipv4.ts';
import { fragmentIpv6, IPV6_HEADER_BYTES, serializeIpv6 } from './ipv6.ts';

/** Bytes of the packet as a whole; a fragment's own header is not counted. */
export function ipBytes({ target, payload }: IpPacket): number {
  return (isIpv6(target) ? IPV6_HEADER_BYTES : IPV4_HEADER_BYTES) + payload.length;
}

export function serializeIp(packet: IpPacket): Uint8Array {
  return isIpv6(packet.target) ? serializeIpv6(packet) : serializeIpv4(packet);
}

/** The packet in pieces that fit an MTU; itself if it fits as it is. */
export function fragmentIp(packet: IpPacket, mtuBytes: number): readonly IpPacket[] {
  if (ipBytes(packet) <= mtuBytes) return [packet];
  return isIpv6(packet.target) ? fragmentIpv6(packet, mtuBytes) : fragmentIpv4(packet, mtuBytes);
}
