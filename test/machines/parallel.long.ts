import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MachineFolder } from './machine-folder.ts';

/** One machine computes and hears, the other computes and speaks; both end by themselves. */
const VM = `main = """
work() { dd if=/dev/zero bs=64k count=24 2>/dev/null | sha256sum; }
if [ "$(hostname)" = server ]; then
  mkfifo /run/back
  work &
  nc -l -p 7 < /run/back | tee /data/heard > /run/back
  wait
  sync
  echo "kept $(wc -c < /data/heard)"
else
  sleep 0.3
  work &
  (seq 1 2000; sleep 0.2) | nc server 7 | md5sum
  wait
fi
"""

[machine]
memory = "96MiB"

[disk]
size = "16MiB"
`;

const WORLD = `schema_version = 1
name = "two machines"

[guest.linux.machine]
vm = "pair.vm.toml"

[[node]]
name = "server"
guest = "linux"

[[node]]
name = "client"
guest = "linux"

[network]
latency = "4ms"
jitter = "1ms"
loss = "1%"
`;

const MAIN = resolve('dist', 'cli', 'main.js');
/** A machine has started by then, or the host is beyond use. */
const START_MS = 60_000;
const END_MS = 30_000;
const PERIOD_MS = 7;
const NODES = ['server', 'client'];

/** State and parent of a process; null once it is gone. */
function statOf(id: number): { readonly state: string; readonly parent: number } | null {
  try {
    const text = readFileSync(`/proc/${id}/stat`, 'utf8');
    const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}

function runs(id: number): boolean {
  const stat = statOf(id);
  return stat !== null && stat.state !== 'Z';
}

/** Waits until it holds, at most so long. */
async function until(holds: () => boolean, waitMs: number): Promise<boolean> {
  for (const endMs = Date.now() + waitMs; Date.now() < endMs; await sleep(10)) {
    if (holds()) return true;
  }
  return holds();
}

/** A `sim run` that is under way, and the machines that it has started. */
class LongRun {
  readonly ended: Promise<{ readonly how: number | string; readonly said: string }>;
  private readonly child: ChildProcess;

  constructor(cwd: string, ...args: readonly string[]) {
    const words = [MAIN, 'run', ...args, '--format', 'table'];
    // What it cannot remove when it is interrupted goes with the folder.
    const env = { ...process.env, TMPDIR: cwd };
    this.child = spawn(process.execPath, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (bytes: Buffer) => (said += bytes.toString()));
    }
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code, signal) => resolve({ how: code ?? signal ?? '', said }));
    });
  }

  /** The machines' processes, once both are there. */
  async machines(): Promise<readonly number[]> {
    let found: readonly number[] = [];
    const find = (): boolean => {
      const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
      const ids = names.map(Number).filter((id) => statOf(id)?.parent === this.child.pid);
      found = NODES.flatMap((node) => ids.filter((id) => isMachine(id, node)));
      return found.length === NODES.length;
    };
    expect(await until(find, START_MS), 'both machines have started').toBe(true);
    return found;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

function errorOf(which: number): string {
  const where = `node ${NODES[which] ?? ''}`;
  return `backend/machine-ended: the machine's process ended by itself (signal SIGKILL) (${where})`;
}

function isMachine(id: number, node: string): boolean {
  try {
    return readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(`athanor.name=${node} `);
  } catch {
    return false;
  }
}

describe('two Debian machines on one link', () => {
  const folder = new MachineFolder();
  const begun: LongRun[] = [];
  const start = (...args: readonly string[]): LongRun => {
    const run = new LongRun(folder.path, 'pair.toml', '--seed', '1', ...args);
    begun.push(run);
    return run;
  };
  const bytes = (name: string): Buffer => readFileSync(join(folder.path, name));

  beforeAll(async () => {
    writeFileSync(join(folder.path, 'pair.vm.toml'), VM);
    writeFileSync(join(folder.path, 'pair.toml'), WORLD);
    await folder.image('pair.vm.toml');
  });

  afterEach(async () => {
    for (const run of begun.splice(0)) {
      run.kill('SIGKILL');
      await run.ended;
    }
  });

  afterAll(() => {
    folder.remove();
  });

  it('CR-120: leave the same bundle whether they take turns or run side by side', async () => {
    const one = ['--machine-jobs', '1', '--out', 'serial'];
    const serial = await folder.sim('run', 'pair.toml', '--seed', '1', ...one);
    expect([serial.exitCode, serial.errors]).toEqual([0, '']);
    const text = JSON.stringify(serial.records);
    expect(text).toMatch(/kept [1-9]\d{3}/);
    expect(text.match(/[0-9a-f]{64} {2}-/g)?.length, 'both have computed').toBe(2);
    expect(await start('--machine-jobs', '2', '--out', 'parallel').ended).toMatchObject({ how: 0 });
    expect(bytes('parallel').equals(bytes('serial'))).toBe(true);
  });

  it('CR-120: and so if one of them is stopped and continued at odd moments', async () => {
    const run = start('--machine-jobs', '2', '--out', 'jittered');
    const [, second = 0] = await run.machines();
    let stopped = false;
    const timer = setInterval(() => {
      stopped = !stopped;
      if (runs(second)) process.kill(second, stopped ? 'SIGSTOP' : 'SIGCONT');
    }, PERIOD_MS);
    try {
      expect(await run.ended).toMatchObject({ how: 0 });
    } finally {
      clearInterval(timer);
    }
    expect(bytes('jittered').equals(bytes('serial'))).toBe(true);
  });

  it.each([0, 1])('CR-120: end with one error if machine %i dies meanwhile', async (which) => {
    const run = start('--machine-jobs', '2', '--out', `dead-${which}`);
    const machines = await run.machines();
    await sleep(500);
    process.kill(machines[which] ?? 0, 'SIGKILL');
    const { how, said } = await run.ended;
    expect([how, said.match(/backend\/.*/g)]).toEqual([4, [errorOf(which)]]);
    expect(await until(() => !machines.some(runs), END_MS), 'no orphan').toBe(true);
  });

  it('CR-120: leave no orphan if somebody interrupts the command', async () => {
    const run = start('--machine-jobs', '2', '--out', 'interrupted');
    const machines = await run.machines();
    await sleep(500);
    run.kill('SIGINT');
    expect((await run.ended).how).toBe('SIGINT');
    expect(await until(() => !machines.some(runs), END_MS), 'no orphan').toBe(true);
  });
});
