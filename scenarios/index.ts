import type * as Specs from './spec/index.ts';

/** Scenarios: their text, their schema, their built-in set. Other folders import from here. */
export { scenario, ScenarioBuilder } from './builder.ts';
export {
  compileScenario,
  type CompiledScenario,
  type CompileResult,
  type MachineImageParts,
  type ScenarioFiles,
  type SourceFile,
} from './compile.ts';
export { EFFECT_NAMES, effectTable, type EffectName } from './effect-names.ts';
export { MODEL_DOCUMENT, modelImage } from './compile-guest.ts';
export { NO_TRAP } from './compile-property.ts';
export {
  builtinScenarioNames,
  builtinScenarioText,
  INPUT_BYTES_MAX,
  LocalFiles,
  readInput,
} from './files.ts';
export { loadScenarioBytes, loadScenarioText } from './load.ts';
export { toScript, type HandlerModule } from './handler-modules.ts';
export {
  loadFaultFile,
  loadWorldFile,
  type FaultFileResult,
  type LoadedWorld,
  type WorldFileResult,
} from './world-file.ts';
export { builtinMachineBytes, builtinMachineNames } from './machines.ts';
export { loadVmBytes, type VmDescription, type VmFile, type VmResult } from './vm-text.ts';
export { packageRoot } from './package-root.ts';
export { scenarioSchema, type ScenarioText } from './schema.ts';
export { didYouMean } from './suggest.ts';

/** Reading specs of suites: apart, because it loads the compiler that parses them. */
export const openSpecs = (): Promise<typeof Specs> => import('./spec/index.ts');
export { DISK_CHANCES, LINK_CHANCES } from './spec/rule-chances.ts';
export { TEST_NODE, type SpecModel, type SpecTest } from './spec/spec-model.ts';
export { CAUGHT, isModelImage } from './model/model-format.ts';
export { realmPart } from './model/realm.ts';
export { ModelEngine, type Declared, type ModelProgram } from './model/model-engine.ts';
export { MODEL_EXIT, type ModelGuest } from './model/model-guest.ts';
