import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import type { Host } from '../../cli/host.ts';
import { runCommandLine } from '../../cli/program.ts';

export interface SimResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The lines of stdout as JSON. */
  records(): readonly Readonly<Record<string, unknown>>[];
}

export interface SimOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly terminal?: boolean;
  readonly columns?: number;
  /** What stands on the standard input. */
  readonly lines?: readonly string[];
}

/** A folder of its own, and `sim` running in it, in this process. */
export class SimFolder {
  readonly path: string = mkdtempSync(join(tmpdir(), 'sim-'));

  /** Instrumented guests are kept by content; all folders share them, so that tests are quick. */
  constructor() {
    const shared = join(tmpdir(), 'sim-shared-cache');
    mkdirSync(shared, { recursive: true });
    mkdirSync(join(this.path, '.athanor'));
    symlinkSync(shared, join(this.path, '.athanor', 'cache'));
  }

  /** Runs a command line; text for people unless `--format` says otherwise. */
  async sim(args: readonly string[], options: SimOptions = {}): Promise<SimResult> {
    let stdout = '';
    let stderr = '';
    const isTerminal = options.terminal ?? false;
    const columns = options.columns ?? 100;
    const host: Host = {
      stdout: {
        isTerminal,
        columns,
        write: (text) => {
          stdout += text;
        },
        writeBytes: (bytes) => {
          stdout += Buffer.from(bytes).toString('latin1');
        },
      },
      stderr: {
        isTerminal,
        columns,
        write: (text) => {
          stderr += text;
        },
        writeBytes: (bytes) => {
          stderr += Buffer.from(bytes).toString('latin1');
        },
      },
      env: { NO_COLOR: '1', ...options.env },
      cwd: this.path,
      command: 'sim',
      lines: () => Readable.from(options.lines ?? []),
      streams: () => ({ input: Readable.from(options.lines ?? []), output: new PassThrough() }),
    };
    const exitCode = await runCommandLine(args, host);
    const lines = (): string[] => stdout.split('\n').filter((line) => line !== '');
    return {
      exitCode,
      stdout,
      stderr,
      records: () => lines().map((line) => JSON.parse(line) as Record<string, unknown>),
    };
  }

  write(name: string, content: string | Uint8Array): string {
    writeFileSync(join(this.path, name), content);
    return name;
  }

  read(name: string): Buffer {
    return readFileSync(join(this.path, name));
  }

  /** The bundles that runs have left. */
  bundles(): readonly string[] {
    const names = readdirSync(join(this.path, '.athanor', 'runs')).sort();
    return names.map((name) => join('.athanor', 'runs', name));
  }
}

/** One guest that says hello and exits with a code. */
export function helloToml(
  options: { exitCode?: number; seed?: number; more?: string } = {},
): string {
  const { exitCode = 0, seed, more = '' } = options;
  return `
schema_version = 1
name = "hello"
${seed === undefined ? '' : `seed = ${seed}`}

[guest.hello]
builtin = "hello"

[[node]]
names = ["ada", "bob"]
guest = "hello"
args = ["/", "${exitCode}"]

[[property]]
name = "everybody finishes"
kind = "exit"
${more}
`;
}
