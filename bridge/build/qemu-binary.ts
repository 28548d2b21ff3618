import { existsSync, readFileSync } from 'node:fs';

import { SimError } from '../../sim/index.ts';
import { runProgram } from './program.ts';

/** Where Debian's package puts QEMU; the PATH is never searched. */
export const PACKAGED_QEMU = '/usr/bin/qemu-system-x86_64';
const VERSION_TIMEOUT_MS = 20_000;
const NOTE_BUILD_ID = 3;
const SECTION_NOTE = 7;

/** A QEMU binary and what identifies it. */
export interface QemuBinary {
  readonly path: string;
  /** `10.0.2`. */
  readonly version: string;
  /** The linker's digest of the binary, hexadecimal. */
  readonly buildId: string;
}

/** Looks at a binary. Errors: `backend/missing`, `backend/program-failed`. */
export async function inspectQemu(path: string): Promise<QemuBinary> {
  if (!existsSync(path)) {
    throw new SimError({
      code: 'backend/missing',
      message: 'QEMU for x86-64 is not installed',
      place: path,
      remedy: 'run `sim vm setup`, or install qemu-system-x86 10.0 (Debian 12: from backports)',
    });
  }
  const text = await runProgram(path, ['--version'], {
    remedy: 'install QEMU again',
    timeoutMs: VERSION_TIMEOUT_MS,
  });
  const version = /QEMU emulator version (\d+\.\d+\.\d+)/.exec(text)?.[1] ?? 'unknown';
  return { path, version, buildId: readBuildId(readFileSync(path)) };
}

/**
 * The note of type NT_GNU_BUILD_ID of a 64-bit little-endian ELF file, hexadecimal; empty if there
 * is none or the file is not of that kind. (System V ABI, "ELF header", "Note section".)
 */
export function readBuildId(file: Buffer): string {
  const isElf64 = file.length >= 64 && file.readUInt32BE(0) === 0x7f454c46 && file[4] === 2;
  if (!isElf64) return '';
  const tableOffset = Number(file.readBigUInt64LE(40));
  const entryBytes = file.readUInt16LE(58);
  const count = file.readUInt16LE(60);
  for (let index = 0; index < count; index++) {
    const at = tableOffset + index * entryBytes;
    if (at + 64 > file.length) return '';
    if (file.readUInt32LE(at + 4) !== SECTION_NOTE) continue;
    const offset = Number(file.readBigUInt64LE(at + 24));
    if (offset + 16 > file.length) return '';
    const nameBytes = file.readUInt32LE(offset);
    const idBytes = file.readUInt32LE(offset + 4);
    const type = file.readUInt32LE(offset + 8);
    if (type !== NOTE_BUILD_ID || file.toString('latin1', offset + 12, offset + 15) !== 'GNU') {
      continue;
    }
    const start = offset + 12 + ((nameBytes + 3) & ~3);
    return file.toString('hex', start, start + idBytes);
  }
  return '';
}
