import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const KEY_DIGITS = 32;

/** SHA-256 over names and contents of all files in `folders`, in the order of their names. */
export function digestFolders(folders: readonly string[]): string {
  const hash = createHash('sha256');
  for (const folder of folders) {
    for (const name of readdirSync(folder).sort()) {
      const bytes = readFileSync(join(folder, name));
      hash.update(`${name}\0${bytes.length}\0`).update(bytes);
    }
  }
  return hash.digest('hex');
}

/** A short digest of texts, for a folder's name in a cache. */
export function cacheKey(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, KEY_DIGITS);
}
