/**
 * The library: what the command `sim` is made of, for programs and test suites of one's own.
 *
 *     import { scenario, LocalFiles, Simulation, WasmEngine } from 'athanor';
 *
 * Build or load a scenario, make one engine for the process, and run simulations with it.
 */
export { Simulation } from './simulation.ts';
export type {
  Checkpoint,
  Fingerprint,
  NodeResult,
  SimulationOptions,
  SimulationResult,
  StopAt,
  Verdict,
} from './simulation.ts';
export {
  loadScenarioBytes,
  loadScenarioText,
  LocalFiles,
  scenario,
  ScenarioBuilder,
} from '../scenarios/index.ts';
export type { ScenarioFiles } from '../scenarios/index.ts';
export { SimError } from '../sim/index.ts';
export type { Decision, LoggedEvent, Override, Recording, ScenarioDef } from '../sim/index.ts';
export { decodeDecisions, decodeEvents, readWholeLog } from '../sim/index.ts';
export { LOG_DECISIONS, LOG_EVENTS } from '../sim/index.ts';
export { WasmEngine } from '../wasm/index.ts';
export type { CodeCache } from '../wasm/index.ts';
