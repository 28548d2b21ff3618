import type { VirtualNs } from '../kernel/units.ts';

/** Something that people want to see of a run, apart from the consoles. */
export interface Note {
  readonly atNs: VirtualNs;
  /** The node, or -1 for the world. */
  readonly node: number;
  readonly kind:
    | 'start'
    | 'exit'
    | 'trap'
    | 'crash'
    | 'restart'
    | 'pause'
    | 'network'
    | 'disk'
    | 'marker'
    | 'wipe'
    | 'upgrade'
    | 'clock'
    | 'plan';
  readonly text: string;
}

/** At most this many notes are kept; later ones are only counted. */
export const NOTES_MAX = 100_000;
