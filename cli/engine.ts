import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENGINE_SCHEMA, SimError, type EngineIdentity } from '../sim/index.ts';
import { WasmEngine, type Code, type CodeCache } from '../wasm/index.ts';
import { writeAtomically } from './atomic-write.ts';
import { packageVersion } from './version.ts';

/** Who runs here. */
export function engineIdentity(): EngineIdentity {
  return { name: 'athanor', version: packageVersion(), schema: ENGINE_SCHEMA };
}

/** The engine of this process or thread; instrumented code is kept between processes. */
export function makeEngine(artifactDir: string, shared: readonly Code[] = []): WasmEngine {
  const folder = join(artifactDir, 'cache', instrumenterDigest());
  return new WasmEngine({ cache: new FolderCache(folder), shared });
}

/**
 * A digest of the code that instruments: what another version of it has made is never taken for
 * what this one makes.
 */
function instrumenterDigest(): string {
  const wasm = join(dirname(fileURLToPath(import.meta.url)), '..', 'wasm');
  const hash = createHash('sha256');
  for (const folder of ['binary', 'component', 'instrument', 'preview1', 'runtime']) {
    const names = readdirSync(join(wasm, folder), { recursive: true, encoding: 'utf8' });
    for (const name of names.filter((each) => /(?<!\.d)\.[jt]s$/.test(each)).sort()) {
      hash.update(`${folder}/${name}\n`).update(readFileSync(join(wasm, folder, name)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * Checks that this engine may repeat a run (FB-62): another decision schema or major version is
 * refused, another minor or patch version is worth a warning. Returns the warnings.
 */
export function checkEngine(recorded: EngineIdentity): readonly string[] {
  const own = engineIdentity();
  if (recorded.name !== own.name || recorded.schema !== own.schema) {
    refuseEngine(`engine ${own.name} schema ${own.schema}`, recorded);
  }
  if (majorOf(recorded.version) !== majorOf(own.version)) {
    refuseEngine(`version ${own.version}`, recorded);
  }
  if (recorded.version === own.version) return [];
  return [`the bundle was written by version ${recorded.version}, this is ${own.version}`];
}

function majorOf(version: string): string {
  return version.split('.')[0] ?? '';
}

function refuseEngine(expected: string, recorded: EngineIdentity): never {
  throw new SimError({
    code: 'identity/engine',
    message: `the bundle was made by another engine: expected ${expected}, found ${recorded.name} ${recorded.version} schema ${recorded.schema}`,
    place: 'manifest.engine',
    remedy: `use version ${recorded.version} of sim`,
  });
}

/** Instrumented code in a folder. It may forget: what cannot be read or written is made again. */
class FolderCache implements CodeCache {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  get(key: string): Uint8Array | null {
    try {
      return readFileSync(join(this.folder, key));
    } catch {
      return null;
    }
  }

  put(key: string, bytes: Uint8Array): void {
    try {
      writeAtomically(join(this.folder, key), bytes);
    } catch (error) {
      if (!(error instanceof SimError)) throw error;
    }
  }
}
