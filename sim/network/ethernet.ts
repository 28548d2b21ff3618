import { ipv4Of } from './address.ts';
import { DROP } from './drop.ts';
import { get16, get32, put16, put32 } from './wire-bytes.ts';

/** Bytes of an Ethernet II header (IEEE 802.3 section 3.1.1, without tags and check sequence). */
export const ETHERNET_HEADER_BYTES = 14;
/** The largest frame that is taken: a header and 65,535 bytes. */
export const FRAME_BYTES_MAX = ETHERNET_HEADER_BYTES + 65_535;
/** What a link carries of itself: 1,500 bytes in a frame. */
export const ETHERNET_MTU_BYTES = 1_500;

/** Ether types (IANA, "IEEE 802 Numbers"). */
export const ETHER_IPV4 = 0x0800;
export const ETHER_ARP = 0x0806;
export const ETHER_IPV6 = 0x86dd;

export const BROADCAST_MAC = 0xffff_ffff_ffff;
/** Locally administered, unicast: the node's IPv4 address follows in the lower four bytes. */
const MAC_PREFIX = 0x0200 * 0x1_0000_0000;

/** A frame taken apart. MAC addresses are unsigned 48-bit numbers. */
export interface EthernetFrame {
  readonly target: number;
  readonly source: number;
  readonly type: number;
  /** Shared with the frame's bytes. */
  readonly payload: Uint8Array;
}

/** The MAC address of the node that has this address: 02:00 and its IPv4 address. */
export function macOfAddress(address: number): number {
  return MAC_PREFIX + ipv4Of(address);
}

/** Whether a MAC address is for several stations (its lowest bit of the first byte is set). */
export function isGroupMac(mac: number): boolean {
  return Math.trunc(mac / 0x100_0000_0000) % 2 === 1;
}

/** Writes `02:00:0a:00:00:01`. */
export function formatMac(mac: number): string {
  const digits = mac.toString(16).padStart(12, '0');
  return digits.replace(/(..)(?=.)/g, '$1:');
}

/** Takes a frame apart, or gives why it is dropped (see DROP). */
export function parseEthernet(bytes: Uint8Array): EthernetFrame | number {
  if (bytes.length < ETHERNET_HEADER_BYTES || bytes.length > FRAME_BYTES_MAX) {
    return DROP.FRAME_LENGTH;
  }
  return {
    target: getMac(bytes, 0),
    source: getMac(bytes, 6),
    type: get16(bytes, 12),
    payload: bytes.subarray(ETHERNET_HEADER_BYTES),
  };
}

export function serializeEthernet({ target, source, type, payload }: EthernetFrame): Uint8Array {
  const bytes = new Uint8Array(ETHERNET_HEADER_BYTES + payload.length);
  putMac(bytes, 0, target);
  putMac(bytes, 6, source);
  put16(bytes, 12, type);
  bytes.set(payload, ETHERNET_HEADER_BYTES);
  return bytes;
}

export function getMac(bytes: Uint8Array, at: number): number {
  return get16(bytes, at) * 0x1_0000_0000 + get32(bytes, at + 2);
}

export function putMac(bytes: Uint8Array, at: number, mac: number): void {
  put16(bytes, at, Math.trunc(mac / 0x1_0000_0000));
  put32(bytes, at + 2, mac % 0x1_0000_0000);
}
