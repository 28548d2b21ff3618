import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A script of the core test suite. */
export interface SuiteScript {
  readonly name: string;
  readonly text: string;
}

/** The package writes what a catch receives as `(pop i32)`; the standard leaves it implicit. */
function modern(text: string): string {
  return text.replaceAll(/\(pop [a-z0-9 ]+\)/g, '');
}

/** The distribution's own list of where packages come from, asked for sources instead. */
function sourceEntries(): string {
  const folder = '/etc/apt/sources.list.d';
  const parts = readdirSync(folder).filter((name) => name.endsWith('.sources'));
  const debian = parts.find((name) => name === 'debian.sources') ?? parts.at(0);
  if (debian === undefined) throw new Error(`no .sources file in ${folder}`);
  const text = readFileSync(join(folder, debian), 'utf8');
  return text.replaceAll(/^Types:.*$/gm, 'Types: deb-src');
}

/**
 * The core test suite's scripts, from Debian's source package of binaryen (version 108 in
 * bookworm), whose test/spec folder has a copy: the MVP's files, bulk memory, references,
 * multiple values, SIMD (not 64-bit memory, and not the `old_` files that the standard has
 * overtaken). Needs `apt-get` and `tar`; touches nothing outside a temporary folder.
 */
export function fetchSuite(): SuiteScript[] {
  const folder = mkdtempSync(join(tmpdir(), 'wasm-suite-'));
  try {
    const parts = join(folder, 'parts');
    const lists = join(folder, 'lists');
    mkdirSync(parts);
    mkdirSync(join(lists, 'partial'), { recursive: true });
    writeFileSync(join(parts, 'sources.sources'), sourceEntries());
    const options = [
      'Dir::Etc::sourcelist=/dev/null',
      `Dir::Etc::sourceparts=${parts}`,
      `Dir::State::lists=${lists}`,
    ].flatMap((option) => ['-o', option]);
    const run = (command: string, args: readonly string[]) =>
      execFileSync(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    run('apt-get', [...options, '-q', 'update']);
    run('apt-get', [...options, '-q', 'source', '--download-only', 'binaryen']);
    const archive = readdirSync(folder).find((name) => name.includes('.orig.tar'));
    if (archive === undefined) throw new Error('the source package has no original archive');
    run('tar', ['-xf', archive, '--strip-components=3', '--wildcards', '*/test/spec/*.wast']);
    return readdirSync(folder)
      .filter((name) => name.endsWith('.wast') && !/\.fail\.|^old_|64\.wast$/.test(name))
      .sort()
      .map((name) => ({ name, text: modern(readFileSync(join(folder, name), 'utf8')) }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
