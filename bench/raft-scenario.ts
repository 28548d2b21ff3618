import { readFileSync } from 'node:fs';
import { loadScenarioText, LocalFiles, type SourceFile } from '../scenarios/index.ts';
import type { ScenarioDef } from '../sim/index.ts';
import { packagePath } from './paths.ts';

export interface Loaded {
  readonly scenario: ScenarioDef;
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly sources: readonly SourceFile[];
}

/** The built-in scenario `raft`: what a usual run is. */
export function loadRaft(): Loaded {
  const text = readFileSync(packagePath('scenarios/builtin/raft.toml'), 'utf8');
  const result = loadScenarioText(text, 'raft.toml', new LocalFiles('.'));
  if (!result.ok) throw result.errors[0] as Error;
  const { def, images, sources } = result.scenario;
  return { scenario: def, images, sources };
}
