import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openBundle, packBundle } from '../../cli/bundle.ts';
import type { Manifest } from '../../sim/index.ts';
import { SimFolder } from '../cli/sim.ts';
import { identityOfPretended, pretendSetUp } from '../support/pretend-setup.ts';

let cache = '';
const folder = new SimFolder();

/** The bundle of a run, as it would be had its machines run on `machines`. */
function withMachines(file: Buffer, machines: NonNullable<Manifest['machines']>): Uint8Array {
  const bundle = openBundle(file);
  const { scenario, images, sources, schedule, events, fingerprints, manifest } = bundle;
  return packBundle({
    ...{ scenario, images, sources, schedule, events, fingerprints },
    checkpoint: bundle.checkpoint(),
    plan: bundle.plan ?? '{}',
    trace: null,
    environment: '{}',
    manifest: { ...manifest, machines },
  });
}

beforeAll(async () => {
  await folder.sim(['run', 'hello', '--seed', '1', '--out', 'plain.athanor']);
  await folder.sim(['save', 'hello', '--seed', '1', '--at', 'quanta=1', '--out', 'save.athanor']);
  for (const name of ['plain', 'save']) {
    const machines = {
      backend: 'plugin',
      version: '10.0.2',
      identity: identityOfPretended('plugin'),
    } as const;
    folder.write(`${name}-vm.athanor`, withMachines(folder.read(`${name}.athanor`), machines));
  }
});

beforeEach(() => {
  if (cache !== '') rmSync(cache, { recursive: true, force: true });
  cache = mkdtempSync(join(tmpdir(), 'athanor-identity-'));
  mkdirSync(join(cache, 'machines'));
});

afterAll(() => {
  rmSync(cache, { recursive: true, force: true });
});

const sim = (...args: string[]): ReturnType<SimFolder['sim']> => {
  return folder.sim(args, { env: { ATHANOR_CACHE: cache } });
};

const USES: readonly (readonly string[])[] = [
  ['replay', 'plain-vm.athanor'],
  ['replay', 'plain-vm.athanor', '--to', 'quanta=1'],
  ['fork', 'plain-vm.athanor', '--at', 'quanta=1', '--seed', '3', '--out', 'fork.athanor'],
  ['resume', 'save-vm.athanor', '--out', 'resumed.athanor'],
];

describe.each(USES)('sim %s of a run with machines (CR-49, CR-111)', (...args) => {
  it('goes on with the very build that the bundle names', async () => {
    pretendSetUp(join(cache, 'machines'), 'plugin');
    pretendSetUp(join(cache, 'machines'), 'patched');
    expect((await sim(...args)).exitCode).toBe(0);
  });

  it('refuses another build, with what is expected, what is here and what to do', async () => {
    const other = identityOfPretended('patched');
    pretendSetUp(join(cache, 'machines'), 'plugin', { identity: other });
    const { exitCode, stderr } = await sim(...args);
    expect(exitCode).toBe(4);
    expect(stderr).toContain('error backend/identity');
    expect(stderr).toContain(identityOfPretended('plugin').slice(0, 16));
    expect(stderr).toContain(other.slice(0, 16));
    expect(stderr).toContain('sim vm setup --backend plugin');
    expect(stderr.match(/^error /gm)).toHaveLength(1);
  });

  it('KS-43: says how to set machines up where they are not, and passes nothing', async () => {
    pretendSetUp(join(cache, 'machines'), 'patched');
    const { exitCode, stderr } = await sim(...args);
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining('error backend/missing')]);
    expect(stderr).toContain('run `sim vm setup --backend plugin`');
  });

  it('refuses to be run on the backend that did not make it', async () => {
    pretendSetUp(join(cache, 'machines'), 'plugin');
    pretendSetUp(join(cache, 'machines'), 'patched');
    const { exitCode, stderr } = await sim(...args, '--backend', 'patched');
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining('leave --backend out')]);
  });
});

describe('a bundle of a run with machines', () => {
  it('can be looked at where no machine can run', async () => {
    const { exitCode, stdout } = await sim('inspect', 'plain-vm.athanor', 'manifest.cbor');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(identityOfPretended('plugin'));
  });

  it('does not tell its backend where no machine ran', () => {
    expect(openBundle(folder.read('plain.athanor')).manifest).not.toHaveProperty('machines');
  });
});

describe('a scenario with machines', () => {
  it('FB-68: is refused on the stock backend, with the level that it keeps and why', async () => {
    folder.write('kernel', 'no kernel');
    folder.write('vm.toml', SCENARIO);
    for (const command of [['run'], ['save', '--at', 'quanta=1'], ['search']]) {
      const [name = '', ...rest] = command;
      const result = await sim(name, 'vm.toml', ...rest, '--backend', 'stock');
      expect([command, result.exitCode]).toEqual([command, 4]);
      expect(result.stderr).toContain('error backend/stock');
      expect(result.stderr).toContain('level L5');
      expect(result.stderr).toContain('a machine cannot be stopped at an exact time');
    }
  });

  it('says how to set machines up where they are not, before it runs', async () => {
    const { exitCode, stderr } = await sim('run', 'vm.toml', '--backend', 'patched');
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining('--backend patched')]);
  });
});

const SCENARIO = `
schema_version = 1
name = "vm"
until = "virtual-time"
limits = { virtual_time = "1s" }

[guest.linux.machine]
kernel = "kernel"
command_line = "quiet"

[[node]]
name = "vm"
guest = "linux"
`;
