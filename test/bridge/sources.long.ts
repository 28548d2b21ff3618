import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Channel } from '../../bridge/channel/channel.ts';
import { COMMAND, REPORT } from '../../bridge/channel/wire.ts';
import { Machine, PACKAGED_QEMU, type MachineBackend } from '../../bridge/index.ts';
import type { MachineOptions } from '../../bridge/index.ts';
import { machineArguments } from '../../bridge/machine-command.ts';
import { startProcess } from '../../bridge/machine-process.ts';
import { AlteredPlugin, type Measure } from '../support/altered-plugin.ts';
import { BareMachines, eventsOf, wordsOf } from '../support/bare-machine.ts';
import {
  CLOCK_READER,
  CLOCKS,
  LISTENER,
  mathematics,
  MEMORY,
  processors,
  RANDOM,
  SLEEPER,
  SWITCH_OFF,
  TICKS,
  TRANSLATIONS,
} from '../support/bare-programs.ts';
import { patchedBackend, testBackend, testOptions } from '../support/machine-fixture.ts';
import { wrappedQemu } from '../support/wrapped-qemu.ts';

const MS = 1_000_000;
/** Each program has started over long before. */
const END_NS = 2_000 * MS;
/** A host that is slow in the middle, and a run in odd steps. */
const SLOW_HOST = { atNs: 150_000, forMs: 150, stepNs: 33_333 };

/**
 * Of these arguments the C library gives another sine, cosine or tangent, by one in the last place,
 * where the processor can multiply and add in one step.
 */
const ANGLES = [0x408a1299220d0eb4n, 0x40495c7f9bd1bf0dn, 0x4080cb8d1e007edan, 0x4086aa4d99031648n];
/** Sine, cosine, tangent and square root of each: as glibc 2.28 and later have them without it. */
const MATHEMATICS = [
  ...['bfef24ab864ed6a7', '3fcd6bb08ada7d1c', 'c010efd21ef55f64', '403ce27a6d1d6381'],
  ...['3fdc3ff32b79e7ee', '3fecb6c11bcba691', '3fdf7b99629f2307', '401c7ce9281ffaaf'],
  ...['bfcd602a7b94de42', 'bfef2559907eae1f', '3fce2e637b1a7255', '40372ece5e41d585'],
  ...['3fda18f2e867ce85', 'bfed37fac60f4077', 'bfdc94e8cf74519d', '403aee611f7b18c4'],
];

describe('sources of entropy that are put back, one by one (CR-115)', () => {
  const bare = new BareMachines();
  let backend: MachineBackend;
  let altered: AlteredPlugin;
  beforeAll(async () => {
    backend = await testBackend();
    altered = await AlteredPlugin.build(bare.folder);
  });
  afterAll(() => {
    bare.remove();
  });

  const two = { cpus: 2 };

  it('time stamps, and the counters of ACPI, HPET, APIC and PIT, follow instructions', async () => {
    const options = bare.options(backend, CLOCK_READER);
    const calm = await bare.run(options, END_NS);
    expect(calm.length).toBe(60 * CLOCKS.length);
    expect(await bare.run(options, END_NS, SLOW_HOST)).toEqual(calm);
    // A QEMU that does not count instructions reads all of them off the host's clock.
    const [once, again] = [
      await bare.runAlone(PACKAGED_QEMU, CLOCK_READER, []),
      await bare.runAlone(PACKAGED_QEMU, CLOCK_READER, []),
    ];
    CLOCKS.forEach((name, place) => {
      const column = (words: readonly number[]): readonly number[] => {
        return words.filter((_, index) => index % CLOCKS.length === place);
      };
      expect(new Set(column(calm)).size, name).toBeGreaterThan(50);
      expect(column(once), name).not.toEqual(column(again));
    });
  });

  it('interrupts of the timer come after a number of instructions', async () => {
    const options = bare.options(backend, TICKS);
    const calm = await bare.run(options, END_NS);
    expect(calm.length).toBe(12);
    expect(await bare.run(options, END_NS, SLOW_HOST)).toEqual(calm);
    const once = await bare.runAlone(PACKAGED_QEMU, TICKS, []);
    expect(await bare.runAlone(PACKAGED_QEMU, TICKS, [])).not.toEqual(once);
  });

  it('time that nobody works in passes when the loop says so, not when the main thread runs', async () => {
    expect(await timesOfIdleFork(bare.options(backend, SLEEPER))).toEqual([IDLE_NS, IDLE_NS]);
    const [parent = 0] = await timesOfIdleFork(bare.options(altered.without('warp'), SLEEPER));
    expect(parent).toBeGreaterThan(IDLE_NS);
  });

  it('RDRAND and RDSEED are of the seed', async () => {
    const options = bare.options(backend, RANDOM);
    const drawn = await bare.run(options, END_NS);
    expect(new Set(drawn).size).toBe(80);
    expect(await bare.run(options, END_NS, SLOW_HOST)).toEqual(drawn);
    const put = bare.options(altered.without('seed'), RANDOM);
    expect(await bare.run(put, END_NS)).not.toEqual(await bare.run(put, END_NS));
  });

  it('so are the seed that a kernel is booted with, and where it places itself', async () => {
    const options = await testOptions({ nics: [], disks: [] });
    const memory = async (changes: Partial<MachineOptions>): Promise<string> => {
      const machine = await Machine.start({ ...options, ...changes });
      try {
        await machine.run(60 * MS);
        return (await machine.hash()).ram;
      } finally {
        await machine.close();
      }
    };
    const booted = await memory({});
    expect(await memory({})).toBe(booted);
    expect(await memory({ seed: 43 })).not.toBe(booted);
    const put = { backend: altered.without('seed') };
    expect(await memory(put)).not.toBe(await memory(put));
  });

  it('turns of processors, and interrupts between them, do not follow where a run is split', async () => {
    const options = bare.options(backend, processors('pause'), two);
    const whole = await bare.run(options, END_NS);
    expect(whole.filter((word) => word >>> 30 === 1).length).toBeGreaterThan(3);
    expect(whole.filter((word) => word >>> 31 === 1).length).toBeGreaterThan(200);
    expect(await bare.run(options, END_NS, SLOW_HOST)).toEqual(whole);
    const put = bare.options(altered.without('turns'), processors('pause'), two);
    expect(await bare.run(put, END_NS, SLOW_HOST)).not.toEqual(await bare.run(put, END_NS));
  });

  it('the start of a second processor loses no time that depends on the split', async () => {
    const put = bare.options(altered.without('reset'), processors('nop'), two);
    expect(await bare.run(put, END_NS, SLOW_HOST)).not.toEqual(await bare.run(put, END_NS));
  });

  it('a machine that switches itself off does nothing more', async () => {
    expect(await bare.run(bare.options(backend, SWITCH_OFF), MS)).toEqual([]);
    const put = bare.options(altered.without('requests'), SWITCH_OFF);
    expect(await bare.run(put, MS)).not.toEqual([]);
  });

  it('the size of the TLB does not follow the host’s clock', async () => {
    expect(await bare.run(bare.options(backend, TRANSLATIONS), END_NS)).toEqual([0]);
    const put = bare.options(altered.without('translations'), TRANSLATIONS);
    expect(await bare.run(put, END_NS)).toEqual([300]);
  });

  it('sine, cosine and tangent are those of a host without fused multiply and add', async () => {
    const program = mathematics(ANGLES);
    const words = await bare.run(bare.options(backend, program), END_NS);
    expect(doublesOf(words)).toEqual(MATHEMATICS);
    expect(await bare.run(bare.options(patchedBackend(), program), END_NS)).toEqual(words);
    // What QEMU makes of them by itself depends on the processor that it runs on.
    const processor = readFileSync('/proc/cpuinfo', 'utf8');
    const fuses = /\bfma\b/.test(processor) && /\bavx2\b/.test(processor);
    const put = await bare.runAlone(PACKAGED_QEMU, program, []);
    expect(JSON.stringify(put) !== JSON.stringify(words)).toBe(fuses);
  });

  it('memory is zero; what would stand there shows', async () => {
    expect(await bare.run(bare.options(backend, MEMORY), END_NS)).toEqual([0]);
    const junk = join(bare.folder, 'junk');
    writeFileSync(junk, Buffer.alloc(32 * 2 ** 20, 0xa5));
    const from = 'memory-backend-ram,id=memory';
    const to = `memory-backend-file,id=memory,share=off,mem-path=${junk}`;
    const binary = wrappedQemu(bare.folder, backend.binary, from, to);
    const put = bare.options({ ...backend, binary }, MEMORY);
    expect(await bare.run(put, END_NS)).not.toEqual([0]);
  });

  it.each([
    ['seed', 'saved seed', RANDOM, 1],
    ['turn', 'saved turn', processors('nop'), 2],
  ] as const)('a checkpoint holds the %s', async (_, measure, program, cpus) => {
    const atNs = cpus === 1 ? 700 : 490_000;
    const [gone, restored] = await bothEnds(bare, bare.options(backend, program, { cpus }), atNs);
    expect(restored).toEqual(gone);
    const put = bare.options(altered.without(measure), program, { cpus });
    const [there, here] = await bothEnds(bare, put, atNs);
    expect(here).not.toEqual(there);
  });

  it('what arrives, arrives at its time: another time shows', async () => {
    const heard = async (atNs: number, stepNs: number): Promise<readonly number[]> => {
      const machine = await Machine.start(bare.options(backend, LISTENER));
      try {
        for (const [place, text] of ['a', 'b', 'c'].entries()) {
          machine.deliverConsole(0, atNs + place * 70_001, Buffer.from(text));
        }
        return wordsOf(await eventsOf(machine, MS, { stepNs }));
      } finally {
        await machine.close();
      }
    };
    const once = await heard(100_003, MS);
    expect(once.filter((_, index) => index % 2 === 0)).toEqual([0x61, 0x62, 0x63]);
    expect(await heard(100_003, 7_919)).toEqual(once);
    expect(await heard(100_053, MS)).not.toEqual(once);
  });

  it('a frame leaves at the instruction that sends it; with ioeventfd, when the main thread runs', async () => {
    const options = await testOptions({ disks: [] });
    const binary = wrappedQemu(bare.folder, backend.binary, 'ioeventfd=off', 'ioeventfd=on');
    const put = { ...options, backend: { ...backend, binary } };
    const whole = await timesOfFrames(options, 60 * MS);
    expect(whole.length).toBeGreaterThan(0);
    expect(await timesOfFrames(options, MS)).toEqual(whole);
    expect(await timesOfFrames(put, MS)).not.toEqual(whole);
  });

  it('how far the loop runs at once may be the host’s: it shows where turns end with it', async () => {
    const whole = await bare.run(bare.options(backend, processors('pause'), two), END_NS);
    const hosts = bare.options(altered.without('budgets'), processors('pause'), two);
    expect(await bare.run(hosts, END_NS)).toEqual(whole);
    const put = bare.options(altered.without('deadlines'), processors('pause'), two);
    expect(await bare.run(put, END_NS)).not.toEqual(await bare.run(put, END_NS));
  });

  it('deferred work is done at the instruction that asks for it; the main thread is late', async () => {
    const options = await testOptions({ disks: [] });
    const whole = await timesOfFrames(options, MS);
    expect(whole.length).toBeGreaterThan(0);
    const put = { ...options, backend: altered.without('gate') };
    expect(await timesOfFrames(put, MS)).not.toEqual(whole);
  });

  it('and with the time of that instruction; a kick that leaves the count alone shows', async () => {
    const options = await testOptions({ disks: [] });
    const whole = await timesOfFrames(options, MS);
    // Without the gate, and the main thread always the first.
    const times = (measure: Measure): Promise<readonly number[]> => {
      return timesOfFrames({ ...options, backend: altered.without(measure) }, MS);
    };
    expect(await times('late')).toEqual(whole);
    expect(await times('stale')).not.toEqual(whole);
  });

  it('PAUSE costs no way out of translated code', async () => {
    const program = processors('pause');
    const few = await exitsOf(bare.options(backend, program, two));
    expect(await exitsOf(bare.options(patchedBackend(), program, two))).toBeLessThan(2_000);
    expect(few).toBeLessThan(2_000);
    const put = await exitsOf(bare.options(altered.without('pause'), program, two));
    expect(put).toBeGreaterThan(100_000);
  });
});

const IDLE_NS = 100_001;

/** Pairs of words as the doubles that they are, in hexadecimal digits. */
function doublesOf(words: readonly number[]): readonly string[] {
  return words
    .filter((_, index) => index % 2 === 1)
    .map((high, place) => {
      const low = words[2 * place] ?? 0;
      return [high, low].map((word) => word.toString(16).padStart(8, '0')).join('');
    });
}

/** A machine sleeps, and is forked, for which its main thread has to run: the time of both then. */
async function timesOfIdleFork(options: MachineOptions): Promise<readonly number[]> {
  const machine = await Machine.start(options);
  try {
    await machine.run(IDLE_NS - 1);
    const twin = await machine.fork();
    try {
      return [(await machine.run(IDLE_NS)).atNs, (await twin.run(IDLE_NS)).atNs];
    } finally {
      await twin.close();
    }
  } finally {
    await machine.close();
  }
}

/** What a program tells after `atNs`: in the machine, and restored from its checkpoint there. */
async function bothEnds(
  bare: BareMachines,
  options: MachineOptions,
  atNs: number,
): Promise<readonly (readonly number[])[]> {
  const folder = join(bare.folder, `checkpoint-${options.cpus}-${options.backend.binary.length}`);
  mkdirSync(folder);
  const machine = await Machine.start(options);
  try {
    await machine.run(atNs);
    await machine.save(folder);
    const restored = await Machine.restore(options, folder);
    try {
      const ends = [await eventsOf(machine, END_NS), await eventsOf(restored, END_NS)];
      return ends.map(wordsOf);
    } finally {
      await restored.close();
    }
  } finally {
    await machine.close();
  }
}

/** When a kernel's first program sends its first frames, in steps from before they come. */
async function timesOfFrames(options: MachineOptions, stepNs: number): Promise<readonly number[]> {
  const machine = await Machine.start(options);
  try {
    await machine.run(1_690 * MS);
    const events = await eventsOf(machine, 1_750 * MS, { stepNs });
    return events.filter(({ kind }) => kind === 'frame').map(({ atNs }) => atNs);
  } finally {
    await machine.close();
  }
}

/** How often QEMU left translated code until the program started over, by its own count. */
async function exitsOf(options: MachineOptions): Promise<number> {
  const process = await startProcess(options.backend.binary, machineArguments(options));
  try {
    const channel = new Channel(process.stream, () => undefined);
    await channel.receiveAnswer(REPORT.HELLO, 30_000);
    const stopOnReset = 1n << BigInt(REPORT.RESET_DONE - REPORT.STOPPED);
    channel.send(COMMAND.RUN, BigInt(END_NS), stopOnReset);
    await channel.receiveAnswer(REPORT.STOPPED, 60_000);
    channel.send(COMMAND.QUERY, 0n, 0n);
    const { payload } = await channel.receiveAnswer(REPORT.STATUS, 30_000);
    return Number(payload.readBigUInt64LE(0));
  } finally {
    await process.kill();
  }
}
