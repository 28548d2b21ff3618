import { describe, expect, it } from 'vitest';
import { Machine, type MachineBackend, type MachineOptions } from '../../bridge/index.ts';
import { patchedBackend, testBackend, testOptions, TestWorld } from '../support/machine-fixture.ts';

const MS = 1_000_000;

/**
 * Both are of one release where its sources are to be had. From 10.0.13 on QEMU says that each queue
 * has 1,024 places; on PCI a driver believes that, so across releases a q35 is the same machine
 * until its first driver looks.
 */
const SHAPES: readonly {
  readonly name: string;
  readonly changes: Partial<MachineOptions>;
  readonly untilNs: number;
  readonly acrossReleasesNs: number;
}[] = [
  {
    name: 'a microvm with one CPU',
    changes: {},
    untilNs: 1_800 * MS,
    acrossReleasesNs: 1_800 * MS,
  },
  {
    name: 'a q35 with two CPUs',
    changes: { machine: 'q35', cpus: 2, shift: 2 },
    untilNs: 20_000 * MS,
    acrossReleasesNs: 5_000 * MS,
  },
];

interface End {
  readonly ram: string;
  readonly nowNs: number;
  readonly instructions: number;
  readonly events: string;
  readonly count: number;
  readonly worked: boolean;
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
    const [count, worked] = [world.events, world.console.includes('disk good 1')];
    return { ram, devices, nowNs, instructions, events, count, worked };
  } finally {
    await machine.close();
  }
}

describe('the plugin and the patched QEMU', () => {
  it.each(SHAPES)(
    'run $name to equal memory, time, instructions and events',
    async ({ changes, untilNs, acrossReleasesNs }) => {
      const [plugin, patched] = [await testBackend(), patchedBackend()];
      const alike = plugin.version === patched.version;
      const endNs = alike ? untilNs : acrossReleasesNs;
      const first = await endOn(plugin, changes, endNs);
      const second = await endOn(patched, changes, endNs);
      expect(first.worked).toBe(endNs === untilNs);
      expect(second).toEqual({ ...first, devices: alike ? first.devices : second.devices });
    },
  );
});
