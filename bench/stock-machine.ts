import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PACKAGED_QEMU, QmpClient } from '../bridge/index.ts';

/** What a stock QEMU is to run, and how it counts. */
export interface StockOptions {
  readonly kernel: string;
  readonly initrd: string;
  readonly commandLine: string;
  readonly memoryMiB: number;
  /** The value of `-icount`. */
  readonly icount: string;
}

const FLAGS =
  '-M microvm,rtc=on,auto-kernel-cmdline=on -accel tcg -cpu qemu64,+rdrand,+rdseed -bios qboot.rom ' +
  '-nodefaults -no-user-config -display none -no-reboot -seed 1 -serial stdio ' +
  '-rtc base=2024-01-01T00:00:00,clock=vm -global virtio-mmio.ioeventfd=off';
const WAIT_MS = 300_000;
const SOCKET_TRIES = 500;

/** Debian's QEMU as it is, with the guest and the flags of a machine of ours. */
export class StockMachine {
  /** Ends when the process has ended. */
  readonly ended: Promise<void>;
  private readonly child: ChildProcess;
  private readonly folder: string;
  private readonly startedMs = performance.now();
  private text = '';
  private heard: () => void = () => undefined;

  constructor(options: StockOptions) {
    const { kernel, initrd, commandLine, memoryMiB, icount } = options;
    this.folder = mkdtempSync(join(tmpdir(), 'bench-stock-'));
    const rest = ['-m', `${memoryMiB}M`, '-kernel', kernel, '-initrd', initrd];
    const monitor = ['-qmp', `unix:${this.monitor},server=on,wait=off`];
    const argv = [...FLAGS.split(' '), ...rest, '-append', commandLine, ...monitor];
    this.child = spawn(PACKAGED_QEMU, [...argv, '-icount', icount], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.child.stdout?.setEncoding('latin1').on('data', (text: string) => {
      this.text += text;
      this.heard();
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', () => {
        this.heard();
        resolve();
      });
    });
  }

  get processId(): number {
    return this.child.pid ?? 0;
  }

  /** Milliseconds from the start of the process until its console said `word`. */
  async saidMs(word: string): Promise<number> {
    const late = AbortSignal.timeout(WAIT_MS);
    while (!this.text.includes(word)) {
      if (this.child.exitCode !== null || late.aborted) throw new Error(`QEMU never says ${word}`);
      await new Promise<void>((resolve) => {
        this.heard = resolve;
        late.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    return performance.now() - this.startedMs;
  }

  /** Its monitor; the machine goes on. */
  async control(): Promise<QmpClient> {
    for (let left = SOCKET_TRIES; !existsSync(this.monitor); left--) {
      if (left === 0) throw new Error('QEMU has no monitor');
      await sleep(10);
    }
    return QmpClient.connect(this.monitor);
  }

  /** Lets it end in its own way: its files are complete then. */
  async quit(): Promise<void> {
    const control = await this.control();
    await control.execute('quit', {});
    await this.ended;
    control.close();
  }

  async close(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get monitor(): string {
    return join(this.folder, 'monitor');
  }
}
