import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { testBackend, testImage } from '../support/machine-fixture.ts';
import { MachineFolder, type SimRecord } from './machine-folder.ts';

const folder = new MachineFolder();

afterAll(() => {
  folder.remove();
});

const SCENARIO = `
schema_version = 1
name = "parting"
until = "virtual-time"
limits = { virtual_time = "3s" }

[guest.linux.machine]
kernel = "kernel"
initrd = "initrd"
command_line = "console=ttyS0 quiet panic=-1 reboot=t rdinit=/init work"
disks = [{ size = "1mib" }]

[[node]]
name = "vm"
guest = "linux"
`;

const FLIP_NS = 2_345_678_901;
const ADDRESS = 0x6400_000;
const FLIP = `
[[event]]
name = "ray"
at = "${FLIP_NS}ns"
do = "flip"
node = "vm"
target = "memory"
address = ${ADDRESS}
`;

async function bisect(left: string, right: string): Promise<SimRecord | undefined> {
  const { exitCode, records, errors } = await folder.sim('bisect', left, right);
  expect([exitCode, errors.includes('"type":"error"')]).toEqual([1, false]);
  return records.find(({ type }) => type === 'machine-difference');
}

describe('CR-28: two runs of a machine', { timeout: 300_000 }, () => {
  it('part at the instruction before which a bit of memory flips, and nowhere else', async () => {
    const { kernel, initrd } = testImage();
    await testBackend();
    copyFileSync(kernel, join(folder.path, 'kernel'));
    copyFileSync(initrd, join(folder.path, 'initrd'));
    writeFileSync(join(folder.path, 'calm.toml'), SCENARIO);
    writeFileSync(join(folder.path, 'ray.toml'), SCENARIO + FLIP);
    for (const [name, seed] of [
      ['calm', 1],
      ['ray', 1],
      ['calm', 2],
    ] as const) {
      const out = ['--seed', String(seed), '--out', `${name}-${seed}.athanor`];
      const { exitCode, errors } = await folder.sim('run', `${name}.toml`, ...out);
      // A flipped bit may well be the end of a kernel.
      expect([exitCode <= (name === 'ray' ? 1 : 0), errors]).toEqual([true, '']);
    }
    const found = await bisect('calm-1.athanor', 'ray-1.athanor');
    expect(found).toMatchObject({
      ...{ node: 'vm', life: 1, memory: true },
      ...{ inputs_left: [], inputs_right: ['flip-memory'] },
    });
    expect(found?.['pages']).toContain(`0x${ADDRESS.toString(16)}`);
    const [afterNs, byNs] = [Number(found?.['after_ns']), Number(found?.['by_ns'])];
    expect(byNs - afterNs).toBe(1);
    expect(afterNs).toBe(FLIP_NS);
    // The seed gives the machine its entropy: nothing is equal, from the start.
    const other = await bisect('calm-1.athanor', 'calm-2.athanor');
    expect(other).toMatchObject({ life: 1, after_ns: 0, by_ns: 0, instructions: 0 });
  });
});
