import { limitError, protocolError } from './errors.ts';

const LINE_FEED = 10;

/**
 * Cuts a stream of bytes into lines of UTF-8 text. QEMU writes each message as one line
 * (docs/interop/qmp-spec.rst); what JSON may hold of line feeds is escaped. A line is at most
 * `byteCountMax` bytes. Bytes are copied once, however they are chopped.
 */
export class LineFramer {
  private readonly byteCountMax: number;
  private readonly decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  private chunks: Uint8Array[] = [];
  private byteCount = 0;

  constructor(byteCountMax: number) {
    this.byteCountMax = byteCountMax;
  }

  /** The lines that end in `chunk`. Throws `backend/qmp-limit` or `backend/qmp-protocol`. */
  *push(chunk: Uint8Array): Generator<string> {
    let start = 0;
    while (start < chunk.length) {
      const end = chunk.indexOf(LINE_FEED, start);
      const part = chunk.subarray(start, end < 0 ? chunk.length : end);
      this.byteCount += part.length;
      if (this.byteCount > this.byteCountMax) {
        throw limitError('a message of more bytes', this.byteCountMax);
      }
      if (part.length > 0) this.chunks.push(part);
      if (end < 0) return;
      yield this.takeLine();
      start = end + 1;
    }
  }

  private takeLine(): string {
    const bytes = this.chunks.length === 1 ? (this.chunks[0] as Uint8Array) : joined(this.chunks);
    this.chunks = [];
    this.byteCount = 0;
    try {
      return this.decoder.decode(bytes);
    } catch (error) {
      throw protocolError('a message is not UTF-8', error);
    }
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(chunks);
}
