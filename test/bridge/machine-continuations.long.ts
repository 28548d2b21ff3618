import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ECHO_WORLD, MachineFolder } from '../support/machine-folder.ts';

/** The client is late where too many packets were lost; how long it may take is near the middle. */
const LATE = `${ECHO_WORLD}
[limits]
virtual_time = "2100ms"

[[property]]
name = "the client is in time"
kind = "eventually"
when = { after = "1500ms" }
that = { node_state = { nodes = ["client"], is = "exited" } }
within = "450ms"
`;

/** Processes of machines that a \`sim\` of these tests started and that live on. */
function machinesAlive(): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const text = readFileSync(`/proc/${name}/cmdline`, 'latin1');
      return text.includes('qemu-system') && text.includes('athanor.name=server');
    } catch {
      return false;
    }
  });
}

function hostFolders(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith('athanor-machines-'));
}

describe('a world with a machine that fails', () => {
  const folder = new MachineFolder();
  let before: readonly string[] = [];

  beforeAll(async () => {
    await folder.prepare();
    folder.write('late.toml', LATE);
    before = hostFolders();
    for (let seed = 1; seed <= 8; seed++) {
      const ended = await folder.sim('run', 'late.toml', '--seed', String(seed), '--out', 'late');
      if (ended.exitCode === 1) return;
    }
    throw new Error('no seed of eight makes the client late');
  });

  afterAll(() => {
    folder.dispose();
  });

  it('is bisected over time by forks of parked machines, alike for one job and for two', async () => {
    const bisect = async (jobs: string): Promise<unknown> => {
      const args = ['bisect', 'late', '--budget', '24', '--jobs', jobs];
      const { exitCode, errors, records } = await folder.sim(...args);
      expect([exitCode, errors]).toEqual([0, '']);
      return records;
    };
    expect(await bisect('2')).toEqual(await bisect('1'));
  });

  it('is shrunk, and the small scenario fails in the same way', async () => {
    const args = ['shrink', 'late', '--budget', '6', '--out', 'small'];
    const { exitCode, errors, records } = await folder.sim(...args);
    expect([exitCode, errors]).toEqual([0, '']);
    expect(records.at(-1)).toMatchObject({});
    const replayed = await folder.sim('replay', 'small');
    expect(replayed.records.at(-1)).toMatchObject({ validation: 'passed' });
  });

  it('leaves no process and no file behind', () => {
    expect(machinesAlive()).toEqual([]);
    expect(hostFolders()).toEqual(before);
  });
});
