import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildGo, buildRust, ensureToolchains, findGuest, sha256Hex } from '../../guests/index.ts';
import { withEmptyCache } from './scratch.ts';

beforeAll(async () => {
  await ensureToolchains(['go', 'rust']);
});

function importsOf(module: Uint8Array): string[] {
  const compiled = new WebAssembly.Module(new Uint8Array(module));
  return WebAssembly.Module.imports(compiled).map((entry) => `${entry.module}.${entry.name}`);
}

describe.each(['gohello', 'gohttp', 'rusttcp'])('%s', (name) => {
  it('builds to the same bytes twice, and imports preview 1 only', async () => {
    const first = await withEmptyCache(() => findGuest(name).build());
    const second = await withEmptyCache(() => findGuest(name).build());
    expect(sha256Hex(first)).toBe(sha256Hex(second));
    const foreign = importsOf(first).filter(
      (entry) => !entry.startsWith('wasi_snapshot_preview1.'),
    );
    expect(foreign).toEqual([]);
  });
});

describe('a broken program', () => {
  it('gives the Go compiler’s own words', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'athanor-go-'));
    writeFileSync(join(directory, 'go.mod'), 'module broken\n\ngo 1.21\n');
    writeFileSync(join(directory, 'main.go'), 'package main\n\nfunc main() { absent() }\n');
    await expect(withEmptyCache(() => buildGo({ directory }))).rejects.toThrow(
      expect.objectContaining({
        code: 'guest/compile-failed',
        message: expect.stringContaining('undefined: absent') as string,
      }),
    );
  });

  it('gives the Rust compiler’s own words', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'athanor-rust-'));
    writeFileSync(join(directory, 'main.rs'), 'fn main() { absent() }\n');
    const program = { directory, root: 'main.rs', files: ['main.rs'] };
    await expect(withEmptyCache(() => buildRust(program))).rejects.toThrow(
      expect.objectContaining({
        code: 'guest/compile-failed',
        message: expect.stringContaining('cannot find function `absent`') as string,
      }),
    );
  });
});
