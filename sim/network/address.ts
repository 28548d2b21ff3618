/**
 * IPv4 addresses as unsigned 32-bit numbers. Node k has 10.0.0.1 + k (so node 255 has 10.0.1.0);
 * every node is 127.0.0.1 to itself.
 */
export const ANY_ADDRESS = 0;
export const LOOPBACK_ADDRESS = 0x7f00_0001;
const FIRST_NODE_ADDRESS = 0x0a00_0001;

/** A world has at most this many nodes, which keeps all addresses within 10.0.0.0/16. */
export const NETWORK_NODES_MAX = 65_534;

export function nodeAddress(node: number): number {
  return FIRST_NODE_ADDRESS + node;
}

/** The node with that address among `nodeCount`, or -1. The loopback address is nobody's. */
export function nodeOfAddress(address: number, nodeCount: number): number {
  const node = address - FIRST_NODE_ADDRESS;
  return node >= 0 && node < nodeCount ? node : -1;
}

/** Writes `10.0.0.1`. */
export function formatAddress(address: number): string {
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
