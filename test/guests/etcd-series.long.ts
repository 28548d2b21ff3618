import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { buildEtcdRaft, ensureToolchains } from '../../guests/index.ts';
import { SimFolder } from '../cli/sim.ts';
import { ETCD_SERIES, ETCD_SERIES_FIRST_BAD } from '../support/etcd-series.ts';

const SCENARIO = 'scenarios/etcd/votes-narrow.toml';
const JSONL = ['--jobs', '1', '--format', 'jsonl'];
const folder = new SimFolder();

/** A folder of eight builds, and the scenario over the last of them. */
beforeAll(async () => {
  await ensureToolchains(['go', 'etcd']);
  mkdirSync(join(folder.path, 'builds'));
  for (const [index, changes] of ETCD_SERIES.entries()) {
    folder.write(join('builds', `build-${index}.wasm`), await buildEtcdRaft(changes));
  }
  const last = `builds/build-${ETCD_SERIES.length - 1}.wasm`;
  const text = readFileSync(SCENARIO, 'utf8');
  folder.write('votes.toml', text.replaceAll(/wasm = ".*"/g, `wasm = "${last}"`));
});

afterAll(() => {
  rmSync(folder.path, { recursive: true });
});

describe("eight builds of etcd's raft library, of which the sixth begins to forget its votes", () => {
  it('are told apart by a failure that was found in the last of them, and shrunk', async () => {
    const found = await folder.sim(['run', 'votes.toml', '--seed', '1', '--runs', '4', ...JSONL]);
    const group = found.records().find(({ type }) => type === 'group');
    expect(group).toMatchObject({ verdict: 'fail', signature: 'unique:one leader a term' });
    const failing = String(group?.['bundle']);
    const args = ['shrink', failing, '--budget', '24', '--out', 'small.athanor', ...JSONL];
    const shrunk = (await folder.sim(args)).records().at(-1) as Record<string, number>;
    expect(shrunk).toMatchObject({ status: 'shrunk' });
    expect(shrunk['faults_removed_millionths']).toBeGreaterThan(0);
    expect(openBundle(folder.read('small.athanor')).manifest.outcome.verdict).toBe('fail');
    const series = ['--builds', 'builds', '--guest', 'replica', ...JSONL];
    const told = await folder.sim(['bisect', 'small.athanor', ...series]);
    expect([told.exitCode, told.stderr]).toEqual([0, '']);
    expect(told.records().at(-1)).toMatchObject({
      first_bad: `build-${ETCD_SERIES_FIRST_BAD}.wasm`,
      last_good: `build-${ETCD_SERIES_FIRST_BAD - 1}.wasm`,
      exact: true,
      confirmed: true,
    });
  });
});
