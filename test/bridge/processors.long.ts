import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Machine, type MachineBackend, type MachineEvent } from '../../bridge/index.ts';
import type { MachineOptions } from '../../bridge/index.ts';
import { BareMachines, wordsOf } from '../support/bare-machine.ts';
import {
  COUNTERS,
  COUNTERS_AT,
  processors,
  rounds,
  SLEEPER,
  TICKS,
} from '../support/bare-programs.ts';
import { testBackend } from '../support/machine-fixture.ts';

const MS = 1_000_000;
const WHOLE = 1_000_000;
/** What executing and standing still take together (share.c). */
const TURN_NS = 10_000;
const ROUND_NS = 25;

/** What is done to the processors of a machine, and when. */
type Change =
  | { readonly atNs: number; readonly share: number }
  | { readonly atNs: number; readonly stall: readonly number[] };

/** Step lengths of a small generator, the same in each run. */
function random(limitNs: number): () => number {
  let state = 4711;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return 1 + (state % limitNs);
  };
}

async function change(machine: Machine, what: Change): Promise<void> {
  if ('share' in what) await machine.setShare(what.share);
  else await machine.stall(what.stall);
}

/** Runs to the end in steps, with the changes at their times; gives all that happened. */
async function runOn(
  machine: Machine,
  endNs: number,
  changes: readonly Change[],
  step: () => number = () => endNs,
): Promise<MachineEvent[]> {
  const events: MachineEvent[] = [];
  for (const next of [...changes, null]) {
    const untilNs = next?.atNs ?? endNs;
    while (machine.nowNs < untilNs) {
      const stop = await machine.run(Math.min(untilNs, machine.nowNs + step()));
      events.push(...stop.events);
    }
    if (next !== null) await change(machine, next);
  }
  return events;
}

/** All that can be told of a machine and of what it did. */
async function courseOf(machine: Machine, events: readonly MachineEvent[]): Promise<unknown> {
  const { ram, devices } = await machine.hash();
  const { nowNs, instructions } = machine;
  const told = events.map((event) => {
    return event.kind === 'console' ? [event.atNs, event.bytes.toString('hex')] : event;
  });
  return { ram, devices, nowNs, instructions, told };
}

describe('the processors of a machine', { timeout: 300_000 }, () => {
  const bare = new BareMachines();
  const folder = mkdtempSync(join(tmpdir(), 'athanor-processors-'));
  let backend: MachineBackend;
  const made: Machine[] = [];

  beforeAll(async () => {
    backend = await testBackend();
  });

  afterAll(async () => {
    for (const machine of made) await machine.close();
    bare.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const options = (program: string, changes: Partial<MachineOptions> = {}): MachineOptions => {
    return bare.options(backend, program, changes);
  };
  const keep = (machine: Machine): Machine => {
    made.push(machine);
    return machine;
  };
  const start = async (of: MachineOptions): Promise<Machine> => keep(await Machine.start(of));

  it.each([
    [500_000, 0],
    [250_000, 0],
    [100_000, 0],
    [333_333, 0],
    [999_999, 0],
    [10_000, 0],
    [500_000, 4],
    [70_000, 10],
  ])('CR-86: execute for a share of %i millionths, at 2^%i ns', async (share, shift) => {
    const machine = await start(options(rounds(30, MS), { shift }));
    await change(machine, { atNs: 0, share });
    const events = await runOn(machine, 31 * MS, []);
    // The mean is exact: it owes at most what it executes at once, and has at most that in advance.
    const executedNs = machine.instructions * 2 ** shift;
    const owedNs = Math.abs(executedNs - (machine.nowNs * share) / WHOLE);
    expect(owedNs).toBeLessThanOrEqual(Math.max(TURN_NS, 2 ** shift));
    if (shift > 0) return;
    // So it is within a millisecond of the guest's own clock, to 1 % of the millisecond.
    const counted = wordsOf(events);
    expect(counted.length).toBe(30);
    for (const count of counted) {
      expect(Math.abs(count * ROUND_NS - (MS * share) / WHOLE)).toBeLessThan(MS / 100);
    }
  });

  it('pay nothing for time without work: who sleeps is hardly slowed', async () => {
    const times = async (share: number): Promise<readonly number[]> => {
      const machine = await start(options(SLEEPER));
      await change(machine, { atNs: 0, share });
      const told = (await runOn(machine, 20 * MS, [])).flatMap((event) => {
        return event.kind === 'console' ? [event.atNs] : [];
      });
      return told.slice(0, 40);
    };
    const [full, slowed] = [await times(WHOLE), await times(100_000)];
    expect(full.length).toBe(40);
    // Each of its interrupts comes at most one turn later, and the timer does not wait for it.
    full.forEach((atNs, index) => {
      expect(Math.abs((slowed[index] ?? 0) - atNs)).toBeLessThan(4 * TURN_NS);
    });
  });

  const CHANGES: readonly Change[] = [
    { atNs: 1_333_333, share: 370_000 },
    { atNs: 4_000_001, share: 90_000 },
    { atNs: 9_999_999, share: WHOLE },
    { atNs: 12_000_000, share: 666_667 },
    { atNs: 14_500_000, stall: [0] },
    { atNs: 16_500_000, stall: [] },
    { atNs: 18_000_000, share: 1 },
    { atNs: 19_500_000, share: 500_000 },
  ];
  const STALLS: readonly Change[] = [
    ...CHANGES.slice(0, 4),
    { atNs: 13_000_000, stall: [1] },
    { atNs: 14_000_000, stall: [0, 1] },
    { atNs: 15_000_000, stall: [0] },
    { atNs: 17_000_000, stall: [] },
    ...CHANGES.slice(6),
  ];
  const SHAPES = [
    ['one processor with a timer', TICKS, { cpus: 1 }, CHANGES],
    ['one processor that counts', rounds(5, MS), { cpus: 1, shift: 2 }, CHANGES],
    ['two processors that send each other interrupts', processors('pause'), { cpus: 2 }, STALLS],
    ['two processors with a timer', COUNTERS, { cpus: 2 }, STALLS],
  ] as const;

  it.each(SHAPES)(
    'CR-111: go the same way however the run is split: %s',
    async (_, program, shape, changes) => {
      const of = options(program, shape);
      const endNs = 22 * MS;
      const course = async (step: () => number): Promise<unknown> => {
        const machine = await start(of);
        const course = await courseOf(machine, await runOn(machine, endNs, changes, step));
        await machine.close();
        return course;
      };
      const whole = await course(() => endNs);
      for (const step of [() => 10 * MS, () => MS, random(40_000), () => 7_919]) {
        expect(await course(step)).toEqual(whole);
      }
      // By single nanoseconds through two turns of a share.
      const fine = await start(of);
      const before = await runOn(fine, 5 * MS, changes.slice(0, 2));
      const events = [...before, ...(await runOn(fine, 5 * MS + 2 * TURN_NS, [], () => 1))];
      events.push(...(await runOn(fine, endNs, changes.slice(2), () => 3 * MS)));
      expect(await courseOf(fine, events)).toEqual(whole);
    },
  );

  it('CR-111: go on equally in a fork and from a checkpoint, in the middle of a turn', async () => {
    const of = options(COUNTERS, { cpus: 2 });
    const machine = await start(of);
    await runOn(machine, 6 * MS, [
      { atNs: 5 * MS, share: 200_000 },
      { atNs: 5_500_000, stall: [1] },
    ]);
    // Once while it executes, and once while it stands still.
    for (let time = 0; time < 2; time++) {
      const executes = async (): Promise<boolean> => {
        const before = machine.instructions;
        await machine.run(machine.nowNs + 500);
        return machine.instructions > before;
      };
      let tries = 0;
      while ((await executes()) !== (time === 0)) expect(tries++).toBeLessThan(TURN_NS / 500);
      const state = mkdtempSync(join(folder, 'saved-'));
      await machine.save(state);
      const twin = keep(await machine.fork());
      const restored = keep(await Machine.restore(of, state));
      expect(await restored.hash()).toEqual(await machine.hash());
      const later: readonly Change[] = [{ atNs: machine.nowNs + 2 * MS, stall: [] }];
      const endNs = machine.nowNs + 5 * MS;
      const courses = [];
      for (const each of [machine, twin, restored]) {
        courses.push(await courseOf(each, await runOn(each, endNs, later)));
      }
      expect(courses[1]).toEqual(courses[0]);
      expect(courses[2]).toEqual(courses[0]);
    }
  });

  it('leave no trace of a share and of stalls that are over', async () => {
    const of = options(COUNTERS, { cpus: 2 });
    const [plain, touched] = [await start(of), await start(of)];
    await runOn(touched, 2 * MS, [
      { atNs: 2 * MS, share: 1 },
      { atNs: 2 * MS, stall: [0, 1] },
      { atNs: 2 * MS, share: WHOLE },
      { atNs: 2 * MS, stall: [] },
    ]);
    const [one, other] = [await runOn(plain, 9 * MS, []), await runOn(touched, 9 * MS, [])];
    const all = await courseOf(plain, one);
    expect(await touched.hash()).toEqual(await plain.hash());
    expect(touched.instructions).toBe(plain.instructions);
    expect(other.length).toBeGreaterThan(0);
    expect(all).toMatchObject({ nowNs: 9 * MS });
  });

  it('keep their share through a loss of power, and begin a turn with it', async () => {
    const machine = await start(options(rounds(5, MS)));
    await runOn(machine, 3 * MS, [{ atNs: MS, share: 100_000 }]);
    await machine.powerLoss(5 * MS);
    await runOn(machine, 5 * MS, []);
    const before = machine.instructions;
    await machine.run(5 * MS + 1_000);
    expect(machine.instructions - before).toBe(1_000);
    await machine.run(5 * MS + TURN_NS);
    expect(machine.instructions - before).toBe(1_000);
    await machine.run(25 * MS);
    expect(Math.abs(machine.instructions - before - 2 * MS)).toBeLessThanOrEqual(TURN_NS);
  });

  it('CR-86: are stalled one by one, and the others have their turns', async () => {
    const machine = await start(options(COUNTERS, { cpus: 2 }));
    const counts = async (forNs: number): Promise<readonly number[]> => {
      const counters = async (): Promise<readonly number[]> => {
        const bytes = await machine.readMemory(COUNTERS_AT, 8);
        return [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
      };
      const before = await counters();
      await machine.run(machine.nowNs + forNs);
      return (await counters()).map((count, index) => count - (before[index] ?? 0));
    };
    await machine.run(20 * MS);
    const usual = await counts(10 * MS);
    // Two instructions a round, and each processor has half of the time.
    for (const count of usual) expect(Math.abs(count - 2.5 * MS)).toBeLessThan(MS / 10);
    await machine.stall([1]);
    const [alone = 0, stalled] = await counts(10 * MS);
    expect(stalled).toBe(0);
    expect(alone).toBeGreaterThan(4.9 * MS);
    await machine.stall([0, 1]);
    const { instructions, nowNs } = machine;
    expect(await counts(10 * MS)).toEqual([0, 0]);
    expect([machine.instructions, machine.nowNs]).toEqual([instructions, nowNs + 10 * MS]);
    // The first one's timer waits for it, the second one runs.
    await machine.stall([0]);
    const stop = await machine.run(machine.nowNs + 5 * MS);
    expect(stop.events).toEqual([]);
    await machine.stall([]);
    const after = await counts(10 * MS);
    for (const count of after) expect(Math.abs(count - 2.5 * MS)).toBeLessThan(MS / 10);
  });
});
