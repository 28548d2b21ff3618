import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Machine, type MachineBackend, type MachineOptions } from '../../bridge/index.ts';
import { BareMachines, eventsOf, wordsOf } from '../support/bare-machine.ts';
import {
  CHECKED,
  PULSED_LINE,
  PULSES,
  UNCHECKED,
  WATCHED,
  WATCHER,
} from '../support/fault-programs.ts';
import { patchedBackend, testBackend } from '../support/machine-fixture.ts';

const MS = 1_000_000;
const END_NS = 20 * MS;

/** What is done to a machine at a time. */
interface Strike {
  readonly atNs: number;
  readonly strike: (machine: Machine) => Promise<void>;
}

/** How the machine comes from one strike to the next. */
type Way = 'at once' | 'in steps' | 'as a fork' | 'as a copy that was saved';
const WAYS: readonly Way[] = ['at once', 'in steps', 'as a fork', 'as a copy that was saved'];

const FLIPS: readonly Strike[] = [
  { atNs: 2 * MS, strike: (machine) => machine.flipMemory(WATCHED.data.address, [5]) },
  { atNs: 4 * MS + 1, strike: (machine) => machine.flipMemory(WATCHED.code.address, [17]) },
  {
    atNs: 6 * MS + 77,
    strike: (machine) => machine.flipMemory(WATCHED.page.address, [WATCHED.page.bit]),
  },
  { atNs: 8 * MS, strike: (machine) => machine.flipRegister(0, WATCHED.register.number, [0, 31]) },
  { atNs: 10 * MS, strike: (machine) => machine.flipMemory(WATCHED.data.address, [0, 9, 63]) },
];
const CHECKS: readonly Strike[] = [
  { atNs: 3 * MS, strike: (machine) => machine.machineCheck(0, true, 0x12_3450) },
  { atNs: 6 * MS, strike: (machine) => machine.machineCheck(0, false, 0x65_4320) },
];
const GAP_NS = 250_007;
const STORM: readonly Strike[] = [
  { atNs: 5 * MS, strike: (machine) => machine.storm(PULSED_LINE, 40, GAP_NS) },
];

const bit = (value: number, place: number): number => (value ^ (1 << place)) >>> 0;
/** Of 32 bits: the halves of a status with these bits set. */
const high = (...bits: readonly number[]): number => {
  return bits.reduce((sum, each) => sum + 2 ** (each - 32), 0);
};

describe('CR-86: faults inside a machine', () => {
  const bare = new BareMachines();
  let backend: MachineBackend;
  beforeAll(async () => {
    backend = await testBackend();
  });
  afterAll(() => {
    bare.remove();
  });

  /** A machine that goes on where `machine` stands, which is closed. */
  async function other(machine: Machine, options: MachineOptions, way: Way): Promise<Machine> {
    if (way === 'as a fork') {
      const child = await machine.fork();
      await machine.close();
      return child;
    }
    const folder = mkdtempSync(join(tmpdir(), 'athanor-faults-'));
    try {
      await machine.save(folder);
      await machine.close();
      return await Machine.restore(options, folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** What the program tells of the strikes, and in what state the machine is at the end. */
  async function run(
    options: MachineOptions,
    strikes: readonly Strike[],
    way: Way = 'at once',
  ): Promise<{ readonly words: readonly number[]; readonly state: string; resets: number }> {
    let machine = await Machine.start(options);
    try {
      const events = [];
      const steps = way === 'in steps' ? { stepNs: 333_333 } : {};
      for (const { atNs, strike } of [...strikes, { atNs: END_NS, strike: null }]) {
        // Half of the way there, so that a storm is under way.
        const halfNs = machine.nowNs + Math.floor((atNs - machine.nowNs) / 2);
        events.push(...(await eventsOf(machine, halfNs, steps)));
        if (way !== 'at once' && way !== 'in steps') machine = await other(machine, options, way);
        events.push(...(await eventsOf(machine, atNs, steps)));
        await strike?.(machine);
      }
      const { ram, devices } = await machine.hash();
      const state = `${ram}.${devices}.${machine.nowNs}.${machine.instructions}`;
      const resets = events.filter(({ kind }) => kind === 'reset').length;
      return { words: wordsOf(events), state, resets };
    } finally {
      await machine.close();
    }
  }

  it('flips bits of data, of code that was translated, of a page table and of a register', async () => {
    const { data, code, page, register } = WATCHED;
    const options = bare.options(backend, WATCHER);
    const first = await run(options, FLIPS);
    expect(first.words).toEqual([
      bit(data.value, 5),
      bit(code.value, 17),
      page.other,
      bit(bit(register.value, 0), 31),
      bit(bit(data.value, 0), 9),
    ]);
    for (const way of WAYS.slice(1))
      expect([way, await run(options, FLIPS, way)]).toEqual([way, first]);
  });

  it('lets a processor find memory that could be put right, or not', async () => {
    const options = bare.options(backend, CHECKED);
    const first = await run(options, CHECKS);
    expect(first.words).toEqual([
      ...[high(63, 60, 58, 46), 0x0833, 0x12_3450, 0],
      ...[high(63, 61, 60, 58, 57, 45), 0x0833, 0x65_4320, 1],
    ]);
    for (const way of WAYS.slice(1))
      expect([way, await run(options, CHECKS, way)]).toEqual([way, first]);
  });

  it('starts over at an error that cannot be put right before anybody handles it', async () => {
    const strikes: readonly Strike[] = [
      { atNs: 3 * MS, strike: (machine) => machine.machineCheck(0, false, 0x1000) },
    ];
    const options = bare.options(backend, UNCHECKED);
    const first = await run(options, strikes);
    expect(first.resets).toBe(1);
    for (const way of WAYS.slice(1))
      expect([way, await run(options, strikes, way)]).toEqual([way, first]);
  });

  it('gives interrupts without a cause, at exact times, as many as were asked for', async () => {
    const options = bare.options(backend, PULSES);
    const first = await run(options, STORM);
    expect(first.words.length).toBe(40);
    const gaps = first.words.slice(1).map((time, index) => time - (first.words[index] ?? 0));
    expect(new Set(gaps)).toEqual(new Set([GAP_NS]));
    for (const way of WAYS.slice(1))
      expect([way, await run(options, STORM, way)]).toEqual([way, first]);
  });

  it('are the same on the patched QEMU', async () => {
    const programs = [
      [WATCHER, FLIPS],
      [CHECKED, CHECKS],
      [PULSES, STORM],
    ] as const;
    for (const [program, strikes] of programs) {
      const { words } = await run(bare.options(backend, program), strikes);
      const patched = await run(bare.options(patchedBackend(), program), strikes, 'as a fork');
      expect(patched.words).toEqual(words);
      expect(words.length).toBeGreaterThan(4);
    }
  });

  it('refuses what is not there: memory, registers, processors, lines', async () => {
    const refused: readonly (readonly [string, Strike['strike']])[] = [
      ['there is no memory', (machine) => machine.flipMemory(0x8000_0000, [0])],
      ['there is no memory', (machine) => machine.flipMemory(0xffff_0000, [0])],
      ['there is no such register', (machine) => machine.flipRegister(1, 0, [0])],
      ['there is no such register', (machine) => machine.flipRegister(0, 16, [0])],
      ['there is no such CPU', (machine) => machine.machineCheck(1, true, 0)],
      ['there is no such storm', (machine) => machine.storm(16, 1, 1)],
    ];
    for (const [why, strike] of refused) {
      const machine = await Machine.start(bare.options(backend, UNCHECKED));
      try {
        await expect(strike(machine)).rejects.toMatchObject({
          code: 'backend/refused',
          message: expect.stringContaining(why) as string,
        });
      } finally {
        await machine.close();
      }
    }
  });
});
