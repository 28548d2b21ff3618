import { Directory } from '@bjorn3/browser_wasi_shim';
import { describe, expect, it } from 'vitest';
import {
  compileAssemblyScript,
  componentFromModule,
  findGuest,
  readNpmSource,
  sha256Hex,
} from '../../guests/index.ts';
import { runOnReference } from './reference-host.ts';
import { withEmptyCache } from './scratch.ts';

/** The first eight bytes of a component: magic, version 13, layer 1 (component model, Binary.md). */
const COMPONENT_PREAMBLE = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];

const text = (source: string): Uint8Array => new TextEncoder().encode(source);

describe('AssemblyScript', () => {
  it('builds the same bytes twice, and they run', async () => {
    const first = await withEmptyCache(() => findGuest('assemblyscript').build());
    const second = await withEmptyCache(() => findGuest('assemblyscript').build());
    expect(sha256Hex(first)).toBe(sha256Hex(second));
    const run = runOnReference(new Uint8Array(first), []);
    expect(run.output).toContain('primes 9592, last 99991\nprime number 999\n');
  });

  it('gives the compiler’s own words for a broken program', async () => {
    const program = { files: [{ path: 'main.ts', bytes: text('absent();') }], entry: 'main.ts' };
    await expect(withEmptyCache(() => compileAssemblyScript(program))).rejects.toThrow(
      expect.objectContaining({
        code: 'guest/compile-failed',
        message: expect.stringContaining("Cannot find name 'absent'") as string,
      }),
    );
  });
});

describe('components', () => {
  it.each(['hello-component', 'js-handler', 'js-command'])('%s is one', async (name) => {
    const component = await withEmptyCache(() => findGuest(name).build());
    expect([...component.subarray(0, 8)]).toEqual(COMPONENT_PREAMBLE);
  });

  it('the adapter gives the same bytes twice', async () => {
    const build = () => withEmptyCache(() => findGuest('hello-component').build());
    expect(sha256Hex(await build())).toBe(sha256Hex(await build()));
  });

  it('a module that imports what the adapter does not know is refused in words', async () => {
    await expect(componentFromModule(text('not a module'))).rejects.toThrow(
      expect.objectContaining({ code: 'guest/compile-failed' }),
    );
  });
});

describe('SQLite from its npm package', () => {
  it('keeps its transactions over restarts on an independent host', async () => {
    const module = new Uint8Array(await findGuest('sqlite').build());
    const root = new Directory(new Map());
    expect(runOnReference(module, ['transactions', '/bank.db', '120'], root).exitCode).toBe(0);
    const run = runOnReference(module, ['transactions', '/bank.db', '200'], root);
    expect(run.output).toMatch(/^transfers found: 120\n/);
    expect(run.output).toMatch(/ok: 200 transfers, digest \d+\n$/);
  });

  it('is refused when the package is not the pinned one', async () => {
    const source = {
      name: 'better-sqlite3',
      version: '12.11.1',
      integrity: `sha512-${'A'.repeat(86)}==`,
      files: ['deps/sqlite3/sqlite3.h'],
    };
    await expect(withEmptyCache(() => readNpmSource(source))).rejects.toThrow(
      expect.objectContaining({ code: 'input/npm-source', place: 'better-sqlite3@12.11.1' }),
    );
  });
});
