import { describe, expect, it } from 'vitest';
import { Machine, type MachineBackend, type MachineOptions } from '../../bridge/index.ts';
import { patchedBackend, testBackend, testOptions, TestWorld } from '../support/machine-fixture.ts';

const MS = 1_000_000;

const SHAPES: readonly (readonly [string, Partial<MachineOptions>, number])[] = [
  ['a microvm with one CPU', {}, 1_800 * MS],
  ['a q35 with two CPUs', { machine: 'q35', cpus: 2, shift: 2 }, 6_600 * MS],
];

interface End {
  readonly ram: string;
  readonly nowNs: number;
  readonly instructions: number;
  readonly events: string;
  readonly count: number;
  readonly console: string;
}

/** What a machine with a card and a disk did, and what became of it. */
async function endOn(
  backend: MachineBackend,
  changes: Partial<MachineOptions>,
  untilNs: number,
): Promise<End & { readonly devices: string }> {
  const world = new TestWorld(await Machine.start(await testOptions({ ...changes, backend })));
  const { machine } = world;
  try {
    await world.run(untilNs);
    const [{ ram, devices }, { events }] = [await machine.hash(), await world.summary()];
    const { nowNs, instructions } = machine;
    const { events: count, console } = world;
    return { ram, devices, nowNs, instructions, events, count, console };
  } finally {
    await machine.close();
  }
}

describe('the plugin and the patched QEMU', () => {
  it.each(SHAPES)(
    'run %s to equal memory, time, instructions and events',
    async (_name, changes, untilNs) => {
      const [plugin, patched] = [await testBackend(), patchedBackend()];
      const first = await endOn(plugin, changes, untilNs);
      const second = await endOn(patched, changes, untilNs);
      expect(first.console).toContain('disk good 1');
      // Releases of QEMU 10.0 differ in what they call the size of a queue that nobody has set up.
      const { devices } = plugin.version === patched.version ? first : second;
      expect(second).toEqual({ ...first, devices });
    },
  );
});
