import { readInput } from '../scenarios/index.ts';
import { SimError } from '../sim/index.ts';
import { openBundle, type Bundle } from './bundle.ts';
import type { Context } from './context.ts';
import { checkEngine } from './engine.ts';
import { recordedMachines } from './machines/machine-backend.ts';
import { imagesFromStore } from './scenario-input.ts';

/** Reads a bundle that is to be run on: the engine and what
 * runs machines must fit, the images must be at hand. */
export function readBundle(text: string, context: Context): Bundle {
  const bundle = openBundle(readInput(context.path(text), text));
  for (const warning of checkEngine(bundle.manifest.engine)) context.output.warn(warning);
  const machines = recordedMachines(bundle.manifest, context);
  if (!bundle.manifest.thin) return { ...bundle, machines };
  return { ...bundle, machines, images: imagesFromStore(bundle.scenario, context.store) };
}

/** As `readBundle`, but only savepoints are taken (CR-20). */
export function readSavepoint(text: string, context: Context): Bundle {
  const bundle = readBundle(text, context);
  if (bundle.manifest.kind === 'savepoint') return bundle;
  throw new SimError({
    code: 'input/kind',
    message: `"${text}" is the bundle of a run, expected a savepoint`,
    place: text,
    remedy: 'save a point with `sim save`, or leave the run with `sim fork --at`',
  });
}

/** As `readBundle`, but only finished runs are taken. */
export function readRun(text: string, context: Context): Bundle {
  const bundle = readBundle(text, context);
  if (bundle.manifest.kind === 'run') return bundle;
  throw new SimError({
    code: 'input/kind',
    message: `"${text}" is a savepoint, expected the bundle of a run`,
    place: text,
    remedy: 'go on from it with `sim resume` or `sim fork`',
  });
}
