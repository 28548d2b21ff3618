import { assert } from './assert.ts';
import { RollingDigest } from './rolling-digest.ts';
import { encodeUtf8 } from './utf8.ts';

/**
 * An append-only, digest-chained record stream of bytes. Records are written with the `put`
 * methods between `begin` and `end`. Full frames go to `onFrame`, so that what was written is
 * readable up to the last complete frame whatever happens to the process.
 *
 * Frame: `A7 | kind u8 | payload length u32 | records u32 | chain before u64 | chain after u64 |
 * payload`, little-endian. The chain after is the rolling digest of every payload byte so far.
 */

/** A frame closes after the record that takes its payload past this size. */
export const FRAME_BYTES = 32 * 1024;
/** A single record stays below this size, so that a frame is at most FRAME_BYTES + RECORD_BYTES. */
export const RECORD_BYTES_MAX = 64 * 1024;
export const FRAME_HEADER_BYTES = 26;
/** A log starts with so many bytes, since most runs of a suite write few records. */
const FIRST_BYTES = 4 * 1024;
/** After a record there is at least this much room: for the longest numbers and one text. */
const ROOM_BYTES = 2 * 1024;
export const FRAME_MAGIC = 0xa7;

/** A log's position: where records stand and what the chain is there. */
export interface LogPosition {
  readonly bytes: number;
  readonly records: number;
  readonly chain: string;
}

export interface LogState {
  readonly frames: number;
  readonly recordsBefore: number;
  readonly bytesBefore: number;
  readonly chainBefore: string;
  readonly digest: readonly number[];
  readonly payload: Uint8Array;
  readonly records: number;
}

/** Sees each record when it is complete: `[from, to)` of `bytes`, `position` counts all bytes. */
export type RecordCheck = (bytes: Uint8Array, from: number, to: number, position: number) => void;

export class RecordLog {
  private bytes = new Uint8Array(FIRST_BYTES);
  /** Past this length the buffer grows or, at its full size, the frame closes. */
  private fullAt = FIRST_BYTES - ROOM_BYTES;
  private length = 0;
  private recordStart = 0;
  private recordsInFrame = 0;
  private recordsBefore = 0;
  private bytesBefore = 0;
  private frames = 0;
  private chainBefore: string;
  private readonly digest = new RollingDigest();
  private digested = 0;
  private readonly kind: number;
  private readonly onFrame: (frame: Uint8Array) => void;
  private check: RecordCheck | undefined;

  /** `kind` is stored in each frame: 1 decisions, 2 events. */
  constructor(kind: number, onFrame: (frame: Uint8Array) => void) {
    this.kind = kind;
    this.onFrame = onFrame;
    this.chainBefore = this.digest.hex();
  }

  /** Installs a comparison of every further record, or takes it away. */
  setCheck(check: RecordCheck | undefined): void {
    this.check = check;
  }

  get recordCount(): number {
    return this.recordsBefore + this.recordsInFrame;
  }

  get byteCount(): number {
    return this.bytesBefore + this.length;
  }

  position(): LogPosition {
    return { bytes: this.byteCount, records: this.recordCount, chain: this.chain() };
  }

  /** The rolling digest of all records so far, 16 hexadecimal digits. */
  chain(): string {
    this.digest.update(this.bytes, this.digested, this.length);
    this.digested = this.length;
    return this.digest.hex();
  }

  /** Appends a whole number, 0 to 2^53 - 1, in 7-bit groups, least first (LEB128). */
  putUnsigned(value: number): void {
    this.length = writeUnsigned(this.bytes, this.length, value);
  }

  /**
   * Appends whole numbers as `putUnsigned` does, the last one with its sign in the lowest bit; a negative
   * `second` is left out. Completes the record. The numbers of a decision, in one call.
   */
  putNumbers(first: number, second: number, third: number, signed: number): void {
    const bytes = this.bytes;
    let at = writeUnsigned(bytes, this.length, first);
    if (second >= 0) at = writeUnsigned(bytes, at, second);
    at = writeUnsigned(bytes, at, third);
    this.length = writeSigned(bytes, at, signed);
    this.end();
  }

  /** Appends two whole numbers, a signed one, 32 bits and a signed one: an event, in one call. */
  putEvent(first: number, second: number, third: number, word: number, fifth: number): void {
    const bytes = this.bytes;
    let at = writeUnsigned(bytes, this.length, first);
    at = writeUnsigned(bytes, at, second);
    at = writeSigned(bytes, at, third);
    bytes[at] = word;
    bytes[at + 1] = word >>> 8;
    bytes[at + 2] = word >>> 16;
    bytes[at + 3] = word >>> 24;
    this.length = writeSigned(bytes, at + 4, fifth);
    this.end();
  }

  /** Appends a text of at most 1,024 bytes of UTF-8, its length first. */
  putText(text: string): void {
    const bytes = encodeUtf8(text);
    assert(bytes.length <= 1024, 'a text in the log has at most 1024 bytes');
    this.reserve(this.length + bytes.length + ROOM_BYTES);
    this.putUnsigned(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Completes the record that was put since the last `end`. */
  end(): void {
    const from = this.recordStart;
    this.recordsInFrame++;
    this.recordStart = this.length;
    if (this.check !== undefined) {
      this.check(this.bytes, from, this.length, this.bytesBefore + from);
    }
    if (this.length >= this.fullAt) this.makeRoom();
  }

  /** Closes the frame now, if it holds anything. */
  flush(): void {
    assert(this.recordStart === this.length, 'a frame closes between records');
    if (this.recordsInFrame === 0) return;
    const after = this.chain();
    const frame = new Uint8Array(FRAME_HEADER_BYTES + this.length);
    const view = new DataView(frame.buffer);
    view.setUint8(0, FRAME_MAGIC);
    view.setUint8(1, this.kind);
    view.setUint32(2, this.length, true);
    view.setUint32(6, this.recordsInFrame, true);
    putHex(frame, 10, this.chainBefore);
    putHex(frame, 18, after);
    frame.set(this.bytes.subarray(0, this.length), FRAME_HEADER_BYTES);
    this.chainBefore = after;
    this.recordsBefore += this.recordsInFrame;
    this.bytesBefore += this.length;
    this.recordsInFrame = 0;
    this.length = 0;
    this.recordStart = 0;
    this.digested = 0;
    this.frames++;
    this.onFrame(frame);
  }

  capture(): LogState {
    this.chain();
    return {
      frames: this.frames,
      recordsBefore: this.recordsBefore,
      bytesBefore: this.bytesBefore,
      chainBefore: this.chainBefore,
      digest: this.digest.capture(),
      payload: this.bytes.slice(0, this.length),
      records: this.recordsInFrame,
    };
  }

  restore(state: LogState): void {
    this.frames = state.frames;
    this.recordsBefore = state.recordsBefore;
    this.bytesBefore = state.bytesBefore;
    this.chainBefore = state.chainBefore;
    this.digest.restore(state.digest);
    this.reserve(state.payload.length + ROOM_BYTES);
    this.bytes.set(state.payload);
    this.length = state.payload.length;
    this.recordStart = this.length;
    this.digested = this.length;
    this.recordsInFrame = state.records;
  }

  private makeRoom(): void {
    if (this.length >= FRAME_BYTES) this.flush();
    else this.reserve(this.length + ROOM_BYTES);
  }

  /** Grows the buffer to at least so many bytes, by doubling it. */
  private reserve(bytes: number): void {
    if (bytes <= this.bytes.length) return;
    assert(bytes <= FRAME_BYTES + RECORD_BYTES_MAX, 'a record is below its limit');
    let size = this.bytes.length;
    while (size < bytes) size *= 2;
    const grown = new Uint8Array(Math.min(size, FRAME_BYTES + RECORD_BYTES_MAX));
    grown.set(this.bytes);
    this.bytes = grown;
    this.fullAt = Math.min(FRAME_BYTES, grown.length - ROOM_BYTES);
  }
}

/** Writes 16 hexadecimal digits as 8 bytes. */
function putHex(bytes: Uint8Array, at: number, hex: string): void {
  for (let index = 0; index < 8; index++) {
    bytes[at + index] = Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16);
  }
}

/** Writes a whole number in 7-bit groups, least first; returns where it ends. */
function writeUnsigned(bytes: Uint8Array, at: number, value: number): number {
  return value <= 0xffff_ffff ? writeWord(bytes, at, value | 0) : writeLong(bytes, at, value);
}

/** Writes an integer in (-2^52, 2^52) with its sign in the lowest bit. */
function writeSigned(bytes: Uint8Array, at: number, value: number): number {
  const word = value | 0;
  if (word === value) return writeWord(bytes, at, (word << 1) ^ (word >> 31));
  return writeLong(bytes, at, value < 0 ? -2 * value - 1 : 2 * value);
}

/** Writes 32 unsigned bits, which nearly all numbers are: whole numbers all the way. */
function writeWord(bytes: Uint8Array, from: number, word: number): number {
  let at = from;
  let rest = word;
  while (rest >>> 7 !== 0) {
    bytes[at++] = rest | 128;
    rest >>>= 7;
  }
  bytes[at] = rest;
  return at + 1;
}

function writeLong(bytes: Uint8Array, from: number, value: number): number {
  let at = from;
  let rest = value;
  while (rest > 0xffff_ffff) {
    bytes[at++] = rest | 128;
    rest = Math.floor(rest / 128);
  }
  return writeWord(bytes, at, rest | 0);
}
