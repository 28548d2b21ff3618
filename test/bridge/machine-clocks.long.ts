import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Machine, type MachineOptions, type MachineStop } from '../../bridge/index.ts';
import { smallImage } from '../../bench/machine-image.ts';
import { machineCache, testOptions } from '../support/machine-fixture.ts';

const MS = 1_000_000;
const S = 1_000 * MS;
const RIGHT = 1_000_000;
/** Linux is up and has taken the counter as its source of time. */
const UP_NS = 2 * S;
/** What the calendar chip shows at virtual time 0. */
const EPOCH_MS = Date.parse('2024-01-01T00:00:00Z');

/** One line of the program: when it was written, and what it saw, in milliseconds. */
interface Look {
  readonly atMs: number;
  readonly passedMs: number;
  readonly wallMs: number;
  readonly chipMs: number;
}

function looksOf(events: readonly MachineStop['events'][number][]): Look[] {
  const looks: Look[] = [];
  let line = '';
  for (const event of events) {
    if (event.kind !== 'console') continue;
    for (const byte of event.bytes.toString('latin1')) {
      line = byte === '\n' ? '' : line + byte;
      const [, passed, wall, chip] = /passed (\d+) wall (\d+) chip (\S+Z)$/.exec(line) ?? [];
      if (chip === undefined) continue;
      const seen = { passedMs: Number(passed), wallMs: Number(wall), chipMs: Date.parse(chip) };
      looks.push({ atMs: event.atNs / MS, ...seen });
    }
  }
  return looks;
}

/** How much both clocks of the kernel gained in this virtual time. */
function gains(looks: readonly Look[]): { readonly passed: number; readonly wall: number } {
  const [first, last] = [looks[0] as Look, looks.at(-1) as Look];
  const took = last.atMs - first.atMs;
  return {
    passed: (last.passedMs - first.passedMs) / took,
    wall: (last.wallMs - first.wallMs) / took,
  };
}

describe('CR-86: the sources of time of a machine', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'athanor-clocks-'));
  const machines: Machine[] = [];
  let options: MachineOptions;

  beforeAll(async () => {
    const source = new URL('../support/machine-clocks.c', import.meta.url).pathname;
    // As on a computer whose firmware vouches for its counter.
    const commandLine = 'console=ttyS0 quiet panic=-1 reboot=t rdinit=/init tsc=reliable';
    options = await testOptions({ ...smallImage(machineCache, source), commandLine });
    options = { ...options, nics: [], disks: [] };
  });

  afterAll(async () => {
    await Promise.all(machines.map((machine) => machine.close()));
    rmSync(folder, { recursive: true });
  });

  const start = async (changes: Partial<MachineOptions> = {}): Promise<Machine> => {
    const machine = await Machine.start({ ...options, ...changes });
    machines.push(machine);
    return machine;
  };

  const keep = (machine: Machine): Machine => {
    machines.push(machine);
    return machine;
  };

  const course = async (machine: Machine, untilNs: number, stepNs = untilNs): Promise<Look[]> => {
    const events: MachineStop['events'][number][] = [];
    while (machine.nowNs < untilNs) {
      events.push(...(await machine.run(Math.min(untilNs, machine.nowNs + stepNs))).events);
    }
    return looksOf(events);
  };

  it('run fast, stand still and are right again, and Linux follows its counter', async () => {
    const machine = await start();
    const before = gains(await course(machine, UP_NS + S));
    expect(before.passed).toBeCloseTo(1, 2);
    await machine.setClocks(1.5 * RIGHT, 0);
    const fast = gains((await course(machine, machine.nowNs + 2 * S)).slice(1));
    expect(fast.passed).toBeCloseTo(1.5, 2);
    expect(fast.wall).toBeCloseTo(1.5, 2);
    await machine.setClocks(0, 0);
    // Whoever waits for a time of a clock that stands still waits until it goes on.
    expect(await course(machine, machine.nowNs + 2 * S)).toHaveLength(0);
    await machine.setClocks(RIGHT, 0);
    const after = gains((await course(machine, machine.nowNs + 2 * S)).slice(1));
    expect(after.passed).toBeCloseTo(1, 2);
  });

  it('show another calendar at once, which Linux takes over when it boots', async () => {
    const machine = await start();
    await course(machine, UP_NS);
    await machine.setClocks(RIGHT, 3_600 * S + 400 * MS);
    const [look] = (await course(machine, UP_NS + S)).slice(-1) as [Look];
    expect(Math.abs(look.chipMs - (EPOCH_MS + look.atMs + 3_600_400))).toBeLessThan(1_001);
    expect(Math.abs(look.wallMs - (EPOCH_MS + look.atMs))).toBeLessThan(1_500);
    await machine.powerLoss(machine.nowNs + S);
    const [again] = (await course(machine, machine.nowNs + UP_NS + S)).slice(-1) as [Look];
    expect(Math.abs(again.wallMs - (EPOCH_MS + again.atMs + 3_600_400))).toBeLessThan(1_500);
    await machine.setClocks(RIGHT, -86_400 * S);
    const [back] = (await course(machine, machine.nowNs + S)).slice(-1) as [Look];
    expect(Math.abs(back.chipMs - (EPOCH_MS + back.atMs - 86_400_000))).toBeLessThan(1_001);
  });

  it('are doubted by a kernel that compares its counter with another source', async () => {
    const commandLine = 'console=ttyS0 panic=-1 reboot=t rdinit=/init';
    const machine = await start({ commandLine });
    await machine.run(UP_NS);
    await machine.setClocks(1.1 * RIGHT, 0);
    const { events } = await machine.run(UP_NS + 2 * S);
    const text = events.flatMap((each) => (each.kind === 'console' ? [each.bytes] : []));
    const said = Buffer.concat(text).toString('latin1');
    expect(said).toContain("Marking clocksource 'tsc' as unstable because the skew is too large");
  });

  it('are the same however the run is split, in a fork, and saved and restored', async () => {
    const whole = await start();
    await whole.run(UP_NS);
    await whole.setClocks(RIGHT + 200, 5 * S);
    const fork = keep(await whole.fork());
    await whole.save(folder);
    const restored = keep(await Machine.restore(options, folder));
    const looks: string[] = [];
    const states: string[] = [];
    const stepsNs = [UP_NS, 3 * MS + 1, 40_001 * 7];
    for (const [place, machine] of [whole, fork, restored].entries()) {
      const seen = await course(machine, UP_NS + S / 2, stepsNs[place]);
      await machine.setClocks(RIGHT - 300, -2 * S);
      seen.push(...(await course(machine, UP_NS + S, stepsNs[place])));
      looks.push(JSON.stringify(seen));
      states.push(JSON.stringify([await machine.hash(), machine.instructions]));
    }
    expect(new Set(looks).size).toBe(1);
    expect(new Set(states).size).toBe(1);
  });
});
