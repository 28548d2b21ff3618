const LINE_FEED = 10;
const OPENING_BRACE = 0x7b;
/** A line is at most so long; a longer one comes in pieces. */
export const TEXT_LINE_BYTES_MAX = 65_536;

/** A line of the text port: a marker, or something for the log. */
export interface TextLine {
  readonly kind: 'marker' | 'log';
  /** The line; one for the log with its line feed, as a console has it. */
  readonly bytes: Uint8Array;
}

/**
 * The lines of a machine's text port (see docs/machines.md, "Doorbell"). A machine may stop within
 * a line, so what has come of it waits here for the rest.
 */
export class TextLines {
  private waiting: number[] = [];

  /** Takes bytes in, and gives the lines that they complete. */
  take(bytes: Uint8Array): readonly TextLine[] {
    const lines: TextLine[] = [];
    for (const byte of bytes) {
      this.waiting.push(byte);
      if (byte !== LINE_FEED && this.waiting.length < TEXT_LINE_BYTES_MAX) continue;
      const line = Uint8Array.from(this.waiting);
      this.waiting = [];
      const isMarker = byte === LINE_FEED && line[0] === OPENING_BRACE;
      lines.push(
        isMarker ? { kind: 'marker', bytes: line.slice(0, -1) } : { kind: 'log', bytes: line },
      );
    }
    return lines;
  }

  /** What waits for its line feed; `restore` takes it. */
  capture(): Uint8Array {
    return Uint8Array.from(this.waiting);
  }

  restore(waiting: Uint8Array): void {
    this.waiting = [...waiting];
  }
}
