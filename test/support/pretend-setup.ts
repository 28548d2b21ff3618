import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { adapterDigest, type AdapterKind } from '../../bridge/build/adapter.ts';

const ID = Buffer.from('0fbbd5ca8d2d0a32532049e20739f3e0d521c5ed', 'hex');

/** The identity that `pretendSetUp` gives a backend. */
export function identityOfPretended(kind: AdapterKind): string {
  return createHash('sha256').update(kind).digest('hex');
}

/** Writes into `folder` what a set-up of `kind` leaves behind, with a binary that is none. */
export function pretendSetUp(
  folder: string,
  kind: AdapterKind,
  changes: { readonly digest?: string; readonly identity?: string } = {},
): { binary: string } {
  const { digest = adapterDigest(kind), identity = identityOfPretended(kind) } = changes;
  const binary = join(folder, `qemu-${kind}`);
  const plugin = join(folder, 'sim.so');
  writeFileSync(binary, elfWithBuildId(ID));
  writeFileSync(plugin, 'adapter');
  const parts = { kind, version: '10.0.2', binary, firmwareFolders: [], identity };
  const record = {
    schema_version: 2,
    backend: kind === 'plugin' ? { ...parts, plugin } : parts,
    buildId: ID.toString('hex'),
    plugin: kind === 'plugin' ? createHash('sha256').update('adapter').digest('hex') : '',
  };
  writeFileSync(
    join(folder, `backend-${kind}-${digest.slice(0, 16)}.json`),
    JSON.stringify(record),
  );
  return { binary };
}

/** The start of a 64-bit ELF file with a property note and the note of a build id (20 bytes). */
export function elfWithBuildId(id: Buffer): Buffer {
  const header = Buffer.alloc(64);
  header.writeUInt32BE(0x7f454c46, 0);
  header[4] = 2;
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(2, 56);
  const property = note(5, Buffer.alloc(16), 8);
  const build = note(3, id, 4);
  const at = 64 + 2 * 56;
  const segments = [
    segment(at, property.length, 8),
    segment(at + property.length, build.length, 4),
  ];
  return Buffer.concat([header, ...segments, property, build]);
}

function segment(offset: number, bytes: number, align: number): Buffer {
  const entry = Buffer.alloc(56);
  entry.writeUInt32LE(4, 0);
  entry.writeBigUInt64LE(BigInt(offset), 8);
  entry.writeBigUInt64LE(BigInt(bytes), 32);
  entry.writeBigUInt64LE(BigInt(align), 48);
  return entry;
}

function note(type: number, content: Buffer, align: number): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt32LE(4, 0);
  head.writeUInt32LE(content.length, 4);
  head.writeUInt32LE(type, 8);
  head.write('GNU\0', 12);
  const bytes = Buffer.concat([head, content]);
  return Buffer.concat([bytes, Buffer.alloc((align - (bytes.length % align)) % align)]);
}
