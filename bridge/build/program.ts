import { spawn } from 'node:child_process';

import { SimError } from '../../sim/index.ts';

const OUTPUT_BYTES_MAX = 4 * 2 ** 20;
const ERROR_LINES_SHOWN = 8;

export interface ProgramOptions {
  readonly folder?: string;
  /** Added to what every program sees. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What to do when the program is missing or fails. */
  readonly remedy: string;
  /** Wall time after which the program is ended. */
  readonly timeoutMs: number;
  /** Told each line of output as it comes. */
  readonly onLine?: (line: string) => void;
}

/** What programs see of this process: where to find things, and how to reach the network. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'http_proxy', 'https_proxy', 'no_proxy', 'CCACHE_DIR'];

function environmentOf(added: Readonly<Record<string, string>>): Record<string, string> {
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { LC_ALL: 'C.UTF-8', TZ: 'UTC', ...Object.fromEntries(passed), ...added };
}

/**
 * Runs a program to its end, in a process group of its own that ends with it or with this process'
 * patience. Returns its output (the last 4 MiB of it). Throws `backend/program-missing`,
 * `backend/program-failed` with the last lines that it wrote, `backend/timeout`.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.folder,
      env: environmentOf(options.environment ?? {}),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let output = '';
    let late = false;
    const kill = (): void => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    };
    const timer = setTimeout(() => {
      late = true;
      kill();
    }, options.timeoutMs);
    process.once('exit', kill);
    let partial = '';
    const take = (text: string): void => {
      output = (output + text).slice(-OUTPUT_BYTES_MAX);
      const lines = (partial + text).split('\n');
      partial = (lines.pop() ?? '').slice(-OUTPUT_BYTES_MAX);
      for (const line of lines) options.onLine?.(line);
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    const finish = (): void => {
      clearTimeout(timer);
      process.removeListener('exit', kill);
    };
    child.on('error', (error: NodeJS.ErrnoException) => {
      finish();
      reject(error.code === 'ENOENT' ? missing(program, options.remedy) : error);
    });
    child.on('close', (status) => {
      finish();
      if (late) reject(tooLate(program, options));
      else if (status !== 0) reject(failed(program, output, options.remedy));
      else resolve(output);
    });
  });
}

function missing(program: string, remedy: string): SimError {
  const message = `the program "${program}" is not on this computer`;
  return new SimError({ code: 'backend/program-missing', message, remedy });
}

function tooLate(program: string, options: ProgramOptions): SimError {
  return new SimError({
    code: 'backend/timeout',
    message: `"${program}" did not end within ${options.timeoutMs} ms`,
    remedy: options.remedy,
  });
}

function failed(program: string, output: string, remedy: string): SimError {
  const said = output.trim().split('\n').slice(-ERROR_LINES_SHOWN).join(' | ');
  const message = `"${program}" failed: ${said.slice(-1500)}`;
  return new SimError({ code: 'backend/program-failed', message, remedy });
}
