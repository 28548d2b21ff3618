import type { MachineHost } from './machine-host.ts';
import { MachinePlayer } from './machine-player.ts';
import type { MachineTape } from './machine-tape.ts';

/** Where two runs of one machine part: they are equal up to one instruction, and differ from it on. */
export interface MachineParting {
  /** Which of the machine's lives, from 1. */
  readonly life: number;
  /** Equal up to here, different here: times of the left world. Both 0 if equal nowhere. */
  readonly afterNs: number;
  readonly byNs: number;
  /** Instructions executed where both are still equal. */
  readonly instructions: number;
  /** What differs. */
  readonly memory: boolean;
  readonly devices: boolean;
  /** Guest-physical addresses of pages of 4 KiB that differ, the first ones. */
  readonly pages: readonly number[];
  /** What reached each machine where both are still equal. */
  readonly inputs: { readonly left: readonly string[]; readonly right: readonly string[] };
}

interface Pair {
  readonly left: MachinePlayer;
  readonly right: MachinePlayer;
}

/** Into so many stretches a life is cut at first. */
const STRETCHES = 32;

/**
 * Finds where the lives of one machine in two runs part, by digests at shrinking distances, down to one
 * instruction of `instructionNs`. Null if they are equal as long as both last.
 */
export function findParting(
  host: MachineHost,
  lives: { readonly left: readonly MachineTape[]; readonly right: readonly MachineTape[] },
  instructionNs: number,
): MachineParting | null {
  const count = Math.min(lives.left.length, lives.right.length);
  for (let life = 0; life < count; life++) {
    const [left, right] = [lives.left[life] as MachineTape, lives.right[life] as MachineTape];
    const parting = partingOfLife(host, left, right, instructionNs);
    if (parting !== null) return { life: life + 1, ...parting };
  }
  return null;
}

function partingOfLife(
  host: MachineHost,
  left: MachineTape,
  right: MachineTape,
  instructionNs: number,
): Omit<MachineParting, 'life'> | null {
  const start: Pair = {
    left: MachinePlayer.begin(host, left),
    right: MachinePlayer.begin(host, right),
  };
  if (!areEqual(start)) {
    const parting = describe(host, start, start);
    close(start);
    return parting;
  }
  const found = firstStretch(start, Math.min(left.endNs, right.endNs));
  if (found === null) return null;
  const { before, after } = narrow(found.before, found.after, instructionNs);
  const parting = describe(host, before, after);
  close(before);
  close(after);
  return parting;
}

/** The first of some stretches at whose end the two differ; null after the last one. */
function firstStretch(
  start: Pair,
  endNs: number,
): { readonly before: Pair; readonly after: Pair } | null {
  let before = start;
  for (let stretch = 1; stretch <= STRETCHES; stretch++) {
    const after = advanced(before, Math.ceil((endNs * stretch) / STRETCHES));
    if (!areEqual(after)) return { before, after };
    close(before);
    before = after;
  }
  close(before);
  return null;
}

/** Halves the distance until there is one instruction in it. */
function narrow(
  before: Pair,
  after: Pair,
  instructionNs: number,
): { readonly before: Pair; readonly after: Pair } {
  for (;;) {
    const fromNs = before.left.nowNs;
    const distanceNs = after.left.nowNs - fromNs;
    if (distanceNs <= instructionNs) return { before, after };
    const middle = advanced(before, fromNs + Math.floor(distanceNs / 2));
    if (areEqual(middle)) {
      close(before);
      before = middle;
    } else {
      close(after);
      after = middle;
    }
  }
}

function advanced({ left, right }: Pair, untilNs: number): Pair {
  const pair = { left: left.copy(), right: right.copy() };
  pair.left.advance(untilNs);
  pair.right.advance(untilNs);
  return pair;
}

function areEqual({ left, right }: Pair): boolean {
  return left.instructions === right.instructions && left.digest() === right.digest();
}

function close({ left, right }: Pair): void {
  left.close();
  right.close();
}

function describe(host: MachineHost, before: Pair, after: Pair): Omit<MachineParting, 'life'> {
  const { left, right } = after;
  const [leftRam, leftDevices] = left.digest().split(' ');
  const [rightRam, rightDevices] = right.digest().split(' ');
  const pages = host.ask({ kind: 'compare', left: left.machine, right: right.machine });
  return {
    afterNs: before.left.worldNs,
    byNs: left.worldNs,
    instructions: before.left.instructions,
    memory: leftRam !== rightRam,
    devices: leftDevices !== rightDevices,
    pages,
    inputs: { left: before.left.coming, right: before.right.coming },
  };
}
