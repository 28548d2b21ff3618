import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { threadId } from 'node:worker_threads';
import { hasEnded, nameOfProcess, numberOfProcess } from './process-name.ts';

/** An owner who cannot be seen to have ended is believed for so long; then others go on. */
export const LOCK_MS_MAX = 600_000;
const LOOK_MS = 100;

/** Is told, again and again, while another process has the lock; its number, if it is known. */
export type OnWait = (owner: number | null) => void;

/**
 * Calls `work` while no other process that asks for the same `path` does, so that what takes long
 * is done once. The lock is a file that names its owner; that of an owner who has ended is taken
 * over. It saves time and no more: where two take over at once both may work, and who makes an
 * entry of the cache must bear that.
 */
export function withLock<T>(path: string, work: () => T, onWait: OnWait): T {
  const mine = `${nameOfProcess()} ${threadId}`;
  while (!take(path, mine)) {
    const owner = read(path);
    if (owner === null) continue;
    if (isOver(path, owner)) {
      takeAway(path, owner);
    } else {
      onWait(numberOfProcess(processOf(owner)));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
    }
  }
  try {
    return work();
  } finally {
    // Somebody may have taken it over meanwhile.
    if (read(path) === mine) rmSync(path, { force: true });
  }
}

function take(path: string, mine: string): boolean {
  try {
    writeFileSync(path, mine, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/** What the lock says; null if there is none any more. */
function read(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

function processOf(owner: string): string {
  return owner.slice(0, owner.lastIndexOf(' '));
}

/** A lock is empty for the moment in which it is written. */
function isOver(path: string, owner: string): boolean {
  if (owner !== '' && hasEnded(processOf(owner))) return true;
  const writtenMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Date.now() - writtenMs > LOCK_MS_MAX;
}

/** Of several who find it over, one gets it away; a lock that is not the one found goes back. */
function takeAway(path: string, owner: string): void {
  const aside = `${path}.${process.pid}-${threadId}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return;
  }
  const found = read(aside);
  rmSync(aside, { force: true });
  if (found !== null && found !== owner) take(path, found);
}
