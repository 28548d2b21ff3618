import { ContentVersion, Segment, SEGMENT_CHUNKS, type Chunk } from './content-version.ts';

/** Bytes of a chunk: the unit of copying, of space accounting and of cached digests. */
export const CHUNK_BYTES = 4096;
/**
 * The first chunk of a file is allocated at this size, and doubles as it fills, so that small files
 * stay small; further chunks have CHUNK_BYTES at once.
 */
const CHUNK_BYTES_FIRST = 64;
/** The largest file: 16 GiB, so that the list of its segments (1 MiB each) stays small. */
export const FILE_BYTES_MAX = 2 ** 34;

const NO_BYTES = new Uint8Array(0);

/**
 * A file's bytes, as segments of chunks that are copied when they are written after a version was
 * taken. Taking a version costs nothing; the first write after it copies one chunk, the list of
 * its segment (256 references) and the list of segments (one reference for each MiB).
 */
export class FileContent {
  private bytesSize = 0;
  private chunkCount = 0;
  private segments: (Segment | null)[] = [];
  /** Chunks, segments and the list itself are written in place only while they carry this. */
  private owner: object = {};
  private listOwner: object = this.owner;
  /** The version of the present content, if one was taken since the last change. */
  private taken: ContentVersion | null = null;

  get size(): number {
    return this.bytesSize;
  }

  /** Chunks that hold bytes or are reserved; holes are not counted. */
  get chunks(): number {
    return this.chunkCount;
  }

  /** The content as it is now, for ever. The same object as long as nothing changes. */
  version(): ContentVersion {
    if (this.taken === null) {
      this.taken = new ContentVersion(this.bytesSize, this.chunkCount, this.segments);
      this.owner = {};
    }
    return this.taken;
  }

  /** Goes back to a version. */
  reset(version: ContentVersion): void {
    this.bytesSize = version.size;
    this.chunkCount = version.chunks;
    this.segments = version.segments as (Segment | null)[];
    this.owner = {};
    this.taken = version;
  }

  /** How many chunks `[offset, offset + length)` lacks. */
  missingChunks(offset: number, length: number): number {
    if (length === 0) return 0;
    const last = Math.floor((offset + length - 1) / CHUNK_BYTES);
    let missing = 0;
    for (let index = Math.floor(offset / CHUNK_BYTES); index <= last;) {
      const segment = this.segments[Math.floor(index / SEGMENT_CHUNKS)] ?? null;
      const within = index % SEGMENT_CHUNKS;
      const end = Math.min(SEGMENT_CHUNKS, within + last + 1 - index);
      index += end - within;
      if (segment === null) missing += end - within;
      else for (let slot = within; slot < end; slot++) if (!segment.chunks[slot]) missing++;
    }
    return missing;
  }

  /** Copies from `offset` on into `into`, up to the end of the file; returns how many bytes. */
  read(offset: number, into: Uint8Array): number {
    const length = Math.max(0, Math.min(into.length, this.bytesSize - offset));
    for (let done = 0; done < length;) {
      const at = offset + done;
      const within = at % CHUNK_BYTES;
      const count = Math.min(length - done, CHUNK_BYTES - within);
      const bytes = this.chunkAt(Math.floor(at / CHUNK_BYTES))?.bytes ?? NO_BYTES;
      const held = Math.max(0, Math.min(count, bytes.length - within));
      if (held > 0) into.set(bytes.subarray(within, within + held), done);
      if (held < count) into.fill(0, done + held, done + count);
      done += count;
    }
    return length;
  }

  /** Writes all of `from` at `offset`, growing the file; the caller has checked the limits. */
  write(offset: number, from: Uint8Array): void {
    this.taken = null;
    for (let done = 0; done < from.length;) {
      const at = offset + done;
      const within = at % CHUNK_BYTES;
      const count = Math.min(from.length - done, CHUNK_BYTES - within);
      const chunk = this.writableChunk(Math.floor(at / CHUNK_BYTES), within + count);
      if (count === from.length) chunk.bytes.set(from, within);
      else chunk.bytes.set(from.subarray(done, done + count), within);
      done += count;
    }
    this.bytesSize = Math.max(this.bytesSize, offset + from.length);
  }

  /** Makes chunks for `[offset, offset + length)` and grows the file to that end if shorter. */
  reserve(offset: number, length: number): void {
    this.taken = null;
    const last = Math.floor((offset + length - 1) / CHUNK_BYTES);
    for (let index = Math.floor(offset / CHUNK_BYTES); index <= last; index++) {
      if (this.chunkAt(index) === null) this.writableChunk(index, 0);
    }
    this.bytesSize = Math.max(this.bytesSize, offset + length);
  }

  /** Cuts or grows (with a hole) the file. */
  truncate(size: number): void {
    this.taken = null;
    if (size < this.bytesSize) {
      const kept = Math.ceil(size / CHUNK_BYTES);
      const within = size % CHUNK_BYTES;
      this.dropChunks(kept);
      if (within !== 0 && this.chunkAt(kept - 1) !== null) {
        this.writableChunk(kept - 1, 0).bytes.fill(0, within);
      }
    }
    this.bytesSize = size;
  }

  private chunkAt(index: number): Chunk | null {
    const segment = this.segments[Math.floor(index / SEGMENT_CHUNKS)];
    return segment?.chunks[index % SEGMENT_CHUNKS] ?? null;
  }

  private writableList(): (Segment | null)[] {
    if (this.listOwner !== this.owner) {
      this.segments = this.segments.slice();
      this.listOwner = this.owner;
    }
    return this.segments;
  }

  private writableSegment(index: number): Segment {
    const list = this.writableList();
    while (list.length <= index) list.push(null);
    let segment = list[index] as Segment | null;
    if (segment === null || segment.owner !== this.owner) {
      segment = new Segment(this.owner, segment?.chunks.slice() ?? []);
      list[index] = segment;
    }
    segment.digests = null;
    return segment;
  }

  /** The chunk, of at least `length` bytes, ours to write. */
  private writableChunk(index: number, length: number): Chunk {
    const { chunks } = this.writableSegment(Math.floor(index / SEGMENT_CHUNKS));
    const slot = index % SEGMENT_CHUNKS;
    while (chunks.length <= slot) chunks.push(null);
    let chunk = chunks[slot] as Chunk | null;
    if (chunk === null) {
      this.chunkCount++;
      chunk = { owner: this.owner, bytes: NO_BYTES, low: 0, high: -1 };
      chunks[slot] = chunk;
    } else if (chunk.owner !== this.owner) {
      const bytes = chunk.bytes.length >= length ? chunk.bytes.slice() : chunk.bytes;
      chunk = { owner: this.owner, bytes, low: 0, high: -1 };
      chunks[slot] = chunk;
    }
    if (chunk.bytes.length < length) {
      let room = index === 0 ? Math.max(CHUNK_BYTES_FIRST, chunk.bytes.length) : CHUNK_BYTES;
      while (room < length) room *= 2;
      const bytes = new Uint8Array(room);
      bytes.set(chunk.bytes);
      chunk.bytes = bytes;
    }
    chunk.high = -1;
    return chunk;
  }

  /** Drops all chunks from index `from` on. */
  private dropChunks(from: number): void {
    const segmentCount = Math.ceil(from / SEGMENT_CHUNKS);
    const within = from % SEGMENT_CHUNKS;
    const last = this.segments[segmentCount - 1] ?? null;
    if (within !== 0 && last !== null && last.chunks.length > within) {
      const { chunks } = this.writableSegment(segmentCount - 1);
      for (const chunk of chunks.slice(within)) if (chunk !== null) this.chunkCount--;
      chunks.length = within;
    }
    if (this.segments.length <= segmentCount) return;
    for (const segment of this.segments.slice(segmentCount)) {
      this.chunkCount -= segment?.chunkCount() ?? 0;
    }
    this.writableList().length = segmentCount;
  }
}

/** The content of a file that was never written. */
export const EMPTY_CONTENT = new ContentVersion(0, 0, []);
