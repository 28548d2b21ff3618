import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SimError } from '../../sim/index.ts';
import type { BackendKind } from './backend-kind.ts';
import { KEYRING, debianMirrors } from './debian-source.ts';
import { withDraft } from './draft.ts';
import { runProgram } from './program.ts';

const TIMEOUT_MS = 900_000;
const REMEDY = 'machines are set up with apt, on Debian 12 or later';

/** QEMU itself and its firmware: of version 10.0, from backports where Debian is older. */
const QEMU = ['qemu-system-x86', 'qemu-system-data'];
/** To compile the adapter, to unpack sources. */
const COMPILE = ['gcc', 'libc6-dev', 'libglib2.0-dev', 'pkg-config', 'python3', 'xz-utils'];
/** To build QEMU; meson is of version 1.5 or later. */
const BUILD = ['ninja-build', 'meson', 'libfdt-dev', 'zlib1g-dev', 'python3-venv', 'make', 'patch'];

/** Packages that a kind of backend needs on this computer. */
export function neededPackages(kind: BackendKind): readonly string[] {
  switch (kind) {
    case 'stock':
      return QEMU;
    case 'plugin':
      return [...QEMU, ...COMPILE];
    case 'patched':
      return [...QEMU.slice(1), ...COMPILE, ...BUILD];
  }
}

/** Least version of packages where any version will not do: as dpkg compares them. */
const LEAST: Readonly<Record<string, string>> = {
  'qemu-system-x86': '1:10.0',
  'qemu-system-data': '1:10.0',
  meson: '1.5',
};

/** Those of `names` that are not installed, or too old. Throws `backend/program-missing`. */
export async function missingPackages(names: readonly string[]): Promise<string[]> {
  const format = '${Package}\t${Status}\t${Version}\n';
  const output = await runProgram('dpkg-query', ['-W', '-f', format], {
    remedy: REMEDY,
    timeoutMs: TIMEOUT_MS,
  });
  const versions = new Map<string, string>();
  for (const line of output.split('\n')) {
    const [name = '', status = '', version = ''] = line.split('\t');
    if (status.endsWith(' installed')) versions.set(name, version);
  }
  const missing: string[] = [];
  for (const name of names) {
    const version = versions.get(name);
    if (version === undefined || !(await isAtLeast(version, LEAST[name]))) missing.push(name);
  }
  return missing;
}

async function isAtLeast(version: string, least: string | undefined): Promise<boolean> {
  if (least === undefined) return true;
  const options = { remedy: REMEDY, timeoutMs: TIMEOUT_MS };
  try {
    await runProgram('dpkg', ['--compare-versions', version, 'ge', least], options);
    return true;
  } catch (error) {
    if (error instanceof SimError && error.code === 'backend/program-failed') return false;
    throw error;
  }
}

/**
 * Installs packages with apt. Backports of this Debian are offered beside the sources that are
 * configured, for packages that need a later version; the configuration stays as it is. Without
 * root's rights it throws `backend/packages-missing`, which says what to type.
 */
export async function installPackages(
  names: readonly string[],
  cacheFolder: string,
  say: (line: string) => void,
): Promise<void> {
  if (names.length === 0) return;
  if (process.getuid?.() !== 0) throw notRoot(names);
  const options = {
    remedy: REMEDY,
    timeoutMs: TIMEOUT_MS,
    environment: { DEBIAN_FRONTEND: 'noninteractive' },
  };
  await withDraft(cacheFolder, async (draft) => {
    const { settings, backports } = await backportsBeside(draft);
    say('downloading the lists of packages');
    await runProgram('apt-get', [...settings, '-q', 'update'], options);
    const late = names.filter((name) => LEAST[name] !== undefined);
    const plain = names.filter((name) => LEAST[name] === undefined);
    say(`installing ${names.join(', ')}`);
    const chosen = [...plain, ...late.map((name) => `${name}/${backports}`)];
    const flags = ['-q', '-y', '--no-install-recommends', 'install'];
    await runProgram('apt-get', [...settings, ...flags, ...chosen], options);
  });
}

async function backportsBeside(draft: string): Promise<{ settings: string[]; backports: string }> {
  const [first] = await debianMirrors();
  if (first === undefined) {
    throw new SimError({
      code: 'backend/no-mirror',
      message: 'apt has no source of Debian',
      remedy: REMEDY,
    });
  }
  const backports = `${first.codename}-backports`;
  const list = join(draft, 'backports.list');
  mkdirSync(join(draft, 'lists', 'partial'), { recursive: true });
  writeFileSync(list, `deb [signed-by=${KEYRING}] ${first.site} ${backports} main\n`);
  const settings = [
    `Dir::Etc::SourceList=${list}`,
    `Dir::State::Lists=${join(draft, 'lists')}/`,
    'APT::Sandbox::User=',
    'Acquire::Languages=none',
    'Acquire::Retries=2',
  ].flatMap((each) => ['-o', each]);
  return { settings, backports };
}

function notRoot(names: readonly string[]): SimError {
  return new SimError({
    code: 'backend/packages-missing',
    message: `packages are missing: ${names.join(', ')}`,
    remedy: 'run `sudo sim vm setup`, or install them (Debian 12 has QEMU 10.0 in backports)',
  });
}
