import { mkdtempSync, rmSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Machine, QmpClient, type MachineOptions } from '../../bridge/index.ts';
import { testOptions } from '../support/machine-fixture.ts';

/** Sources of entropy that a machine could only have by a device, and how such devices are called. */
const FOREIGN: Readonly<Record<string, RegExp>> = {
  'virtio-rng': /rng/,
  '9p and other shared folders': /9p|vhost|virtiofs/,
  'keyboards, mice and tablets that somebody could use':
    /usb|virtio-(keyboard|mouse|tablet|input)|serial-(pci|mouse)/,
  'places to plug something in': /root-port|pcie-pci-bridge|pci-bridge|pc-dimm|nvdimm|virtio-mem/,
  'memory that the host takes back': /balloon/,
  'sound, graphics and passthrough': /audio|hda|vga|qxl|vfio|tpm/,
};

const folder = mkdtempSync(join(tmpdir(), 'athanor-parts-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The devices of a machine, as its monitor lists them; QEMU is asked for a monitor, and for `more`. */
async function partsOf(changes: Partial<MachineOptions>, more = ''): Promise<readonly string[]> {
  const options = await testOptions(changes);
  const [monitor, binary] = [join(folder, 'monitor'), join(folder, 'qemu')];
  const real = options.backend.binary;
  writeFileSync(
    binary,
    `#!/bin/sh\nexec ${real} "$@" -qmp unix:${monitor},server=on,wait=off ${more}\n`,
  );
  chmodSync(binary, 0o755);
  const machine = await Machine.start({ ...options, backend: { ...options.backend, binary } });
  try {
    const client = await QmpClient.connect(monitor);
    try {
      const words = { 'command-line': 'info qtree' };
      const tree = await client.execute('human-monitor-command', words);
      return [...tree.matchAll(/dev: ([\w-]+)/g)].map(([, name = '']) => name).sort();
    } finally {
      client.close();
    }
  } finally {
    await machine.close();
  }
}

function foreignOf(parts: readonly string[]): readonly string[] {
  return Object.entries(FOREIGN)
    .filter(([, pattern]) => parts.some((part) => pattern.test(part)))
    .map(([name]) => name);
}

describe.each(['microvm', 'q35'] as const)('a machine of the kind %s', (machine) => {
  it('has no device that would bring in the host (CR-115)', async () => {
    const parts = await partsOf({ machine });
    expect(parts.filter((part) => part.startsWith('virtio-blk-sim')).length).toBeGreaterThan(0);
    expect(foreignOf(parts)).toEqual([]);
  });

  it('shows one that is put there', async () => {
    const name = machine === 'q35' ? 'virtio-rng-pci' : 'virtio-rng-device';
    expect(foreignOf(await partsOf({ machine }, `-device ${name}`))).toEqual(['virtio-rng']);
  });
});
