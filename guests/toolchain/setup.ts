import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { SimError } from '../../sim/index.ts';
import { run, toolchainMissing, type CommandResult } from './command.ts';
import { hasEtcdRaft } from './etcd-raft.ts';
import { findGo } from './go.ts';
import { packageRoot } from './root.ts';
import { findRust } from './rust.ts';

/** A compiler that comes from Debian, not from npm, or the library `etcd` for Go. */
export type SystemToolchain = 'go' | 'rust' | 'etcd';

interface DebianRecipe {
  /** The first set that the package lists know is installed. */
  readonly packageSets: readonly (readonly string[])[];
  /** Whether to add the release's backports when no set is known. */
  readonly backports: boolean;
  readonly isPresent: () => Promise<boolean>;
}

/**
 * Debian 12 has Go 1.19 (no wasip1) and 1.23 in its backports; Debian 13 has 1.24. The Rust
 * standard library for wasm32 only recommends its linker, so the linker is named.
 */
const RECIPES: Readonly<Record<SystemToolchain, DebianRecipe>> = {
  go: {
    packageSets: [['golang-1.24-go'], ['golang-1.23-go'], ['golang-1.22-go'], ['golang-1.21-go']],
    backports: true,
    isPresent: async () => (await findGo()) !== undefined,
  },
  rust: {
    packageSets: [
      ['rustc', 'libstd-rust-dev-wasm32', 'lld'],
      ['rustc', 'libstd-rust-dev-wasm32'],
    ],
    backports: false,
    isPresent: async () => (await findRust()) !== undefined,
  },
  etcd: {
    packageSets: [['golang-etcd-server-dev']],
    backports: false,
    isPresent: () => Promise.resolve(hasEtcdRaft()),
  },
};

const BACKPORTS_PATH = '/etc/apt/sources.list.d/athanor-backports.sources';
const SOURCES_PATH = '/etc/apt/sources.list.d/debian.sources';

async function aptGet(args: readonly string[]): Promise<CommandResult> {
  const result = await run({
    program: 'apt-get',
    args: ['-qq', '-o', 'DPkg::Lock::Timeout=600', ...args],
    directory: packageRoot(),
    environment: { DEBIAN_FRONTEND: 'noninteractive', ...proxySettings() },
  });
  if (result === undefined) {
    throw toolchainMissing('apt-get', 'install the toolchain by the means of this system');
  }
  return result;
}

function proxySettings(): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const name of ['http_proxy', 'https_proxy', 'no_proxy']) {
    const value = process.env[name];
    if (value !== undefined) settings[name] = value;
  }
  return settings;
}

function codename(): string | undefined {
  if (!existsSync('/etc/os-release')) return undefined;
  return /^VERSION_CODENAME=(\w+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];
}

/** Adds the backports of this release, from the mirror that the machine already uses. */
function addBackports(): void {
  const release = codename();
  if (release === undefined || existsSync(BACKPORTS_PATH)) return;
  const sources = existsSync(SOURCES_PATH) ? readFileSync(SOURCES_PATH, 'utf8') : '';
  const mirror = /^URIs:\s*(\S+)/m.exec(sources)?.[1] ?? 'http://deb.debian.org/debian';
  const key = /^Signed-By:\s*(\S+)/m.exec(sources)?.[1];
  const lines = [
    'Types: deb',
    `URIs: ${mirror}`,
    `Suites: ${release}-backports`,
    'Components: main',
  ];
  if (key !== undefined) lines.push(`Signed-By: ${key}`);
  writeFileSync(BACKPORTS_PATH, `${lines.join('\n')}\n`);
}

async function isKnown(packages: readonly string[]): Promise<boolean> {
  for (const name of packages) {
    const result = await run({
      program: 'apt-cache',
      args: ['show', '--no-all-versions', name],
      directory: packageRoot(),
    });
    if (result?.exitCode !== 0 || !result.output.includes(`Package: ${name}`)) return false;
  }
  return true;
}

async function findPackages(recipe: DebianRecipe): Promise<readonly string[] | undefined> {
  for (const packages of recipe.packageSets) {
    if (await isKnown(packages)) return packages;
  }
  return undefined;
}

async function install(toolchain: SystemToolchain, recipe: DebianRecipe): Promise<void> {
  let packages = await findPackages(recipe);
  if (packages === undefined && recipe.backports) {
    addBackports();
    await aptGet(['update']);
    packages = await findPackages(recipe);
  }
  if (packages === undefined) {
    throw toolchainMissing(toolchain, 'this release has no package for it; install it by hand');
  }
  const result = await aptGet(['install', '-y', '--no-install-recommends', ...packages]);
  if (result.exitCode === 0 && (await recipe.isPresent())) return;
  throw new SimError({
    code: 'backend/toolchain-install',
    message: `apt-get could not install ${packages.join(' ')}:\n${result.transcript.trim()}`,
    place: toolchain,
    remedy: 'run apt-get by hand and correct what it complains about',
  });
}

/**
 * Makes sure that compilers from Debian are there; installs what is missing when this process is
 * root. Answers which were installed now. Errors: `backend/toolchain-missing` (not root, no apt-get,
 * no package), `backend/toolchain-install`.
 */
export async function ensureToolchains(
  toolchains: readonly SystemToolchain[],
): Promise<SystemToolchain[]> {
  const missing: SystemToolchain[] = [];
  for (const toolchain of toolchains) {
    if (!(await RECIPES[toolchain].isPresent())) missing.push(toolchain);
  }
  if (missing.length === 0) return [];
  if (process.getuid?.() !== 0) {
    throw toolchainMissing(missing.join(' and '), 'run this again as root, or install it by hand');
  }
  await aptGet(['update']);
  for (const toolchain of missing) await install(toolchain, RECIPES[toolchain]);
  return missing;
}
