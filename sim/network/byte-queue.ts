import { assert } from '../kernel/assert.ts';

/** Small buffers are carved out of slabs of this size: making each alone costs five times more. */
const SLAB_BYTES = 16 * 1024;
const CARVED_BYTES_MAX = 4 * 1024;

/** Counts the bytes that all queues of one node hold, and makes their buffers. */
export class Meter {
  readonly limit: number;
  used = 0;
  private slab = new Uint8Array(0);
  private slabUsed = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get free(): number {
    return Math.max(0, this.limit - this.used);
  }

  /** A buffer of zeros that nobody else has. */
  allocate(length: number): Uint8Array {
    if (length > CARVED_BYTES_MAX) return new Uint8Array(length);
    let from = this.slabUsed;
    if (from + length > this.slab.length) {
      this.slab = new Uint8Array(SLAB_BYTES);
      from = 0;
    }
    this.slabUsed = from + length;
    return this.slab.subarray(from, from + length);
  }

  /** A copy of the bytes. */
  copy(bytes: Uint8Array): Uint8Array {
    const copy = this.allocate(bytes.length);
    copy.set(bytes);
    return copy;
  }
}

interface Chunk {
  readonly bytes: Uint8Array;
  /** Position in the stream of `bytes[0]`. */
  readonly at: number;
  /** How many of the bytes are in use; what follows may still be filled. */
  length: number;
}

export interface ByteQueueState {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/** Further chunks of a queue that already holds bytes have at least this size. */
const CHUNK_BYTES = 4_096;

const NOTHING = new Uint8Array(0);

/**
 * A window of a byte stream: bytes are appended at the end and dropped at the start. Bytes once
 * appended are never written again, so that slices may be shared with packets.
 */
export class ByteQueue {
  private readonly meter: Meter;
  private chunks: Chunk[] = [];
  private head = 0;
  /** Where the last slice began, to find the next one without a search. */
  private cursor = 0;
  private first: number;
  private last: number;

  /** `start` is the stream position of the first byte that will be appended. */
  constructor(meter: Meter, start: number) {
    this.meter = meter;
    this.first = start;
    this.last = start;
  }

  get length(): number {
    return this.last - this.first;
  }

  /** The position of the first byte. */
  get start(): number {
    return this.first;
  }

  /** The position after the last byte. */
  get end(): number {
    return this.last;
  }

  /** Begins anew at another position. */
  reset(start: number): void {
    this.meter.used -= this.length;
    this.chunks = [];
    this.head = 0;
    this.cursor = 0;
    this.first = start;
    this.last = start;
  }

  /** Appends a copy. */
  append(bytes: Uint8Array): void {
    let from = 0;
    const tail = this.chunks[this.chunks.length - 1];
    if (tail !== undefined && tail.length < tail.bytes.length) {
      from = Math.min(bytes.length, tail.bytes.length - tail.length);
      tail.bytes.set(from === bytes.length ? bytes : bytes.subarray(0, from), tail.length);
      tail.length += from;
      this.last += from;
    }
    const rest = bytes.length - from;
    if (rest > 0) {
      const size = this.length === 0 ? rest : Math.max(rest, CHUNK_BYTES);
      const copy = this.meter.allocate(size);
      copy.set(from === 0 ? bytes : bytes.subarray(from));
      this.chunks.push({ bytes: copy, at: this.last, length: rest });
      this.last += rest;
    }
    this.meter.used += bytes.length;
  }

  /** Appends without a copy bytes that nobody will change. */
  appendShared(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.chunks.push({ bytes, at: this.last, length: bytes.length });
    this.last += bytes.length;
    this.meter.used += bytes.length;
  }

  /** The bytes `[at, at + length)`: a view of the queue where they stand together, else a copy. */
  slice(at: number, length: number): Uint8Array {
    assert(at >= this.first && at + length <= this.last, 'a slice is within its queue');
    if (length === 0) return NOTHING;
    let index = this.find(at);
    let chunk = this.chunks[index] as Chunk;
    let from = at - chunk.at;
    if (from === 0 && length === chunk.bytes.length) return chunk.bytes;
    if (from + length <= chunk.length) return chunk.bytes.subarray(from, from + length);
    const joined = new Uint8Array(length);
    for (let filled = 0; filled < length;) {
      const part = Math.min(length - filled, chunk.length - from);
      joined.set(chunk.bytes.subarray(from, from + part), filled);
      filled += part;
      if (filled === length) break;
      chunk = this.chunks[++index] as Chunk;
      from = 0;
    }
    return joined;
  }

  /** Copies the first bytes into `into` and returns how many. */
  peek(into: Uint8Array): number {
    const count = Math.min(into.length, this.length);
    const first = this.chunks[this.head];
    if (first?.at === this.first && first.bytes.length === count) {
      into.set(first.bytes);
      return count;
    }
    let from = this.first;
    for (let index = this.head, filled = 0; filled < count; index++) {
      const chunk = this.chunks[index] as Chunk;
      const offset = from - chunk.at;
      const part = Math.min(count - filled, chunk.length - offset);
      into.set(chunk.bytes.subarray(offset, offset + part), filled);
      filled += part;
      from += part;
    }
    return count;
  }

  /** Drops all bytes before the position. */
  dropTo(at: number): void {
    assert(at >= this.first && at <= this.last, 'what is dropped is within its queue');
    this.meter.used -= at - this.first;
    this.first = at;
    const { chunks } = this;
    for (;;) {
      const chunk = chunks[this.head];
      if (chunk === undefined || chunk.at + chunk.length > at) break;
      this.head++;
    }
    if (this.head * 2 >= chunks.length) {
      chunks.splice(0, this.head);
      this.cursor = Math.max(0, this.cursor - this.head);
      this.head = 0;
    }
  }

  capture(): ByteQueueState {
    return { start: this.first, bytes: this.slice(this.first, this.length) };
  }

  restore(state: ByteQueueState): void {
    this.reset(state.start);
    this.append(state.bytes);
  }

  /** The index of the chunk that holds the byte at this position. */
  private find(at: number): number {
    const { chunks } = this;
    let index = Math.max(this.head, this.cursor);
    const guess = chunks[index];
    if (guess === undefined || guess.at > at) index = this.head;
    for (;;) {
      const chunk = chunks[index] as Chunk;
      if (at < chunk.at + chunk.length) break;
      index++;
    }
    this.cursor = index;
    return index;
  }
}
