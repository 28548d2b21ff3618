import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { patchedBackend, testBackend, testImage } from '../support/machine-fixture.ts';
import { MachineFolder } from './machine-folder.ts';

/** Its only leaf fails, so that it leaves a bundle. */
const SPEC = `import { assert, service, sleep, test } from 'athanor/spec';
const vm = service('vm', {
  guest: { machine: { kernel: 'kernel', initrd: 'initrd', command_line: 'console=ttyS0 quiet rdinit=/init idle' } },
});
test('stands', async () => {
  await sleep(20);
  assert(false, 'it is over');
});
`;

describe('a suite with a machine', { timeout: 120_000 }, () => {
  const folder = new MachineFolder();
  beforeAll(async () => {
    await testBackend();
    patchedBackend();
    const { kernel, initrd } = testImage();
    copyFileSync(kernel, join(folder.path, 'kernel'));
    copyFileSync(initrd, join(folder.path, 'initrd'));
    writeFileSync(join(folder.path, 's.sim.ts'), SPEC);
  }, 120_000);
  afterAll(() => {
    folder.remove();
  });

  it.each([
    ['plugin', []],
    ['patched', ['--machine-jobs', '1', '--jobs', '2']],
  ] as const)(
    'runs its leaves on the backend %s, with %j, and replays them',
    async (backend, more) => {
      const args = ['test', 's.sim.ts', '--seed', '1', '--backend', backend, ...more];
      const { exitCode, errors, records } = await folder.sim(...args);
      expect([exitCode, errors]).toEqual([1, '']);
      const [leaf] = records.filter(({ type }) => type === 'leaf');
      expect(leaf).toMatchObject({ outcome: 'fail' });
      const bundle = String(leaf?.['bundle']);
      const { manifest } = openBundle(readFileSync(join(folder.path, bundle)));
      expect(manifest.machines?.backend).toBe(backend);
      const replayed = await folder.sim('replay', bundle, '--leaf', '0');
      expect([replayed.exitCode, replayed.errors]).toEqual([1, '']);
    },
  );
});
