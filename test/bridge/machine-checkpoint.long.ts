import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Machine } from '../../bridge/index.ts';
import type { MachineOptions } from '../../bridge/index.ts';
import { TestWorld, testOptions } from '../support/machine-fixture.ts';

const MS = 1_000_000;

const SHAPES = [
  { name: 'a microvm', changes: {}, bootNs: 1_700 * MS },
  {
    name: 'a q35 with two CPUs',
    changes: { machine: 'q35', cpus: 2, shift: 2 },
    bootNs: 6_500 * MS,
  },
] as const;

describe.each(SHAPES)('a checkpoint of $name', ({ changes, bootNs }) => {
  let options: MachineOptions;
  let world: TestWorld;
  const folder = mkdtempSync(join(tmpdir(), 'athanor-checkpoint-'));

  beforeAll(async () => {
    options = await testOptions(changes);
    world = new TestWorld(await Machine.start(options));
    await world.run(bootNs);
  });

  afterAll(async () => {
    await world.machine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('goes on in a new process as the machine itself does, with I/O in flight', async () => {
    // The world answers each request at once with a completion that is still to come.
    await world.runToRequest(bootNs + 200 * MS);
    const before = await world.machine.hash();
    await world.machine.save(folder);
    expect(await world.machine.hash()).toEqual(before);
    const restored = new TestWorld(await Machine.restore(options, folder), world);
    expect(restored.machine.nowNs).toBe(world.machine.nowNs);
    expect(await restored.machine.hash()).toEqual(before);
    const end = world.machine.nowNs + 60 * MS;
    await world.run(end);
    await restored.run(end, () => 777_777);
    expect(await restored.summary()).toEqual(await world.summary());
    await restored.machine.close();
  });

  it('refuses a folder that holds one, and options of another machine, in one clear error', async () => {
    await expect(world.machine.save(folder)).rejects.toMatchObject({ code: 'backend/refused' });
    const other = { ...options, memoryMiB: options.memoryMiB * 2 };
    await expect(Machine.restore(other, folder)).rejects.toMatchObject({
      code: expect.stringMatching(/^backend\//) as string,
    });
  });
});
