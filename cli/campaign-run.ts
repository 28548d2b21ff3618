import type { RunOutcome, ScenarioDef } from '../sim/index.ts';
import type { WasmEngine } from '../wasm/index.ts';
import { runToEnd } from './record.ts';

/** What a campaign keeps of each run. */
export type SeedResult = Pick<
  RunOutcome,
  'verdict' | 'reason' | 'signature' | 'endNs' | 'quanta' | 'decisionCount' | 'eventCount'
> & { readonly seed: number };

/** One run of a campaign. */
export function runSeed(
  scenario: ScenarioDef,
  seed: number,
  images: ReadonlyMap<string, Uint8Array>,
  engine: WasmEngine,
): SeedResult {
  const { outcome } = runToEnd({ scenario: { ...scenario, seed }, images, engine });
  const { verdict, reason, signature, endNs, quanta, decisionCount, eventCount } = outcome;
  return { seed, verdict, reason, signature, endNs, quanta, decisionCount, eventCount };
}
