import type { MachineChoice } from './machines/machine-backend.ts';
import {
  isVacuous,
  type PropertyOutcome,
  type RunOutcome,
  type ScenarioDef,
} from '../sim/index.ts';
import type { WasmEngine } from '../wasm/index.ts';
import type { MachineHost } from './machines/machine-host.ts';
import { runToEnd } from './record.ts';

/** What a campaign keeps of each run. */
export type SeedResult = Pick<
  RunOutcome,
  'verdict' | 'reason' | 'signature' | 'endNs' | 'quanta' | 'decisionCount' | 'eventCount'
> & {
  readonly seed: number;
  /** Properties that had something to judge in this run, and those that had nothing (FB-71). */
  readonly fired: readonly string[];
  readonly vacuous: readonly string[];
};

/** One run of a campaign. */
export function runSeed(
  scenario: ScenarioDef,
  seed: number,
  images: ReadonlyMap<string, Uint8Array>,
  engine: WasmEngine,
  machines?: MachineChoice,
  machineHost?: MachineHost,
): SeedResult {
  const run = { scenario: { ...scenario, seed }, images, engine, machines, machineHost };
  const { outcome } = runToEnd(run);
  const { verdict, reason, signature, endNs, quanta, decisionCount, eventCount, properties } =
    outcome;
  const label = ({ kind, name }: PropertyOutcome): string => `${kind} ${name}`;
  return {
    seed,
    verdict,
    reason,
    signature,
    endNs,
    quanta,
    decisionCount,
    eventCount,
    fired: properties.filter((each) => !isVacuous(each)).map(label),
    vacuous: properties.filter(isVacuous).map(label),
  };
}
