import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** Where a command writes; `isTerminal` decides on colours, tables and progress. */
export interface Sink {
  write(text: string): void;
  writeBytes(bytes: Uint8Array): void;
  readonly isTerminal: boolean;
  readonly columns: number;
}

/** All that commands use of the process they run in. */
export interface Host {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** How somebody calls this program again, as a shell would read it: `sim`, `npx sim`. */
  readonly command: string;
  /** The lines of the standard input, as they come. */
  lines(): AsyncIterable<string>;
  /** The standard streams themselves, for who speaks a protocol on them. */
  streams(): { readonly input: Readable; readonly output: Writable };
}

/** The host of this process. */
export function processHost(): Host {
  return {
    stdout: sink(process.stdout),
    stderr: sink(process.stderr),
    env: process.env,
    cwd: process.cwd(),
    command: commandName(process.argv[1] ?? 'sim'),
    lines: () => createInterface({ input: process.stdin, crlfDelay: Infinity }),
    streams: () => ({ input: process.stdin, output: process.stdout }),
  };
}

function sink(stream: NodeJS.WriteStream): Sink {
  return {
    write: (text) => void stream.write(text),
    writeBytes: (bytes) => void stream.write(bytes),
    isTerminal: stream.isTTY,
    columns: stream.columns ?? 100,
  };
}

function commandName(program: string): string {
  if (process.env['npm_command'] !== undefined) return 'npx sim';
  if (!/[/\\]main\.js$/.test(program)) return 'sim';
  return `node ${shellQuote(program)}`;
}

/** A word as a POSIX shell reads it back. */
export function shellQuote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
