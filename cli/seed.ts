import { randomBytes } from 'node:crypto';
import { SimError } from '../sim/index.ts';
import type { Context } from './context.ts';

/** Who chose a run's seed (CR-47, FB-65). */
export type SeedSource = 'command line' | 'environment' | 'scenario' | 'drawn';

export interface ChosenSeed {
  readonly seed: number;
  readonly source: SeedSource;
}

/**
 * The seed of a run: `--seed`, else ATHANOR_SEED, else the scenario's, else one draw of the host's
 * entropy. The draw is below 2^32, so that it is short enough to be told.
 */
export function chooseSeed(context: Context, scenarioSeed: number | null): ChosenSeed {
  const { globals, host } = context;
  if (globals.seed !== undefined) return { seed: globals.seed, source: 'command line' };
  const text = host.env['ATHANOR_SEED'] ?? '';
  if (text !== '') return { seed: parseSeed(text), source: 'environment' };
  if (scenarioSeed !== null) return { seed: scenarioSeed, source: 'scenario' };
  return { seed: randomBytes(4).readUInt32LE(), source: 'drawn' };
}

function parseSeed(text: string): number {
  const seed = Number(text);
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(seed)) return seed;
  throw new SimError({
    code: 'usage/seed',
    message: `ATHANOR_SEED is "${text.slice(0, 40)}", expected a whole number within 0 to 2^53 - 1`,
    place: 'environment variable ATHANOR_SEED',
  });
}
