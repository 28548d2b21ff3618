import { createColors } from 'picocolors';
import type { Host } from './host.ts';
import type { GlobalOptions } from './options.ts';

export type Format = 'table' | 'jsonl' | 'json';
export type Colors = ReturnType<typeof createColors>;
/** What an output uses of its host. */
export type OutputHost = Pick<Host, 'stdout' | 'stderr' | 'env'>;

/** A record of a command's result; its keys are in small letters with underscores. */
export type OutputRecord = Readonly<Record<string, unknown>> & { readonly type: string };

/** Every JSON document says which version of its fields it has (FB-55). */
export const OUTPUT_VERSION = 1;

/** How results are written: for people as text, for programs as records (CR-46). */
export class Output {
  readonly format: Format;
  readonly colors: Colors;
  readonly columns: number;
  private readonly host: OutputHost;
  private readonly quiet: boolean;
  private readonly verbose: boolean;
  /** As errors: text for people, unless somebody asked for records. */
  private readonly warnsInText: boolean;
  private readonly records: OutputRecord[] = [];
  private whole: Readonly<Record<string, unknown>> | null = null;

  constructor(host: OutputHost, globals: Pick<GlobalOptions, 'format' | 'quiet' | 'verbose'>) {
    this.host = host;
    this.format = globals.format ?? (host.stdout.isTerminal ? 'table' : 'jsonl');
    this.warnsInText = globals.format === undefined || globals.format === 'table';
    this.quiet = globals.quiet;
    this.verbose = globals.verbose;
    this.colors = createColors(this.format === 'table' && wantsColor(host));
    this.columns = host.stdout.columns;
  }

  /** Whether text for people is wanted, so that making it is worth the time. */
  get speaks(): boolean {
    return this.format === 'table' && !this.quiet;
  }

  /** A line for people. */
  say(line: string): void {
    if (this.speaks) this.host.stdout.write(`${line}\n`);
  }

  /** A line for people who asked for more. */
  detail(line: string): void {
    if (this.verbose) this.say(line);
  }

  /** A record for programs. */
  record(record: OutputRecord): void {
    if (this.format === 'jsonl') this.host.stdout.write(`${jsonLine(record)}\n`);
    else if (this.format === 'json') this.records.push(record);
  }

  /** A document that is the whole result: on one line, or alone where the format is `json`. */
  document(document: Readonly<Record<string, unknown>>, type: string): void {
    if (this.format === 'json') this.whole = document;
    else this.record({ type, ...document });
  }

  /** Text that is the result whatever the format, for another program. */
  text(text: string): void {
    this.host.stdout.write(`${text}\n`);
  }

  /** Something that is not the result but worth knowing. */
  warn(line: string): void {
    if (this.warnsInText) this.host.stderr.write(`warning: ${line}\n`);
    else this.host.stderr.write(`${jsonLine({ type: 'warning', message: line })}\n`);
  }

  /** Ends the output: the one JSON document, where that is the format. */
  end(command: string): void {
    if (this.format !== 'json') return;
    const document = this.whole ?? {
      schema_version: OUTPUT_VERSION,
      command,
      records: this.records,
    };
    this.host.stdout.write(`${JSON.stringify(document, jsonValue, 2)}\n`);
  }
}

function jsonLine(record: OutputRecord): string {
  return JSON.stringify({ schema_version: OUTPUT_VERSION, ...record }, jsonValue);
}

/** Integers past 2^53 and bytes have no JSON of their own. */
function jsonValue(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return value;
}

/** NO_COLOR (no-color.org): any value but the empty one; FORCE_COLOR for pipes. */
function wantsColor(host: OutputHost): boolean {
  if ((host.env['NO_COLOR'] ?? '') !== '') return false;
  if ((host.env['FORCE_COLOR'] ?? '') !== '') return true;
  return host.stdout.isTerminal && host.env['TERM'] !== 'dumb';
}
