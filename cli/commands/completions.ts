import { SimError } from '../../sim/index.ts';
import { completionScript, SHELLS } from '../completion-scripts.ts';
import type { Context } from '../context.ts';

/** `sim completions`: made of the table of options, without looking at any backend (CR-44). */
export function run(args: readonly string[], _options: unknown, context: Context): number {
  const shell = SHELLS.find((candidate) => candidate === args[0]);
  if (shell === undefined) {
    throw new SimError({
      code: 'usage/shell',
      message: `"${args[0] ?? ''}" is no shell that completions exist for`,
      remedy: `one of ${SHELLS.join(', ')}`,
    });
  }
  context.host.stdout.write(completionScript(shell));
  return 0;
}
