import { basename } from 'node:path';
import { readInput } from '../../scenarios/index.ts';
import { instrumentImage } from '../../wasm/index.ts';
import { writeAtomically } from '../atomic-write.ts';
import { groupDigits } from '../columns.ts';
import type { Context } from '../context.ts';
import type { OptionsOf } from '../options.ts';

const MEMORY_PAGES_MAX = 4_096;

/** `sim guest instrument`: writes the module that the engine really runs; of a component, each. */
export function run(
  args: readonly string[],
  options: OptionsOf<'guest instrument'>,
  context: Context,
): number {
  const path = args[0] ?? '';
  const image = readInput(context.path(path), path);
  const modules = instrumentImage(image, options.memoryPagesMax ?? MEMORY_PAGES_MAX);
  const base = options.out ?? `${basename(path, '.wasm')}.instrumented.wasm`;
  modules.forEach((binary, index) => {
    const out = modules.length === 1 ? base : base.replace(/(\.wasm)?$/, `.${index}.wasm`);
    writeAtomically(context.path(out), binary);
    const { output } = context;
    output.record({ type: 'instrumented', path: out, bytes: binary.length, from: image.length });
    output.say(`${out}  ${groupDigits(binary.length)} bytes, from ${groupDigits(image.length)}`);
  });
  return 0;
}
