import { createHash } from 'node:crypto';
import { crc32, inflateRawSync } from 'node:zlib';
import { deflateSync } from 'fflate';
import { MEMBERS_MAX, memberBytesMax, SimError } from '../sim/index.ts';

/**
 * A zip file (APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12, 4.3.16) with nothing left open: no time
 * stamps, no extra fields, no gaps. Its comment ends in the SHA-256 of all bytes before that, so
 * that any flipped or cut byte is found. Compression is by `fflate`, whose output is the same on
 * every host, unlike zlib's, which depends on the processor.
 */

/** A bundle's file is at most this long: 1 GiB. */
export const ZIP_BYTES_MAX = 1024 * 1024 * 1024;
/** All members together inflate to at most this much: 2 GiB less one. */
export const INFLATED_BYTES_MAX = 2 ** 31 - 1;
/** A member inflates to at most this many times its stored size. */
export const RATIO_MAX = 200;

const COMMENT = 'athanor bundle, sha256 ';
const DIGEST_LENGTH = 64;
const END_BYTES = 22 + COMMENT.length + DIGEST_LENGTH;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const STORED = 0;
const DEFLATED = 8;
/** 1980-01-01, the earliest date that the format has. */
const DATE_ZERO = 0x0021;
/** Made by version 2.0 of the format on Unix, so that file modes are kept. */
const MADE_BY = 0x0314;

export interface ZipMember {
  readonly name: string;
  readonly bytes: Uint8Array;
}

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly stored: number;
  readonly size: number;
  readonly offset: number;
}

/** Packs members in the given order. Equal members give equal bytes. */
export function packZip(members: readonly ZipMember[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  const entries: Entry[] = [];
  let offset = 0;
  for (const { name, bytes } of members) {
    const { method, data } = compress(name, bytes);
    const sizes = { stored: data.length, size: bytes.length };
    const entry = { name, method, crc: crc32(bytes), ...sizes, offset };
    const header = localHeader(entry);
    entries.push(entry);
    pieces.push(header, data);
    offset += header.length + data.length;
  }
  const central = Buffer.concat(entries.map(centralHeader));
  const end = endRecord(entries.length, central.length, offset);
  const body = Buffer.concat([...pieces, central, end]);
  if (body.length + DIGEST_LENGTH > ZIP_BYTES_MAX) {
    throw new SimError({
      code: 'budget/bundle-size',
      message: `the bundle would have ${body.length} bytes, the limit is ${ZIP_BYTES_MAX}`,
      remedy: 'lower the limits of the scenario, or leave the guests out with --thin',
    });
  }
  return Buffer.concat([body, Buffer.from(sha256Hex(body), 'latin1')]);
}

/** Unpacks what `packZip` made; members may share the file's memory. Else throws `bundle/zip`. */
export function unpackZip(bytes: Uint8Array): ZipMember[] {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  checkWhole(file);
  const entries = readCentral(file);
  return entries.map((entry) => ({ name: entry.name, bytes: inflate(file, entry) }));
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Logs and images are large and compress little better at higher levels. */
function levelOf(name: string): 1 | 6 {
  return name.endsWith('.bin') || /^(guests|checkpoints)\//.test(name) ? 1 : 6;
}

function compress(name: string, bytes: Uint8Array): { method: number; data: Uint8Array } {
  const data = deflateSync(bytes, { level: levelOf(name) });
  const worthwhile = data.length < bytes.length && bytes.length <= data.length * RATIO_MAX;
  return worthwhile ? { method: DEFLATED, data } : { method: STORED, data: bytes };
}

function localHeader(entry: Entry): Buffer {
  const name = Buffer.from(entry.name, 'latin1');
  const header = Buffer.alloc(LOCAL_BYTES + name.length);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(0, 6);
  putCommon(header, 8, entry);
  name.copy(header, LOCAL_BYTES);
  return header;
}

function centralHeader(entry: Entry): Buffer {
  const name = Buffer.from(entry.name, 'latin1');
  const header = Buffer.alloc(CENTRAL_BYTES + name.length);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(MADE_BY, 4);
  header.writeUInt16LE(20, 6);
  header.writeUInt16LE(0, 8);
  putCommon(header, 10, entry);
  const mode = entry.name.endsWith('.sh') ? 0o100755 : 0o100644;
  header.writeUInt32LE(mode * 0x1_0000, 38);
  header.writeUInt32LE(entry.offset, 42);
  name.copy(header, CENTRAL_BYTES);
  return header;
}

/** Method, time, date, checksum, sizes and the name's length stand alike in both headers. */
function putCommon(header: Buffer, at: number, entry: Entry): void {
  header.writeUInt16LE(entry.method, at);
  header.writeUInt16LE(0, at + 2);
  header.writeUInt16LE(DATE_ZERO, at + 4);
  header.writeUInt32LE(entry.crc, at + 6);
  header.writeUInt32LE(entry.stored, at + 10);
  header.writeUInt32LE(entry.size, at + 14);
  header.writeUInt16LE(entry.name.length, at + 18);
}

/** The end record with its comment, but for the digest. */
function endRecord(count: number, centralBytes: number, centralOffset: number): Buffer {
  const end = Buffer.alloc(END_BYTES - DIGEST_LENGTH);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(centralBytes, 12);
  end.writeUInt32LE(centralOffset, 16);
  end.writeUInt16LE(COMMENT.length + DIGEST_LENGTH, 20);
  end.write(COMMENT, 22, 'latin1');
  return end;
}

/** Checks length, comment and the digest of everything. */
function checkWhole(file: Buffer): void {
  if (file.length < END_BYTES) refuse(0, 'it is too short');
  if (file.length > ZIP_BYTES_MAX) refuse(0, `it is longer than ${ZIP_BYTES_MAX} bytes`);
  const start = file.length - END_BYTES;
  const comment = file.toString('latin1', start + 22, start + 22 + COMMENT.length);
  if (file.readUInt32LE(start) !== 0x06054b50 || comment !== COMMENT) {
    refuse(start, 'it does not end as a bundle does; it is cut off or another kind of file');
  }
  const body = file.subarray(0, file.length - DIGEST_LENGTH);
  if (file.toString('latin1', body.length) !== sha256Hex(body)) {
    refuse(body.length, 'its bytes are not those that were written');
  }
}

function readCentral(file: Buffer): Entry[] {
  const end = file.length - END_BYTES;
  const count = file.readUInt16LE(end + 8);
  const centralBytes = file.readUInt32LE(end + 12);
  const centralOffset = file.readUInt32LE(end + 16);
  if (count > MEMBERS_MAX) refuse(end, `${count} members are above the limit ${MEMBERS_MAX}`);
  expectBytes(file, end, endRecord(count, centralBytes, centralOffset));
  if (centralOffset + centralBytes !== end) refuse(end, 'its directory is not where it must be');
  const entries: Entry[] = [];
  let at = centralOffset;
  let offset = 0;
  let total = 0;
  for (let index = 0; index < count; index++) {
    const entry = readEntry(file, at, end, offset);
    total += entry.size;
    if (total > INFLATED_BYTES_MAX) refuse(at, `it inflates past ${INFLATED_BYTES_MAX} bytes`);
    at += CENTRAL_BYTES + entry.name.length;
    offset += LOCAL_BYTES + entry.name.length + entry.stored;
    if (offset > centralOffset) refuse(at, 'its members reach past its directory');
    entries.push(entry);
  }
  if (at !== end || offset !== centralOffset) refuse(at, 'bytes stand between its parts');
  return entries;
}

/** Reads one entry of the directory; both of its headers must be exactly as they are written. */
function readEntry(file: Buffer, at: number, end: number, offset: number): Entry {
  if (at + CENTRAL_BYTES > end) refuse(at, 'its directory is cut off');
  const nameLength = file.readUInt16LE(at + 28);
  if (at + CENTRAL_BYTES + nameLength > end) refuse(at, 'its directory is cut off');
  const name = file.toString('latin1', at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameLength);
  const entry: Entry = {
    name,
    method: file.readUInt16LE(at + 10),
    crc: file.readUInt32LE(at + 16),
    stored: file.readUInt32LE(at + 20),
    size: file.readUInt32LE(at + 24),
    offset,
  };
  const sizeMax = memberBytesMax(name);
  if (sizeMax === 0) refuse(at, `a bundle has no member ${JSON.stringify(name.slice(0, 80))}`);
  if (entry.size > sizeMax) refuse(at, `${name} has ${entry.size} bytes, the limit is ${sizeMax}`);
  if (entry.size > entry.stored * RATIO_MAX) refuse(at, `${name} inflates suspiciously much`);
  if (entry.method !== STORED && entry.method !== DEFLATED) {
    refuse(at, `${name} is packed by the unknown method ${entry.method}`);
  }
  expectBytes(file, at, centralHeader(entry));
  expectBytes(file, offset, localHeader(entry));
  return entry;
}

function inflate(file: Buffer, entry: Entry): Uint8Array {
  const start = entry.offset + LOCAL_BYTES + entry.name.length;
  const data = file.subarray(start, start + entry.stored);
  const bytes = entry.method === STORED ? data : inflateData(data, entry, start);
  if (bytes.length !== entry.size) refuse(start, `${entry.name} has another size than it says`);
  if (crc32(bytes) !== entry.crc) refuse(start, `${entry.name} has another checksum than it says`);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

function inflateData(data: Buffer, entry: Entry, start: number): Buffer {
  try {
    // With `info` the result also says how much input was used, which the types do not know.
    const options = { maxOutputLength: Math.max(1, entry.size), info: true };
    const result = inflateRawSync(data, options) as unknown as {
      readonly buffer: Buffer;
      readonly engine: { readonly bytesWritten: number };
    };
    if (result.engine.bytesWritten === data.length) return result.buffer;
  } catch (error) {
    refuse(start, `${entry.name} does not inflate`, error);
  }
  return refuse(start, `bytes follow the data of ${entry.name}`);
}

function expectBytes(file: Buffer, at: number, expected: Buffer): void {
  if (
    at + expected.length > file.length ||
    expected.compare(file, at, at + expected.length) !== 0
  ) {
    refuse(at, 'a header is not as it is written');
  }
}

function refuse(offset: number, why: string, cause?: unknown): never {
  throw new SimError({
    code: 'bundle/zip',
    message: `the file is no sound bundle: ${why}`,
    place: `offset ${offset}`,
    cause,
  });
}
