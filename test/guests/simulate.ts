import { Simulation, type SimulationResult } from '../../cli/simulation.ts';
import { loadGuest } from '../../guests/index.ts';
import { LocalFiles, type ScenarioBuilder, type ScenarioFiles } from '../../scenarios/index.ts';
import { SimError, type ScenarioDef } from '../../sim/index.ts';
import { WasmEngine } from '../../wasm/index.ts';

/** A scenario with its guests at hand, ready to run with any seed. */
export interface Prepared {
  readonly def: ScenarioDef;
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly engine: WasmEngine;
}

/** Guests of the catalogue by name, for scenarios that say `wasm: NAME`. */
class CatalogueFiles implements ScenarioFiles {
  readonly #images: ReadonlyMap<string, Uint8Array>;
  readonly #local = new LocalFiles('.');

  constructor(images: ReadonlyMap<string, Uint8Array>) {
    this.#images = images;
  }

  read(path: string): Uint8Array {
    const image = this.#images.get(path);
    if (image !== undefined) return image;
    throw new SimError({ code: 'input/missing', message: 'not one of the loaded guests' });
  }

  builtinGuest(name: string): Uint8Array {
    return this.#local.builtinGuest(name);
  }
}

/** Loads or builds the named guests and compiles the scenario with them. */
export async function prepare(
  builder: ScenarioBuilder,
  guests: readonly string[],
): Promise<Prepared> {
  const images = new Map<string, Uint8Array>();
  for (const name of guests) {
    images.set(name, await loadGuest(name));
    builder.guest(name, { wasm: name });
  }
  const compiled = builder.build(new CatalogueFiles(images));
  return { ...compiled, engine: new WasmEngine({}) };
}

/** What tests compare of two runs: everything that was decided, that happened, that was printed. */
export interface Outcome {
  readonly result: SimulationResult;
  readonly consoles: Readonly<Record<string, string>>;
  /** Equal only if both logs, all consoles and all final states are. */
  readonly identity: string;
}

export function outcomeOf(result: SimulationResult): Outcome {
  const consoles = Object.fromEntries(
    result.consoles.map(({ node, bytes }) => [node, new TextDecoder().decode(bytes)]),
  );
  return {
    result,
    consoles,
    identity: JSON.stringify([result.fingerprints, consoles, result.nodes, result.lastDraw]),
  };
}

/** One whole run. */
export function simulate(prepared: Prepared, seed: number): Outcome {
  const simulation = new Simulation({ ...prepared, scenario: prepared.def, seed });
  try {
    simulation.runUntil({});
    return outcomeOf(simulation.finish());
  } finally {
    simulation.dispose();
  }
}
