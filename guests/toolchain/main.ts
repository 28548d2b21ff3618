/**
 * The command behind `.ci/run` and the second test tier:
 *
 *   node dist/guests/toolchain/main.js setup              installs Go, Rust and etcd's sources from Debian (as root)
 *   node dist/guests/toolchain/main.js commit          rebuilds guests/built and its manifest
 *   node dist/guests/toolchain/main.js build NAME...      builds guests into .athanor/cache/guests-out
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { SimError } from '../../sim/index.ts';
import { C_GUESTS } from '../c-guests.ts';
import { findGuest } from '../catalogue.ts';
import {
  manifestEntry,
  MANIFEST_SCHEMA_VERSION,
  readManifest,
  type ManifestEntry,
} from '../manifest.ts';
import { cacheDirectory } from './cache.ts';
import { guestPath } from './root.ts';
import { ensureToolchains } from './setup.ts';

async function setup(): Promise<void> {
  const installed = await ensureToolchains(['go', 'rust', 'etcd']);
  console.log(installed.length === 0 ? 'everything is there' : `installed ${installed.join(', ')}`);
}

/** Without names all; with names these, and the other entries stay as they are. */
async function commit(names: readonly string[]): Promise<void> {
  mkdirSync(guestPath('built'), { recursive: true });
  const kept = names.length === 0 ? [] : readManifest().artefacts;
  const artefacts: ManifestEntry[] = [];
  for (const { name } of C_GUESTS) {
    const entry = kept.find((candidate) => candidate.name === name);
    if (names.length > 0 && !names.includes(name)) {
      if (entry !== undefined) artefacts.push(entry);
      continue;
    }
    const artefact = await findGuest(name).build();
    writeFileSync(guestPath('built', `${name}.wasm`), artefact);
    artefacts.push(manifestEntry(name, artefact));
    console.log(`${name} ${artefact.length} bytes`);
  }
  const manifest = { schema_version: MANIFEST_SCHEMA_VERSION, artefacts };
  writeFileSync(guestPath('built', 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

async function build(names: readonly string[]): Promise<void> {
  const directory = cacheDirectory('guests-out');
  mkdirSync(directory, { recursive: true });
  for (const name of names) {
    const artefact = await findGuest(name).build();
    writeFileSync(`${directory}/${name}.wasm`, artefact);
    console.log(`${name} ${artefact.length} bytes`);
  }
}

async function main(args: readonly string[]): Promise<void> {
  const [command, ...names] = args;
  if (command === 'setup') await setup();
  else if (command === 'commit') await commit(names);
  else if (command === 'build') await build(names);
  else
    throw new SimError({
      code: 'usage/command',
      message: 'setup, commit [NAME...], or build NAME...',
    });
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SimError)) throw error;
  console.error(`${error.code}: ${error.message}\n${error.remedy ?? ''}`);
  process.exitCode = error.exitCode;
}
