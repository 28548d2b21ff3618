import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { RecordLog } from '../sim/index.ts';
import { writeError } from './atomic-write.ts';

/** The kind of frames that hold what the command itself has to say. */
export const TRACE_NOTES = 3;

/**
 * The durable log of a run while it runs: the frames of decisions (kind 1) and events (kind 2) in
 * the order in which they close, and notes of the command (kind 3). Whatever happens to the
 * process, it is readable up to its last complete frame.
 */
export class Trace {
  readonly path: string;
  private readonly descriptor: number;
  private readonly notes: RecordLog;
  private open = true;

  private constructor(path: string, descriptor: number) {
    this.path = path;
    this.descriptor = descriptor;
    this.notes = new RecordLog(TRACE_NOTES, (frame) => this.frame(frame));
  }

  /** Starts a trace at `path`; in a folder it is called `<name>.trace`. Throws `store/write`. */
  static start(path: string, name: string): Trace {
    const folder = path.endsWith('/') || (existsSync(path) && statSync(path).isDirectory());
    const file = folder ? join(path, `${name}.trace`) : path;
    try {
      mkdirSync(dirname(file), { recursive: true });
      return new Trace(file, openSync(file, 'w'));
    } catch (error) {
      throw writeError(file, error);
    }
  }

  /** Appends a complete frame. */
  readonly frame = (frame: Uint8Array): void => {
    try {
      for (let at = 0; at < frame.length;) at += writeSync(this.descriptor, frame, at);
    } catch (error) {
      throw writeError(this.path, error);
    }
  };

  /** Appends a note: a kind and a text, at most 1,024 bytes each. */
  note(kind: string, text: string): void {
    this.notes.putText(kind);
    this.notes.putText(text.slice(0, 300));
    this.notes.end();
    this.notes.flush();
  }

  /** Makes the trace durable. */
  close(): void {
    if (!this.open) return;
    this.open = false;
    fsyncSync(this.descriptor);
    closeSync(this.descriptor);
  }
}
