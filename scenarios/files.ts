import { closeSync, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SimError, type ErrorCode } from '../sim/index.ts';
import type { ScenarioFiles } from './compile.ts';
import { refuseHeldDisk } from './disk-lock.ts';
import { packageRoot } from './package-root.ts';
import { didYouMean } from './suggest.ts';

/** A guest image or source file is at most this long: 256 MiB. */
export const INPUT_BYTES_MAX = 256 * 1024 * 1024;

/** Names of guests and scenarios that come with the simulator. */
const BUILTIN_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** Files next to a scenario, and guests that come with the simulator. */
export class LocalFiles implements ScenarioFiles {
  private readonly folder: string;

  /** `folder` is where the scenario stands; paths in it start there. */
  constructor(folder: string) {
    this.folder = folder;
  }

  read(path: string): Uint8Array {
    return readInput(resolve(this.folder, path), path);
  }

  /** As `read`; throws `input/busy` for an image that another process has open for writing. */
  readDisk(path: string): Uint8Array {
    const place = resolve(this.folder, path);
    refuseHeldDisk(place, path);
    return readInput(place, path);
  }

  builtinGuest(name: string): Uint8Array {
    const folder = join(packageRoot(), 'guests', 'built');
    const names = namesIn(folder, '.wasm');
    if (!names.includes(name)) {
      const known = names.length === 0 ? 'none is built' : `there are ${names.join(', ')}`;
      throw new SimError({
        code: 'scenario/missing-guest',
        message: `no built-in guest is called "${name}"${didYouMean(name, names)}; ${known}`,
      });
    }
    return readInput(join(folder, `${name}.wasm`), name);
  }
}

/** The names of the scenarios that come with the simulator, sorted. */
export function builtinScenarioNames(): readonly string[] {
  return namesIn(join(packageRoot(), 'scenarios', 'builtin'), '.toml');
}

/** The text of a built-in scenario, or null if there is none of that name. */
export function builtinScenarioText(name: string): string | null {
  if (!BUILTIN_NAME.test(name) || !builtinScenarioNames().includes(name)) return null;
  return readFileSync(join(packageRoot(), 'scenarios', 'builtin', `${name}.toml`), 'utf8');
}

/**
 * Reads a whole file that somebody named. `shown` is how messages call it. Throws `input/missing`,
 * `input/unreadable` or `input/limit`.
 */
export function readInput(path: string, shown: string): Uint8Array {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw inputError(missing ? 'input/missing' : 'input/unreadable', shown, reason(error), error);
  }
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw inputError('input/unreadable', shown, 'it is not a file');
    if (stat.size > INPUT_BYTES_MAX) {
      const why = `it has ${stat.size} bytes, the limit is ${INPUT_BYTES_MAX}`;
      throw inputError('input/limit', shown, why);
    }
    return readFileSync(descriptor);
  } catch (error) {
    if (error instanceof SimError) throw error;
    throw inputError('input/unreadable', shown, reason(error), error);
  } finally {
    closeSync(descriptor);
  }
}

function inputError(code: ErrorCode, shown: string, why: string, cause?: unknown): SimError {
  return new SimError({ code, message: `cannot read "${shown}": ${why}`, place: shown, cause });
}

/** What the operating system said, in words. */
function reason(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EACCES':
      return 'access is denied';
    case 'EISDIR':
      return 'it is a folder';
    default:
      return `the system says ${code ?? 'nothing'}`;
  }
}

function namesIn(folder: string, ending: string): readonly string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  const plain = names.filter((name) => name.endsWith(ending));
  return plain.map((name) => name.slice(0, -ending.length)).sort();
}
