import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  didYouMean,
  loadFaultFile,
  loadWorldFile,
  LocalFiles,
  packageRoot,
  readInput,
  type LoadedWorld,
} from '../../scenarios/index.ts';
import { SimError, type FaultProfile } from '../../sim/index.ts';
import { ErrorList } from '../errors.ts';

/** Worlds that come with the simulator. */
export const BUILTIN_WORLDS = ['bank', 'payments', 'shop'] as const;

/** Reads a world: a file, or the name of one that comes with the simulator. */
export function openWorld(name: string, resolve: (path: string) => string): LoadedWorld {
  const given = resolve(name);
  const builtin = BUILTIN_WORLDS.find((each) => each === name);
  if (!existsSync(given) && builtin === undefined) {
    throw new SimError({
      code: 'input/missing',
      message: `"${name}" is no file and no built-in world${didYouMean(name, BUILTIN_WORLDS)}`,
      place: name,
      remedy: `give a world file, or one of ${BUILTIN_WORLDS.join(', ')}`,
    });
  }
  const own = join(packageRoot(), 'scenarios', 'worlds', `${builtin ?? ''}.yaml`);
  const path = existsSync(given) ? given : own;
  const files = new LocalFiles(dirname(path));
  const shown = path === own ? basename(own) : name;
  const result = loadWorldFile(readInput(path, shown), shown, files);
  if (!result.ok) throw new ErrorList(result.errors);
  return result.world;
}

/** What somebody may write for the world file's own profile. */
export const OWN_FAULTS = 'world';

/**
 * The profile that was asked for: `world` for the file's own block, else a file; none was asked
 * for: null, whatever the world file has (FH-35).
 */
export function openFaults(
  given: string | undefined,
  { def }: LoadedWorld,
  resolve: (path: string) => string,
): FaultProfile | null {
  if (given === undefined) return null;
  if (given === OWN_FAULTS) {
    if (def.faults !== null) return def.faults;
    throw new SimError({
      code: 'usage/faults',
      message: `the world "${def.name}" has no block "faults"`,
      remedy: 'add one, or give a profile of its own: --faults profile.yaml',
    });
  }
  const result = loadFaultFile(readInput(resolve(given), given), given, def);
  if (!result.ok) throw new ErrorList(result.errors);
  return result.faults;
}
