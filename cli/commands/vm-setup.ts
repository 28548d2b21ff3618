import {
  BACKEND_KINDS,
  installPackages,
  missingPackages,
  neededPackages,
  proveStock,
  setUpPatched,
  setUpPlugin,
  STOCK_KEEPS,
  STOCK_REFUSES,
  type BackendKind,
} from '../../bridge/index.ts';
import { machinesFolder } from '../cache-folder.ts';
import type { Context } from '../context.ts';
import type { OptionsOf } from '../options.ts';

/** `sim vm setup`: packages, the adapter, its self-test; says which backend it chose and why. */
export async function run(
  _args: readonly string[],
  options: OptionsOf<'vm setup'>,
  context: Context,
): Promise<number> {
  const { host, globals, output } = context;
  const folder = machinesFolder(host);
  const startMs = performance.now();
  const say = (line: string): void => {
    if (!globals.quiet) host.stderr.write(`${seconds(startMs)}  ${line}\n`);
  };
  const { kind, why } = choose(context.backend);
  await installPackages(await missingPackages(neededPackages(kind)), folder, say);
  const qemu = options.qemu === undefined ? {} : { qemu: context.path(options.qemu) };
  const setup = { cacheFolder: folder, say, ...qemu };
  if (kind === 'stock') {
    reportStock(await proveStock(setup), context);
  } else {
    const backend = await (kind === 'patched' ? setUpPatched : setUpPlugin)(setup);
    const { binary, identity } = backend;
    output.record({ type: 'machines', backend: kind, level: 'L5', why, binary, identity });
    output.say(`machines run on the backend ${kind} (level L5): ${why}`);
    output.say(`${binary}, identity ${identity.slice(0, 16)}, ${seconds(startMs).trim()}`);
  }
  return 0;
}

/** Says what was measured, and by name what a stock QEMU is not good for (FB-68, FB-69). */
function reportStock({ path, version }: { path: string; version: string }, context: Context): void {
  const { output } = context;
  output.record({
    type: 'machines',
    backend: 'stock',
    level: 'L3',
    binary: path,
    version,
    keeps: STOCK_KEEPS,
    refuses: STOCK_REFUSES,
  });
  output.say(`stock QEMU ${version} keeps level L3, for a machine on its own:`);
  for (const kept of STOCK_KEEPS) output.say(`  keeps    ${kept}`);
  for (const [what, why] of Object.entries(STOCK_REFUSES)) {
    output.say(`  refuses  ${what}: ${why}`);
  }
  output.say('worlds with machines need `sim vm setup` (the plugin) or --backend patched');
}

function choose(asked: string): { readonly kind: BackendKind; readonly why: string } {
  const kind = BACKEND_KINDS.find((each) => each === asked);
  if (kind !== undefined) return { kind, why: 'asked for' };
  return { kind: 'plugin', why: 'it needs no build of QEMU' };
}

function seconds(startMs: number): string {
  return `${((performance.now() - startMs) / 1000).toFixed(1).padStart(6)} s`;
}
