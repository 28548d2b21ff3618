import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, placeOfNumbers } from './process-name.ts';

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

function ownerOf(name: string, place: string): number | null {
  if (!name.startsWith(`${PREFIX}${place}-`)) return null;
  const [number] = name.slice(PREFIX.length + place.length + 1).split('-');
  return /^\d+$/.test(number ?? '') ? Number(number) : null;
}
