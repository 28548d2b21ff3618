import { readRecord, readText, readWord } from '../../sim/index.ts';

/** What Linux says on its console when it gives up, and what it says last if it stays so. */
const PANIC = 'Kernel panic - not syncing';
const END = `---[ end ${PANIC}`;
const LINE_FEED = 10;
/** The words stand near the start of a line, after its time. */
const LINE_LENGTH_MAX = 256;

interface PanicState {
  readonly line: string;
  readonly panicked: 'yes' | 'no';
}

export const readPanicState = readRecord<PanicState>({
  line: readText(LINE_LENGTH_MAX),
  panicked: readWord(['yes', 'no']),
});

/**
 * Hears a kernel panic on the serial line. A kernel that is told to start over after one would
 * otherwise only be seen to start over.
 */
export class PanicWatch {
  private line = '';
  private panicked = false;

  /** The kernel has panicked since it started. */
  get hasPanicked(): boolean {
    return this.panicked;
  }

  /** Takes what was written; true once the kernel says that it stays where it is. */
  take(bytes: Uint8Array): boolean {
    let ended = false;
    for (const byte of bytes) {
      if (byte !== LINE_FEED) {
        if (this.line.length < LINE_LENGTH_MAX) this.line += String.fromCharCode(byte & 127);
        continue;
      }
      this.panicked ||= this.line.includes(PANIC);
      ended ||= this.line.includes(END);
      this.line = '';
    }
    return ended;
  }

  capture(): PanicState {
    return { line: this.line, panicked: this.panicked ? 'yes' : 'no' };
  }

  restore({ line, panicked }: PanicState): void {
    this.line = line;
    this.panicked = panicked === 'yes';
  }
}
