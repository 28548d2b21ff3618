import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Calls `build` with an empty cache: the cache lies below the current folder, and that is a new one
 * meanwhile.
 */
export async function withEmptyCache<T>(build: () => Promise<T>): Promise<T> {
  const before = process.cwd();
  const directory = mkdtempSync(join(tmpdir(), 'athanor-build-'));
  process.chdir(directory);
  try {
    return await build();
  } finally {
    process.chdir(before);
    rmSync(directory, { recursive: true, force: true });
  }
}
