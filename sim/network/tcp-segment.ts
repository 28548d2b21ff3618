import { assert } from '../kernel/assert.ts';
import { DROP } from './drop.ts';
import { PROTOCOL_TCP } from './packet.ts';
import { addWords, byteAt, foldSum, get16, get32, pseudoSum, put16, put32 } from './wire-bytes.ts';

/** Header bytes without options (RFC 9293 section 3.1). */
export const TCP_HEADER_BYTES = 20;
/** Options that nobody can use beyond this are cut off: a shift is at most 14 (RFC 7323). */
export const WINDOW_SHIFT_MAX = 14;

/** Kinds of options (IANA, "TCP Parameters"). */
const OPTION_END = 0;
const OPTION_NONE = 1;
const OPTION_SEGMENT_BYTES = 2;
const OPTION_WINDOW_SHIFT = 3;
const OPTION_SACK_PERMITTED = 4;
const OPTION_SACK = 5;
const OPTION_TIME_STAMPS = 8;

export interface TcpOptions {
  /** The largest segment that the sender takes (RFC 9293 section 3.7.1). */
  readonly segmentBytes?: number;
  /** RFC 7323 section 2. */
  readonly windowShift?: number;
  /** RFC 2018. */
  readonly sackPermitted?: boolean;
  readonly sackBlocks?: readonly (readonly [left: number, right: number])[];
  /** RFC 7323 section 3. */
  readonly timeStamps?: { readonly value: number; readonly echo: number };
}

/** A segment as on the wire: sequence numbers of 32 bits, a window of 16. */
export interface TcpSegment {
  readonly sourcePort: number;
  readonly targetPort: number;
  readonly sequence: number;
  readonly acknowledgement: number;
  /** The eight control bits. */
  readonly flags: number;
  readonly window: number;
  readonly urgent: number;
  readonly options: TcpOptions;
  /** Shared with the segment's bytes. */
  readonly payload: Uint8Array;
}

interface Ends {
  readonly source: number;
  readonly target: number;
}

/**
 * Takes a segment apart, or gives why it is dropped (see DROP). Options that are unknown or
 * malformed are skipped, as Linux does (tcp_parse_options).
 */
export function parseTcp(bytes: Uint8Array, ends: Ends): TcpSegment | number {
  if (bytes.length < TCP_HEADER_BYTES) return DROP.FRAME_LENGTH;
  const headerBytes = (byteAt(bytes, 12) >> 4) * 4;
  if (headerBytes < TCP_HEADER_BYTES || headerBytes > bytes.length) return DROP.FRAME_HEADER;
  const sum = addWords(pseudoSum(ends, PROTOCOL_TCP, bytes.length), bytes);
  if (foldSum(sum) !== 0) return DROP.CHECKSUM;
  return {
    sourcePort: get16(bytes, 0),
    targetPort: get16(bytes, 2),
    sequence: get32(bytes, 4),
    acknowledgement: get32(bytes, 8),
    flags: byteAt(bytes, 13),
    window: get16(bytes, 14),
    urgent: get16(bytes, 18),
    options: parseOptions(bytes.subarray(TCP_HEADER_BYTES, headerBytes)),
    payload: bytes.subarray(headerBytes),
  };
}

export function serializeTcp(segment: TcpSegment, ends: Ends): Uint8Array {
  const options = serializeOptions(segment.options);
  const headerBytes = TCP_HEADER_BYTES + options.length;
  assert(headerBytes <= 60, 'the options fit the header');
  const bytes = new Uint8Array(headerBytes + segment.payload.length);
  put16(bytes, 0, segment.sourcePort);
  put16(bytes, 2, segment.targetPort);
  put32(bytes, 4, segment.sequence);
  put32(bytes, 8, segment.acknowledgement);
  bytes[12] = (headerBytes / 4) << 4;
  bytes[13] = segment.flags;
  put16(bytes, 14, segment.window);
  put16(bytes, 18, segment.urgent);
  bytes.set(options, TCP_HEADER_BYTES);
  bytes.set(segment.payload, headerBytes);
  put16(bytes, 16, foldSum(addWords(pseudoSum(ends, PROTOCOL_TCP, bytes.length), bytes)));
  return bytes;
}

function parseOptions(bytes: Uint8Array): TcpOptions {
  let options: TcpOptions = {};
  for (let at = 0; at < bytes.length;) {
    const kind = byteAt(bytes, at);
    if (kind === OPTION_END) break;
    if (kind === OPTION_NONE) {
      at++;
      continue;
    }
    const length = at + 1 < bytes.length ? byteAt(bytes, at + 1) : 0;
    if (length < 2 || at + length > bytes.length) break;
    options = { ...options, ...parseOption(kind, bytes.subarray(at + 2, at + length)) };
    at += length;
  }
  return options;
}

function parseOption(kind: number, value: Uint8Array): TcpOptions {
  const { length } = value;
  if (kind === OPTION_SEGMENT_BYTES && length === 2) return { segmentBytes: get16(value, 0) };
  if (kind === OPTION_WINDOW_SHIFT && length === 1) {
    return { windowShift: Math.min(byteAt(value, 0), WINDOW_SHIFT_MAX) };
  }
  if (kind === OPTION_SACK_PERMITTED && length === 0) return { sackPermitted: true };
  if (kind === OPTION_SACK && length > 0 && length % 8 === 0) {
    const sackBlocks = Array.from({ length: length / 8 }, (_, index) => {
      return [get32(value, index * 8), get32(value, index * 8 + 4)] as const;
    });
    return { sackBlocks };
  }
  if (kind === OPTION_TIME_STAMPS && length === 8) {
    return { timeStamps: { value: get32(value, 0), echo: get32(value, 4) } };
  }
  return {};
}

/** The options in the order of their kinds, filled up to whole words. */
function serializeOptions(options: TcpOptions): Uint8Array {
  const { segmentBytes, windowShift, sackPermitted, sackBlocks, timeStamps } = options;
  const bytes: number[] = [];
  if (segmentBytes !== undefined) {
    bytes.push(OPTION_SEGMENT_BYTES, 4, segmentBytes >> 8, segmentBytes & 255);
  }
  if (windowShift !== undefined) bytes.push(OPTION_NONE, OPTION_WINDOW_SHIFT, 3, windowShift);
  if (sackPermitted === true) bytes.push(OPTION_NONE, OPTION_NONE, OPTION_SACK_PERMITTED, 2);
  if (sackBlocks !== undefined && sackBlocks.length > 0) {
    bytes.push(OPTION_NONE, OPTION_NONE, OPTION_SACK, 2 + 8 * sackBlocks.length);
    for (const edge of sackBlocks.flat()) bytes.push(...wordOf(edge));
  }
  if (timeStamps !== undefined) {
    bytes.push(OPTION_NONE, OPTION_NONE, OPTION_TIME_STAMPS, 10);
    bytes.push(...wordOf(timeStamps.value), ...wordOf(timeStamps.echo));
  }
  return Uint8Array.from(bytes);
}

function wordOf(value: number): readonly number[] {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}
