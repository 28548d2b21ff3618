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

/** An unsigned LEB128 number and where it ends (core specification, 5.2.2). */
function unsigned(bytes: Uint8Array, offset: number): [value: number, end: number] {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[offset++];
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return [value, offset];
  }
}

/** Names of the custom sections of a module. */
function customSections(bytes: Uint8Array): string[] {
  const names: string[] = [];
  for (let offset = 8; offset < bytes.length;) {
    const id = bytes[offset];
    const [size, start] = unsigned(bytes, offset + 1);
    if (id === 0) {
      const [length, nameStart] = unsigned(bytes, start);
      names.push(new TextDecoder().decode(bytes.subarray(nameStart, nameStart + length)));
    }
    offset = start + size;
  }
  return names;
}

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
      const bytes = readFileSync(guestPath('built', file));
      expect(customSections(bytes)).toEqual([]);
      const module = new WebAssembly.Module(bytes);
      const modules = new Set(WebAssembly.Module.imports(module).map((entry) => entry.module));
      // A marker is the one thing beyond WASI that a program of ours may ask for.
      modules.delete('athanor');
      expect([...modules]).toEqual(['wasi_snapshot_preview1']);
      const exports = WebAssembly.Module.exports(module).map((entry) => entry.name);
      expect(exports.sort()).toEqual(['_start', 'memory']);
    },
  );
});
