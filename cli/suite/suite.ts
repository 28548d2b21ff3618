import { dirname } from 'node:path';
import {
  LocalFiles,
  ModelEngine,
  openSpecs,
  type Declared,
  type ModelProgram,
  type ScenarioFiles,
  type SpecModel,
} from '../../scenarios/index.ts';
import type { PlanTree } from '../../sim/index.ts';
import type { Context } from '../context.ts';
import { readSpec } from '../plan/read-spec.ts';

/** A spec that is read and planned, as plain data: what a worker needs to run its leaves. */
export interface PlannedSuite {
  readonly model: SpecModel;
  readonly plan: PlanTree;
  readonly image: { readonly bytes: Uint8Array; readonly digest: string };
  /** Where the spec's guests and files are. */
  readonly folder: string;
}

/** A spec that is loaded to be run. */
export interface Suite extends Omit<PlannedSuite, 'folder'> {
  readonly declared: readonly Declared[];
  readonly models: ModelEngine;
  /** The spec's code in its realm. */
  readonly program: ModelProgram;
  /** Where the spec's guests and files are read. */
  readonly files: ScenarioFiles;
}

/** Plans the spec of that path, and checks its types unless told not to; nothing of it runs (FB-14). */
export async function planSuite(
  path: string,
  { types, seed }: { readonly types: boolean; readonly seed: number | null },
  context: Pick<Context, 'path'>,
): Promise<PlannedSuite> {
  const { checkTypes, makePlan, modelImage } = await openSpecs();
  const model = await readSpec(path, context);
  const folder = dirname(context.path(path));
  if (types) checkTypes(model, folder);
  return { model, plan: makePlan(model, seed), image: modelImage(model), folder };
}

/** Loads a suite's code into a realm of its own. */
export function loadSuite({ model, plan, image, folder }: PlannedSuite): Suite {
  return loadCode({ model, plan, image, files: new LocalFiles(folder) });
}

/** The same with files from elsewhere. */
export function loadCode(suite: Omit<Suite, 'declared' | 'models' | 'program'>): Suite {
  const { model, plan, image, files } = suite;
  const models = new ModelEngine();
  const program = models.load(image.digest, image.bytes);
  return { model, plan, image, files, declared: models.declarations(program), models, program };
}

/** What was declared under that kind and name. */
export function findDeclared(suite: Suite, kind: string, name: string): Declared | undefined {
  return suite.declared.find((each) => each.kind === kind && each.name === name);
}
