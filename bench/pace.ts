import { Session } from 'node:inspector';
import { Simulation } from '../cli/simulation.ts';
import { WasmEngine } from '../wasm/index.ts';
import type { Benchmark, Figure } from './harness.ts';
import { loadRaft } from './raft-scenario.ts';
import { threadTimeMs } from './thread-time.ts';

const WARM_UP_RUNS = 20;
const RUNS = 30;

/** How far virtual time is ahead of real time on one core, and where that time goes. */
export const paceBenchmark: Benchmark = {
  name: 'pace',
  measure(): readonly Figure[] {
    const { scenario, images } = loadRaft();
    const faultless = { ...scenario, plan: { ...scenario.plan, events: [] } };
    const engine = new WasmEngine();
    const run = (seed: number, of = scenario): number => {
      const simulation = new Simulation({ scenario: of, images, engine, seed });
      simulation.runUntil({});
      const { endNs } = simulation.finish();
      simulation.dispose();
      return endNs;
    };
    for (let seed = 0; seed < WARM_UP_RUNS; seed++) run(seed);
    const ratios = Array.from({ length: RUNS }, (_, seed) => {
      const startMs = threadTimeMs();
      const endNs = run(seed);
      return endNs / 1e6 / (threadTimeMs() - startMs);
    }).sort((a, b) => a - b);
    const modelShare = (shares: ReadonlyMap<string, number>): number =>
      100 * ((shares.get('sim/network') ?? 0) + (shares.get('sim/storage') ?? 0));
    for (let seed = 0; seed < WARM_UP_RUNS; seed++) run(seed, faultless);
    const calm = profileShares(() => {
      for (let seed = 0; seed < RUNS; seed++) run(seed, faultless);
    });
    const shares = profileShares(() => {
      for (let seed = 0; seed < RUNS; seed++) run(seed);
    });
    const note = `raft, ${RUNS} seeds, faults on`;
    return [
      {
        name: 'virtual time over time of one core',
        value: ratios[RUNS >> 1] as number,
        unit: 'x',
        bar: { kind: 'at-least', value: 1000 },
        note: `${note}, median`,
      },
      {
        name: 'network and storage models, of a run',
        value: modelShare(calm),
        unit: '%',
        bar: { kind: 'at-most', value: 15 },
        note: `raft, ${RUNS} seeds, no fault; samples of the profiler in their code`,
      },
      {
        name: 'network and storage models, faults on',
        value: modelShare(shares),
        unit: '%',
        bar: null,
        note: `${note}; the same samples`,
      },
      ...['wasm', 'sim/world', 'sim/kernel', 'sim/property'].map((area): Figure => {
        const value = 100 * (shares.get(area) ?? 0);
        return { name: `${area}, of a run`, value, unit: '%', bar: null, note: 'the same samples' };
      }),
    ];
  },
};

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { readonly url: string } }[];
  readonly samples?: readonly number[] | undefined;
}

/** The share of the profiler's samples in the code of each folder; WebAssembly counts as `wasm`. */
function profileShares(job: () => void): ReadonlyMap<string, number> {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 200 });
  session.post('Profiler.start');
  job();
  let profile: Profile = { nodes: [] };
  session.post('Profiler.stop', (error, result) => {
    if (error === null) ({ profile } = result);
  });
  session.disconnect();
  const areas = new Map(profile.nodes.map(({ id, callFrame }) => [id, areaOf(callFrame.url)]));
  const samples = profile.samples ?? [];
  const counts = new Map<string, number>();
  for (const id of samples) {
    const area = areas.get(id) ?? 'other';
    counts.set(area, (counts.get(area) ?? 0) + 1);
  }
  return new Map([...counts].map(([area, count]) => [area, count / samples.length]));
}

function areaOf(url: string): string {
  if (url.startsWith('wasm:') || url.includes('/dist/wasm/')) return 'wasm';
  return /\/dist\/(sim\/[a-z]+)\//.exec(url)?.[1] ?? 'other';
}
