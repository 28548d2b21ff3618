import { dirname } from 'node:path';
import {
  LocalFiles,
  ModelEngine,
  openSpecs,
  type Declared,
  type ModelProgram,
  type SpecModel,
} from '../../scenarios/index.ts';
import type { PlanTree } from '../../sim/index.ts';
import type { Context } from '../context.ts';
import { readSpec } from '../plan/read-spec.ts';

/** A spec that is loaded to be run. */
export interface Suite {
  readonly model: SpecModel;
  readonly plan: PlanTree;
  readonly image: { readonly bytes: Uint8Array; readonly digest: string };
  readonly declared: readonly Declared[];
  readonly models: ModelEngine;
  /** The spec's code in its realm. */
  readonly program: ModelProgram;
  /** Where the spec's guests and files are read. */
  readonly files: LocalFiles;
}

/**
 * Plans the spec of that path, checks its types unless told not to, then loads its code into a realm
 * (FB-14).
 */
export async function openSuite(
  path: string,
  { types }: { readonly types: boolean },
  context: Context,
): Promise<Suite> {
  const { checkTypes, makePlan, modelImage } = await openSpecs();
  const model = await readSpec(path, context);
  const folder = dirname(context.path(path));
  if (types) checkTypes(model, folder);
  const plan = makePlan(model, context.globals.seed ?? null);
  const image = modelImage(model);
  const models = new ModelEngine();
  const program = models.load(image.digest, image.bytes);
  const declared = models.declarations(program);
  const files = new LocalFiles(folder);
  return { model, plan, image, declared, models, program, files };
}

/** What was declared under that kind and name. */
export function findDeclared(suite: Suite, kind: string, name: string): Declared | undefined {
  return suite.declared.find((each) => each.kind === kind && each.name === name);
}
