import { Simulation, type SimulationResult } from '../../cli/simulation.ts';
import { loadScenarioText, LocalFiles } from '../../scenarios/index.ts';
import { museumText } from '../../scenarios/museum/index.ts';
import { WasmEngine } from '../../wasm/index.ts';

/** Answers a function that runs one seed of a museum case. */
export function exhibit(name: string, variant: 'bug' | 'twin'): (seed: number) => SimulationResult {
  const loaded = loadScenarioText(museumText(name, variant), name, new LocalFiles('.'));
  if (!loaded.ok) throw loaded.errors[0];
  const { def, images } = loaded.scenario;
  const engine = new WasmEngine({});
  return (seed) => {
    const simulation = new Simulation({ scenario: def, images, engine, seed });
    try {
      simulation.runUntil({});
      return simulation.finish();
    } finally {
      simulation.dispose();
    }
  };
}
