import { decodeUtf8 } from '../kernel/utf8.ts';

/** A line longer than this is handed on in pieces of this many bytes. */
export const LINE_BYTES_MAX = 8 * 1024;

const NEWLINE = 10;

/** Splits the bytes that a node writes into lines. */
export class ConsoleLines {
  private rest: number[] = [];

  /** Feeds bytes; `visit` sees each complete line without its end. */
  feed(bytes: Uint8Array, visit: (line: string) => void): void {
    for (const byte of bytes) {
      if (byte !== NEWLINE) this.rest.push(byte);
      if (byte === NEWLINE || this.rest.length >= LINE_BYTES_MAX)
        this.flush(visit, byte === NEWLINE);
    }
  }

  /** Ends the last line, if it has any text: at the end of a guest's life. */
  close(visit: (line: string) => void): void {
    this.flush(visit, false);
  }

  capture(): readonly number[] {
    return this.rest.slice();
  }

  restore(state: readonly number[]): void {
    this.rest = state.slice();
  }

  private flush(visit: (line: string) => void, empty: boolean): void {
    if (this.rest.length === 0 && !empty) return;
    const line = decodeUtf8(Uint8Array.from(this.rest));
    this.rest = [];
    visit(line);
  }
}
