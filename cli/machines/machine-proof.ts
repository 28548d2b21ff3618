import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeCanonical } from '../../sim/index.ts';
import { machinesFolder } from '../cache-folder.ts';
import { sha256Hex } from '../zip.ts';
import type { MachinePlace } from './machine-start.ts';
import type { MachineStart } from './messages.ts';

/** Raised when machines are proven in another way. */
const PROOF_VERSION = 1;

/**
 * Sees to it that nothing is built on a machine before contract A holds for it (CR-111): the first
 * time that an image boots in a machine of this shape, on this backend, it boots twice more and
 * must do the same. An empty file in the cache, named by the content of all that, remembers it.
 * Errors: those of `proveMachine`.
 */
export function proveOnce({ host, guest }: MachinePlace, start: MachineStart, where: string): void {
  const { type, cpus, memoryMib, shift, initrd, commandLine, disks } = guest.machine;
  const shape = [
    type,
    cpus,
    memoryMib,
    shift,
    initrd,
    commandLine,
    disks.map(({ bytes }) => bytes),
  ];
  const key = [PROOF_VERSION, host.backend.identity, guest.image, ...shape];
  const folder = join(machinesFolder({ env: process.env, cwd: process.cwd() }), 'proven');
  const path = join(folder, sha256Hex(encodeCanonical(key)));
  if (existsSync(path)) return;
  host.ask({ kind: 'prove', start }, where);
  remember(folder, path);
}

/** A cache that cannot be written to serves all the same. */
function remember(folder: string, path: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, '');
  } catch {
    return;
  }
}
