import { readInput } from '../../scenarios/index.ts';
import { explainImage, type Explanation } from '../../wasm/index.ts';
import { groupDigits, layOut } from '../columns.ts';
import type { Context } from '../context.ts';

/**
 * `sim guest explain`: what an image imports, exports and uses, and what is refused and why. Exit
 * code 5 where it is refused.
 */
export function run(args: readonly string[], _options: unknown, context: Context): number {
  const path = args[0] ?? '';
  const { kind, modules, hostNames, refusal } = explainImage(readInput(context.path(path), path));
  const { output } = context;
  output.record({ type: 'guest', kind, modules, host_functions: hostNames, refusal });
  modules.forEach((module, index) => {
    output.say(output.colors.bold(modules.length === 1 ? path : `${path}, core module ${index}`));
    sayModule(module, context);
  });
  if (refusal === null) {
    output.say(output.colors.green('accepted'));
    return 0;
  }
  output.say(`${output.colors.red('refused')}  ${refusal.code}: ${refusal.message}`);
  output.say(`  at: ${refusal.place}`);
  return 5;
}

function sayModule(module: Explanation, { output }: Context): void {
  const memory =
    module.memoryPagesMax < 0
      ? `${module.memoryPagesMin} pages and up`
      : `${module.memoryPagesMin} to ${module.memoryPagesMax} pages`;
  const rows = [
    ['functions', `${groupDigits(module.functionCount)}, ${groupDigits(module.codeBytes)} bytes`],
    ['data', `${groupDigits(module.dataBytes)} bytes`],
    ['memory', memory],
    ['features', module.features.length === 0 ? 'none beyond 1.0' : module.features.join(', ')],
    ...module.imports.map(({ kind, name, type }) => ['import', `${kind} ${name} ${type}`]),
    ...module.exports.map(({ kind, name, type }) => ['export', `${kind} ${name} ${type}`]),
  ];
  for (const line of layOut(rows)) output.say(`  ${line}`);
}
