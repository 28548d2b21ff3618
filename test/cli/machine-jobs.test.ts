import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { sharedMachines } from '../../cli/machines/machine-backend.ts';
import { helloToml, SimFolder } from './sim.ts';

describe('CR-120: how many machines run at once', () => {
  it('is no part of a bundle, and within 1 to 256', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 7 }));
    const run = (...args: readonly string[]) => folder.sim(['run', 'hello.toml', ...args]);
    const plain = await run('--out', 'a.athanor');
    const told = await run('--out', 'b.athanor', '--machine-jobs', '3');
    expect([plain.exitCode, told.exitCode]).toEqual([0, 0]);
    expect(folder.read('b.athanor').equals(folder.read('a.athanor'))).toBe(true);
    for (const jobs of ['0', '257']) {
      const refused = await run('--machine-jobs', jobs);
      expect(refused.exitCode).toBe(64);
      expect(refused.stderr).toContain(`--machine-jobs is ${jobs}, expected 1 to 256`);
    }
  });

  it('is a share of the cores where several worlds run at once, unless somebody says', () => {
    const cores = availableParallelism();
    expect(sharedMachines(undefined, 4)).toBe(undefined);
    expect(sharedMachines({}, 1)).toEqual({});
    expect(sharedMachines({}, 1_000)).toEqual({ atOnce: 1 });
    expect(sharedMachines({}, cores)).toEqual({ atOnce: cores === 1 ? undefined : 1 });
    expect(sharedMachines({ atOnce: 3 }, 1_000)).toEqual({ atOnce: 3 });
  });
});
