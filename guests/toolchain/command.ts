import { spawn } from 'node:child_process';
import { SimError } from '../../sim/index.ts';

/** A program outside of this process. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly directory: string;
  /** Added to PATH, HOME and TMPDIR of this process; nothing else is handed on. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Where it is listed while it runs, so that it can be ended with all that it has started. */
  readonly among?: RunningCommands;
}

/** Commands that run, each with its children a group of processes of its own. */
export class RunningCommands {
  private readonly leaders = new Set<number>();
  private ended = false;

  /** Whether they were ended by `endAll`. */
  get hasEnded(): boolean {
    return this.ended;
  }

  add(leader: number): void {
    this.leaders.add(leader);
  }

  remove(leader: number): void {
    this.leaders.delete(leader);
  }

  /** Ends all of them at once, as by SIGKILL. */
  endAll(): void {
    this.ended = true;
    for (const leader of this.leaders) {
      try {
        process.kill(-leader, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
  }
}

export interface CommandResult {
  readonly exitCode: number;
  /** Standard output alone. */
  readonly output: string;
  /** Standard output and standard error, as they came. */
  readonly transcript: string;
}

/** What a command may print before the rest is dropped. */
const TRANSCRIPT_LENGTH_MAX = 4 * 1024 * 1024;

const PASSED_ON = ['PATH', 'HOME', 'TMPDIR'];

function environmentOf(command: Command): Record<string, string> {
  const environment: Record<string, string> = { LC_ALL: 'C', TZ: 'UTC' };
  for (const name of PASSED_ON) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return { ...environment, ...command.environment };
}

/** Runs a command to its end. Answers undefined when there is no such program. */
export function run(command: Command): Promise<CommandResult | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(command.program, command.args, {
      cwd: command.directory,
      env: environmentOf(command),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: command.among !== undefined,
    });
    const leader = child.pid;
    if (leader !== undefined) command.among?.add(leader);
    let output = '';
    let transcript = '';
    const keep = (text: string): void => {
      if (transcript.length < TRANSCRIPT_LENGTH_MAX) transcript += text;
    };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (output.length < TRANSCRIPT_LENGTH_MAX) output += text;
      keep(text);
    });
    child.stderr.setEncoding('utf8').on('data', keep);
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve(undefined);
      else reject(error);
    });
    child.on('close', (code) => {
      if (leader !== undefined) command.among?.remove(leader);
      resolve({ exitCode: code ?? 1, output, transcript });
    });
  });
}

/** The error for a toolchain that is not on this machine. */
export function toolchainMissing(toolchain: string, remedy: string, cause?: unknown): SimError {
  return new SimError({
    code: 'backend/toolchain-missing',
    message: `${toolchain} is not there, or cannot build for wasm32-wasip1`,
    place: toolchain,
    remedy,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The error for a program that its compiler refused; the compiler's whole output follows. */
export function compileFailed(toolchain: string, place: string, transcript: string): SimError {
  return new SimError({
    code: 'guest/compile-failed',
    message: `${toolchain} refused the program:\n${transcript.trim()}`,
    place,
    remedy: 'correct the source; the compiler has said where',
  });
}
