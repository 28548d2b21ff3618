import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Machine } from '../../bridge/index.ts';
import type { MachineOptions } from '../../bridge/index.ts';
import { TestWorld, testOptions } from '../support/machine-fixture.ts';

const MS = 1_000_000;
/** All CPUs are up, and the kernel's drivers begin. */
const UP_NS = 2_000 * MS;
const LATER_NS = UP_NS + 200 * MS;

describe.each(['microvm', 'q35'] as const)('%s with four CPUs and 4 GiB', (machine) => {
  const folder = mkdtempSync(join(tmpdir(), 'athanor-largest-'));
  const open: TestWorld[] = [];
  let options: MachineOptions;

  const keep = (world: TestWorld): TestWorld => {
    open.push(world);
    return world;
  };

  beforeAll(async () => {
    const commandLine = 'console=ttyS0 panic=-1 reboot=t rdinit=/init work';
    options = await testOptions({ machine, cpus: 4, memoryMiB: 4096, shift: 2, commandLine });
  });

  afterAll(async () => {
    await Promise.all(open.map((world) => world.machine.close()));
    rmSync(folder, { recursive: true });
  });

  it('boots all of them, and is the same split, forked, saved and restored (CR-111)', async () => {
    const whole = keep(new TestWorld(await Machine.start(options)));
    await whole.run(UP_NS);
    expect(whole.console).toMatch(/Brought up 1 node, 4 CPUs/);
    const split = keep(new TestWorld(await Machine.start(options)));
    await split.run(UP_NS, () => 3 * MS);
    expect(await split.summary()).toEqual(await whole.summary());

    const fork = keep(await whole.fork());
    await whole.machine.save(folder);
    const restored = keep(new TestWorld(await Machine.restore(options, folder), whole));
    const ends: string[] = [];
    for (const world of [whole, fork, restored]) {
      await world.run(LATER_NS, () => 7 * MS);
      ends.push(JSON.stringify(await world.summary()));
    }
    expect(new Set(ends).size).toBe(1);
  });
});
