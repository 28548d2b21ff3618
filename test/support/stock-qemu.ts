import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PACKAGED_QEMU } from '../../bridge/index.ts';

/** A stock QEMU of this computer, in a folder of its own. */
export interface StockQemu {
  readonly process: ChildProcess;
  readonly folder: string;
  /** The socket of its monitor. */
  readonly monitor: string;
  /** What it wrote on its standard error. */
  errors(): string;
  /** Its exit code; 128 and more when a signal ended it. */
  readonly ended: Promise<number>;
  /** Ends the process and removes the folder. */
  dispose(): Promise<void>;
}

/**
 * Starts QEMU with `args`, and a monitor; comes back when the monitor's socket is there. `prepare`
 * puts files into its folder first, where relative paths start. `binary` stands in for Debian's.
 */
export async function startStockQemu(
  args: readonly string[],
  prepare: (folder: string) => void = () => undefined,
  binary = PACKAGED_QEMU,
): Promise<StockQemu> {
  const folder = mkdtempSync(join(tmpdir(), 'athanor-qemu-'));
  const monitor = join(folder, 'monitor');
  prepare(folder);
  const all = ['-nodefaults', '-no-user-config', '-display', 'none', ...args];
  const child = spawn(binary, [...all, '-qmp', `unix:${monitor},server=on,wait=off`], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 128));
  });
  const dispose = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (let left = 500; !existsSync(monitor); left--) {
    if (left === 0 || child.exitCode !== null) {
      await dispose();
      throw new Error(`QEMU did not start: ${errors}`);
    }
    await sleep(20);
  }
  return { process: child, folder, monitor, errors: () => errors, ended, dispose };
}
