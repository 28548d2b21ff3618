import { execFile, spawn, type ChildProcess } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { machineCache, testBackend, testImage } from '../support/machine-fixture.ts';
import { MachineFolder } from './machine-folder.ts';

const MAIN = resolve('dist', 'cli', 'main.js');
const WAIT_MS = 60_000;

/** Small, and ready when its first program starts. */
const WORLD = `schema_version = 1
name = "ready once"
until = "virtual-time"
limits = { virtual_time = "2s" }

[guest.linux.machine]
kernel = "kernel"
initrd = "initrd"
command_line = "console=ttyS0 quiet panic=-1 reboot=t rdinit=/init idle"
ready = "bell"

[[node]]
name = "vm"
guest = "linux"
`;

describe('CR-55: a ready point that nobody has made yet', { timeout: 180_000 }, () => {
  const folder = new MachineFolder();
  const { ATHANOR_CACHE } = process.env;
  let caches = 0;
  let ready = '';
  const proven = join(folder.path, 'proven');

  beforeAll(async () => {
    await testBackend();
    const { kernel, initrd } = testImage();
    mkdirSync(proven);
    copyFileSync(kernel, join(folder.path, 'kernel'));
    copyFileSync(initrd, join(folder.path, 'initrd'));
    writeFileSync(join(folder.path, 'world.toml'), WORLD);
  }, 180_000);

  /** A cache of its own for each test: what is set up on this computer, and no ready point. */
  beforeEach(() => {
    const cache = join(folder.path, `cache-${caches++}`);
    const machines = join(cache, 'machines');
    ready = join(machines, 'ready');
    mkdirSync(ready, { recursive: true });
    symlinkSync(proven, join(machines, 'proven'));
    for (const name of readdirSync(machineCache)) {
      const isOurs = name === 'ready' || name === 'proven';
      if (!isOurs) symlinkSync(join(machineCache, name), join(machines, name));
    }
    process.env['ATHANOR_CACHE'] = cache;
  });

  afterAll(() => {
    if (ATHANOR_CACHE === undefined) delete process.env['ATHANOR_CACHE'];
    else process.env['ATHANOR_CACHE'] = ATHANOR_CACHE;
    folder.remove();
  });

  const words = (out: string) => ['run', 'world.toml', '--seed', '1', '--out', out] as const;
  const inReady = (pattern: RegExp): readonly string[] => {
    return readdirSync(ready).flatMap((name) => pattern.exec(name)?.[1] ?? []);
  };
  const entries = (): readonly string[] => inReady(/^([0-9a-f]{64})$/);
  const whenLocked = async (): Promise<void> => {
    for (let waitedMs = 0; inReady(/^(.*\.lock)$/).length === 0; waitedMs += 20) {
      if (waitedMs > WAIT_MS) throw new Error('nobody makes a ready point');
      await sleep(20);
    }
  };

  it('is made once by two processes that need it at the same time', async () => {
    const makers = new Set<string>();
    const watch = setInterval(() => {
      for (const owner of inReady(/^draft-(\d+)-/)) makers.add(owner);
    }, 10);
    try {
      const ended = await Promise.all(['a', 'b'].map((out) => folder.sim(...words(out))));
      expect(ended.map(({ exitCode, errors }) => [exitCode, errors])).toEqual([
        [0, ''],
        [0, ''],
      ]);
    } finally {
      clearInterval(watch);
    }
    expect(makers.size).toBe(1);
    expect(readdirSync(ready)).toEqual(entries());
    expect(entries()).toHaveLength(1);
    // Contract A was proven of the machine before (CR-111).
    expect(readdirSync(proven)).toHaveLength(1);
  });

  it('is made by the next one where its maker was killed', async () => {
    let first: ChildProcess | null = null;
    try {
      first = spawn(process.execPath, [MAIN, ...words('c')], { cwd: folder.path, stdio: 'ignore' });
      await whenLocked();
      expect(entries()).toEqual([]);
    } finally {
      first?.kill('SIGKILL');
    }
    const { exitCode, errors } = await folder.sim(...words('d'));
    expect([exitCode, errors]).toEqual([0, '']);
    expect(readdirSync(ready)).toEqual(entries());
    expect(existsSync(join(folder.path, 'c'))).toBe(false);
  });

  it('shows on a terminal that the machine gets ready, unless nothing is to be said', async () => {
    const onTerminal = async (...more: readonly string[]): Promise<string> => {
      const line = [process.execPath, MAIN, ...words('e'), ...more].join(' ');
      const options = { cwd: folder.path, timeout: WAIT_MS };
      return (await promisify(execFile)('script', ['-qec', line, '/dev/null'], options)).stdout;
    };
    const quiet = await onTerminal('--quiet');
    expect(quiet).not.toContain('gets ready');
    const again = await onTerminal();
    expect(again, 'there is one now').not.toContain('gets ready');
    for (const name of entries()) rmSync(join(ready, name), { recursive: true });
    expect(await onTerminal()).toMatch(/\r\u001b\[Kvm gets ready\r?/);
  });
});
