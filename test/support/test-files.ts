import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Every test file of both tiers, in order. */
export function testFiles(folder = 'test'): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return testFiles(path);
      return /\.(test|long)\.ts$/.test(entry.name) ? [path] : [];
    })
    .sort((a, b) => (a < b ? -1 : 1));
}
