import { createHash, randomBytes } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * What a build depends on, as ordered label and value: toolchain and version, flags, source digest.
 * Two builds with equal keys give the same artefact.
 */
export type BuildKey = Readonly<Record<string, string>>;

/** The cache is trimmed to this size after each write; the least recently used artefact goes first. */
const CACHE_BYTE_COUNT_MAX = 1024 * 1024 * 1024;

/** Where artefacts and the caches of toolchains lie: `.athanor/cache` below the current folder. */
export function cacheDirectory(...parts: readonly string[]): string {
  return resolve('.athanor', 'cache', ...parts);
}

function digestOf(key: BuildKey): string {
  const lines = Object.entries(key).map(([label, value]) => `${label}=${JSON.stringify(value)}\n`);
  return createHash('sha256').update(lines.sort().join('')).digest('hex');
}

function readArtefact(path: string): Uint8Array | undefined {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  const now = new Date();
  utimesSync(path, now, now);
  return readFileSync(path);
}

function trim(directory: string): void {
  const artefacts = readdirSync(directory).map((name) => {
    const path = join(directory, name);
    const status = statSync(path, { throwIfNoEntry: false });
    return { path, byteCount: status?.size ?? 0, usedMs: status?.mtimeMs ?? 0 };
  });
  let total = artefacts.reduce((sum, artefact) => sum + artefact.byteCount, 0);
  artefacts.sort((a, b) => a.usedMs - b.usedMs);
  for (const artefact of artefacts) {
    if (total <= CACHE_BYTE_COUNT_MAX) return;
    rmSync(artefact.path, { force: true });
    total -= artefact.byteCount;
  }
}

/**
 * The artefact for `key`, built only if it is not there yet. An artefact appears under its name
 * whole or not at all, so two processes may build the same one at the same time.
 */
export async function cached(key: BuildKey, build: () => Promise<Uint8Array>): Promise<Uint8Array> {
  const directory = cacheDirectory('guests');
  const path = join(directory, `${digestOf(key)}.wasm`);
  const known = readArtefact(path);
  if (known !== undefined) return known;
  const bytes = await build();
  mkdirSync(directory, { recursive: true });
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`;
  writeFileSync(draft, bytes);
  renameSync(draft, path);
  trim(directory);
  return bytes;
}
