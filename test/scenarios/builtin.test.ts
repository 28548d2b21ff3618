import { describe, expect, it } from 'vitest';
import { runSeed } from '../../cli/campaign-run.ts';
import {
  builtinScenarioNames,
  builtinScenarioText,
  loadScenarioText,
  LocalFiles,
  type CompiledScenario,
} from '../../scenarios/index.ts';
import { WasmEngine } from '../../wasm/index.ts';

function load(name: string): CompiledScenario {
  const result = loadScenarioText(builtinScenarioText(name) ?? '', name, new LocalFiles('.'));
  if (!result.ok) throw result.errors[0] as Error;
  return result.scenario;
}

describe('built-in scenarios', () => {
  it('CR-62: happy path, partition recovery, crash restart, a fault family, and the demo', () => {
    expect(builtinScenarioNames()).toEqual([
      'crash-restart',
      'fault-campaign',
      'forgotten-vote',
      'hello',
      'partition-recovery',
      'raft',
    ]);
  });

  it.each(['hello', 'partition-recovery', 'crash-restart', 'raft'])(
    'CR-62: %s passes over several seeds',
    (name) => {
      const { def, images } = load(name);
      const engine = new WasmEngine();
      for (const seed of [1, 2, 3]) {
        const { verdict, signature } = runSeed(def, seed, images, engine);
        expect([seed, verdict, signature]).toEqual([seed, 'pass', '']);
      }
    },
  );

  it('CR-62: the fault family passes for most seeds, and finds the client without a timeout', () => {
    const { def, images } = load('fault-campaign');
    const engine = new WasmEngine();
    const verdicts = new Map<string, number>();
    for (let seed = 1; seed <= 40; seed++) {
      const { verdict, signature } = runSeed(def, seed, images, engine);
      const kind = `${verdict} ${signature}`.trim();
      verdicts.set(kind, (verdicts.get(kind) ?? 0) + 1);
    }
    expect([...verdicts.keys()].sort()).toEqual(['fail exit:clients finish', 'pass']);
    expect(verdicts.get('pass')).toBeGreaterThan(20);
  });
});
