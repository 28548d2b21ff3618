import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Machine, type MachineOptions } from '../bridge/index.ts';
import { assert } from '../sim/index.ts';
import { median, type Figure } from './harness.ts';

/** Options of a machine whose only program works in a mode of `test/support/machine-init.c`. */
export type OptionsOf = (mode: string, changes?: Partial<MachineOptions>) => MachineOptions;

const MS = 1_000_000;
const S = 1000 * MS;
const BOOT_LIMIT_NS = 60 * S;
const ROUNDS = 15;

/** A machine whose kernel has booted and whose program rang the bell for it. */
export async function booted(options: MachineOptions): Promise<Machine> {
  const machine = await Machine.start(options);
  const { reason } = await machine.run(BOOT_LIMIT_NS, ['bell']);
  if (reason === 'event') return machine;
  await machine.close();
  throw new Error('the guest does not boot');
}

/** How long `work` takes, in milliseconds of wall time. */
export async function wallMs(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Forks, durable checkpoints and digests of a running machine of 256 MiB. */
export async function copies(options: OptionsOf): Promise<readonly Figure[]> {
  const machine = await booted(options('work'));
  const folder = mkdtempSync(join(tmpdir(), 'bench-state-'));
  try {
    const { nowNs } = machine;
    await machine.run(nowNs + S);
    const bytes = touchedBytes(machine);
    const { forkMs, workingMs, privateMiB } = await forks(machine);
    await machine.save(folder);
    const restoreMs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const startMs = performance.now();
      const copy = await restored(machine, folder);
      restoreMs.push(performance.now() - startMs);
      await copy.close();
    }
    const hashMs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) hashMs.push(await wallMs(() => machine.hash()));
    const rounds = `median of ${ROUNDS}`;
    return [
      figure('fork', forkMs, 'ms', { atMost: 8 }, `of a running 256 MiB machine, ${rounds}`),
      figure('fork and its first millisecond', workingMs, 'ms', null, rounds),
      figure('private memory of a fork', privateMiB, 'MiB', { atMost: 16 }, 'after 100 ms of work'),
      figure('checkpoint to ready process', median(restoreMs), 'ms', { atMost: 60 }, rounds),
      figure(
        'state hash',
        bytes / median(hashMs) / 1e6,
        'GB/s',
        { atLeast: 5 },
        `what it has touched of 256 MiB, ${rounds}`,
      ),
    ];
  } finally {
    await machine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function restored(machine: Machine, folder: string): Promise<Machine> {
  const copy = await Machine.restore(machine.options, folder);
  await copy.run(machine.nowNs + MS);
  return copy;
}

interface Forks {
  readonly forkMs: number;
  readonly workingMs: number;
  readonly privateMiB: number;
}

/** Of a machine that runs on between them. None ends before the last is there: that takes longer. */
async function forks(machine: Machine): Promise<Forks> {
  const forkMs: number[] = [];
  const workingMs: number[] = [];
  const children: Machine[] = [];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await machine.run(machine.nowNs + MS);
      const startMs = performance.now();
      const child = await machine.fork();
      forkMs.push(performance.now() - startMs);
      children.push(child);
      await child.run(machine.nowNs + MS);
      workingMs.push(performance.now() - startMs);
    }
    const sizes: number[] = [];
    for (const child of children) {
      await child.run(machine.nowNs + 100 * MS);
      sizes.push(privateKiB(child.processId) / 1024);
    }
    return {
      forkMs: median(forkMs),
      workingMs: median(workingMs),
      privateMiB: median(sizes),
    };
  } finally {
    for (const child of children) await child.close();
  }
}

/** What the guest has touched of its memory, which is a mapping by itself until the first fork. */
function touchedBytes({ options, processId }: Machine): number {
  const text = readFileSync(`/proc/${processId}/smaps`, 'latin1');
  const size = `Size: *${options.memoryMiB * 1024} kB`;
  const mapping = new RegExp(`^${size}\\n(?:.*\\n){2}Rss: *([0-9]+) kB`, 'm').exec(text);
  assert(mapping !== null, 'the memory of a machine is a mapping of its size');
  return Number(mapping[1]) * 1024;
}

/** What belongs to the process alone (proc_pid_smaps_rollup). */
function privateKiB(processId: number): number {
  const text = readFileSync(`/proc/${processId}/smaps_rollup`, 'latin1');
  const lines = text.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB$/gm);
  return [...lines].reduce((sum, [, kib]) => sum + Number(kib), 0);
}

const STEPS = 20_000;
const STEP_NS = 100;
const STOPS_MS = 10_000;

/** What it costs to stop: at times, and at bells that a program rings as fast as it can. */
export async function steps(options: OptionsOf): Promise<readonly Figure[]> {
  const stepped = await booted(options('busy'));
  const micros: number[] = [];
  try {
    for (let step = 0; step < STEPS; step++) {
      micros.push(1000 * (await wallMs(() => stepped.run(stepped.nowNs + STEP_NS))));
    }
  } finally {
    await stepped.close();
  }
  const ringing = await booted(options('bells'));
  let stops = 0;
  try {
    const endMs = performance.now() + STOPS_MS;
    for (; performance.now() < endMs; stops++) await ringing.run(BOOT_LIMIT_NS * 60, ['bell']);
  } finally {
    await ringing.close();
  }
  return [
    figure('a step', median(micros), 'us', { atMost: 40 }, `of ${STEP_NS} ns, of ${STEPS}`),
    figure('stops at bells in 10 s', stops, '', { atLeast: 30_000 }, 'an outl each'),
  ];
}

const IDLE_NS = 1500 * S;

/** How fast time passes for a machine whose program sleeps a second at a time. */
export async function pace(options: OptionsOf): Promise<readonly Figure[]> {
  const machine = await booted(options('idle'));
  try {
    const { nowNs } = machine;
    const takenMs = await wallMs(() => machine.run(nowNs + IDLE_NS));
    const value = IDLE_NS / MS / takenMs;
    return [figure('idle', value, 'virtual s a s', { atLeast: 500 }, 'wakes once a second')];
  } finally {
    await machine.close();
  }
}

/** A figure and its bar, if it has one. */
export function figure(
  name: string,
  value: number,
  unit: string,
  bar: { readonly atMost: number } | { readonly atLeast: number } | null,
  note: string,
): Figure {
  if (bar === null) return { name, value, unit, bar, note };
  const kind = 'atMost' in bar ? 'at-most' : 'at-least';
  return {
    name,
    value,
    unit,
    bar: { kind, value: 'atMost' in bar ? bar.atMost : bar.atLeast },
    note,
  };
}
