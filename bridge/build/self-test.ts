import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SimError } from '../../sim/index.ts';
import { Machine } from '../machine.ts';
import type { MachineBackend, MachineOptions } from '../machine-options.ts';
import { firmwareWith } from './firmware.ts';

const SINGLE_STEPS = 50;
const END_NS = 100_000;
/** A jump, two loads and the write itself. */
const BELL_NS = 4;

/**
 * A firmware for the self-test, real mode: rings the doorbell with 0x12345678, then counts in a
 * register for ever.
 */
function firmware(): Buffer {
  return firmwareWith([
    ...[0xba, 0xe0, 0x05], //             mov dx, 0x5e0
    ...[0x66, 0xb8, 0x78, 0x56, 0x34, 0x12], // mov eax, 0x12345678
    ...[0x66, 0xef], //                   out dx, eax
    ...[0x40, 0xeb, 0xfd], //             again: inc ax; jmp again
  ]);
}

/**
 * Proves that a backend keeps its promises on this computer: one instruction a nanosecond moves
 * the count by one, an event carries its exact time, a run that is split ends as one that is not,
 * and so does a fork. Takes a second. Throws `backend/self-test`.
 */
export async function selfTest(backend: MachineBackend, cacheFolder: string): Promise<void> {
  mkdirSync(cacheFolder, { recursive: true });
  const path = join(cacheFolder, 'self-test.rom');
  writeFileSync(path, firmware());
  const options: MachineOptions = {
    backend,
    machine: 'microvm',
    cpus: 1,
    memoryMiB: 32,
    firmware: path,
    commandLine: '',
    nics: [],
    disks: [],
    shift: 0,
    seed: 1,
  };
  const whole = await endOfWhole(options);
  const split = await endOfSplit(options);
  for (const [name, digest] of Object.entries(split)) {
    if (digest !== whole) {
      throw failed(`a machine that was ${name} ends at ${digest}, expected ${whole}`);
    }
  }
}

async function endOfWhole(options: MachineOptions): Promise<string> {
  const machine = await Machine.start(options);
  try {
    const { events } = await machine.run(END_NS);
    const [bell] = events;
    if (events.length !== 1 || bell?.kind !== 'bell' || bell.value !== 0x12345678) {
      throw failed('the doorbell did not ring as expected');
    }
    if (bell.atNs !== BELL_NS) {
      throw failed(`the doorbell rang at ${bell.atNs} ns, expected ${BELL_NS}`);
    }
    return await digestOf(machine);
  } finally {
    await machine.close();
  }
}

async function endOfSplit(options: MachineOptions): Promise<Record<'stepped' | 'forked', string>> {
  const machine = await Machine.start(options);
  try {
    for (let step = 1; step <= SINGLE_STEPS; step++) {
      const { atNs, instructions } = await machine.run(step);
      if (atNs !== step || instructions !== step) {
        throw failed(
          `after ${step} ns the machine stands at ${atNs} ns, ${instructions} instructions`,
        );
      }
    }
    const child = await machine.fork();
    try {
      await machine.run(END_NS);
      await child.run(END_NS);
      return { stepped: await digestOf(machine), forked: await digestOf(child) };
    } finally {
      await child.close();
    }
  } finally {
    await machine.close();
  }
}

async function digestOf(machine: Machine): Promise<string> {
  const { ram, devices } = await machine.hash();
  return `${ram}.${devices} after ${machine.instructions}`;
}

function failed(message: string): SimError {
  return new SimError({
    code: 'backend/self-test',
    message: `the adapter's self-test failed: ${message}`,
    remedy: 'this build of QEMU lays out its data differently: use `--backend patched`',
  });
}
