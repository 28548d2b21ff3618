import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The repository lints itself: what a linter cannot see of the whole tree. */
const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && existsSync(path));
const sources = tracked.filter((path) => path.endsWith('.ts'));
const text = new Map(sources.map((path) => [path, readFileSync(path, 'utf8')]));

/** Which folders each folder may import, through their index only. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  sim: [],
  wasm: ['sim'],
  bridge: ['sim'],
  scenarios: ['sim'],
  guests: ['sim'],
  report: ['sim'],
  cli: ['sim', 'wasm', 'bridge', 'scenarios', 'guests', 'report'],
  bench: ['sim', 'wasm', 'bridge', 'scenarios', 'guests', 'report', 'cli'],
  test: ['sim', 'wasm', 'bridge', 'scenarios', 'guests', 'report', 'cli', 'bench'],
};

function imports(path: string): string[] {
  const code = text.get(path) ?? '';
  const found = code.matchAll(/(?:\bfrom |import\()\s*'([^']+)'|^import '([^']+)'/gm);
  return [...found].map((match) => match[1] ?? match[2] ?? '');
}

/** Lines of `paths` that match, as `path:line`. */
function places(paths: readonly string[], pattern: RegExp): string[] {
  return paths.flatMap((path) => {
    return (text.get(path) ?? '').split('\n').flatMap((line, index) => {
      return pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [];
    });
  });
}

const folderOf = (path: string): string => path.split('/')[0] ?? '';
const inFolder = (...folders: string[]): string[] => {
  return sources.filter((path) => folders.includes(folderOf(path)));
};

describe('the tree', () => {
  it('imports point down only, through the index of another folder', () => {
    const wrong = sources.flatMap((path) => {
      const folder = folderOf(path);
      const allowed = MAY_IMPORT[folder];
      if (allowed === undefined) return [];
      return imports(path).flatMap((target) => {
        if (!target.startsWith('.')) {
          const pure = folder === 'sim' || folder === 'wasm';
          return pure ? [`${path} imports ${target}`] : [];
        }
        const resolved = normalize(join(dirname(path), target));
        const to = folderOf(resolved);
        if (to === folder) return [];
        const throughIndex = resolved === `${to}/index.ts` || ['bench', 'test'].includes(folder);
        return allowed.includes(to) && throughIndex ? [] : [`${path} imports ${resolved}`];
      });
    });
    expect(wrong).toEqual([]);
  });

  it('CR-119: the pure folders keep no mutable state of a module', () => {
    const pure = inFolder('sim', 'wasm');
    expect(places(pure, /^(export )?(let|var) /)).toEqual([]);
    const made = places(pure, /^(export )?const \w+ = new (Map|Set|Array|\w+Array)\b(?!\(0\))/);
    const names = made.map((place) => place.replace(/:\d+: (export )?const (\w+) .*/, ' $2'));
    expect(names.sort((a, b) => (a < b ? -1 : 1))).toEqual(TABLES);
  });

  it('CR-119: the pure folders iterate in total orders and read no host clock or entropy', () => {
    const pure = inFolder('sim', 'wasm');
    expect(places(pure, /\bfor \((const|let|var) \w+ in\b/)).toEqual([]);
    expect(places(pure, /\.sort\(\)/)).toEqual([]);
    expect(
      places(pure, /\b(Date|performance|Math\.random|setTimeout|queueMicrotask)\b\s*[.(]/),
    ).toEqual([]);
    expect(places(pure, /^[^'`*]*(\basync (function|\(|\w+ =>)|\bawait |\bPromise\b)/)).toEqual([]);
  });

  it('has no skipped, focused or planned test, no mark of unfinished work, no silenced check', () => {
    const marks = ['sk' + 'ip', 'to' + 'do', 'on' + 'ly'].join('|');
    expect(places(sources, new RegExp(`\\b(it|test|describe)\\.(${marks})\\b`))).toEqual([]);
    const unfinished = ['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|');
    expect(places(sources, new RegExp(`\\b(${unfinished})\\b`))).toEqual([]);
    const silenced = ['@ts-' + 'ignore', '@ts-' + 'nocheck', '(as|:) a' + 'ny[;,)\\]>]'].join('|');
    expect(places(sources, new RegExp(silenced))).toEqual([]);
    expect(places(sources, new RegExp('eslint-' + 'disable'))).toEqual([]);
  });

  it('keeps files under 600 lines', () => {
    const scripts = tracked.filter((path) => path.endsWith('.js'));
    const long = [...sources, ...scripts].filter((path) => {
      return (text.get(path) ?? readFileSync(path, 'utf8')).split('\n').length > 601;
    });
    expect(long).toEqual([]);
  });

  it('pins every dependency exactly, and needs no file from outside', () => {
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
      string,
      Record<string, string>
    >;
    for (const group of ['dependencies', 'devDependencies']) {
      for (const version of Object.values(manifest[group] ?? {})) {
        expect(version).toMatch(/^\d+\.\d+\.\d+(-[\w.-]+)?$/);
      }
    }
    expect(places(sources, new RegExp("'/wo" + 'rk/|\\.\\./sha' + 'red'))).toEqual([]);
  });

  it('carries no third-party binary: only modules that the manifest lists', () => {
    const binaries = tracked.filter((path) => /\.(wasm|so|a|o|zip|gz|xz|node|exe)$/.test(path));
    const manifest = JSON.parse(readFileSync('guests/built/manifest.json', 'utf8')) as {
      readonly artefacts: readonly { readonly file: string }[];
    };
    const listed = [
      ...manifest.artefacts.map(({ file }) => `guests/built/${file}`),
      // A program of ours; test/component/rebuild.long.ts builds it again.
      'test/component/programs/tcp.wasm',
    ];
    expect(binaries.filter((path) => !listed.includes(path))).toEqual([]);
  });
});

/** Constants of the pure folders that are tables: made once, then only read. */
const TABLES: readonly string[] = [
  'sim/kernel/sha256.ts ROUND',
  'wasm/binary/opcodes.ts immediates',
  'wasm/runtime/pages.ts ZERO_PAGE',
];
