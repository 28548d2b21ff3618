import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { helloToml, SimFolder } from './sim.ts';

const folder = new SimFolder();

async function triage(...args: string[]) {
  const result = await folder.sim(['triage', ...args, '--format', 'jsonl']);
  const of = (type: string) => result.records().filter((record) => record['type'] === type);
  return { ...result, clusters: of('cluster'), minimized: of('minimized'), damaged: of('damaged') };
}

beforeAll(async () => {
  mkdirSync(join(folder.path, 'found'));
  const run = (code: number, name: string, ...more: string[]) => {
    folder.write('hello.toml', helloToml({ exitCode: code, seed: 1 }));
    return folder.sim(['run', 'hello.toml', '--out', join('found', name), ...more]);
  };
  await run(3, 'a.athanor');
  await run(3, 'b.athanor', '--seed', '2');
  await run(4, 'c.athanor');
  await run(0, 'd.athanor', '--max-virtual-time', '1ms');
});

describe('sim triage --minimize', () => {
  it('CR-36: shrinks the smallest bundle of each failure, the same at every run', async () => {
    const args = ['found', '--minimize', 'representative', '--report', 'page.md'];
    const first = await triage(...args);
    expect(first.exitCode).toBe(0);
    expect(first.clusters).toHaveLength(3);
    expect(first.minimized.map(({ status }) => status).sort()).toEqual([
      'not-applicable-timeout',
      'shrunk',
      'shrunk',
    ]);
    const shrunk = first.minimized.filter(({ status }) => status === 'shrunk');
    for (const { bundle, before, after } of shrunk) {
      expect([before, after]).toMatchObject([{ nodes: 2 }, { nodes: 1 }]);
      const again = await folder.sim(['replay', String(bundle), '--check', 'log']);
      expect(again.exitCode).toBe(0);
    }
    const bytes = shrunk.map(({ bundle }) => Buffer.from(folder.read(String(bundle))));
    const page = Buffer.from(folder.read('page.md'));
    expect(page.toString()).toContain('2 to 1 nodes');
    const second = await triage(...args);
    expect(second.stdout).toBe(first.stdout);
    expect(shrunk.map(({ bundle }) => Buffer.from(folder.read(String(bundle))))).toEqual(bytes);
    expect(Buffer.from(folder.read('page.md'))).toEqual(page);
  });

  it('CR-36: shrinks all bundles, each to one of its own, or none', async () => {
    const args = ['--minimize', 'all', '--out', 'small', '--budget', '3'];
    const { minimized } = await triage('found', ...args);
    const shrunk = minimized.filter(({ status }) => status === 'shrunk');
    expect(shrunk.map(({ parent }) => parent)).toEqual([
      join('found', 'a.athanor'),
      join('found', 'b.athanor'),
      join('found', 'c.athanor'),
    ]);
    expect(new Set(shrunk.map(({ bundle }) => bundle)).size).toBe(3);
    const none = await triage('found');
    expect(none.minimized).toEqual([]);
  });
});

describe('sim triage --recompute-signatures', () => {
  it('CR-36: repeats each run, and takes what comes of it', async () => {
    const recorded = await triage('found', '--policy', 'exact');
    const repeated = await triage('found', '--policy', 'exact', '--recompute-signatures');
    expect(repeated.clusters.length).toBeGreaterThan(2);
    expect(repeated.stdout).toBe(recorded.stdout);
  });

  it('CR-36: does not believe a list whose bundle is gone', async () => {
    const entry = { kind: 'fail', signature: 'x', count: 2, seed: 1, bundle: 'gone.athanor' };
    const ledger = { schema_version: 1, type: 'findings', findings: [entry] };
    folder.write('found.json', JSON.stringify(ledger));
    expect((await triage('found.json')).clusters).toHaveLength(1);
    const { clusters, damaged, exitCode } = await triage('found.json', '--recompute-signatures');
    expect([clusters.length, exitCode]).toEqual([0, 5]);
    expect(damaged).toMatchObject([{ path: 'gone.athanor' }]);
  });
});
