import { SimError } from '../kernel/errors.ts';
import { readInteger, readRecord, type Read } from '../kernel/shape.ts';
import { NS_PER_S, type VirtualNs } from '../kernel/units.ts';

/**
 * How long a guest that could go on may be kept waiting for its processor. A scenario without it
 * resumes each guest at once, and asks nobody.
 */
export interface SchedulingDef {
  /** The longest wait; at most 10 s. */
  readonly delayNsMax: VirtualNs;
  /** How many waits there are, from none to the longest in equal steps: 2 to 64. */
  readonly choices: number;
}

/** Longer than this a node that does not run is paused, which is an event of its own. */
export const SCHEDULING_DELAY_NS_MAX: VirtualNs = 10 * NS_PER_S;
export const SCHEDULING_CHOICES_MAX = 64;
/** Eight waits: few enough to enumerate, and three bits of order at each resume. */
export const SCHEDULING_CHOICES_DEFAULT = 8;

export const readScheduling: Read<SchedulingDef> = readRecord<SchedulingDef>({
  delayNsMax: readInteger(),
  choices: readInteger(),
});

/** Throws `scenario/range` for numbers that are out of range. */
export function admitScheduling({ delayNsMax, choices }: SchedulingDef): void {
  const checks = [
    ['delayNsMax', delayNsMax, 1, SCHEDULING_DELAY_NS_MAX],
    ['choices', choices, 2, SCHEDULING_CHOICES_MAX],
  ] as const;
  for (const [name, value, min, max] of checks) {
    if (Number.isSafeInteger(value) && value >= min && value <= max) continue;
    throw new SimError({
      code: 'scenario/range',
      message: `the scenario is refused: ${value} is not a whole number within ${min} to ${max}`,
      place: `plan.scheduling.${name}`,
    });
  }
}
