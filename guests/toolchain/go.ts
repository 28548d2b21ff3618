import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cached, cacheDirectory } from './cache.ts';
import { compileFailed, run, toolchainMissing, type Command } from './command.ts';
import { packageRoot } from './root.ts';
import { readSourceTree, sourceDigest, sha256Hex } from './sources.ts';

/** A Go program: a module folder whose root is package main. */
export interface GoProgram {
  /** Absolute path of the folder with go.mod. */
  readonly directory: string;
}

/** Go below 1.21 has no wasip1 port. */
const MINOR_VERSION_MIN = 21;

/** Debian keeps its compilers outside of PATH; the newest first. */
const DEBIAN_PREFIXES = [26, 25, 24, 23, 22, 21].map((minor) => `/usr/lib/go-1.${minor}/bin/go`);

const BUILD_ARGUMENTS = ['build', '-trimpath', '-buildvcs=false', '-ldflags=-s -w -buildid='];

export interface GoToolchain {
  readonly program: string;
  /** As `go version` prints it. */
  readonly version: string;
}

/** Everything that could reach the network or this user's settings is off. */
function environment(): Record<string, string> {
  return {
    GOOS: 'wasip1',
    GOARCH: 'wasm',
    GOENV: 'off',
    GOFLAGS: '-mod=mod',
    GOPROXY: 'off',
    GOSUMDB: 'off',
    GOTOOLCHAIN: 'local',
    GOWORK: 'off',
    GOCACHE: cacheDirectory('go-build'),
    GOPATH: cacheDirectory('go-path'),
  };
}

/** Finds the first of these programs that is a Go for wasip1, or answers undefined. */
export async function findGo(
  programs: readonly string[] = ['go', ...DEBIAN_PREFIXES],
): Promise<GoToolchain | undefined> {
  for (const program of programs) {
    if (program.startsWith('/') && !existsSync(program)) continue;
    const result = await run({
      program,
      args: ['version'],
      directory: packageRoot(),
      environment: environment(),
    });
    const minor = /go1\.(\d+)/.exec(result?.output ?? '')?.[1];
    if (minor !== undefined && Number(minor) >= MINOR_VERSION_MIN) {
      return { program, version: (result?.output ?? '').trim() };
    }
  }
  return undefined;
}

/**
 * Compiles the main package of a folder. `environment` is added to, and wins over, that of every build.
 * Error: `guest/compile-failed`.
 */
export async function compileGo(
  program: GoProgram,
  toolchain: GoToolchain,
  added: Readonly<Record<string, string>> = {},
): Promise<Uint8Array> {
  mkdirSync(cacheDirectory(), { recursive: true });
  const outputDirectory = mkdtempSync(cacheDirectory('go-'));
  try {
    const output = join(outputDirectory, 'out.wasm');
    const command: Command = {
      program: toolchain.program,
      args: [...BUILD_ARGUMENTS, '-o', output, '.'],
      directory: program.directory,
      environment: { ...environment(), ...added },
    };
    const result = await run(command);
    if (result === undefined || result.exitCode !== 0) {
      throw compileFailed('go', program.directory, result?.transcript ?? '');
    }
    return readFileSync(output);
  } finally {
    rmSync(outputDirectory, { recursive: true, force: true });
  }
}

/** The installed Go. Error: `backend/toolchain-missing`. */
export async function needGo(): Promise<GoToolchain> {
  const toolchain = await findGo();
  if (toolchain !== undefined) return toolchain;
  throw toolchainMissing(
    `Go 1.${MINOR_VERSION_MIN} or newer`,
    'install it (Debian 12: golang-1.23-go from bookworm-backports), or run the setup command of guests/toolchain as root',
  );
}

/** The folders that a module reaches through `replace` lines of go.mod: they are sources, too. */
function replacedFolders(directory: string): string[] {
  const text = readFileSync(join(directory, 'go.mod'), 'utf8');
  const targets = [...text.matchAll(/=>\s*(\.{0,2}\/\S*)/g)].map((match) => match[1]);
  return targets.map((target) => resolve(directory, target));
}

/**
 * Builds a Go module for wasip1 with an installed Go, without any network. Equal sources and
 * compiler give equal bytes. Errors: `backend/toolchain-missing`, `guest/compile-failed`.
 */
export async function buildGo(program: GoProgram): Promise<Uint8Array> {
  const toolchain = await needGo();
  const folders = [program.directory, ...replacedFolders(program.directory)];
  const key = {
    toolchain: toolchain.version,
    arguments: BUILD_ARGUMENTS.join(' '),
    source: sha256Hex(
      new TextEncoder().encode(
        folders.map((folder) => sourceDigest(readSourceTree(folder))).join(),
      ),
    ),
  };
  return cached(key, () => compileGo(program, toolchain));
}
