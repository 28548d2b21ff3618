import { ARITY_MAX, DOORS, type Decision } from './decision.ts';
import { SimError } from './errors.ts';
import type { LoggedEvent } from './event-log.ts';
import { FRAME_BYTES, FRAME_HEADER_BYTES, FRAME_MAGIC, RECORD_BYTES_MAX } from './log.ts';
import { RollingDigest } from './rolling-digest.ts';
import { decodeUtf8, isUtf8 } from './utf8.ts';

/** Which log: the number stands in each frame. */
export const LOG_DECISIONS = 1;
export const LOG_EVENTS = 2;

/** A frame of a log as it was read; `payload` is a view of the bytes that were given. */
export interface Frame {
  /** Where the frame starts in the bytes that were read. */
  readonly offset: number;
  readonly records: number;
  readonly payload: Uint8Array;
  /** The chain after this frame, 16 hexadecimal digits. */
  readonly chain: string;
}

/** A log as far as it is whole. */
export interface ReadLog {
  readonly frames: readonly Frame[];
  readonly recordCount: number;
  /** The chain after the last whole frame. */
  readonly chain: string;
  /** How many bytes, from the start, hold whole and linked frames. */
  readonly wholeBytes: number;
  /** Why reading stopped before the end of the bytes, or null. */
  readonly damage: SimError | null;
}

/**
 * Reads the frames of a log of `kind` and verifies magic, lengths and the digest chain. It never
 * throws: it reads up to the last whole frame and says in `damage` why it stopped there.
 */
export function readLog(bytes: Uint8Array, kind: number): ReadLog {
  const frames: Frame[] = [];
  const digest = new RollingDigest();
  let chain = digest.hex();
  let recordCount = 0;
  let offset = 0;
  let damage: SimError | null = null;
  while (offset < bytes.length) {
    const read = readFrame(bytes, offset, kind, chain, digest);
    if (read instanceof SimError) {
      damage = read;
      break;
    }
    frames.push(read);
    chain = read.chain;
    recordCount += read.records;
    offset += FRAME_HEADER_BYTES + read.payload.length;
  }
  return { frames, recordCount, chain, wholeBytes: offset, damage };
}

/** As `readLog`, but a log that is not whole to its last byte is refused. */
export function readWholeLog(bytes: Uint8Array, kind: number): ReadLog {
  const log = readLog(bytes, kind);
  if (log.damage !== null) throw log.damage;
  return log;
}

/** The decisions of a log, in order. Throws `bundle/log` where a record makes no sense. */
export function* decodeDecisions(log: ReadLog): Generator<Decision, void, void> {
  const streams: { readonly name: string; ordinal: number; arity: number }[] = [];
  const names = new Set<string>();
  let index = 0;
  let atNs = 0;
  for (const frame of log.frames) {
    const reader = new RecordReader(frame);
    for (let record = 0; record < frame.records; record++) {
      const header = reader.unsigned();
      if (header === 0) {
        streams.push({ name: reader.newName(names), ordinal: 0, arity: 0 });
        continue;
      }
      const stream = streams[Math.floor(header / 16) - 1];
      if (stream === undefined) return reader.refuse('it names a stream that was not declared');
      const door = DOORS[(header >> 1) & 7];
      if (door === undefined) return reader.refuse('it names an unknown door');
      if ((header & 1) === 1) {
        const arity = reader.unsigned();
        if (arity === stream.arity) return reader.refuse('it repeats the arity');
        if (arity < 2 || arity > ARITY_MAX) return reader.refuse('its arity is out of range');
        stream.arity = arity;
      }
      const choice = reader.unsigned();
      if (choice >= stream.arity) return reader.refuse('its choice is outside its arity');
      atNs = reader.time(atNs);
      const { name, arity } = stream;
      yield { index, stream: name, ordinal: stream.ordinal, atNs, arity, choice, door };
      stream.ordinal++;
      index++;
    }
    reader.end();
  }
}

/** The events of a log, in order. Throws `bundle/log` where a record makes no sense. */
export function* decodeEvents(log: ReadLog): Generator<LoggedEvent, void, void> {
  const kinds: string[] = [];
  const names = new Set<string>();
  let index = 0;
  let atNs = 0;
  for (const frame of log.frames) {
    const reader = new RecordReader(frame);
    for (let record = 0; record < frame.records; record++) {
      const header = reader.unsigned();
      if (header === 0) {
        kinds.push(reader.newName(names));
        continue;
      }
      const kind = kinds[header - 1];
      if (kind === undefined) return reader.refuse('it names a kind that was not declared');
      const guest = reader.unsigned() - 1;
      atNs = reader.time(atNs);
      const input = reader.word();
      const result = reader.signed();
      yield { index, kind, guest, atNs, input, result };
      index++;
    }
    reader.end();
  }
}

function readFrame(
  bytes: Uint8Array,
  offset: number,
  kind: number,
  chain: string,
  digest: RollingDigest,
): Frame | SimError {
  const rest = bytes.length - offset;
  if (rest < FRAME_HEADER_BYTES) return damaged(offset, 'a frame header is cut off');
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, FRAME_HEADER_BYTES);
  if (view.getUint8(0) !== FRAME_MAGIC) return damaged(offset, 'no frame starts here');
  if (view.getUint8(1) !== kind) {
    return damaged(offset, `a frame of kind ${view.getUint8(1)} stands in a log of kind ${kind}`);
  }
  const length = view.getUint32(2, true);
  const records = view.getUint32(6, true);
  if (length > FRAME_BYTES + RECORD_BYTES_MAX) return damaged(offset, 'a frame is too long');
  // Each record has at least one byte.
  if (records === 0 || records > length) return damaged(offset, 'a frame counts wrong');
  if (readHex(view, 10) !== chain) return damaged(offset, 'a frame does not follow the one before');
  if (rest < FRAME_HEADER_BYTES + length) return damaged(offset, 'a frame is cut off');
  const start = offset + FRAME_HEADER_BYTES;
  const payload = bytes.subarray(start, start + length);
  digest.update(payload);
  const after = digest.hex();
  if (readHex(view, 18) !== after) return damaged(offset, 'a frame and its digest differ');
  return { offset, records, payload, chain: after };
}

/** Reads 8 bytes as 16 hexadecimal digits. */
function readHex(view: DataView, at: number): string {
  const high = view.getUint32(at).toString(16).padStart(8, '0');
  return (
    high +
    view
      .getUint32(at + 4)
      .toString(16)
      .padStart(8, '0')
  );
}

function damaged(offset: number, why: string): SimError {
  return new SimError({
    code: 'bundle/log',
    message: `the log is damaged: ${why}`,
    place: `offset ${offset}`,
  });
}

/** Reads the fields that RecordLog puts. */
class RecordReader {
  private readonly frame: Frame;
  private readonly bytes: Uint8Array;
  private at = 0;

  constructor(frame: Frame) {
    this.frame = frame;
    this.bytes = frame.payload;
  }

  unsigned(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 8; count++) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) {
        if (byte === 0 && count > 0) return this.refuse('a number is not in its shortest form');
        if (!Number.isSafeInteger(value)) return this.refuse('a number is above 2^53 - 1');
        return value;
      }
      scale *= 128;
    }
    return this.refuse('a number is too long');
  }

  signed(): number {
    const value = this.unsigned();
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
  }

  word(): number {
    let value = 0;
    for (let index = 0; index < 4; index++) value += this.byte() * 256 ** index;
    return value;
  }

  /** A time that is given as a change since `lastNs`. */
  time(lastNs: number): number {
    const atNs = lastNs + this.signed();
    if (atNs < 0 || !Number.isSafeInteger(atNs)) return this.refuse('its time is out of range');
    return atNs;
  }

  text(): string {
    const length = this.unsigned();
    if (length > 1024 || length > this.bytes.length - this.at) {
      return this.refuse('a text is too long');
    }
    const bytes = this.bytes.subarray(this.at, this.at + length);
    if (!isUtf8(bytes)) return this.refuse('a text is not UTF-8');
    this.at += length;
    return decodeUtf8(bytes);
  }

  /** A name that `names` does not hold yet; it is added. */
  newName(names: Set<string>): string {
    const name = this.text();
    if (names.has(name)) return this.refuse('a name is declared twice');
    names.add(name);
    return name;
  }

  /** States that the frame's records took all of it. */
  end(): void {
    if (this.at !== this.bytes.length) this.refuse('bytes follow the last record');
  }

  refuse(why: string): never {
    throw damaged(this.frame.offset + FRAME_HEADER_BYTES + this.at, `in a record, ${why}`);
  }

  private byte(): number {
    if (this.at >= this.bytes.length) this.refuse('it is cut off');
    return this.bytes[this.at++] as number;
  }
}

/** Frames of several logs that stand in one stream, taken apart by kind. */
export interface SplitFrames {
  readonly byKind: ReadonlyMap<number, Uint8Array>;
  /** How many bytes, from the start, hold whole frames. */
  readonly wholeBytes: number;
}

/**
 * Takes interleaved frames apart by kind, up to the last that is whole. Only lengths are looked at:
 * `readLog` of each part verifies the rest.
 */
export function splitFrames(bytes: Uint8Array): SplitFrames {
  const pieces = new Map<number, Uint8Array[]>();
  let offset = 0;
  while (bytes.length - offset >= FRAME_HEADER_BYTES && bytes[offset] === FRAME_MAGIC) {
    const view = new DataView(bytes.buffer, bytes.byteOffset + offset, FRAME_HEADER_BYTES);
    const end = offset + FRAME_HEADER_BYTES + view.getUint32(2, true);
    if (end > bytes.length) break;
    const kind = view.getUint8(1);
    const list = pieces.get(kind) ?? [];
    list.push(bytes.subarray(offset, end));
    pieces.set(kind, list);
    offset = end;
  }
  const byKind = new Map([...pieces].map(([kind, list]) => [kind, joinPieces(list)]));
  return { byKind, wholeBytes: offset };
}

function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

/** The records of a log of plain texts, each a list of texts, such as a trace's notes. */
export function* decodeTexts(
  log: ReadLog,
  count: number,
): Generator<readonly string[], void, void> {
  for (const frame of log.frames) {
    const reader = new RecordReader(frame);
    for (let record = 0; record < frame.records; record++) {
      yield Array.from({ length: count }, () => reader.text());
    }
    reader.end();
  }
}
