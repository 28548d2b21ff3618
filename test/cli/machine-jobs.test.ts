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

describe('sim test and what runs machines', () => {
  const SPEC = (guest: string): string => `import { service, test } from 'athanor/spec';
service('vm', { ${guest} });
test('stands', async () => {});
`;
  const folder = new SimFolder();
  folder.write('machine.sim.ts', SPEC("guest: { machine: { kernel: 'kernel' } }"));
  folder.write('body.sim.ts', SPEC('body: async () => {}'));
  const run = (name: string, ...more: readonly string[]) => {
    return folder.sim(['test', `${name}.sim.ts`, '--seed', '1', '--no-types', ...more]);
  };

  it('refuses the stock backend by name where a service is a machine, and only there', async () => {
    const refused = await run('machine', '--backend', 'stock');
    expect([refused.exitCode, refused.stdout.includes('leaves to run')]).toEqual([4, false]);
    expect(refused.stderr).toContain('backend/stock');
    expect((await run('body', '--backend', 'stock')).exitCode).toBe(0);
  });

  it('lets 1 to 256 machines run at once, whatever the services are', async () => {
    for (const name of ['machine', 'body']) {
      const refused = await run(name, '--machine-jobs', '257');
      expect(refused.exitCode).toBe(64);
      expect(refused.stderr).toContain('--machine-jobs is 257, expected 1 to 256');
    }
    expect((await run('body', '--machine-jobs', '2')).exitCode).toBe(0);
  });
});
