import { closeSync, existsSync, openSync, readSync } from 'node:fs';

import { SimError } from '../../sim/index.ts';
import { runProgram } from './program.ts';

/** Where Debian's package puts QEMU; the PATH is never searched. */
export const PACKAGED_QEMU = '/usr/bin/qemu-system-x86_64';
const VERSION_TIMEOUT_MS = 20_000;
const NOTE_BUILD_ID = 3;
const SEGMENT_NOTE = 4;
const NOTE_HEADER_BYTES = 12;
/** Linkers put notes at the start of the file. */
const START_BYTES = 65_536;

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
  const buildId = buildIdOf(path);
  const text = await runProgram(path, ['--version'], {
    remedy: 'install QEMU again',
    timeoutMs: VERSION_TIMEOUT_MS,
  });
  const version = /QEMU emulator version (\d+\.\d+\.\d+)/.exec(text)?.[1] ?? 'unknown';
  return { path, version, buildId };
}

/** As `readBuildId`, of the file at `path`. Throws `backend/missing`. */
export function buildIdOf(path: string): string {
  if (!existsSync(path)) {
    throw new SimError({
      code: 'backend/missing',
      message: 'QEMU for x86-64 is not installed',
      place: path,
      remedy: 'run `sim vm setup`, or install qemu-system-x86 10.0 (Debian 12: from backports)',
    });
  }
  const start = Buffer.alloc(START_BYTES);
  const file = openSync(path, 'r');
  try {
    return readBuildId(start.subarray(0, readSync(file, start, 0, START_BYTES, 0)));
  } finally {
    closeSync(file);
  }
}

/**
 * The note of type NT_GNU_BUILD_ID in the first bytes of a 64-bit little-endian ELF file,
 * hexadecimal; empty if there is none or the file is not of that kind. (System V ABI, "ELF header",
 * "Program header", "Note section".)
 */
export function readBuildId(start: Buffer): string {
  const isElf64 = start.length >= 64 && start.readUInt32BE(0) === 0x7f454c46 && start[4] === 2;
  if (!isElf64) return '';
  const tableOffset = Number(start.readBigUInt64LE(32));
  const entryBytes = start.readUInt16LE(54);
  const count = start.readUInt16LE(56);
  for (let index = 0; index < count; index++) {
    const at = tableOffset + index * entryBytes;
    if (at + 56 > start.length) return '';
    if (start.readUInt32LE(at) !== SEGMENT_NOTE) continue;
    const offset = Number(start.readBigUInt64LE(at + 8));
    const end = Math.min(start.length, offset + Number(start.readBigUInt64LE(at + 32)));
    const align = Math.max(4, Number(start.readBigUInt64LE(at + 48)));
    const id = findNote(start.subarray(offset, end), align);
    if (id !== '') return id;
  }
  return '';
}

function findNote(notes: Buffer, align: number): string {
  const round = (bytes: number): number => Math.ceil(bytes / align) * align;
  for (let at = 0; at + NOTE_HEADER_BYTES <= notes.length;) {
    const nameBytes = notes.readUInt32LE(at);
    const idBytes = notes.readUInt32LE(at + 4);
    const id = at + round(NOTE_HEADER_BYTES + nameBytes);
    const name = notes.toString('latin1', at + NOTE_HEADER_BYTES, at + NOTE_HEADER_BYTES + 3);
    if (notes.readUInt32LE(at + 8) === NOTE_BUILD_ID && name === 'GNU') {
      return notes.toString('hex', id, id + idBytes);
    }
    at = round(id + idBytes);
  }
  return '';
}
