import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SimError } from '../../sim/index.ts';
import { cacheDirectory } from './cache.ts';
import { run } from './command.ts';
import { packageRoot } from './root.ts';
import type { SourceFile } from './sources.ts';

/** Files of a published npm package, pinned by version and by the registry's integrity string. */
export interface NpmSource {
  readonly name: string;
  readonly version: string;
  /** `sha512-…` as in a lock file. */
  readonly integrity: string;
  /** Paths inside of the package, without the leading `package/`. */
  readonly files: readonly string[];
}

const TARBALL_BYTE_COUNT_MAX = 128 * 1024 * 1024;
const BLOCK_SIZE = 512;

function integrityOf(tarball: Uint8Array): string {
  return `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
}

function textAt(header: Uint8Array, offset: number, length: number): string {
  const field = header.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return new TextDecoder().decode(end < 0 ? field : field.subarray(0, end));
}

/** Regular files of a ustar archive (POSIX 1003.1, "ustar Interchange Format"), by path. */
export function filesOfTar(archive: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (let offset = 0; offset + BLOCK_SIZE <= archive.length;) {
    const header = archive.subarray(offset, offset + BLOCK_SIZE);
    const name = textAt(header, 0, 100);
    if (name === '') break;
    const prefix = textAt(header, 345, 155);
    const byteCount = parseInt(textAt(header, 124, 12).trim(), 8);
    const start = offset + BLOCK_SIZE;
    if (!Number.isSafeInteger(byteCount) || start + byteCount > archive.length) break;
    const type = textAt(header, 156, 1);
    if (type === '0' || type === '') {
      files.set(
        prefix === '' ? name : `${prefix}/${name}`,
        archive.subarray(start, start + byteCount),
      );
    }
    offset = start + Math.ceil(byteCount / BLOCK_SIZE) * BLOCK_SIZE;
  }
  return files;
}

function sourceError(source: NpmSource, message: string, remedy: string): SimError {
  return new SimError({
    code: 'input/npm-source',
    message,
    place: `${source.name}@${source.version}`,
    remedy,
  });
}

/** npm's own client fetches the package; the tarball is kept once it has proved to be the one. */
async function fetchTarball(source: NpmSource): Promise<Uint8Array> {
  const directory = cacheDirectory('npm');
  const digest = createHash('sha256').update(source.integrity).digest('hex');
  const kept = join(directory, `${digest}.tgz`);
  if (existsSync(kept)) return expectIntegrity(source, readFileSync(kept));
  mkdirSync(directory, { recursive: true });
  const draft = mkdtempSync(join(directory, 'draft-'));
  try {
    const result = await run({
      program: 'npm',
      args: ['pack', `${source.name}@${source.version}`, '--silent', '--pack-destination', draft],
      directory: packageRoot(),
      environment: npmSettings(),
    });
    const name = result?.output.trim().split('\n').pop() ?? '';
    if (result?.exitCode !== 0 || name === '' || !existsSync(join(draft, name))) {
      const transcript = result?.transcript.trim() ?? 'npm is not installed';
      throw sourceError(
        source,
        `npm could not fetch the package:\n${transcript}`,
        'check the connection to the npm registry',
      );
    }
    const tarball = expectIntegrity(source, readFileSync(join(draft, name)));
    renameSync(join(draft, name), kept);
    return tarball;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function expectIntegrity(source: NpmSource, tarball: Uint8Array): Uint8Array {
  if (tarball.length <= TARBALL_BYTE_COUNT_MAX && integrityOf(tarball) === source.integrity) {
    return tarball;
  }
  throw sourceError(
    source,
    `the package is not the pinned one: expected ${source.integrity}, got ${integrityOf(tarball)}`,
    'remove .athanor/cache/npm and try again; if it stays so, do not trust the registry',
  );
}

/** The caller's npm settings (registry, proxy, certificates) are the host's business: they go along. */
function npmSettings(): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (
      value !== undefined &&
      /^(npm_config_|https?_proxy$|no_proxy$|NODE_EXTRA_CA_CERTS$)/i.test(name)
    ) {
      settings[name] = value;
    }
  }
  return settings;
}

/**
 * Reads files of an npm package, which is fetched once and checked against its integrity each time.
 * Error: `input/npm-source`.
 */
export async function readNpmSource(source: NpmSource): Promise<SourceFile[]> {
  const tarball = await fetchTarball(source);
  const files = filesOfTar(gunzipSync(tarball, { maxOutputLength: TARBALL_BYTE_COUNT_MAX }));
  return source.files.map((path) => {
    const bytes = files.get(`package/${path}`);
    if (bytes === undefined)
      throw sourceError(source, `the package has no file ${path}`, 'check the path');
    return { path, bytes };
  });
}
