import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';

/** Process numbers mean something within one namespace, until the next boot only: a name of both. */
export function placeOfNumbers(): string {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  const namespace = readlinkSync('/proc/self/ns/pid');
  return createHash('sha256').update(`${boot} ${namespace}`).digest('hex').slice(0, 16);
}

/** Whether a process of this place lives. */
export function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    // Another user's process is alive too.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** A name of a process that no other one will ever have: its number alone comes again. */
export function nameOfProcess(processId = process.pid): string {
  return `${placeOfNumbers()} ${processId} ${startOf(processId)}`;
}

/** The number of the process of that name; null for what is no name. */
export function numberOfProcess(name: string): number | null {
  const number = /^[0-9a-f]{16} (\d+) \d*$/.exec(name)?.[1];
  return number === undefined ? null : Number(number);
}

/** Whether the process of that name is certain to have ended; of another place's nobody knows. */
export function hasEnded(name: string): boolean {
  const [place, number, start] = name.split(' ');
  if (place !== placeOfNumbers()) return false;
  return !isAlive(Number(number)) || startOf(Number(number)) !== start;
}

/** When a process started, in the kernel's ticks (proc(5), stat); empty for none, or one that is over. */
function startOf(processId: number): string {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, 'latin1');
    // The name of the program, in parentheses, may hold anything; then the state is field 3.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? '' : (fields[19] ?? '');
  } catch {
    return '';
  }
}
