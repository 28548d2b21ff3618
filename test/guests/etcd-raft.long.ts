import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { Simulation } from '../../cli/simulation.ts';
import { buildEtcdRaft, ensureToolchains, FORGET_VOTE, loadGuest } from '../../guests/index.ts';
import { loadScenarioText, LocalFiles, type ScenarioFiles } from '../../scenarios/index.ts';
import { WasmEngine } from '../../wasm/index.ts';

const engine = new WasmEngine();

beforeAll(async () => {
  await ensureToolchains(['go', 'etcd']);
});

/** A scenario of `scenarios/etcd` whose nodes all run `module`: a run of it with a seed. */
function prepare(name: string, module: Uint8Array): (seed: number) => string {
  const path = `scenarios/etcd/${name}.toml`;
  const local = new LocalFiles('.');
  const files: ScenarioFiles = {
    read: () => module,
    builtinGuest: (guest) => local.builtinGuest(guest),
  };
  const loaded = loadScenarioText(readFileSync(path, 'utf8'), path, files);
  if (!loaded.ok) throw loaded.errors[0] as Error;
  const { def: scenario, images } = loaded.scenario;
  return (seed) => {
    const simulation = new Simulation({ scenario, images, engine, seed });
    simulation.runUntil({});
    const { verdict, signature } = simulation.finish();
    simulation.dispose();
    return `${seed} ${verdict} ${signature}`.trim();
  };
}

function seeds(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe("etcd's raft library, unchanged", () => {
  it.each([
    ['three', 100],
    ['five', 100],
  ])(
    '%s replicas stay linearizable over %i seeds of crashes, partitions and drift',
    async (...[name, count]) => {
      const run = prepare(name, await loadGuest('etcdraft'));
      expect(seeds(count).map(run)).toEqual(seeds(count).map((seed) => `${seed} pass`));
    },
  );

  it('keeps one leader a term where power is lost just after a vote', async () => {
    const run = prepare('votes', await loadGuest('etcdraft'));
    expect(seeds(8).map(run)).toEqual(seeds(8).map((seed) => `${seed} pass`));
  });

  it('refuses a change that does not fit the source', async () => {
    const change = { ...FORGET_VOTE, from: 'no such text' };
    await expect(buildEtcdRaft([change])).rejects.toThrow(
      expect.objectContaining({ code: 'input/source-change' }),
    );
  });
});

describe("a build of etcd's raft library that does not store its votes", () => {
  it('has two leaders in one term within 8 seeds', async () => {
    const run = prepare('votes', await loadGuest('etcdraft-forget-vote'));
    expect(seeds(8).map(run)).toContain('1 fail unique:one leader a term');
  });
});
