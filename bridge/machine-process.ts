import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';

import { SimError } from '../sim/index.ts';
import { CHANNEL_FD } from './machine-command.ts';

const STDERR_BYTES_MAX = 4096;
const STDERR_LINES_SHOWN = 6;
/** How long a killed process may take to be gone; longer is a fault of the host. */
const END_TIMEOUT_MS = 10_000;

/**
 * Says nothing of the host. FSIN, FCOS and FPTAN of a guest come from the host's C library, which
 * has other ways to compute them on processors with fused multiply and add: one way for all. QEMU's
 * heap is on huge pages where the host has them: each page of a new process costs a fault, and
 * without them a start takes half again to twice as long.
 */
const ENVIRONMENT = {
  LC_ALL: 'C',
  TZ: 'UTC',
  GLIBC_TUNABLES: 'glibc.cpu.hwcaps=-FMA,-FMA4:glibc.malloc.hugetlb=1',
} as const;

/** The end of what a process and its forks wrote to their standard error. */
export class StderrTail {
  private text = '';

  add(bytes: Buffer): void {
    this.text = (this.text + bytes.toString('utf8')).slice(-STDERR_BYTES_MAX);
  }

  /** The last lines, joined by ` | `; empty if nothing was written. */
  get lines(): string {
    return this.text.trim().split('\n').slice(-STDERR_LINES_SHOWN).join(' | ');
  }
}

/** One QEMU process that this controller has to see to its end. */
export interface MachineProcess {
  /** 0 until a fork has said its own. */
  id: number;
  readonly stream: Duplex;
  readonly stderr: StderrTail;
  /** Resolves, once the process is gone, to why it ended: `exit code 1`, `signal SIGKILL`. */
  readonly ended: Promise<string>;
  /** Ends the process at once; resolves when it is gone. */
  kill(): Promise<void>;
}

/**
 * Starts QEMU in a process group of its own, with the channel on descriptor 3 and an environment
 * of our own. Throws `backend/missing` if the binary cannot be started.
 */
export async function startProcess(
  binary: string,
  argv: readonly string[],
): Promise<MachineProcess> {
  const child = spawn(binary, argv, {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: ENVIRONMENT,
    cwd: '/',
    detached: true,
  });
  const stderr = new StderrTail();
  child.stderr?.on('data', (bytes: Buffer) => {
    stderr.add(bytes);
  });
  const ended = whenEnded(child);
  await started(child);
  const stream = child.stdio[CHANNEL_FD] as Duplex;
  return {
    id: child.pid ?? 0,
    stream,
    stderr,
    ended,
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await within(ended, child.pid);
    },
  };
}

/** A fork's process: no child of this one, so its end shows by its socket. */
export function adoptProcess(stream: Duplex, stderr: StderrTail): MachineProcess {
  const ended = new Promise<string>((resolve) => {
    stream.once('close', () => {
      resolve('its channel closed');
    });
  });
  return {
    id: 0,
    stream,
    stderr,
    ended,
    async kill(): Promise<void> {
      // While the socket is open the process lives, so that the number is still its own. One that
      // has not said its number ends by itself when nobody listens.
      if (this.id !== 0 && !stream.destroyed) signal(this.id, 'SIGKILL');
      stream.destroy();
      await ended;
    },
  };
}

/** Why a machine ended when it should not have: `backend/machine-ended`. */
export function machineEnded(how: string, stderr: StderrTail): SimError {
  const said = stderr.lines;
  return new SimError({
    code: 'backend/machine-ended',
    message: `the machine's process ended by itself (${how})${said === '' ? '' : `: ${said}`}`,
    remedy: 'run `sim doctor`; if it is content, the host may have run out of memory',
  });
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function whenEnded(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', (code, signalName) => {
      resolve(signalName === null ? `exit code ${String(code)}` : `signal ${signalName}`);
    });
    child.once('error', () => {
      resolve('it could not be started');
    });
  });
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new SimError({
          code: 'backend/missing',
          message: `QEMU cannot be started (${cause.code ?? 'unknown error'})`,
          remedy: 'run `sim vm setup`',
          cause,
        }),
      );
    });
  });
}

async function within(ended: Promise<string>, pid: number | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new SimError({
          code: 'backend/unkillable',
          message: `process ${String(pid)} of a machine does not end`,
          remedy: 'look at the host: a process in uninterruptible sleep waits for a device',
        }),
      );
    }, END_TIMEOUT_MS);
  });
  try {
    await Promise.race([ended, late]);
  } finally {
    clearTimeout(timer);
  }
}
