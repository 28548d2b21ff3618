import { spawn } from 'node:child_process';
import { SimError } from '../../sim/index.ts';

export interface CommandResult {
  readonly status: number;
  readonly output: Uint8Array;
  /** Standard error, at most 64 KiB of it. */
  readonly errors: string;
}

export interface CommandOptions {
  readonly folder?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The longest output that is kept (64 MiB); more of it is an error. */
  readonly outputByteCountMax?: number;
  /** What to install when the program is not there. */
  readonly remedy: string;
}

const ERROR_LENGTH_MAX = 64 * 1024;
const OUTPUT_BYTE_COUNT_MAX = 64 * 1024 * 1024;
/** What programs get to see of this process: where to find things, and how to reach the network. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'http_proxy', 'https_proxy', 'no_proxy'];

/** Runs a program of this computer to its end. Throws `backend/program-missing`. */
export function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const limit = options.outputByteCountMax ?? OUTPUT_BYTE_COUNT_MAX;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.folder,
      env: environmentOf(options.environment ?? {}),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const chunks: Buffer[] = [];
    let byteCount = 0;
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      byteCount += chunk.length;
      if (byteCount > limit) child.kill();
      else chunks.push(chunk);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (errors.length < ERROR_LENGTH_MAX) errors += text;
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'ENOENT' ? missing(program, options.remedy, error) : error);
    });
    child.on('close', (status) => {
      if (byteCount > limit) reject(tooMuch(program, limit));
      else resolve({ status: status ?? 128, output: Buffer.concat(chunks), errors });
    });
  });
}

/** A new process never asks for more than this: programs see UTC, plain English and fixed masks. */
function environmentOf(added: Readonly<Record<string, string>>): Record<string, string> {
  const environment: Record<string, string> = { LC_ALL: 'C.UTF-8', TZ: 'UTC' };
  for (const name of PASSED_ON) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return { ...environment, ...added };
}

function missing(program: string, remedy: string, cause: unknown): SimError {
  return new SimError({
    code: 'backend/program-missing',
    message: `the program "${program}" is not on this computer`,
    place: program,
    remedy,
    cause,
  });
}

function tooMuch(program: string, limit: number): SimError {
  return new SimError({
    code: 'input/image-too-big',
    message: `"${program}" wrote more than ${limit} bytes`,
    place: program,
    remedy: 'leave packages or paths out',
  });
}
