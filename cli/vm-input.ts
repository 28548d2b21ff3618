import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import {
  DISK_BYTE_COUNT_MAX,
  DISK_BYTE_COUNT_MIN,
  MEMORY_BYTE_COUNT_MAX,
  MEMORY_BYTE_COUNT_MIN,
  type ImageSpec,
} from '../bridge/index.ts';
import {
  builtinMachineBytes,
  builtinMachineNames,
  didYouMean,
  loadVmBytes,
  readInput,
} from '../scenarios/index.ts';
import { SimError } from '../sim/index.ts';
import type { Context } from './context.ts';
import { ErrorList } from './errors.ts';

/** The machine that somebody named: a file, or one that comes with the simulator. */
export function readMachine(name: string, context: Pick<Context, 'path'>): ImageSpec {
  const path = context.path(name);
  const isFile = existsSync(path);
  const bytes = isFile ? readInput(path, name) : builtinMachineBytes(name);
  if (bytes === null) {
    const names = builtinMachineNames();
    throw new SimError({
      code: 'input/missing',
      message: `missing machine: "${name}" is no file and no built-in machine${didYouMean(name, names)}`,
      place: name,
      remedy: `give a vm.toml, or one of the built-in machines ${names.join(', ')}`,
    });
  }
  const read = (source: string): Uint8Array => readInput(resolve(dirname(path), source), source);
  const result = loadVmBytes(bytes, isFile ? basename(path) : `${name}.vm.toml`, read, {
    memoryByteCountMin: MEMORY_BYTE_COUNT_MIN,
    memoryByteCountMax: MEMORY_BYTE_COUNT_MAX,
    diskByteCountMin: DISK_BYTE_COUNT_MIN,
    diskByteCountMax: DISK_BYTE_COUNT_MAX,
  });
  if (result.ok) return result.vm;
  throw new ErrorList(result.errors);
}
