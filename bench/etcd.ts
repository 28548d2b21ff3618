import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Simulation } from '../cli/simulation.ts';
import { hasEtcdRaft, loadGuest } from '../guests/index.ts';
import { loadScenarioText, LocalFiles, type ScenarioFiles } from '../scenarios/index.ts';
import { WasmEngine } from '../wasm/index.ts';
import type { Benchmark, Figure } from './harness.ts';
import { packagePath } from './paths.ts';
import { runSim } from './processes.ts';
import { threadTimeMs } from './thread-time.ts';

const SCENARIO = packagePath('scenarios/etcd/five.toml');
const WARM_UP_RUNS = 4;
const RUNS = 21;
const CAMPAIGN_RUNS = 60;

/** Five replicas over etcd's raft library and two clients, faults on. */
export const etcdBenchmark: Benchmark = {
  name: 'etcd',
  missing: () => (hasEtcdRaft() ? null : "Debian's golang-etcd-server-dev is not installed"),
  async measure(): Promise<readonly Figure[]> {
    const module = await loadGuest('etcdraft');
    return [pace(module), await throughput(module)];
  },
};

function pace(module: Uint8Array): Figure {
  const local = new LocalFiles('.');
  const files: ScenarioFiles = {
    read: () => module,
    builtinGuest: (guest) => local.builtinGuest(guest),
  };
  const loaded = loadScenarioText(readFileSync(SCENARIO, 'utf8'), 'five.toml', files);
  if (!loaded.ok) throw loaded.errors[0] as Error;
  const { def: scenario, images } = loaded.scenario;
  const engine = new WasmEngine();
  const ratios: number[] = [];
  for (let seed = 1; seed <= WARM_UP_RUNS + RUNS; seed++) {
    const startMs = threadTimeMs();
    const simulation = new Simulation({ scenario, images, engine, seed });
    simulation.runUntil({});
    const { endNs } = simulation.finish();
    simulation.dispose();
    if (seed > WARM_UP_RUNS) ratios.push(endNs / 1e6 / (threadTimeMs() - startMs));
  }
  ratios.sort((a, b) => a - b);
  return {
    name: 'virtual time over time of one core',
    value: ratios[RUNS >> 1] as number,
    unit: 'x',
    bar: { kind: 'at-least', value: 200 },
    note: `five replicas, faults on, ${RUNS} seeds, median`,
  };
}

/** What a campaign on two cores gets done, start and compilation included. */
async function throughput(module: Uint8Array): Promise<Figure> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-etcd-'));
  try {
    const path = join(folder, 'five.toml');
    const text = readFileSync(SCENARIO, 'utf8').replaceAll(/wasm = ".*"/g, 'wasm = "etcd.wasm"');
    writeFileSync(path, text);
    writeFileSync(join(folder, 'etcd.wasm'), module);
    const startMs = performance.now();
    await runSim(['run', path, '--runs', String(CAMPAIGN_RUNS), '--jobs', '2', '--quiet']);
    const hours = (performance.now() - startMs) / 3_600_000;
    return {
      name: 'seeds an hour, two jobs',
      value: CAMPAIGN_RUNS / hours,
      unit: '/h',
      bar: null,
      note: `${CAMPAIGN_RUNS} seeds, wall time`,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
