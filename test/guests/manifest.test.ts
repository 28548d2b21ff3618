import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  C_GUESTS,
  cToolchainVersion,
  currentFlags,
  currentSourceDigest,
  findCGuest,
  guestPath,
  readManifest,
  sha256Hex,
} from '../../guests/index.ts';

const BUILT_BYTE_COUNT_MAX = 1_000_000;
const manifest = readManifest();

describe('the committed guests', () => {
  it('are those of the catalogue, and no other file lies beside them', () => {
    expect(manifest.artefacts.map((artefact) => artefact.name)).toEqual(
      C_GUESTS.map((guest) => guest.name),
    );
    const files = manifest.artefacts.map((artefact) => artefact.file);
    expect(readdirSync(guestPath('built')).sort()).toEqual([...files, 'manifest.json'].sort());
  });

  it('were built from the sources, flags and compiler of this tree', () => {
    const now = manifest.artefacts.map(({ name }) => ({
      name,
      sourceDigest: currentSourceDigest(findCGuest(name)),
      flags: currentFlags(findCGuest(name)),
      toolchain: cToolchainVersion(),
    }));
    const then = manifest.artefacts.map(({ name, sourceDigest, flags, toolchain }) => ({
      name,
      sourceDigest,
      flags,
      toolchain,
    }));
    expect(then).toEqual(now);
  });

  it('have the bytes that the manifest names, and are small together', () => {
    let byteCount = 0;
    for (const artefact of manifest.artefacts) {
      const bytes = readFileSync(guestPath('built', artefact.file));
      expect(bytes.length).toBe(artefact.byteCount);
      expect(sha256Hex(bytes)).toBe(artefact.sha256);
      byteCount += bytes.length;
    }
    expect(byteCount).toBeLessThan(BUILT_BYTE_COUNT_MAX);
  });

  it.each(manifest.artefacts.map((artefact) => artefact.file))(
    '%s is a stripped preview 1 command',
    (file) => {
      const module = new WebAssembly.Module(readFileSync(guestPath('built', file)));
      const sections = ['name', 'producers', '.debug_info', '.debug_line', 'linking'];
      expect(
        sections.filter((name) => WebAssembly.Module.customSections(module, name).length > 0),
      ).toEqual([]);
      const modules = new Set(WebAssembly.Module.imports(module).map((entry) => entry.module));
      expect([...modules]).toEqual(['wasi_snapshot_preview1']);
      const exports = WebAssembly.Module.exports(module).map((entry) => entry.name);
      expect(exports.sort()).toEqual(['_start', 'memory']);
    },
  );
});
