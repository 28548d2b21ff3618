import { RollingDigest } from '../kernel/rolling-digest.ts';

/** Chunks of a segment: 256 of 4 KiB make 1 MiB. */
export const SEGMENT_CHUNKS = 256;

/** Up to CHUNK_BYTES bytes of a file; what `bytes` does not hold is zero. */
export interface Chunk {
  /** Whoever holds this may write the chunk in place. */
  readonly owner: object;
  bytes: Uint8Array;
  /** The digest of the bytes, trailing zeros left out; `high` is -1 while it is not known. */
  low: number;
  high: number;
}

/** A segment as plain data: its chunks' bytes, null for holes. */
export type SegmentImage = readonly (Uint8Array | null)[];

/** A content as plain data. The byte arrays are shared with live contents and never written. */
export interface ContentImage {
  readonly size: number;
  readonly segments: readonly (SegmentImage | null)[];
}

/** The owner of what nobody may write in place. */
const NOBODY: object = {};

/** Up to SEGMENT_CHUNKS chunks in order; null, or past the end, is a hole. */
export class Segment {
  readonly owner: object;
  readonly chunks: (Chunk | null)[];
  /** Digest of the chunks, '' when all bytes are zero, null while it is not known. */
  digests: string | null = null;
  private plain: SegmentImage | null = null;

  constructor(owner: object, chunks: (Chunk | null)[]) {
    this.owner = owner;
    this.chunks = chunks;
  }

  static restore(image: SegmentImage): Segment {
    const chunks = image.map((bytes) => {
      return bytes === null ? null : { owner: NOBODY, bytes, low: 0, high: -1 };
    });
    const segment = new Segment(NOBODY, chunks);
    segment.plain = image;
    return segment;
  }

  chunkCount(): number {
    let count = 0;
    for (const chunk of this.chunks) if (chunk !== null) count++;
    return count;
  }

  /** Only of a segment that nobody may write any more. */
  image(): SegmentImage {
    this.plain ??= this.chunks.map((chunk) => chunk?.bytes ?? null);
    return this.plain;
  }

  digest(): string {
    if (this.digests !== null) return this.digests;
    const digest = new RollingDigest();
    let blank = true;
    for (const [slot, chunk] of this.chunks.entries()) {
      if (chunk === null) continue;
      if (chunk.high === -1) digestChunk(chunk);
      if (chunk.low === 0 && chunk.high === 0) continue;
      blank = false;
      digest.updateInteger(slot);
      digest.updateInteger(chunk.low);
      digest.updateInteger(chunk.high);
    }
    this.digests = blank ? '' : digest.hex();
    return this.digests;
  }
}

function digestChunk(chunk: Chunk): void {
  const { bytes } = chunk;
  let length = bytes.length;
  while (length > 0 && bytes[length - 1] === 0) length--;
  chunk.low = 0;
  chunk.high = 0;
  if (length === 0) return;
  const digest = new RollingDigest();
  digest.update(bytes, 0, length);
  const hex = digest.hex();
  chunk.high = Number.parseInt(hex.slice(0, 8), 16);
  chunk.low = Number.parseInt(hex.slice(8), 16);
}

/** A file's content at one moment; nothing in it is written any more. */
export class ContentVersion {
  readonly size: number;
  /** Chunks that are not holes. */
  readonly chunks: number;
  readonly segments: readonly (Segment | null)[];
  private plain: ContentImage | null = null;
  private digested: string | null = null;

  constructor(size: number, chunks: number, segments: readonly (Segment | null)[]) {
    this.size = size;
    this.chunks = chunks;
    this.segments = segments;
  }

  static restore(image: ContentImage): ContentVersion {
    const segments = image.segments.map((each) => (each === null ? null : Segment.restore(each)));
    const chunks = segments.reduce((sum, each) => sum + (each?.chunkCount() ?? 0), 0);
    const version = new ContentVersion(image.size, chunks, segments);
    version.plain = image;
    return version;
  }

  image(): ContentImage {
    this.plain ??= {
      size: this.size,
      segments: this.segments.map((segment) => segment?.image() ?? null),
    };
    return this.plain;
  }

  digest(): string {
    if (this.digested !== null) return this.digested;
    const digest = new RollingDigest();
    digest.updateInteger(this.size);
    for (const [index, segment] of this.segments.entries()) {
      const part = segment?.digest() ?? '';
      if (part === '') continue;
      digest.updateInteger(index);
      digest.updateInteger(Number.parseInt(part.slice(0, 8), 16));
      digest.updateInteger(Number.parseInt(part.slice(8), 16));
    }
    this.digested = digest.hex();
    return this.digested;
  }
}
