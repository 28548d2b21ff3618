import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { packZip, unpackZip } from '../../cli/zip.ts';
import { decodeCanonical, encodeCanonical } from '../../sim/index.ts';
import { helloToml, SimFolder } from './sim.ts';

const folder = new SimFolder();

beforeAll(async () => {
  folder.write('hello.toml', helloToml({ seed: 7 }));
  folder.write('a b.txt', 'x');
  await folder.sim(['run', 'hello.toml', '--out', 'run.athanor']);
});

describe('sim inspect', () => {
  it('FB-61: lists a bundle with its members', async () => {
    const { exitCode, stdout } = await folder.sim(['inspect', 'run.athanor', '--format', 'table']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('kind       run\n');
    expect(stdout).toContain('verdict    pass (quiescence)\n');
    for (const name of ['manifest.cbor', 'scenario.cbor', 'events.bin', 'replay.sh']) {
      expect(stdout).toMatch(new RegExp(`^ *[\\d,]+ {2}${name}$`, 'm'));
    }
    const { records } = await folder.sim(['inspect', 'run.athanor', '--format', 'jsonl']);
    expect(records()[0]).toMatchObject({ type: 'bundle', kind: 'run', seed: 7 });
    expect(records().filter(({ type }) => type === 'member')).toHaveLength(11);
  });

  it('FB-54, FB-61, FB-66: dumps one member: CBOR and JSON as JSON, others as they are', async () => {
    const dump = async (name: string): Promise<string> => {
      return (await folder.sim(['inspect', 'run.athanor', name])).stdout;
    };
    expect(JSON.parse(await dump('scenario.cbor'))).toMatchObject({ name: 'hello', seed: 7 });
    const plan = JSON.parse(await dump('plan.json')) as Record<string, unknown>;
    expect(plan).toMatchObject({
      schema_version: 1,
      spec_path: 'hello.toml',
      seed: 7,
      determinism: { level: 'L4', runtime: 'wasm', strict: true },
      totals: { instances: 1, estimated: false },
    });
    expect(await dump('spec/hello.toml')).toBe(
      readFileSync(join(folder.path, 'hello.toml'), 'utf8'),
    );
    expect(await dump('replay.sh')).toMatch(/^#!\/bin\/sh\n/);
    const missing = await folder.sim(['inspect', 'run.athanor', 'nothing.bin']);
    expect([missing.exitCode, missing.stderr.split(':')[0]]).toEqual([5, 'error input/member']);
  });

  it('lists decisions and events as a table or as records', async () => {
    const list = ['inspect', 'run.athanor', '--decisions', '--format'];
    const { stdout } = await folder.sim([...list, 'table']);
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(/^index {2}at +address=choice +of {2}door$/),
      expect.stringMatching(
        /^ {4}0 {2}1\.5\d{8}s {2}node\/ada\/entropy#0=\d+ +4294967296 {2}seeded$/,
      ),
    ]);
    const events = ['inspect', 'run.athanor', '--events', '--from', '2', '--limit', '3'];
    const { records } = await folder.sim([...events, '--format', 'jsonl']);
    expect(records().map(({ index }) => index)).toEqual([2, 3, 4]);
    expect(records()[0]).toMatchObject({ type: 'event', node: 'ada' });
  });

  it('FB-61: unpacks into a new folder, never into one that exists', async () => {
    const { exitCode } = await folder.sim(['inspect', 'run.athanor', '--extract', 'out']);
    expect(exitCode).toBe(0);
    const out = join(folder.path, 'out');
    expect(existsSync(join(out, 'spec', 'hello.toml'))).toBe(true);
    expect(statSync(join(out, 'replay.sh')).mode & 0o111).not.toBe(0);
    const again = await folder.sim(['inspect', 'run.athanor', '--extract', 'out']);
    expect([again.exitCode, again.stderr.split(':')[0]]).toEqual([5, 'error input/exists']);
  });

  it('FB-61: a version that it does not know is a warning, never a refusal', async () => {
    const newer = packZip(
      unpackZip(folder.read('run.athanor')).map((member) => {
        if (member.name !== 'manifest.cbor') return member;
        const fields = decodeCanonical(member.bytes) as Record<string, never>;
        return { ...member, bytes: encodeCanonical({ ...fields, schema_version: 9, more: 1 }) };
      }),
    );
    folder.write('newer.athanor', newer);
    const { exitCode, stdout, stderr } = await folder.sim([
      'inspect',
      'newer.athanor',
      '--format',
      'table',
    ]);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^warning: manifest has schema_version 9, this reader knows 1; members/);
    expect(stdout).toContain('events.bin');
    expect((await folder.sim(['inspect', 'newer.athanor', 'plan.json'])).exitCode).toBe(0);
    expect((await folder.sim(['replay', 'newer.athanor'])).exitCode).toBe(5);
  });

  it('CR-51: prints the ids of a scenario', async () => {
    const { exitCode, records } = await folder.sim(['inspect', 'hello.toml', '--format', 'jsonl']);
    expect(exitCode).toBe(0);
    const { ids } = records()[0] as { ids: Record<string, string> };
    expect(Object.keys(ids)).toEqual(['world', 'plan', 'properties', 'seed', 'scenario']);
    const table = await folder.sim(['inspect', 'hello.toml', '--format', 'table']);
    expect(table.stdout).toContain(`scenario id    ${ids['scenario'] ?? ''}`);
  });

  it('FB-60: spec/ holds every local file of the scenario', async () => {
    const more = '[[node.file]]\npath = "/etc/x"\nsource = "a b.txt"\n';
    const toml = helloToml({ seed: 7 }).replace('[[property]]', `${more}\n[[property]]`);
    folder.write('files.toml', toml);
    await folder.sim(['run', 'files.toml', '--out', 'files.athanor']);
    const { stdout } = await folder.sim(['inspect', 'files.athanor', 'spec/a b.txt']);
    expect(stdout).toBe('x');
  });
});
