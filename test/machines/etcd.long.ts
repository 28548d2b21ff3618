import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { patchedBackend, testBackend } from '../support/machine-fixture.ts';
import { lineOf, MachineFolder, verdictOf, type Ended } from './machine-folder.ts';

const PROPERTIES = [
  'the registers are linearizable',
  'another leader is elected',
  'a clock jumps',
  'the clients are done',
];

describe("Debian's etcd on three machines", { timeout: 1_200_000 }, () => {
  const folder = new MachineFolder();
  beforeAll(async () => {
    await folder.image('etcd');
    folder.scenario('etcd-cluster', 'cluster');
  }, 600_000);
  afterAll(() => {
    folder.remove();
  });

  const run = (backend: string): Promise<Ended> => {
    const out = ['--thin', '--out', `${backend}.athanor`, '--backend', backend];
    return folder.sim('run', 'cluster.toml', '--seed', '1', '--full', ...out);
  };

  it('stays linearizable over a loss of power, a cut and clocks that jump, on either backend', async () => {
    // Side by side, each disturbs the other's pace.
    const [first, second] = await Promise.all([run('plugin'), run('patched')]);
    expect([first.exitCode, first.errors]).toEqual([0, '']);
    const verdicts = PROPERTIES.map((name) => [name, verdictOf(first, name)]);
    expect(verdicts).toEqual(PROPERTIES.map((name) => [name, 'pass']));
    for (const client of ['c1', 'c2']) {
      const [, count] = lineOf(first, client, /^done (\d+) operations/) ?? [];
      expect(Number(count)).toBe(40);
    }
    expect(second.exitCode, second.errors).toBe(0);
    const alike = (await testBackend()).version === patchedBackend().version;
    const plugin = folder.manifest('plugin.athanor', alike);
    expect(folder.manifest('patched.athanor', alike)).toEqual({ ...plugin, machines: 'patched' });
  });
});
