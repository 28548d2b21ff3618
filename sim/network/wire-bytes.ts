import { isIpv6 } from './address.ts';

/** Big-endian fields and the Internet checksum, as all headers on the wire have them. */

export function get16(bytes: Uint8Array, at: number): number {
  return (byteAt(bytes, at) << 8) | byteAt(bytes, at + 1);
}

export function get32(bytes: Uint8Array, at: number): number {
  return ((get16(bytes, at) << 16) | get16(bytes, at + 2)) >>> 0;
}

export function put16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

export function put32(bytes: Uint8Array, at: number, value: number): void {
  put16(bytes, at, value >>> 16);
  put16(bytes, at + 2, value & 0xffff);
}

/** The byte at a place that is known to exist. */
export function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

/**
 * Adds 16-bit words to a sum that `foldSum` makes a checksum of (RFC 1071); an odd last byte counts
 * as the upper half of a word. A sum over 65,535 bytes stays far below 2^53.
 */
export function addWords(sum: number, bytes: Uint8Array): number {
  let total = sum;
  const even = bytes.length & ~1;
  for (let at = 0; at < even; at += 2) total += get16(bytes, at);
  return even < bytes.length ? total + (byteAt(bytes, even) << 8) : total;
}

/** The one's complement of the folded sum: 0 over bytes whose own checksum is right. */
export function foldSum(sum: number): number {
  let folded = sum;
  while (folded > 0xffff) folded = (folded & 0xffff) + Math.trunc(folded / 0x1_0000);
  return ~folded & 0xffff;
}

/** What the prefix of an IPv6 address adds to a sum. */
const PREFIX_SUM = 0xfd00;

/**
 * The sum over the pseudo-header that TCP and UDP count in (RFC 9293 section 3.1, RFC 8200
 * section 8.1), for addresses of either family.
 */
export function pseudoSum(
  ends: { readonly source: number; readonly target: number },
  protocol: number,
  length: number,
): number {
  return addressSum(ends.source) + addressSum(ends.target) + protocol + length;
}

function addressSum(address: number): number {
  return (address >>> 16) + (address & 0xffff) + (isIpv6(address) ? PREFIX_SUM : 0);
}
