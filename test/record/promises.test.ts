import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { engineIdentity } from '../../cli/engine.ts';
import { packageVersion } from '../../cli/version.ts';
import { packageRoot } from '../../scenarios/index.ts';
import { SimFolder } from '../cli/sim.ts';
import { loadText } from './worlds.ts';

const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
};

const WORLD = `
name: w
services:
  s:
    records: { notes: { text: str } }
    operations:
      list_notes: { kind: list, record: notes }
`;

describe('what record worlds are not', () => {
  test.each([
    ['nested data', 'text: str', "text: 'list[str]'"],
    ['money that is no whole number of minor units', 'text: str', 'text: money'],
    ['pagination', 'record: notes }', 'record: notes, page_size: 10 }'],
    ['filters that are no equality', 'record: notes }', "record: notes, filters: ['text > a'] }"],
    ['authentication', 'name: w', 'name: w\nauth: { token: x }'],
    ['webhooks', 'name: w', 'name: w\nwebhooks: []'],
    ['idempotency keys of its own', 'record: notes }', 'record: notes, idempotent: true }'],
  ])('%s: is refused with its place', (_title, from, to) => {
    const result = loadText(WORLD.replace(from, to));
    expect(result.ok).toBe(false);
    if (!result.ok) expect(result.errors[0]?.place).toMatch(/^w\.yaml:\d+:\d+/);
  });

  test('FH-16 FH-52: the limits of the model, no users, no judges: a file has these keys only', () => {
    for (const key of ['auth', 'users', 'judge', 'scores', 'dashboard', 'templates']) {
      const result = loadText(`${WORLD}\n${key}: {}\n`);
      expect(result.ok ? '' : result.errors[0]?.message).toMatch(
        new RegExp(`^unknown key "${key}".*; allowed: name, seed, services, faults`),
      );
    }
  });

  test('FH-50: nothing of the package asks for a key of a live model, and none is a dependency', () => {
    expect(Object.keys(manifest.dependencies).join(' ')).not.toMatch(
      /openai|anthropic|pydantic|llm/,
    );
    for (const folder of ['sim/record', 'cli/record', 'scenarios', 'test/record']) {
      for (const name of readdirSync(join(packageRoot(), folder)).filter((each) =>
        /ts$/.test(each),
      )) {
        const text = readFileSync(join(packageRoot(), folder, name), 'utf8');
        expect([name, /process\.env\.\w*KEY/.test(text)]).toEqual([name, false]);
      }
    }
  });

  test('FH-51: the version in code is that of the manifest', async () => {
    expect(packageVersion()).toBe(manifest.version);
    expect(engineIdentity().version).toBe(manifest.version);
    const said = await new SimFolder().sim(['--version']);
    expect(said.stdout.trim()).toContain(manifest.version);
  });

  test('FH-56: the module of record worlds has less than 3,000 lines and no database', () => {
    const folder = join(packageRoot(), 'sim', 'record');
    const lines = readdirSync(folder).map((name) => {
      return readFileSync(join(folder, name), 'utf8').split('\n').length;
    });
    expect(lines.reduce((sum, each) => sum + each, 0)).toBeLessThan(3_000);
    expect(Object.keys(manifest.dependencies).join(' ')).not.toMatch(/sql|level|mongo|redis|lmdb/);
  });
});
