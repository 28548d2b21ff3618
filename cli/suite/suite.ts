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
  { types, seed }: { readonly types: boolean; readonly seed: number | null },
  context: Pick<Context, 'path'>,
): Promise<Suite> {
  const { checkTypes, makePlan, modelImage } = await openSpecs();
  const model = await readSpec(path, context);
  const folder = dirname(context.path(path));
  if (types) checkTypes(model, folder);
  const plan = makePlan(model, seed);
  const image = modelImage(model);
  return loadCode({ model, plan, image, files: new LocalFiles(folder) });
}

/** The same suite with a realm of its own. */
export function reloadSuite({ model, plan, image, files }: Suite): Suite {
  return loadCode({ model, plan, image, files });
}

function loadCode(suite: Omit<Suite, 'declared' | 'models' | 'program'>): Suite {
  const models = new ModelEngine();
  const program = models.load(suite.image.digest, suite.image.bytes);
  return { ...suite, declared: models.declarations(program), models, program };
}

/** What was declared under that kind and name. */
export function findDeclared(suite: Suite, kind: string, name: string): Declared | undefined {
  return suite.declared.find((each) => each.kind === kind && each.name === name);
}
