/**
 * Addresses as numbers. One below 2^32 is an IPv4 address; one above is the world's IPv6 prefix,
 * `fd00::/96`, with the IPv4 address that is left behind it. Node k has 10.0.0.1 + k (so node 255
 * has 10.0.1.0) and `fd00::a00:1` + k; every node is 127.0.0.1 to itself. Only machines speak
 * IPv6: sockets of the world's own answer in the family in which they were spoken to.
 */
export const ANY_ADDRESS = 0;
export const LOOPBACK_ADDRESS = 0x7f00_0001;
const FIRST_NODE_ADDRESS = 0x0a00_0001;
const IPV6_PREFIX = 0x1_0000_0000;
/** No address is larger. */
export const ADDRESS_MAX = 2 * IPV6_PREFIX - 1;

/** A world has at most this many nodes, which keeps all addresses within 10.0.0.0/16. */
export const NETWORK_NODES_MAX = 65_534;

/** The node's IPv4 address. */
export function nodeAddress(node: number): number {
  return FIRST_NODE_ADDRESS + node;
}

export function isIpv6(address: number): boolean {
  return address >= IPV6_PREFIX;
}

/** The IPv4 address of the same node. */
export function ipv4Of(address: number): number {
  return isIpv6(address) ? address - IPV6_PREFIX : address;
}

/** The IPv6 address of the same node. */
export function ipv6Of(address: number): number {
  return isIpv6(address) ? address : address + IPV6_PREFIX;
}

/** The node with that address among `nodeCount`, or -1. The loopback address is nobody's. */
export function nodeOfAddress(address: number, nodeCount: number): number {
  const node = ipv4Of(address) - FIRST_NODE_ADDRESS;
  return node >= 0 && node < nodeCount ? node : -1;
}

/** Writes `10.0.0.1` or `fd00::a00:1`. */
export function formatAddress(address: number): string {
  if (isIpv6(address)) {
    return `fd00::${((address >>> 16) & 0xffff).toString(16)}:${(address & 0xffff).toString(16)}`;
  }
  return [address >>> 24, (address >>> 16) & 255, (address >>> 8) & 255, address & 255].join('.');
}

/** Reads four decimal parts without leading zeros, or gives -1. */
export function parseAddress(text: string): number {
  const match = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/.exec(
    text,
  );
  if (match === null) return -1;
  let address = 0;
  for (const part of match.slice(1)) {
    if (Number(part) > 255) return -1;
    address = address * 256 + Number(part);
  }
  return address;
}
