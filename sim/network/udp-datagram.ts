import { DROP } from './drop.ts';
import { PROTOCOL_UDP } from './packet.ts';
import { addWords, foldSum, get16, pseudoSum, put16 } from './wire-bytes.ts';

export const UDP_HEADER_BYTES = 8;

export interface UdpDatagram {
  readonly sourcePort: number;
  readonly targetPort: number;
  /** Shared with the datagram's bytes. */
  readonly payload: Uint8Array;
}

interface Ends {
  readonly source: number;
  readonly target: number;
}

/** Takes a datagram apart (RFC 768), or gives why it is dropped (see DROP). */
export function parseUdp(bytes: Uint8Array, ends: Ends): UdpDatagram | number {
  if (bytes.length < UDP_HEADER_BYTES) return DROP.FRAME_LENGTH;
  const length = get16(bytes, 4);
  if (length < UDP_HEADER_BYTES || length > bytes.length) return DROP.FRAME_LENGTH;
  const whole = bytes.subarray(0, length);
  // A checksum of 0 says that the sender has made none.
  const sum = addWords(pseudoSum(ends, PROTOCOL_UDP, length), whole);
  if (get16(bytes, 6) !== 0 && foldSum(sum) !== 0) return DROP.CHECKSUM;
  return {
    sourcePort: get16(bytes, 0),
    targetPort: get16(bytes, 2),
    payload: whole.subarray(UDP_HEADER_BYTES),
  };
}

export function serializeUdp(datagram: UdpDatagram, ends: Ends): Uint8Array {
  const length = UDP_HEADER_BYTES + datagram.payload.length;
  const bytes = new Uint8Array(length);
  put16(bytes, 0, datagram.sourcePort);
  put16(bytes, 2, datagram.targetPort);
  put16(bytes, 4, length);
  bytes.set(datagram.payload, UDP_HEADER_BYTES);
  const checksum = foldSum(addWords(pseudoSum(ends, PROTOCOL_UDP, length), bytes));
  put16(bytes, 6, checksum === 0 ? 0xffff : checksum);
  return bytes;
}
