import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PACKAGED_QEMU, QmpClient } from '../../bridge/index.ts';
import { patchedBackend, testImage } from '../support/machine-fixture.ts';
import { startStockQemu } from '../support/stock-qemu.ts';

/** Our devices, and what Debian leaves out: an accelerator that serves QEMU's own tests. */
const ADDED = ['qtest-accel', 'sim-control', 'virtio-blk-sim', 'virtio-blk-sim-pci'];

const firmware = (): string[] => patchedBackend().firmwareFolders.flatMap((each) => ['-L', each]);

/** What a monitor of a QEMU without a machine says. */
async function monitorOf(binary: string): Promise<{ commands: string[]; types: string[] }> {
  const qemu = await startStockQemu(['-M', 'none', '-S'], () => undefined, binary);
  const client = await QmpClient.connect(qemu.monitor);
  try {
    const commands = await client.execute('query-commands', {});
    const types = await client.execute('qom-list-types', {});
    const names = (list: readonly { readonly name: string }[]): string[] => {
      return list.map(({ name }) => name).sort();
    };
    return { commands: names(commands), types: names(types) };
  } finally {
    client.close();
    await qemu.dispose();
  }
}

/** The console of a Debian kernel that boots, with its time stamps, and how QEMU ended. */
async function bootOn(binary: string): Promise<string> {
  const { kernel, initrd } = testImage();
  const flags = '-M microvm,rtc=on -accel tcg,thread=single -cpu qemu64,+rdrand,+rdseed -m 128';
  const qemu = await startStockQemu(
    [
      ...firmware(),
      ...`${flags} -bios qboot.rom -no-reboot -seed 42 -serial file:console`.split(' '),
      ...['-rtc', 'base=2024-01-01T00:00:00,clock=vm', '-icount', 'shift=0,sleep=off'],
      ...['-kernel', kernel, '-initrd', initrd],
      ...['-append', 'console=ttyS0 panic=-1 reboot=t nolapic_timer rdinit=/init off'],
    ],
    () => undefined,
    binary,
  );
  try {
    expect(await qemu.ended).toBe(0);
    return readFileSync(join(qemu.folder, 'console'), 'latin1');
  } finally {
    await qemu.dispose();
  }
}

describe('the patched QEMU without a simulation (CR-116)', () => {
  it('has no command and no type that Debian has not, but for our devices', async () => {
    const upstream = await monitorOf(PACKAGED_QEMU);
    const patched = await monitorOf(patchedBackend().binary);
    const added = (key: 'commands' | 'types'): string[] => {
      return patched[key].filter((name) => !upstream[key].includes(name));
    };
    expect(added('commands')).toEqual([]);
    expect(added('types')).toEqual(ADDED);
  });

  it('executes a boot instruction for instruction as upstream does', async () => {
    const patched = await bootOn(patchedBackend().binary);
    expect(patched).toMatch(/\[ +\d\.\d{6}\] Run \/init/);
    expect(patched).toBe(await bootOn(PACKAGED_QEMU));
  });
});
