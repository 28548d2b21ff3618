import { DROP } from './drop.ts';
import { addWords, byteAt, foldSum, get16, get32, put16, put32 } from './wire-bytes.ts';

/** Types and codes (RFC 792; RFC 1191 for the last one). */
export const ICMP_ECHO_REPLY = 0;
export const ICMP_UNREACHABLE = 3;
export const ICMP_ECHO_REQUEST = 8;
export const ICMP_CODE_HOST = 1;
export const ICMP_CODE_PORT = 3;
export const ICMP_CODE_FRAGMENTATION = 4;

const ICMP_HEADER_BYTES = 8;

export interface IcmpMessage {
  readonly type: number;
  readonly code: number;
  /** The header's second word: identifier and sequence number of an echo, the MTU of a refusal. */
  readonly rest: number;
  /** Shared with the message's bytes. */
  readonly payload: Uint8Array;
}

/** Takes a message apart, or gives why it is dropped (see DROP). */
export function parseIcmp(bytes: Uint8Array): IcmpMessage | number {
  if (bytes.length < ICMP_HEADER_BYTES) return DROP.FRAME_LENGTH;
  if (foldSum(addWords(0, bytes)) !== 0) return DROP.CHECKSUM;
  return {
    type: byteAt(bytes, 0),
    code: byteAt(bytes, 1),
    rest: get32(bytes, 4),
    payload: bytes.subarray(ICMP_HEADER_BYTES),
  };
}

export function serializeIcmp({ type, code, rest, payload }: IcmpMessage): Uint8Array {
  const bytes = new Uint8Array(ICMP_HEADER_BYTES + payload.length);
  bytes[0] = type;
  bytes[1] = code;
  put32(bytes, 4, rest);
  bytes.set(payload, ICMP_HEADER_BYTES);
  put16(bytes, 2, foldSum(addWords(0, bytes)));
  return bytes;
}

/** The two ends of a packet that an error message quotes. */
export interface QuotedEnds {
  readonly protocol: number;
  readonly source: number;
  readonly sourcePort: number;
  readonly target: number;
  readonly targetPort: number;
}

/** The two ends of the UDP or TCP packet that an error message quotes, or why it is dropped. */
export function quotedEnds(payload: Uint8Array): QuotedEnds | number {
  const headerBytes = (byteAt(payload, 0) & 15) * 4;
  if (headerBytes < 20 || payload.length < headerBytes + 4) return DROP.FRAME_LENGTH;
  return {
    protocol: byteAt(payload, 9),
    source: get32(payload, 12),
    sourcePort: get16(payload, headerBytes),
    target: get32(payload, 16),
    targetPort: get16(payload, headerBytes + 2),
  };
}
