import { DROP } from './drop.ts';
import type { IcmpMessage, QuotedEnds } from './icmp.ts';
import { PROTOCOL_ICMP6 } from './packet.ts';
import { readIpv6Address } from './ipv6.ts';
import { addWords, byteAt, foldSum, get16, get32, pseudoSum, put16, put32 } from './wire-bytes.ts';

/** Types and codes of ICMPv6 (RFC 4443; RFC 4861 for the last two). */
export const ICMP6_UNREACHABLE = 1;
export const ICMP6_TOO_BIG = 2;
export const ICMP6_ECHO_REQUEST = 128;
export const ICMP6_ECHO_REPLY = 129;
export const ICMP6_SOLICITATION = 135;
export const ICMP6_ADVERTISEMENT = 136;
export const ICMP6_CODE_PORT = 4;

const HEADER_BYTES = 8;

interface Ends {
  readonly source: number;
  readonly target: number;
}

/** Takes a message apart, or gives why it is dropped (see DROP). */
export function parseIcmp6(bytes: Uint8Array, ends: Ends): IcmpMessage | number {
  if (bytes.length < HEADER_BYTES) return DROP.FRAME_LENGTH;
  const sum = addWords(pseudoSum(ends, PROTOCOL_ICMP6, bytes.length), bytes);
  if (foldSum(sum) !== 0) return DROP.CHECKSUM;
  return {
    type: byteAt(bytes, 0),
    code: byteAt(bytes, 1),
    rest: get32(bytes, 4),
    payload: bytes.subarray(HEADER_BYTES),
  };
}

export function serializeIcmp6(message: IcmpMessage, ends: Ends): Uint8Array {
  const { type, code, rest, payload } = message;
  const bytes = new Uint8Array(HEADER_BYTES + payload.length);
  bytes[0] = type;
  bytes[1] = code;
  put32(bytes, 4, rest);
  bytes.set(payload, HEADER_BYTES);
  put16(bytes, 2, foldSum(addWords(pseudoSum(ends, PROTOCOL_ICMP6, bytes.length), bytes)));
  return bytes;
}

/** The two ends of the packet that an error message quotes, or why it is dropped. */
export function quotedEnds6(payload: Uint8Array): QuotedEnds | number {
  if (payload.length < 44) return DROP.FRAME_LENGTH;
  return {
    protocol: byteAt(payload, 6),
    source: readIpv6Address(payload, 8),
    sourcePort: get16(payload, 40),
    target: readIpv6Address(payload, 24),
    targetPort: get16(payload, 42),
  };
}
