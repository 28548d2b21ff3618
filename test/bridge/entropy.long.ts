import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firmwareWith } from '../../bridge/build/firmware.ts';
import { Machine, type MachineOptions } from '../../bridge/index.ts';
import { testOptions } from '../support/machine-fixture.ts';
import { wrappedQemu } from '../support/wrapped-qemu.ts';

const STEP_NS = 2_000;
const RING = [0xba, 0xe0, 0x05, 0x66, 0xef]; // mov dx, 0x5e0; out dx, eax

/** Rings the seconds that the calendar clock shows, again and again. */
const CALENDAR = [
  ...[0x66, 0x31, 0xc0], //             again: xor eax, eax
  ...[0xe6, 0x70, 0xe4, 0x71], //              out 0x70, al; in al, 0x71
  ...RING,
  ...[0xeb, 0xf2], //                          jmp again
];
/** Rings what the processor says of its model and features, again and again. */
const MODEL = [
  ...[0x66, 0xb8, 1, 0, 0, 0], //       again: mov eax, 1
  ...[0x0f, 0xa2, 0x66, 0x89, 0xc8], //        cpuid; mov eax, ecx
  ...RING,
  ...[0xeb, 0xee], //                          jmp again
];
/** Rings what RDRAND gives, again and again. */
const RANDOM = [...[0x66, 0x0f, 0xc7, 0xf0], ...RING, ...[0xeb, 0xf5]]; // rdrand eax

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'athanor-entropy-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function optionsWith(
  program: readonly number[],
  change?: readonly [from: string, to: string],
): Promise<MachineOptions> {
  const firmware = join(folder, 'firmware');
  writeFileSync(firmware, firmwareWith(program));
  const { backend } = await testOptions();
  const binary =
    change === undefined ? backend.binary : wrappedQemu(folder, backend.binary, ...change);
  return {
    ...{ backend: { ...backend, binary }, firmware, machine: 'microvm', cpus: 1, memoryMiB: 32 },
    ...{ commandLine: '', nics: [], disks: [], shift: 0, seed: 42 },
  };
}

/** What the program rings in two steps, between which the host takes `pauseMs`. */
async function rings(options: MachineOptions, pauseMs = 0): Promise<readonly unknown[]> {
  const machine = await Machine.start(options);
  try {
    const first = await machine.run(STEP_NS);
    await sleep(pauseMs);
    const second = await machine.run(2 * STEP_NS);
    return [...first.events, ...second.events];
  } finally {
    await machine.close();
  }
}

describe('sources of entropy that are put back (CR-115)', () => {
  it('the calendar clock follows virtual time; on the host’s clock a pause shows', async () => {
    const calm = await rings(await optionsWith(CALENDAR));
    expect(calm.length).toBeGreaterThan(100);
    expect(await rings(await optionsWith(CALENDAR), 2_200)).toEqual(calm);
    const hosts = ['clock=vm', 'clock=host'] as const;
    const shown = await rings(await optionsWith(CALENDAR, hosts));
    expect(await rings(await optionsWith(CALENDAR, hosts), 2_200)).not.toEqual(shown);
  });

  it('the processor is of one model; another one shows', async () => {
    const model = await rings(await optionsWith(MODEL));
    expect(await rings(await optionsWith(MODEL))).toEqual(model);
    const other = await rings(await optionsWith(MODEL, ['qemu64,', 'max,']));
    expect(other).not.toEqual(model);
  });

  it('RDRAND is drawn from the machine’s seed; another seed shows', async () => {
    const drawn = await rings(await optionsWith(RANDOM));
    expect(new Set(drawn.map((event) => JSON.stringify(event))).size).toBe(drawn.length);
    expect(await rings(await optionsWith(RANDOM))).toEqual(drawn);
    expect(await rings({ ...(await optionsWith(RANDOM)), seed: 43 })).not.toEqual(drawn);
  });

  it('no thread of its own runs a processor: with one QEMU does not start', async () => {
    const options = await optionsWith(MODEL, ['thread=single', 'thread=multi']);
    await expect(rings(options)).rejects.toMatchObject({ code: 'backend/machine-ended' });
  });
});
