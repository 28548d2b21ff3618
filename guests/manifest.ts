import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { SimError } from '../sim/index.ts';
import { cProgramOf, findCGuest, type CGuest } from './c-guests.ts';
import { C_FLAGS, C_LINK_FLAGS, cToolchainVersion } from './toolchain/c.ts';
import { guestPath } from './toolchain/root.ts';
import { sha256Hex, sourceDigest } from './toolchain/sources.ts';

export const MANIFEST_SCHEMA_VERSION = 1;

const HEX_DIGEST = z.string().regex(/^[0-9a-f]{64}$/);

const ManifestEntry = z.strictObject({
  name: z.string(),
  /** File name under `guests/built`. */
  file: z.string(),
  /** Digest of every file that the compiler could read. */
  sourceDigest: HEX_DIGEST,
  flags: z.array(z.string()),
  toolchain: z.string(),
  byteCount: z.number().int().positive(),
  sha256: HEX_DIGEST,
});

const Manifest = z.strictObject({
  schema_version: z.literal(MANIFEST_SCHEMA_VERSION),
  artefacts: z.array(ManifestEntry),
});

/** What one committed artefact was built from, and with what. */
export type ManifestEntry = z.infer<typeof ManifestEntry>;
export type Manifest = z.infer<typeof Manifest>;

/** Reads `guests/built/manifest.json`. Error: `input/guest-manifest`. */
export function readManifest(): Manifest {
  const parsed = Manifest.safeParse(
    JSON.parse(readFileSync(guestPath('built', 'manifest.json'), 'utf8')),
  );
  if (parsed.success) return parsed.data;
  throw new SimError({
    code: 'input/guest-manifest',
    message: `the manifest of the built guests is damaged: ${parsed.error.message}`,
    place: 'guests/built/manifest.json',
    remedy: 'build the guests again with the build command of guests/toolchain',
  });
}

/** The digest that the manifest must hold for a guest as its sources are now. */
export function currentSourceDigest(guest: CGuest): string {
  return sourceDigest(cProgramOf(guest).files);
}

/** The flags that the manifest must hold for a guest. */
export function currentFlags(guest: CGuest): string[] {
  return [...C_FLAGS, ...C_LINK_FLAGS, ...(cProgramOf(guest).flags ?? [])];
}

/** The manifest's entry for an artefact that was just built. */
export function manifestEntry(name: string, artefact: Uint8Array): ManifestEntry {
  const guest = findCGuest(name);
  return {
    name,
    file: `${name}.wasm`,
    sourceDigest: currentSourceDigest(guest),
    flags: currentFlags(guest),
    toolchain: cToolchainVersion(),
    byteCount: artefact.length,
    sha256: sha256Hex(artefact),
  };
}
