import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cached } from './cache.ts';
import { compileFailed, toolchainMissing } from './command.ts';
import { sha256Hex, sourceDigest, type SourceFile } from './sources.ts';

const MODULE_TOOLCHAIN = '@bytecodealliance/jco';
const SCRIPT_TOOLCHAIN = '@bytecodealliance/componentize-js';
/** The componentizer imports this package but does not list it among its dependencies. */
const SCRIPT_TOOLCHAIN_NEEDS = '@bytecodealliance/preview2-shim';

/** What StarlingMonkey may use of WASI; anything not named is replaced by a trap. */
export type ScriptFeature = 'stdio' | 'random' | 'clocks' | 'http' | 'fetch-event';

const SCRIPT_FEATURES: readonly ScriptFeature[] = [
  'stdio',
  'random',
  'clocks',
  'http',
  'fetch-event',
];

/** A JavaScript program for one world of a WIT text. */
export interface ScriptProgram {
  readonly script: SourceFile;
  /** A WIT text that holds the world and every package that it uses. */
  readonly wit: SourceFile;
  readonly world: string;
  readonly features: readonly ScriptFeature[];
}

interface Componentizer {
  componentize(
    script: string,
    options: {
      sourceName: string;
      witWorld: string;
      worldName: string;
      disableFeatures: readonly ScriptFeature[];
    },
  ): Promise<{ component: Uint8Array }>;
}

function jcoPath(): string {
  try {
    return createRequire(import.meta.url).resolve(MODULE_TOOLCHAIN);
  } catch (cause) {
    throw toolchainMissing(MODULE_TOOLCHAIN, 'npm install', cause);
  }
}

function versionIn(directory: string): string {
  const description: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  return typeof description === 'object' && description !== null && 'version' in description
    ? String(description.version)
    : 'unknown';
}

function packageDirectory(entry: string): string {
  return entry.slice(0, entry.lastIndexOf('/dist/'));
}

/**
 * Makes a preview 2 component of a preview 1 command with jco's adapter. The module may import
 * standard preview 1 functions only: the adapter knows no socket extension.
 * Errors: `backend/toolchain-missing`, `guest/compile-failed`.
 */
export async function componentFromModule(module: Uint8Array): Promise<Uint8Array> {
  const directory = packageDirectory(jcoPath());
  const adapter = readFileSync(join(directory, 'lib', 'wasi_snapshot_preview1.command.wasm'));
  const key = {
    toolchain: `${MODULE_TOOLCHAIN} ${versionIn(directory)}`,
    adapter: sha256Hex(adapter),
    source: sha256Hex(module),
  };
  return cached(key, async () => {
    const { componentNew } = await import('@bytecodealliance/jco');
    try {
      return await componentNew(module, [['wasi_snapshot_preview1', adapter]]);
    } catch (cause) {
      throw compileFailed(MODULE_TOOLCHAIN, 'core module', String(cause));
    }
  });
}

/**
 * npm nests packages as it likes: the componentizer is looked for from here and from jco, which
 * brings one of its own, and the first whose own import can be satisfied is taken.
 */
function findComponentizer(): string | undefined {
  for (const from of [import.meta.url, jcoPath()]) {
    const folders = createRequire(from).resolve.paths(SCRIPT_TOOLCHAIN) ?? [];
    const beside = (name: string): boolean =>
      folders.some((folder) => existsSync(join(folder, name)));
    const found = folders.find((folder) => existsSync(join(folder, SCRIPT_TOOLCHAIN)));
    if (found !== undefined && beside(SCRIPT_TOOLCHAIN_NEEDS)) return join(found, SCRIPT_TOOLCHAIN);
  }
  return undefined;
}

async function loadComponentizer(directory: string): Promise<Componentizer> {
  const url = pathToFileURL(join(directory, 'src', 'componentize.js')).href;
  return (await import(url)) as Componentizer;
}

/**
 * Makes a preview 2 component of a JavaScript module. The engine is initialised at build time and
 * that bakes a clock and a seed into the image: builds are not reproducible, so the first artefact
 * for a key stays (and is the same in every instance).
 * Errors: `backend/toolchain-missing`, `guest/compile-failed`.
 */
export async function componentFromScript(program: ScriptProgram): Promise<Uint8Array> {
  const directory = findComponentizer();
  if (directory === undefined) {
    throw toolchainMissing(SCRIPT_TOOLCHAIN, 'npm install, with development dependencies');
  }
  const key = {
    toolchain: `${SCRIPT_TOOLCHAIN} ${versionIn(directory)}`,
    world: program.world,
    features: [...program.features].sort().join(' '),
    source: sourceDigest([program.script, program.wit]),
  };
  return cached(key, async () => {
    const { componentize } = await loadComponentizer(directory);
    try {
      const result = await componentize(new TextDecoder().decode(program.script.bytes), {
        sourceName: program.script.path.replace(/^.*\//, ''),
        witWorld: new TextDecoder().decode(program.wit.bytes),
        worldName: program.world,
        disableFeatures: SCRIPT_FEATURES.filter((feature) => !program.features.includes(feature)),
      });
      return result.component;
    } catch (cause) {
      throw compileFailed(SCRIPT_TOOLCHAIN, program.script.path, String(cause));
    }
  });
}
