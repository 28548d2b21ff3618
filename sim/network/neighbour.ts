import { DROP } from './drop.ts';
import { ETHER_IPV6, putMac, serializeEthernet } from './ethernet.ts';
import { ICMP6_ADVERTISEMENT, ICMP6_SOLICITATION } from './icmp6.ts';
import { IPV6_HEADER_BYTES, readIpv6Address, writeIpv6Address } from './ipv6.ts';
import { PROTOCOL_ICMP6 } from './packet.ts';
import { addWords, byteAt, foldSum, get16, put16 } from './wire-bytes.ts';

/** Neighbour discovery (RFC 4861 sections 4.3 and 4.4): what ARP is to IPv4. */

const HOP_LIMIT = 255;
const MESSAGE_BYTES = 24;
const OPTION_BYTES = 8;
const OPTION_TARGET_MAC = 2;
/** Solicited, and it replaces what was known. */
const FLAGS = 0x60;

/** Who has an address, asked by whoever has these 16 bytes for an address of its own. */
export interface Solicitation {
  readonly asker: Uint8Array;
  /** The address that is looked for, or -1 if it is none of the world's. */
  readonly wanted: number;
}

/** The question in an IPv6 packet; null if it is none; or why it is dropped (see DROP). */
export function parseSolicitation(packet: Uint8Array): Solicitation | null | number {
  const isIcmp = packet.length >= IPV6_HEADER_BYTES && byteAt(packet, 6) === PROTOCOL_ICMP6;
  if (!isIcmp || byteAt(packet, IPV6_HEADER_BYTES) !== ICMP6_SOLICITATION) return null;
  const end = IPV6_HEADER_BYTES + get16(packet, 4);
  const length = end - IPV6_HEADER_BYTES;
  if (end > packet.length || length < MESSAGE_BYTES) return DROP.FRAME_LENGTH;
  if (byteAt(packet, 7) !== HOP_LIMIT) return DROP.FRAME_HEADER;
  const message = packet.subarray(IPV6_HEADER_BYTES, end);
  if (foldSum(addWords(endsSum(packet, length), message)) !== 0) return DROP.CHECKSUM;
  return { asker: packet.slice(8, 24), wanted: readIpv6Address(message, 8) };
}

/** The frame that answers: `wanted` is at `mac`. */
export function serializeAdvertisement(
  { asker, wanted }: Solicitation,
  { mac, askerMac }: { readonly mac: number; readonly askerMac: number },
): Uint8Array {
  const length = MESSAGE_BYTES + OPTION_BYTES;
  const packet = new Uint8Array(IPV6_HEADER_BYTES + length);
  packet[0] = 0x60;
  put16(packet, 4, length);
  packet[6] = PROTOCOL_ICMP6;
  packet[7] = HOP_LIMIT;
  writeIpv6Address(packet, 8, wanted);
  packet.set(asker, 24);
  const message = packet.subarray(IPV6_HEADER_BYTES);
  message[0] = ICMP6_ADVERTISEMENT;
  message[4] = FLAGS;
  writeIpv6Address(message, 8, wanted);
  message[MESSAGE_BYTES] = OPTION_TARGET_MAC;
  message[MESSAGE_BYTES + 1] = OPTION_BYTES / 8;
  putMac(message, MESSAGE_BYTES + 2, mac);
  put16(message, 2, foldSum(addWords(endsSum(packet, length), message)));
  return serializeEthernet({ target: askerMac, source: mac, type: ETHER_IPV6, payload: packet });
}

/** The sum over the pseudo-header (RFC 8200 section 8.1) of a packet with any addresses. */
function endsSum(packet: Uint8Array, length: number): number {
  return addWords(length + PROTOCOL_ICMP6, packet.subarray(8, IPV6_HEADER_BYTES));
}
