import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { patchedBackend, testBackend, testImage } from '../support/machine-fixture.ts';
import { MachineFolder } from './machine-folder.ts';

const folder = new MachineFolder();

afterAll(() => {
  folder.remove();
});

describe('a world with a machine, on the plugin and on the patched QEMU', () => {
  it('leaves the same bundle but for what it says of the backend, and repeats on its own', async () => {
    const { kernel, initrd } = testImage();
    copyFileSync(kernel, join(folder.path, 'kernel'));
    copyFileSync(initrd, join(folder.path, 'initrd'));
    writeFileSync(join(folder.path, 'scenario.toml'), SCENARIO);
    await testBackend();
    for (const backend of ['plugin', 'patched']) {
      const out = ['--seed', '7', '--out', `${backend}.athanor`, '--backend', backend];
      const { exitCode, errors } = await folder.sim('run', 'scenario.toml', ...out);
      expect([backend, exitCode, errors]).toEqual([backend, 0, '']);
    }
    const alike = (await testBackend()).version === patchedBackend().version;
    const plugin = folder.manifest('plugin.athanor', alike);
    expect(plugin['machines']).toBe('plugin');
    expect(folder.manifest('patched.athanor', alike)).toEqual({ ...plugin, machines: 'patched' });
    expect((await folder.sim('replay', 'patched.athanor')).exitCode).toBe(0);
    const other = await folder.sim('replay', 'patched.athanor', '--backend', 'plugin');
    expect(other.exitCode).toBe(4);
  });
});

const SCENARIO = `
schema_version = 1
name = "backends"
until = "virtual-time"
limits = { virtual_time = "2s" }

[guest.linux.machine]
kernel = "kernel"
initrd = "initrd"
command_line = "console=ttyS0 quiet panic=-1 reboot=t rdinit=/init work"
disks = [{ size = "1mib" }]

[[node]]
name = "vm"
guest = "linux"
`;
