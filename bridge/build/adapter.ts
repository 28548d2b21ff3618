import { join } from 'node:path';

import { digestFolders } from './digest.ts';
import { adapterSources } from './package-root.ts';

/** Backends with the adapter inside. */
export type AdapterKind = 'plugin' | 'patched';

const FOLDERS: Readonly<Record<AdapterKind, readonly string[]>> = {
  plugin: ['src', 'config'],
  patched: ['src', 'intree', 'patches'],
};

/** The folders of sources that the adapter of this kind is made of. */
export function adapterFolders(kind: AdapterKind): readonly string[] {
  const root = adapterSources();
  return FOLDERS[kind].map((name) => join(root, name));
}

/** SHA-256 of the adapter's sources: for `patched` the series of patches is part of them. */
export function adapterDigest(kind: AdapterKind): string {
  return digestFolders(adapterFolders(kind));
}
