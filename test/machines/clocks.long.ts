import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { smallImage } from '../../bench/machine-image.ts';
import { machineCache, testBackend } from '../support/machine-fixture.ts';
import { MachineFolder, type Ended } from './machine-folder.ts';

const folder = new MachineFolder();

afterAll(() => {
  folder.remove();
});

const SCENARIO = `
schema_version = 1
name = "clocks"
until = "virtual-time"
limits = { virtual_time = "8s" }

[guest.linux.machine]
kernel = "kernel"
initrd = "initrd"
command_line = "console=ttyS0 quiet panic=-1 reboot=t rdinit=/init"

[[node]]
name = "vm"
guest = "linux"
clock = { offset = "-30s" }

[[event]]
name = "leap"
at = "3s"
do = "clock"
node = "vm"
jump = "3600s"

[[event]]
name = "outage"
at = "4s"
do = "crash"
node = "vm"
for = "1s"
`;

/** The first and the last time of day that Linux told, in seconds since the world's start. */
function wallSeconds({ records }: Ended): readonly (number | undefined)[] {
  const epoch = Date.parse('2026-01-01T00:00:00Z');
  const seen = records.flatMap((each) => {
    const found = /wall (\d+)/.exec(String(each['text']))?.[1];
    return found === undefined ? [] : [Math.round((Number(found) - epoch) / 1_000)];
  });
  return [seen[0], seen.at(-1)];
}

describe('CR-91: the clock of a machine is set from outside', { timeout: 240_000 }, () => {
  it('Linux boots with the time of its calendar chip, and the run repeats', async () => {
    const source = new URL('../support/machine-clocks.c', import.meta.url).pathname;
    const { kernel, initrd } = smallImage(machineCache, source);
    await testBackend();
    copyFileSync(kernel, join(folder.path, 'kernel'));
    copyFileSync(initrd, join(folder.path, 'initrd'));
    writeFileSync(join(folder.path, 'clocks.toml'), SCENARIO);
    const ran = await folder.sim('run', 'clocks.toml', '--full', '--out', 'a.athanor');
    expect([ran.exitCode, ran.errors]).toEqual([0, '']);
    const [first = 0, last = 0] = wallSeconds(ran);
    // It tells the time from about 1.5 s after its power is there.
    expect(Math.abs(first - (1.5 - 30))).toBeLessThan(2);
    expect(Math.abs(last - (8 - 30 + 3_600))).toBeLessThan(2);
    const replayed = await folder.sim('replay', 'a.athanor');
    expect([replayed.exitCode, replayed.errors]).toEqual([0, '']);
  });
});
