import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { ProbePool } from '../../cli/probe-pool.ts';
import type { Probe } from '../../cli/probe.ts';
import { Simulation } from '../../cli/simulation.ts';
import { builtinScenarioText, loadScenarioBytes, LocalFiles } from '../../scenarios/index.ts';
import { WasmEngine } from '../../wasm/index.ts';

function campaign() {
  const bytes = Buffer.from(builtinScenarioText('fault-campaign') ?? '');
  const loaded = loadScenarioBytes(bytes, 'fault-campaign', new LocalFiles('.'));
  if (!loaded.ok) throw new Error('a built-in scenario compiles');
  const { def, images } = loaded.scenario;
  return { scenario: { ...def, seed: 2 }, images };
}

const pools: ProbePool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

/** Worker threads run what was built, so the pool is the built one too. */
async function makePool(jobs: number): Promise<ProbePool> {
  const url = pathToFileURL(join(process.cwd(), 'dist', 'cli', 'probe-pool.js')).href;
  const built = (await import(url)) as { readonly ProbePool: typeof ProbePool };
  const pool = new built.ProbePool({ jobs, engine: new WasmEngine() });
  pools.push(pool);
  return pool;
}

function probes(start: number, count: number): Probe[] {
  return Array.from({ length: count }, (_, seed) => {
    return { start, seed, answers: [], untilProperty: null };
  });
}

describe('the probe pool', () => {
  it('gives the same results in the same order, whatever the number of jobs', async () => {
    const { scenario, images } = campaign();
    const engine = new WasmEngine();
    const simulation = new Simulation({ scenario, seed: 2, images, engine });
    simulation.runUntil({ virtualNs: 400_000_000 });
    const checkpoint = simulation.capture();
    simulation.dispose();
    const all = await Promise.all(
      [1, 3].map(async (jobs) => {
        const pool = await makePool(jobs);
        const fresh = pool.addStart({ scenario, images, checkpoint: null });
        const middle = pool.addStart({ scenario, images, checkpoint });
        const results = await pool.run([...probes(fresh, 4), ...probes(middle, 4)]);
        expect(pool.probeCount).toBe(8);
        return results;
      }),
    );
    expect(all[1]).toEqual(all[0]);
    expect(new Set(all[0]?.map(({ eventCount }) => eventCount)).size).toBeGreaterThan(4);
  });

  it('finds the first that holds, whatever the number of jobs', async () => {
    const { scenario, images } = campaign();
    const found = await Promise.all(
      [1, 3].map(async (jobs) => {
        const pool = await makePool(jobs);
        const start = pool.addStart({ scenario, images, checkpoint: null });
        return pool.first(probes(start, 60), ({ verdict }) => verdict === 'fail');
      }),
    );
    expect(found[0]?.result.signature?.property).toBe('clients finish');
    expect(found[1]).toEqual(found[0]);
  });

  it('goes on with its workers when it is asked again', async () => {
    const { scenario, images } = campaign();
    const pool = await makePool(2);
    const start = pool.addStart({ scenario, images, checkpoint: null });
    const first = await pool.run(probes(start, 4));
    expect(await pool.run(probes(start, 4))).toEqual(first);
  });

  it('refuses a number of jobs that no machine has', async () => {
    await expect(makePool(0)).rejects.toThrow('--jobs is 0, expected 1 to 256');
  });
});
