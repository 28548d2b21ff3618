import { basename } from 'node:path';
import { compileC, findGuest, loadGuest } from '../../guests/index.ts';
import { readInput } from '../../scenarios/index.ts';
import { writeAtomically } from '../atomic-write.ts';
import { groupDigits } from '../columns.ts';
import type { Context } from '../context.ts';
import type { OptionsOf } from '../options.ts';

/** `sim guest build`: a guest of the catalogue by name, or one C or C++ file. */
export async function run(
  args: readonly string[],
  options: OptionsOf<'guest build'>,
  context: Context,
): Promise<number> {
  const name = args[0] ?? '';
  const ending = /\.(c|cc|cpp|cxx)$/.exec(name)?.[0];
  const bytes =
    ending === undefined ? await loadGuest(findGuest(name).name) : await compile(name, context);
  const out = options.out ?? `${basename(name, ending)}.wasm`;
  writeAtomically(context.path(out), bytes);
  context.output.record({ type: 'built', guest: name, path: out, bytes: bytes.length });
  context.output.say(`${out}  ${groupDigits(bytes.length)} bytes`);
  return 0;
}

function compile(path: string, context: Context): Promise<Uint8Array> {
  const file = { path: basename(path), bytes: readInput(context.path(path), path) };
  return compileC({ files: [file], units: [file.path] });
}
