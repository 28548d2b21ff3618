import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'athanor-machines-';

/**
 * A new folder for files that QEMU needs while this process lives. A process that is ended while
 * it sleeps cannot clear up after itself, so the folders of those that are gone go first.
 */
export function makeMachineFolder(parent = tmpdir()): string {
  const place = placeOfNumbers();
  for (const name of readdirSync(parent)) {
    const owner = ownerOf(name, place);
    if (owner !== null && !isAlive(owner)) sweep(join(parent, name));
  }
  return mkdtempSync(join(parent, `${PREFIX}${place}-${process.pid}-`));
}

function sweep(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // It is another user's, or somebody else sweeps it too.
  }
}

/** Process numbers mean something within one namespace, until the next boot only. */
function placeOfNumbers(): string {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  const namespace = readlinkSync('/proc/self/ns/pid');
  return createHash('sha256').update(`${boot} ${namespace}`).digest('hex').slice(0, 16);
}

function ownerOf(name: string, place: string): number | null {
  if (!name.startsWith(`${PREFIX}${place}-`)) return null;
  const [number] = name.slice(PREFIX.length + place.length + 1).split('-');
  return /^\d+$/.test(number ?? '') ? Number(number) : null;
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    // Another user's process is alive too.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
