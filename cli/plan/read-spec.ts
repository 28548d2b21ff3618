import { basename, dirname, join } from 'node:path';
import { openSpecs, readInput, type SpecModel } from '../../scenarios/index.ts';
import { SimError } from '../../sim/index.ts';
import type { Context } from '../context.ts';

/** A spec is at most this long: 16 MiB, some 10,000 tests. */
const SPEC_BYTES_MAX = 16 * 1024 * 1024;

/** Reads the spec of that path and what it imports; nothing of it runs. */
export async function readSpec(path: string, context: Pick<Context, 'path'>): Promise<SpecModel> {
  const { loadSpec } = await openSpecs();
  const whole = context.path(path);
  const folder = dirname(whole);
  return loadSpec(basename(whole), (file) => {
    const bytes = readInput(join(folder, file), file);
    if (bytes.length > SPEC_BYTES_MAX) {
      throw new SimError({
        code: 'input/limit',
        message: `the spec has ${bytes.length} bytes, the limit is ${SPEC_BYTES_MAX}`,
        place: file,
        remedy: 'split it into several specs',
      });
    }
    return new TextDecoder().decode(bytes);
  });
}
