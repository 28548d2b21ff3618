import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { adapterDigest } from './adapter.ts';
import { cacheKey } from './digest.ts';
import type { QemuSource } from './debian-source.ts';
import { withDraft } from './draft.ts';
import { adapterSources } from './package-root.ts';
import { runProgram, type ProgramOptions } from './program.ts';

/**
 * Only what simulated machines have; nothing is downloaded, and no program of the host is found.
 * The log of a TPM is there for the firmware to see, with or without a TPM, as in Debian's QEMU.
 */
const CONFIGURE = [
  ...['--python=/usr/bin/python3', '--target-list=x86_64-softmmu', '--enable-system'],
  ...['--enable-tcg', '--enable-fdt=system', '--without-default-features', '--enable-tpm'],
  ...['--without-default-devices', '--with-devices-x86_64=sim', '--disable-docs'],
  ...['--disable-tools', '--disable-guest-agent', '--disable-install-blobs'],
  ...['--disable-download', '--disable-werror'],
  // With the names that macros see (below): equal sources and compilers give equal binaries.
  ...['--disable-debug-info', '--enable-strip'],
  // Nothing to relocate and no libraries to bind: each page that a loader writes costs a new
  // process a fault, and a forked one a copy.
  ...['--static', '--disable-pie'],
  // To give free pages back visits the whole heap, and a forked child would copy it for that.
  ...['--disable-malloc-trim'],
];
const REMEDY = 'run `sim vm setup --backend patched` as root, so that it installs what it needs';
const STEP_TIMEOUT_MS = 900_000;
const BUILD_TIMEOUT_MS = 7_200_000;
/** Two at once: the computer stays usable. */
const PARALLEL = '2';
const BINARY = 'qemu-system-x86_64';

export interface BuiltQemu {
  readonly path: string;
  /** SHA-256 of the adapter's sources and of the patches, in their order. */
  readonly seriesDigest: string;
  /** Whether it had been built before. */
  readonly cached: boolean;
}

/**
 * Builds QEMU with the adapter inside. The result is kept by the content of all that went into it;
 * with ccache on the computer a rebuild is quick. Errors: `backend/program-missing`,
 * `backend/program-failed` with the last lines of what failed.
 */
export async function buildPatched(
  source: QemuSource,
  cacheFolder: string,
  say: (line: string) => void,
): Promise<BuiltQemu> {
  const root = adapterSources();
  const seriesDigest = adapterDigest('patched');
  const compiler = await runProgram('gcc', ['--version'], options());
  const key = cacheKey([seriesDigest, source.digest, compiler, ...CONFIGURE]);
  const folder = join(cacheFolder, `patched-${key}`);
  const path = join(folder, BINARY);
  if (existsSync(path)) return { path, seriesDigest, cached: true };
  return withDraft(cacheFolder, async (draft) => {
    const tree = join(draft, 'tree');
    await unpack(source, tree, say);
    await insertAdapter(root, tree);
    const built = await compile(tree, join(draft, 'build'), say);
    const result = join(draft, 'result');
    mkdirSync(result);
    copyFileSync(built, join(result, BINARY));
    copyFileSync(join(tree, 'COPYING'), join(result, 'COPYING'));
    if (!existsSync(folder)) renameSync(result, folder);
    return { path, seriesDigest, cached: false };
  });
}

/** The original sources with Debian's changes. */
async function unpack(
  source: QemuSource,
  tree: string,
  say: (line: string) => void,
): Promise<void> {
  say(`unpacking QEMU ${source.version}`);
  mkdirSync(tree);
  const original = join(source.folder, source.original);
  await runProgram('tar', ['-xf', original, '-C', tree, '--strip-components=1'], options());
  if (source.debian === '') return leaveOut(tree);
  const debian = join(source.folder, source.debian);
  await runProgram('tar', ['-xf', debian, '-C', tree], options());
  const patches = join(tree, 'debian', 'patches');
  const series = readFileSync(join(patches, 'series'), 'utf8').split('\n');
  for (const line of series) {
    const name = line.replace(/#.*/, '').trim();
    if (name !== '') await applyPatch(join(patches, name), tree);
  }
}

/** What Debian's changes leave out because it is no part of Debian's archive of the original sources. */
const LEFT_OUT = [
  // A package of Python's that tests alone need.
  { file: 'pythondeps.toml', pattern: /^pycotap = .*\n/m, text: '' },
  // Firmware of other processors.
  { file: 'pc-bios/meson.build', pattern: /^if unpack_edk2_blobs$/m, text: 'if false' },
] as const;

/** In their stead, where an archive has them no more: without it nothing is built. */
function leaveOut(tree: string): void {
  for (const { file, pattern, text } of LEFT_OUT) {
    const path = join(tree, file);
    writeFileSync(path, readFileSync(path, 'utf8').replace(pattern, text));
  }
}

async function insertAdapter(root: string, tree: string): Promise<void> {
  const target = join(tree, 'hw', 'sim');
  cpSync(join(root, 'src'), target, { recursive: true });
  for (const name of ['plugin.c', 'got.c', 'got.h']) rmSync(join(target, name));
  for (const name of ['intree.c', 'sim-hooks.h', 'meson.build']) {
    copyFileSync(join(root, 'intree', name), join(target, name));
  }
  const devices = join(tree, 'configs', 'devices', 'x86_64-softmmu', 'sim.mak');
  copyFileSync(join(root, 'intree', 'sim.mak'), devices);
  const patches = join(root, 'patches');
  for (const name of readdirSync(patches).sort()) await applyPatch(join(patches, name), tree);
}

async function applyPatch(patch: string, tree: string): Promise<void> {
  await runProgram('patch', ['-p1', '--batch', '-i', patch], { ...options(), folder: tree });
}

async function compile(tree: string, build: string, say: (line: string) => void): Promise<string> {
  mkdirSync(build);
  const cache = existsSync('/usr/bin/ccache') ? ['--cc=ccache gcc'] : [];
  const names = `--extra-cflags=-fmacro-prefix-map=${dirname(tree)}/=`;
  say('configuring QEMU');
  const configure = join(tree, 'configure');
  await runProgram(configure, [...CONFIGURE, names, ...cache], {
    ...options(dirname(tree)),
    folder: build,
  });
  let shownPercent = 0;
  await runProgram('nice', ['ninja', '-j', PARALLEL, BINARY], {
    ...options(dirname(tree)),
    folder: build,
    timeoutMs: BUILD_TIMEOUT_MS,
    onLine: (line) => {
      const [, done = '', total = ''] = /^\[(\d+)\/(\d+)\]/.exec(line) ?? [];
      const percent = Math.floor((100 * Number(done)) / Math.max(1, Number(total)));
      if (percent < shownPercent + 10) return;
      shownPercent = percent;
      say(`compiling QEMU, ${percent} % (${done} of ${total})`);
    },
  });
  return join(build, BINARY);
}

/**
 * The programs of Debian's packages, whatever else the user's PATH would find first. ccache sees
 * names relative to `folder`, so that what was built in one draft serves the next, and takes the
 * headers of a source from the compiler instead of a run of the preprocessor before it.
 */
function options(folder = '/'): ProgramOptions {
  const ccache = { CCACHE_BASEDIR: folder, CCACHE_NOHASHDIR: '1', CCACHE_DEPEND: '1' };
  const environment = { PATH: '/usr/bin:/bin', ...ccache };
  return { remedy: REMEDY, timeoutMs: STEP_TIMEOUT_MS, environment };
}
