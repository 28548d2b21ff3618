import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadGuest, packageRoot } from '../../guests/index.ts';
import type { EngineDigest, EngineTask } from './engine-digests.ts';

const GUESTS: readonly (readonly [name: string, args: readonly string[]])[] = [
  ['fp', ['20000']],
  ['sha256', ['1000000', '3']],
  ['sqlite', ['bench', ':memory:', '20000']],
];
const SEED_COUNT = 400;
const COMPARED_COUNT = 300;
const CHILD = join(packageRoot(), 'dist', 'test', 'instrument', 'engine-child.js');

let folder: string;
let task: string;
let reference: EngineDigest[];

function writeTask(name: string, content: EngineTask): string {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

function run(node: string, flags: readonly string[], path: string): EngineDigest[] {
  const output = execFileSync(node, [...flags, CHILD, path], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(output) as EngineDigest[];
}

/** Another major version of Node, from npm's package of its binaries. */
function installNode(major: number): string {
  const prefix = join(folder, `node${major}`);
  mkdirSync(prefix);
  writeFileSync(join(prefix, 'package.json'), '{ "private": true }');
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', `node@${major}`];
  execFileSync('npm', args, { cwd: prefix, stdio: ['ignore', 'ignore', 'inherit'] });
  const binary = join(prefix, 'node_modules', '.bin', 'node');
  const version = execFileSync(binary, ['--version'], { encoding: 'utf8' });
  expect(version).toMatch(new RegExp(`^v${major}\\.`));
  return binary;
}

beforeAll(async () => {
  if (!existsSync(CHILD)) throw new Error('build the project first: npm run build');
  folder = mkdtempSync(join(tmpdir(), 'engines-'));
  const guests: { path: string; args: readonly string[] }[] = [];
  for (const [name, args] of GUESTS) {
    const path = join(folder, `${name}.wasm`);
    writeFileSync(path, await loadGuest(name));
    guests.push({ path, args });
  }
  const seeds = Array.from({ length: SEED_COUNT }, (_, index) => 900_000 + index);
  task = writeTask('digests', { seeds, guests, compared: [] });
  reference = run(process.execPath, [], task);
  for (const [name, digest] of reference.slice(SEED_COUNT)) console.log(`${name}: ${digest}`);
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('instrumented guests give equal digests at every stop', () => {
  it('the reference run stops guests often and ends them well', () => {
    expect(reference).toHaveLength(SEED_COUNT + 1 + GUESTS.length);
    for (const [name, digest] of reference.slice(SEED_COUNT + 1)) {
      const stops = Number(/(\d+) stops/.exec(digest)?.[1] ?? 0);
      expect(stops, name).toBeGreaterThan(3);
      expect(digest, name).toMatch(/^(returned|exit 0),/);
    }
  });

  for (const flag of ['--liftoff-only', '--no-liftoff', '--no-wasm-tier-up']) {
    it(`under ${flag}`, () => {
      expect(run(process.execPath, [flag], task)).toEqual(reference);
    });
  }

  for (const major of [22, 24]) {
    describe(`Node ${major}`, () => {
      let node: string;
      beforeAll(() => {
        node = installNode(major);
      });

      it('gives the digests of this version', () => {
        expect(run(node, [], task)).toEqual(reference);
      });

      it('runs try_table and throw_ref as the pass lowers them', () => {
        const compared = Array.from({ length: COMPARED_COUNT }, (_, index) => 700_000 + index);
        const path = writeTask(`compared${major}`, { seeds: [], guests: [], compared });
        const digests = run(node, ['--experimental-wasm-exnref'], path);
        const outcomes = digests.filter(([name]) => name.startsWith('compared'));
        expect(outcomes).toHaveLength(COMPARED_COUNT);
        expect(outcomes.filter(([, outcome]) => outcome !== 'equal')).toEqual([]);
      });
    });
  }
});
