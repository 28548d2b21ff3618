import { ERRNO } from '../../sim/index.ts';
import type { Host } from './host.ts';

/**
 * Addresses of the socket extension of WasmEdge: `{ u32 buffer, u32 length }`, the length says
 * what the buffer holds: 4 an IPv4 address, 16 an IPv6 address, 128 a family (u16) and then either
 * (WasmEdge, lib/host/wasi/wasifunc.cpp). The network speaks IPv4; IPv6 addresses that stand for
 * IPv4 ones are taken as those.
 */
const RECORD_BYTES = 8;
const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
const FAMILY_BYTES = 128;

export const FAMILY = { UNSPECIFIED: 0, INET4: 1, INET6: 2 } as const;

interface AddressBuffer {
  readonly address: number;
  readonly length: number;
}

function readRecord(host: Host, record: number): AddressBuffer | number {
  const { memory } = host;
  if (!memory.holds(record, RECORD_BYTES)) return -ERRNO.FAULT;
  const address = memory.u32(record);
  const length = memory.u32(record + 4);
  return memory.holds(address, length) ? { address, length } : -ERRNO.FAULT;
}

/** An IPv4 address as an unsigned number, or `-FAULT`, `-INVAL`, `-AFNOSUPPORT`. */
export function readAddress(host: Host, record: number): number {
  const buffer = readRecord(host, record);
  if (typeof buffer === 'number') return buffer;
  const bytes = host.memory.view(buffer.address, buffer.length);
  if (bytes.length === IPV4_BYTES) return ipv4(bytes);
  if (bytes.length === IPV6_BYTES) return ipv4OfIpv6(bytes);
  if (bytes.length !== FAMILY_BYTES) return -ERRNO.INVAL;
  const family = host.memory.u16(buffer.address);
  if (family === FAMILY.INET4) return ipv4(bytes.subarray(2, 6));
  return family === FAMILY.INET6 ? ipv4OfIpv6(bytes.subarray(2, 18)) : -ERRNO.AFNOSUPPORT;
}

/** Writes an address to a buffer with room for a family (128 bytes), or `-FAULT`, `-INVAL`. */
export function writeFamilyAddress(host: Host, record: number, address: number): number {
  const buffer = readRecord(host, record);
  if (typeof buffer === 'number') return buffer;
  if (buffer.length !== FAMILY_BYTES) return -ERRNO.INVAL;
  host.memory.setU16(buffer.address, FAMILY.INET4);
  host.memory.setBytes(buffer.address + 2, ipv4Bytes(address));
  return 0;
}

/** Writes an address to a buffer of 16 bytes, or `-FAULT`, `-INVAL`. */
export function writePlainAddress(host: Host, record: number, address: number): number {
  const buffer = readRecord(host, record);
  if (typeof buffer === 'number') return buffer;
  if (buffer.length !== IPV6_BYTES) return -ERRNO.INVAL;
  host.memory.setBytes(buffer.address, ipv4Bytes(address));
  return 0;
}

/** Writes a native `sockaddr_in` to a buffer of 16 bytes: u16 family (2), u16 port, address. */
export function writeNativeAddress(
  host: Host,
  record: number,
  { address, port }: { readonly address: number; readonly port: number },
): number {
  const buffer = readRecord(host, record);
  if (typeof buffer === 'number') return buffer;
  if (buffer.length !== IPV6_BYTES) return -ERRNO.INVAL;
  host.memory.setU16(buffer.address, 2);
  host.memory.setBytes(buffer.address + 2, Uint8Array.of(port >> 8, port, ...ipv4Bytes(address)));
  return 0;
}

function ipv4(bytes: Uint8Array): number {
  return bytes.reduce((address, byte) => address * 256 + byte, 0);
}

export function ipv4Bytes(address: number): Uint8Array {
  return Uint8Array.of(address >>> 24, address >>> 16, address >>> 8, address);
}

/** `::` is any address, `::1` loopback, `::ffff:a.b.c.d` an IPv4 address (RFC 4291, 2.5). */
function ipv4OfIpv6(bytes: Uint8Array): number {
  const head = bytes.subarray(0, 10).every((byte) => byte === 0);
  const middle = (bytes[10] as number) * 256 + (bytes[11] as number);
  const tail = ipv4(bytes.subarray(12));
  if (head && middle === 0xffff) return tail;
  if (head && middle === 0 && tail === 0) return 0;
  return head && middle === 0 && tail === 1 ? 0x7f000001 : -ERRNO.AFNOSUPPORT;
}
