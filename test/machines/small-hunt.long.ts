import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { smallImage } from '../../bench/machine-image.ts';
import { openBundle } from '../../cli/bundle.ts';
import { machineCache, testBackend } from '../support/machine-fixture.ts';
import { MachineFolder, type SimRecord } from './machine-folder.ts';

/** Three faults may come; the program bears two of them. */
const WORLD = `schema_version = 1
name = "a ledger"
until = "virtual-time"
limits = { virtual_time = "2s" }

[guest.ledger.machine]
kernel = "kernel"
initrd = "initrd"
command_line = "console=ttyS0 quiet panic=-1 reboot=t rdinit=/init"
disks = [{ size = "1mib" }]
ready = "bell"

[[node]]
name = "vm"
guest = "ledger"

[[event]]
name = "it stands still"
at = "1750ms"
within = "50ms"
chance = "50%"
do = "pause"
node = "vm"
for = "30ms"

[[event]]
name = "its disk is slow"
at = "1750ms"
within = "50ms"
chance = "50%"
do = "disk"
nodes = ["vm"]
read_latency = "3ms"
for = "30ms"

[[event]]
name = "its disk fails"
at = "1750ms"
within = "50ms"
chance = "30%"
do = "disk"
nodes = ["vm"]
write_error = "40%"
for = "40ms"

[[property]]
name = "no entry is lost"
kind = "never"
console = "*entry is lost*"
`;

describe('a defect in a machine that begins where it is ready', { timeout: 180_000 }, () => {
  const folder = new MachineFolder();
  const bytes = (name: string): Buffer => readFileSync(join(folder.path, name));
  const ofType = (records: readonly SimRecord[], type: string): readonly SimRecord[] => {
    return records.filter((each) => each['type'] === type);
  };

  beforeAll(async () => {
    await testBackend();
    const source = new URL('../support/machine-ledger.c', import.meta.url).pathname;
    const { kernel, initrd } = smallImage(machineCache, source);
    copyFileSync(kernel, join(folder.path, 'kernel'));
    copyFileSync(initrd, join(folder.path, 'initrd'));
    writeFileSync(join(folder.path, 'ledger.toml'), WORLD);
  }, 180_000);

  afterAll(() => {
    folder.remove();
  });

  it('is found by a search, shrunk to the one fault that shows it, and replayed', async () => {
    const search = ['search', 'ledger.toml', '--seed', '1', '--max-states', '24', '--jobs', '2'];
    const found = await folder.sim(...search);
    expect([found.exitCode, found.errors]).toEqual([1, '']);
    const [finding] = ofType(found.records, 'finding');
    expect(finding).toMatchObject({ kind: 'fail', count: 1 });
    const bundle = String(finding?.['bundle']);

    const shrink = ['shrink', bundle, '--budget', '40', '--jobs', '2', '--out', 'small'];
    const shrunk = await folder.sim(...shrink);
    expect([shrunk.exitCode, shrunk.errors]).toEqual([0, '']);
    expect(ofType(shrunk.records, 'result')).toMatchObject([{ status: 'shrunk' }]);
    const { scenario, manifest } = openBundle(bytes('small'));
    const faults = scenario.plan.events.map(({ name, action }) => [name, action.kind]);
    expect(faults).toEqual([['its disk fails', 'disk']]);
    expect(manifest.machines?.ready?.map(({ node }) => node)).toEqual(['vm']);

    for (const name of [bundle, 'small']) {
      const { exitCode, errors, records } = await folder.sim('replay', name);
      expect([exitCode, errors]).toEqual([0, '']);
      const passed = { validation: 'passed', reproduced_status: 'fail' };
      expect(records.at(-1)).toMatchObject(passed);
    }
  });
});
