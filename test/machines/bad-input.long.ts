import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testBackend } from '../support/machine-fixture.ts';
import { lineOf, MachineFolder } from './machine-folder.ts';

/** A machine that writes to its disk until there is no room, and then makes some. */
const FILLS = `main = """
dd if=/dev/zero of=/data/full bs=64k 2> /tmp/said
echo "dd says $(head -1 /tmp/said)"
rm /data/full
echo kept > /data/kept && sync && echo "there is room again"
"""

[machine]
memory = "96MiB"

[disk]
size = "8MiB"
`;

const world = (vm: string): string => `schema_version = 1
name = "m"

[guest.linux.machine]
vm = "${vm}"
command_line = "cryptomgr.notests"

[[node]]
name = "n1"
guest = "linux"
`;

describe('a machine of a scenario', { timeout: 900_000 }, () => {
  const folder = new MachineFolder();
  const write = (name: string, text: string): void => {
    writeFileSync(join(folder.path, name), text);
  };
  beforeAll(async () => {
    await testBackend();
    write('fills.vm.toml', FILLS);
    write('missing.vm.toml', 'packages = ["no-such-package"]\nmain = "true"\n');
  }, 300_000);
  afterAll(() => {
    folder.remove();
  });

  it('that fills its disk is told so, and goes on', async () => {
    write('fills.toml', world('fills.vm.toml'));
    const run = await folder.sim('run', 'fills.toml', '--seed', '1', '--full', '--thin');
    expect([run.exitCode, run.errors]).toEqual([0, '']);
    expect(lineOf(run, 'n1', /^dd says .*: No space left on device$/)).not.toBe(null);
    expect(lineOf(run, 'n1', /^there is room again$/)).not.toBe(null);
    expect(run.records.at(-1)).toMatchObject({ verdict: 'pass' });
  });

  const refused = async (vm: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
    write('refused.toml', world(vm));
    const run = await folder.sim('run', 'refused.toml', '--seed', '1');
    expect([run.exitCode, run.records]).toEqual([5, []]);
    const lines = run.errors.split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  };
  const PLACE = 'refused.toml:5:1: guest.linux.machine.vm';

  it('of a name that nothing has is refused once, with the names that there are', async () => {
    expect(await refused('mysql')).toMatchObject([
      {
        code: 'input/missing',
        place: PLACE,
        message: expect.stringContaining('"mysql" is no file and no built-in machine') as string,
        remedy: expect.stringContaining('postgres') as string,
      },
    ]);
  });

  it('whose package is missing is refused once, with the package and what to do', async () => {
    expect(await refused('missing.vm.toml')).toMatchObject([
      {
        code: 'input/package-missing',
        place: PLACE,
        message: expect.stringContaining('"no-such-package"') as string,
        remedy: expect.stringContaining('--update') as string,
      },
    ]);
  });
});
