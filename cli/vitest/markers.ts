import { didYouMean } from '../../scenarios/index.ts';
import { SimError } from '../../sim/index.ts';

/** A fault profile as it stands in a file: `default` or `service.operation` to what goes wrong there. */
export type FaultTable = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What a test declares about its runs (FH-41). */
export interface Markers {
  /** A world file, from the folder of the test file, or the name of a built-in world. */
  readonly world?: string;
  /**
   * What goes wrong: a file, a table, or `world` for the world file's own block. Without it nothing does,
   * whatever the world file has (FH-35).
   */
  readonly faults?: string | FaultTable;
  /** How many runs, 1 to 100,000: each an item of its own. `ATHANOR_RUNS` overrides it (FH-44). */
  readonly runs?: number;
  /** Above 0, at most 1: how many of the runs must pass. Without it each run's result stands. */
  readonly minPassRate?: number;
}

const KEYS: readonly (keyof Markers)[] = ['world', 'faults', 'runs', 'minPassRate'];
const RUNS_MAX = 100_000;

/** Refuses markers that say nothing or cannot be (FH-48): `usage/vitest`. */
export function checkMarkers(markers: Markers, test: string): void {
  const refuse = (message: string, remedy: string): never => {
    throw usageError(`test "${test}": ${message}`, remedy);
  };
  for (const [key, value] of Object.entries(markers) as [string, unknown][]) {
    const known = KEYS.find((each) => each === key);
    if (known === undefined) {
      refuse(`there is no marker "${key}"${didYouMean(key, KEYS)}`, `there are ${KEYS.join(', ')}`);
    }
    if (value === undefined || value === null || value === '') {
      refuse(`the marker "${key}" has no argument`, `give it one, or leave "${key}" out`);
    }
  }
  const { world, faults, runs, minPassRate } = markers;
  if (world !== undefined && typeof world !== 'string') {
    refuse('world is no text', "write world: './shop.yaml'");
  }
  if (faults !== undefined && typeof faults !== 'string' && typeof faults !== 'object') {
    refuse('faults is neither a file nor a table', "write faults: './faults.yaml' or a table");
  }
  if (faults !== undefined && world === undefined) {
    refuse('faults without a world have nothing to happen to', 'name a world');
  }
  if (runs !== undefined && !isCount(runs)) {
    refuse(`runs is ${String(runs)}`, `write a whole number from 1 to ${RUNS_MAX}`);
  }
  if (minPassRate !== undefined && !(minPassRate > 0 && minPassRate <= 1)) {
    refuse(`minPassRate is ${String(minPassRate)}`, 'write a number above 0, at most 1');
  }
}

/** How many runs a test has: `ATHANOR_RUNS`, else its marker, else one; null where nobody said. */
export function runCount({ runs }: Markers): number | null {
  const text = process.env['ATHANOR_RUNS'] ?? '';
  if (text === '') return runs ?? null;
  if (/^\d{1,6}$/.test(text) && isCount(Number(text))) return Number(text);
  throw usageError(
    `ATHANOR_RUNS is "${text.slice(0, 40)}"`,
    `write a whole number from 1 to ${RUNS_MAX}`,
  );
}

export function usageError(message: string, remedy: string): SimError {
  return new SimError({ code: 'usage/vitest', message, remedy });
}

function isCount(runs: number): boolean {
  return Number.isInteger(runs) && runs >= 1 && runs <= RUNS_MAX;
}
