import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './package-root.ts';

const ENDING = '.vm.toml';

/** The names of the machines that come with the simulator, sorted. */
export function builtinMachineNames(): readonly string[] {
  return readdirSync(machinesFolder())
    .filter((name) => name.endsWith(ENDING))
    .map((name) => name.slice(0, -ENDING.length))
    .sort((a, b) => (a < b ? -1 : 1));
}

/** The text of a built-in machine, or null if there is none of that name. */
export function builtinMachineBytes(name: string): Uint8Array | null {
  if (!builtinMachineNames().includes(name)) return null;
  return readFileSync(join(machinesFolder(), name + ENDING));
}

function machinesFolder(): string {
  return join(packageRoot(), 'scenarios', 'machines');
}
