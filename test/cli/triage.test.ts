import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { SimFolder } from './sim.ts';

/** Nodes that end with a code that nobody wants. */
function toml(code: number, guest = 'builtin = "hello"', nodes = '"ada", "bob"'): string {
  return `
schema_version = 1
name = "hello"
[guest.hello]
${guest}
[[node]]
names = [${nodes}]
guest = "hello"
args = ["/", "${code}"]
[[property]]
name = "everybody finishes"
kind = "exit"
[[property]]
name = "nobody has arguments"
kind = "never"
console = "argument 1: *"
`;
}

const folder = new SimFolder();
let campaign = '';
let ledger = '';

async function triage(...args: string[]) {
  const result = await folder.sim(['triage', ...args, '--format', 'jsonl']);
  const records = result.records();
  const of = (type: string) => records.filter((record) => record['type'] === type);
  return {
    ...result,
    clusters: of('cluster'),
    damaged: of('damaged'),
    result: of('result')[0],
    of,
  };
}

/** Moves the bundles of the runs so far into a folder of their own. */
function collect(name: string): void {
  mkdirSync(join(folder.path, name));
  for (const bundle of folder.bundles()) {
    renameSync(join(folder.path, bundle), join(folder.path, name, basename(bundle)));
  }
}

beforeAll(async () => {
  const wasm = readFileSync('guests/built/hello.wasm');
  folder.write('hello.wasm', Buffer.concat([wasm, Buffer.from([0, 3, 1, 0x78, 0])]));
  folder.write('three.toml', toml(3));
  folder.write('other-build.toml', toml(3, 'wasm = "hello.wasm"'));
  folder.write('four.toml', toml(4, 'builtin = "hello"', '"ada", "bob", "cy"'));
  const run = (file: string, seed: string, ...more: string[]) => {
    return folder.sim(['run', file, '--seed', seed, '--format', 'jsonl', ...more]);
  };
  await run('three.toml', '7');
  await run('three.toml', '5');
  await run('other-build.toml', '9');
  await run('four.toml', '8');
  await run('three.toml', '6', '--max-virtual-time', '1ns');
  collect('bundles');
  campaign = (await run('three.toml', '1', '--runs', '3')).stdout;
  folder.write('campaign.jsonl', campaign);
  const search = ['search', 'three.toml', '--max-states', '4', '--on-violation', 'collect'];
  await folder.sim([...search, '--ledger', 'found.json', '--seed', '1']);
  ledger = folder.read('found.json').toString();
});

describe('sim triage', () => {
  it('CR-36, CR-37: groups a folder of bundles by failure, over builds and nodes, ranked', async () => {
    const { clusters, result, exitCode } = await triage('bundles');
    expect(exitCode).toBe(0);
    expect(
      clusters.map(({ rank, verdict, count, builds, first_seed: seed, signature }) => {
        return [rank, verdict, count, builds, seed, signature];
      }),
    ).toEqual([
      [1, 'fail', 4, 2, 5, 'nobody has arguments: never: "argument #: *"'],
      [2, 'inconclusive', 1, 1, 6, 'timeout: virtual-time'],
    ]);
    expect(result).toMatchObject({ findings: 5, clusters: 2, damaged: 0, passed: 0 });
  });

  it('CR-36: names the smallest bundle, when it failed and what repeats it', async () => {
    const { clusters } = await triage('bundles');
    const [first, timeout] = clusters;
    const sizes = (first?.['bundles'] as string[]).map((path) => folder.read(path).length);
    expect(first?.['bundle_bytes']).toBe(Math.min(...sizes));
    expect(first?.['at_ns']).toBeGreaterThan(0);
    expect(first?.['replay']).toBe(`sim replay ${String(first?.['bundle'])}`);
    const replayed = await folder.sim(String(first?.['replay']).split(' ').slice(1));
    expect(replayed.exitCode).toBe(0);
    expect(timeout?.['shrink']).toBe('not-applicable-timeout');
  });

  it('CR-36: policies tell more or fewer of them apart', async () => {
    const counts = async (policy: string): Promise<unknown[]> => {
      const { clusters } = await triage('bundles', '--policy', policy);
      return clusters.filter(({ verdict }) => verdict === 'fail').map(({ count }) => count);
    };
    expect(await counts('coarse')).toEqual([4]);
    expect(await counts('default')).toEqual([4]);
    // They end with other codes.
    expect(await counts('fine')).toEqual([3, 1]);
    // And one is of another build.
    expect(await counts('exact')).toEqual([2, 1, 1]);
  });

  it('CR-36: takes the records of a campaign and the ledger of a search, with their counts', async () => {
    for (const [file, count] of [
      ['campaign.jsonl', 3],
      ['found.json', 4],
    ] as const) {
      const { clusters, result } = await triage(file);
      expect(clusters).toHaveLength(1);
      expect(clusters[0]).toMatchObject({ count, first_seed: 1, scenario: 'hello' });
      expect(result).toMatchObject({ findings: count });
    }
  });

  it('CR-36: keeps what a list tells of a bundle that is gone', async () => {
    folder.write('moved.json', ledger.replaceAll('.athanor/runs/', '.athanor/gone/'));
    const { clusters, damaged, exitCode } = await triage('moved.json');
    expect(exitCode).toBe(0);
    expect(clusters[0]).toMatchObject({ count: 4, bundle: null, replay: null, builds: 0 });
    expect(damaged.map(({ code }) => code)).toEqual(['input/missing']);
  });

  it('CR-36: lists damaged bundles and duplicates, and goes on', async () => {
    mkdirSync(join(folder.path, 'mixed'));
    const { clusters } = await triage('bundles');
    const bytes = folder.read(String(clusters[0]?.['bundle']));
    const broken = Buffer.from(bytes);
    broken[Math.floor(broken.length / 2)] = (broken[Math.floor(broken.length / 2)] as number) ^ 1;
    folder.write('mixed/a.athanor', bytes);
    folder.write('mixed/b.athanor', bytes);
    folder.write('mixed/broken.athanor', broken);
    folder.write('mixed/empty.athanor', '');
    folder.write('mixed/readme.txt', 'no bundle');
    const mixed = await triage('mixed');
    expect(mixed.exitCode).toBe(0);
    expect(mixed.clusters.map(({ count }) => count)).toEqual([1]);
    expect(mixed.damaged.map(({ path }) => path)).toEqual([
      'mixed/broken.athanor',
      'mixed/empty.athanor',
    ]);
    expect(mixed.result).toMatchObject({ duplicates: 1, damaged: 2 });
  });

  it('CR-36: compares with another campaign: new failures fail, gone ones are named', async () => {
    const [bundle] = (await triage('bundles')).clusters;
    mkdirSync(join(folder.path, 'few'));
    folder.write('few/x.athanor', folder.read(String(bundle?.['bundle'])));
    const more = await triage('bundles', '--compare', 'few');
    expect(more.clusters.map(({ standing }) => standing)).toEqual(['known', 'new']);
    expect(more.exitCode).toBe(1);
    const fewer = await triage('few', '--compare', 'bundles');
    expect(fewer.exitCode).toBe(0);
    expect(fewer.of('gone').map(({ signature }) => signature)).toEqual(['timeout: virtual-time']);
  });

  it('CR-36: says the same in a table and a report, equal at every run', async () => {
    const table = async () =>
      folder.sim(['triage', 'bundles', '--format', 'table', '--report', 'r.md']);
    const { stdout } = await table();
    const report = folder.read('r.md').toString();
    expect((await table()).stdout).toBe(stdout);
    expect(folder.read('r.md').toString()).toBe(report);
    expect(stdout).toMatch(
      /^2 failures in 5 findings\n\n *rank +count +builds +verdict +first seed/,
    );
    expect(stdout).toMatch(/^ +1 +4 +2 +fail +5 .* hello: nobody has arguments: never/m);
    expect(report).toContain('| 1 | 4 | 2 | fail | 5 |');
    expect(report).toContain('    1  sim replay bundles/');
  });

  it('says where there is nothing to triage, or no list of findings', async () => {
    const fails = async (...args: string[]) => {
      const { exitCode, stderr } = await folder.sim(['triage', ...args]);
      return `${exitCode} ${stderr.split('\n')[0] ?? ''}`;
    };
    mkdirSync(join(folder.path, 'void'));
    folder.write('bad.jsonl', '{"schema_version":1,"type":"group","count":0}\n');
    folder.write('odd.jsonl', '{"schema_version":1,"type":"start"}\nnonsense\n');
    folder.write('new.json', '{"schema_version":2,"type":"findings"}');
    folder.write('none.jsonl', '{"schema_version":1,"type":"result"}\n');
    expect(await fails('void')).toBe('5 error input/empty: there is no bundle in "void"');
    expect(await fails('bad.jsonl')).toContain('"verdict" of a group is not as it must be');
    expect(await fails('odd.jsonl')).toContain('the line is no JSON object');
    expect(await fails('new.json')).toContain('its schema_version is not 1');
    expect(await fails('nowhere')).toMatch(/^5 error input\/missing: /);
    expect(await fails('none.jsonl')).toBe('0 ');
    const damaged = await folder.sim(['triage', 'mixed/empty.athanor', '--format', 'jsonl']);
    expect([damaged.exitCode, damaged.records()[0]?.['type']]).toEqual([5, 'damaged']);
  });
});
