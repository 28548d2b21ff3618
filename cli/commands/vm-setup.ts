import {
  installPackages,
  missingPackages,
  neededPackages,
  setUpPatched,
  setUpPlugin,
} from '../../bridge/index.ts';
import { SimError } from '../../sim/index.ts';
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
  const setUp = kind === 'patched' ? setUpPatched : setUpPlugin;
  const backend = await setUp({ cacheFolder: folder, say, ...qemu });
  const { binary, identity } = backend;
  output.record({ type: 'machines', backend: backend.kind, why, binary, identity });
  output.say(`machines run on the backend ${backend.kind}: ${why}`);
  output.say(`${binary}, identity ${identity.slice(0, 16)}, ${seconds(startMs).trim()}`);
  return 0;
}

function choose(asked: string): { readonly kind: 'plugin' | 'patched'; readonly why: string } {
  if (asked === 'plugin' || asked === 'patched') return { kind: asked, why: 'asked for' };
  if (asked === 'stock') {
    throw new SimError({
      code: 'backend/stock',
      message: 'a stock QEMU without the adapter has no exact stops, forks or decided effects',
      remedy: 'use --backend plugin: it is the same stock QEMU, which loads the adapter',
    });
  }
  return { kind: 'plugin', why: 'it needs no build of QEMU' };
}

function seconds(startMs: number): string {
  return `${((performance.now() - startMs) / 1000).toFixed(1).padStart(6)} s`;
}
