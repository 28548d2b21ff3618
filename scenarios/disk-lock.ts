import { readFileSync, statSync } from 'node:fs';
import { SimError } from '../sim/index.ts';

/** The locks of all processes (proc_locks); absent on other systems, where nothing is known. */
const LOCKS = '/proc/locks';
/** QEMU locks this byte of a disk that it writes (RAW_LOCK_PERM_BASE + 1), for reading even so. */
const QEMU_WRITES = 101;

const LINE = /^\d+: (\w+) +\w+ +(READ|WRITE) +-?\d+ ([0-9a-f]+):([0-9a-f]+):(\d+) (\d+) (\d+|EOF)$/;

/**
 * Refuses a disk image that another process has locked in order to write: what is read of it would
 * be a part of the old and a part of the new. Throws `input/busy`.
 */
export function refuseHeldDisk(path: string, shown: string): void {
  const held = statSync(path, { throwIfNoEntry: false });
  if (held === undefined || !locks().some((line) => isWriterOf(held, line))) return;
  throw new SimError({
    code: 'input/busy',
    message: `the disk image "${shown}" is open elsewhere for writing`,
    place: shown,
    remedy: 'end the machine or program that has it open, or copy the image while it is closed',
  });
}

function locks(): readonly string[] {
  try {
    return readFileSync(LOCKS, 'latin1').split('\n');
  } catch {
    return [];
  }
}

function isWriterOf({ dev, ino }: { dev: number; ino: number }, line: string): boolean {
  const [, type, mode, major = '', minor = '', inode, from, to] = LINE.exec(line) ?? [];
  if (Number(inode) !== ino || deviceOf(parseInt(major, 16), parseInt(minor, 16)) !== dev) {
    return false;
  }
  const isOfQemu = type === 'OFDLCK' && Number(from) <= QEMU_WRITES && !(Number(to) < QEMU_WRITES);
  return mode === 'WRITE' || isOfQemu;
}

/** As glibc packs it (makedev). */
function deviceOf(major: number, minor: number): number {
  return (major & 0xfff) * 256 + (minor & 0xff) + Math.floor(minor / 256) * 2 ** 20;
}
