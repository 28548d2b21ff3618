import { copyFileSync, existsSync, readdirSync } from 'node:fs';
import { renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';

import { adapterDigest, adapterFolders } from './adapter.ts';
import { cacheKey } from './digest.ts';
import type { QemuSource } from './debian-source.ts';
import { withDraft } from './draft.ts';
import { qemuHeaders } from './headers.ts';
import { adapterSources } from './package-root.ts';
import { runProgram } from './program.ts';

/** The flags that QEMU's own build compiles with, as far as they change code. */
const FLAGS = [
  ...['-O2', '-g', '-std=gnu11', '-fPIC', '-m64', '-mcx16'],
  ...['-fno-strict-aliasing', '-fno-common', '-fwrapv', '-Wall', '-Werror'],
  ...['-D_GNU_SOURCE', '-D_FILE_OFFSET_BITS=64'],
  ...['-DCOMPILING_PER_TARGET', '-DCOMPILING_SYSTEM_VS_USER'],
  ...['-DCONFIG_TARGET="target.h"', '-DCONFIG_DEVICES="devices.h"'],
];
const HEADER_FOLDERS = [
  '.',
  'generated',
  'include',
  'host/include/x86_64',
  'host/include/generic',
  'tcg/i386',
  'target/i386',
  'linux-headers',
];
const COMPILER_REMEDY = 'install the packages gcc, libc6-dev, libglib2.0-dev and pkg-config';
const TIMEOUT_MS = 120_000;

export interface BuiltPlugin {
  readonly path: string;
  /** SHA-256 of the adapter's sources. */
  readonly sourcesDigest: string;
  /** Whether it had been built before. */
  readonly cached: boolean;
}

/**
 * Compiles the adapter as a plugin against the headers of `source`. The result is kept by the
 * content of all that went into it. Errors: `backend/program-missing`, `backend/program-failed`.
 */
export async function buildPlugin(
  source: QemuSource,
  cacheFolder: string,
  say: (line: string) => void,
): Promise<BuiltPlugin> {
  const root = adapterSources();
  const sourcesDigest = adapterDigest('plugin');
  const options = { remedy: COMPILER_REMEDY, timeoutMs: TIMEOUT_MS };
  const compiler = await runProgram('gcc', ['--version'], options);
  const glib = await glibFlags();
  const key = cacheKey([sourcesDigest, source.digest, compiler, glib, ...FLAGS]);
  const path = join(cacheFolder, `plugin-${key}`, 'sim.so');
  if (existsSync(path)) return { path, sourcesDigest, cached: true };
  const headers = await qemuHeaders(source, cacheFolder, say);
  say('compiling the adapter');
  return withDraft(cacheFolder, async (draft) => {
    await compilePlugin({ folders: adapterFolders('plugin'), headers, source }, draft);
    copyFileSync(join(root, 'LICENSE'), join(draft, 'LICENSE'));
    const folder = join(cacheFolder, `plugin-${key}`);
    if (!existsSync(folder)) renameSync(draft, folder);
    return { path, sourcesDigest, cached: false };
  });
}

/** What the adapter is compiled from. */
export interface PluginParts {
  /** The folder of its C files, and those of further headers. */
  readonly folders: readonly string[];
  /** As `qemuHeaders` gave it. */
  readonly headers: string;
  readonly source: QemuSource;
}

/** Compiles the adapter as `sim.so` into the folder `out`, and gives its path. */
export async function compilePlugin(
  { folders, headers, source }: PluginParts,
  out: string,
): Promise<string> {
  const include = [
    ...folders.map((folder) => `-I${folder}`),
    ...HEADER_FOLDERS.map((folder) => `-I${join(headers, folder)}`),
  ];
  const glib = (await glibFlags()).split(' ');
  const flags = [...FLAGS, `-DQEMU_VERSION="${source.version}"`, ...include, ...glib];
  const objects = await compile(folders[0] ?? '', out, flags);
  const library = join(out, 'sim.so');
  const options = { remedy: COMPILER_REMEDY, timeoutMs: TIMEOUT_MS };
  await runProgram('gcc', ['-shared', '-Wl,-z,now', '-o', library, ...objects], options);
  for (const object of objects) rmSync(object);
  return library;
}

async function glibFlags(): Promise<string> {
  const options = { remedy: COMPILER_REMEDY, timeoutMs: TIMEOUT_MS };
  return (await runProgram('pkg-config', ['--cflags', 'glib-2.0'], options)).trim();
}

async function compile(sources: string, out: string, flags: readonly string[]): Promise<string[]> {
  const names = readdirSync(sources).filter((name) => name.endsWith('.c'));
  const objects: string[] = [];
  const waiting = names.sort();
  const worker = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const object = join(out, `${basename(name, '.c')}.o`);
      objects.push(object);
      await runProgram('gcc', [...flags, '-c', join(sources, name), '-o', object], {
        remedy: COMPILER_REMEDY,
        timeoutMs: TIMEOUT_MS,
      });
    }
  };
  await Promise.all([worker(), worker()]);
  return objects.sort();
}
