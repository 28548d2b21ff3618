import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testImage } from '../support/machine-fixture.ts';
import { EchoFolder } from '../support/echo-folder.ts';

const GDB = '/usr/bin/gdb';
const GDB_MS = 60_000;
const LINE_MS = 120_000;

/** A machine that computes for ever: wherever it stands, it is in the middle of it. */
const BUSY = ({ kernel, initrd }: { kernel: string; initrd: string }): string => `schema_version = 1
name = "a busy machine"

[guest.linux.machine]
kernel = "${kernel}"
initrd = "${initrd}"
command_line = "console=ttyS0 quiet panic=-1 reboot=t rdinit=/init busy"

[[node]]
name = "n1"
guest = "linux"

[limits]
virtual_time = "1800ms"
`;

/** The next line of JSON that a process writes. */
async function recordOf(child: ChildProcess): Promise<Readonly<Record<string, unknown>>> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('nothing was said')), LINE_MS);
    lines.once('line', (line) => {
      clearTimeout(late);
      resolve(JSON.parse(line) as Record<string, unknown>);
    });
  });
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('exit', resolve));
}

describe('sim debug', () => {
  const folder = new EchoFolder();
  const { TMPDIR } = process.env;
  let temporary = '';

  beforeAll(async () => {
    expect(existsSync(GDB), 'gdb is a part of the set-up of this tier').toBe(true);
    temporary = folder.folder('temporary');
    process.env['TMPDIR'] = temporary;
    folder.write('busy.toml', BUSY(testImage()));
    const args = ['--at', 'virtual-time=1700ms', '--seed', '1', '--out', 's'];
    const { errors, exitCode } = await folder.sim('save', 'busy.toml', ...args);
    expect([exitCode, errors]).toEqual([0, '']);
  });

  afterAll(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
    folder.remove();
  });

  it('lets a real gdb stop, step and look into a fork, which goes on to its end', async () => {
    const main = join(process.cwd(), 'dist', 'cli', 'main.js');
    const args = [main, 'debug', 's', '--gdb', 'n1', '--format', 'jsonl'];
    const child = spawn(process.execPath, args, {
      cwd: folder.path,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exit = ended(child);
    try {
      const { type, target } = await recordOf(child);
      expect(type).toBe('debug');
      const commands = [
        'set architecture i386:x86-64',
        `target remote ${String(target)}`,
        'printf "first %#lx\\n", $rip',
        'stepi',
        'printf "second %#lx\\n", $rip',
        'x/2i $rip',
        'detach',
      ].flatMap((command) => ['-ex', command]);
      const gdb = ['-nx', '-batch', ...commands];
      const { stdout } = await promisify(execFile)(GDB, gdb, { timeout: GDB_MS });
      const [, first] = /first (0x[0-9a-f]+)/.exec(stdout) ?? [];
      const [, second] = /second (0x[0-9a-f]+)/.exec(stdout) ?? [];
      expect(first, stdout).toMatch(/^0x/);
      expect(second, stdout).not.toBe(first);
      expect(await exit).toBe(0);
    } finally {
      child.kill('SIGKILL');
      await exit;
    }
  });

  it('refuses a node that is no machine', async () => {
    const { exitCode, errors } = await folder.sim('debug', 's', '--gdb', 'n2');
    expect([exitCode, errors]).toEqual([64, expect.stringContaining('no machine is called')]);
  });

  it('leaves the savepoint as it was, and no file behind', async () => {
    const { exitCode } = await folder.sim('resume', 's', '--out', 'again');
    expect(exitCode).toBe(2);
    expect(readdirSync(temporary)).toEqual([]);
  });
});
