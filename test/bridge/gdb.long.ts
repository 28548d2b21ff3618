import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testImage } from '../support/machine-fixture.ts';
import { EchoFolder } from '../support/echo-folder.ts';

const ANSWER_MS = 60_000;
/** In the registers of x86-64, as gdb's protocol has them: 16 general ones of 8 bytes come first. */
const RIP = { from: 2 * 8 * 16, to: 2 * 8 * 17 };
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

/** The other end of gdb's remote protocol: a packet and its answer. */
class Debugger {
  private readonly socket: Socket;
  private text = '';
  private heard: () => void = () => undefined;

  constructor(port: number) {
    this.socket = connect({ host: '127.0.0.1', port });
    this.socket.setEncoding('latin1').on('data', (text: string) => {
      this.text += text;
      this.heard();
    });
  }

  async ask(packet: string): Promise<string> {
    const sum = [...Buffer.from(packet)].reduce((total, byte) => (total + byte) % 256, 0);
    this.text = '';
    this.socket.write(`$${packet}#${sum.toString(16).padStart(2, '0')}`);
    const late = AbortSignal.timeout(ANSWER_MS);
    for (;;) {
      const [, answer] = /\$([^#]*)#[0-9a-f]{2}/.exec(this.text) ?? [];
      if (answer !== undefined) {
        this.socket.write('+');
        return answer;
      }
      if (late.aborted) throw new Error(`no answer to ${packet}: ${this.text}`);
      await new Promise<void>((resolve) => {
        this.heard = resolve;
        late.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  close(): void {
    this.socket.destroy();
  }
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('exit', resolve));
}

describe('sim debug', () => {
  const folder = new EchoFolder();
  const { TMPDIR } = process.env;
  let temporary = '';

  beforeAll(async () => {
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

  it('lets a debugger stop, step and look into a fork, which goes on to its end', async () => {
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
      const debuggerOf = new Debugger(Number(String(target).split(':')[1]));
      try {
        expect(await debuggerOf.ask('?')).toMatch(/^[TS]/);
        const before = (await debuggerOf.ask('g')).slice(RIP.from, RIP.to);
        expect(await debuggerOf.ask('s')).toMatch(/^[TS]05/);
        const after = (await debuggerOf.ask('g')).slice(RIP.from, RIP.to);
        expect(before).toMatch(/^[0-9a-f]{16}$/);
        expect(after).not.toBe(before);
        expect(await debuggerOf.ask('D')).toBe('OK');
      } finally {
        debuggerOf.close();
      }
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
