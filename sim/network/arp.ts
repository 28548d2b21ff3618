import { DROP } from './drop.ts';
import { ETHER_IPV4, getMac, putMac } from './ethernet.ts';
import { get16, get32, put16, put32 } from './wire-bytes.ts';

/** Operations (RFC 826). */
export const ARP_REQUEST = 1;
export const ARP_REPLY = 2;

const HARDWARE_ETHERNET = 1;
const ARP_BYTES = 28;

/** An ARP message about IPv4 on Ethernet. */
export interface ArpMessage {
  readonly operation: number;
  readonly senderMac: number;
  readonly senderAddress: number;
  readonly targetMac: number;
  readonly targetAddress: number;
}

/** Takes a message apart (padding may follow it), or gives why it is dropped (see DROP). */
export function parseArp(bytes: Uint8Array): ArpMessage | number {
  if (bytes.length < ARP_BYTES) return DROP.FRAME_LENGTH;
  const sizes = get16(bytes, 4);
  if (get16(bytes, 0) !== HARDWARE_ETHERNET || get16(bytes, 2) !== ETHER_IPV4) {
    return DROP.FRAME_PROTOCOL;
  }
  const operation = get16(bytes, 6);
  if (sizes !== 0x0604 || operation < ARP_REQUEST || operation > ARP_REPLY) {
    return DROP.FRAME_HEADER;
  }
  return {
    operation,
    senderMac: getMac(bytes, 8),
    senderAddress: get32(bytes, 14),
    targetMac: getMac(bytes, 18),
    targetAddress: get32(bytes, 24),
  };
}

export function serializeArp(message: ArpMessage): Uint8Array {
  const bytes = new Uint8Array(ARP_BYTES);
  put16(bytes, 0, HARDWARE_ETHERNET);
  put16(bytes, 2, ETHER_IPV4);
  put16(bytes, 4, 0x0604);
  put16(bytes, 6, message.operation);
  putMac(bytes, 8, message.senderMac);
  put32(bytes, 14, message.senderAddress);
  putMac(bytes, 18, message.targetMac);
  put32(bytes, 24, message.targetAddress);
  return bytes;
}
