import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cached, cacheDirectory } from './cache.ts';
import { compileFailed, run, toolchainMissing } from './command.ts';
import { packageRoot } from './root.ts';
import { sourceDigest, type SourceFile, readSources } from './sources.ts';

/** A Rust program of one crate without dependencies. */
export interface RustProgram {
  /** Absolute path of the folder that all the other paths are relative to. */
  readonly directory: string;
  /** The crate root, for example `rusttcp/main.rs`. */
  readonly root: string;
  /** Every file of the crate, the root among them. */
  readonly files: readonly string[];
}

export interface RustToolchain {
  readonly program: string;
  /** As `rustc --version` prints it. */
  readonly version: string;
  readonly target: string;
}

/** The first has a Debian package of its target; rustup's own compiler often comes without one. */
const PROGRAMS = ['/usr/bin/rustc', 'rustc'];

/** The new name since Rust 1.78, and the old one. */
const TARGETS = ['wasm32-wasip1', 'wasm32-wasi'];

const BUILD_ARGUMENTS = ['--edition=2021', '-O', '-Cstrip=symbols', '-Cpanic=abort'];

/**
 * Finds the first of these programs that is a rustc with the standard library of a preview 1
 * target, or answers undefined.
 */
export async function findRust(
  programs: readonly string[] = PROGRAMS,
): Promise<RustToolchain | undefined> {
  for (const program of programs) {
    const directory = packageRoot();
    const sysroot = await run({ program, args: ['--print', 'sysroot'], directory });
    const version = await run({ program, args: ['--version'], directory });
    if (sysroot?.exitCode !== 0 || version?.exitCode !== 0) continue;
    for (const target of TARGETS) {
      const library = join(sysroot.output.trim(), 'lib', 'rustlib', target, 'lib');
      if (existsSync(library)) return { program, version: version.output.trim(), target };
    }
  }
  return undefined;
}

async function build(program: RustProgram, toolchain: RustToolchain): Promise<Uint8Array> {
  mkdirSync(cacheDirectory(), { recursive: true });
  const outputDirectory = mkdtempSync(cacheDirectory('rust-'));
  try {
    const output = join(outputDirectory, 'out.wasm');
    const result = await run({
      program: toolchain.program,
      args: [
        ...BUILD_ARGUMENTS,
        `--target=${toolchain.target}`,
        `--remap-path-prefix=${program.directory}=.`,
        '-o',
        output,
        program.root,
      ],
      directory: program.directory,
    });
    if (result === undefined || result.exitCode !== 0) {
      throw compileFailed('rustc', program.root, result?.transcript ?? '');
    }
    return readFileSync(output);
  } finally {
    rmSync(outputDirectory, { recursive: true, force: true });
  }
}

/**
 * Builds a Rust crate for preview 1 with an installed rustc. Equal sources and compiler give equal
 * bytes. Errors: `backend/toolchain-missing`, `guest/compile-failed`.
 */
export async function buildRust(program: RustProgram): Promise<Uint8Array> {
  const toolchain = await findRust();
  if (toolchain === undefined) {
    throw toolchainMissing(
      'rustc with a preview 1 target',
      'install it (Debian: rustc and libstd-rust-dev-wasm32; rustup: target add wasm32-wasip1), or run the setup command of guests/toolchain as root',
    );
  }
  const files: SourceFile[] = readSources(program.directory, program.files);
  const key = {
    toolchain: toolchain.version,
    arguments: [...BUILD_ARGUMENTS, toolchain.target, program.root].join(' '),
    source: sourceDigest(files),
  };
  return cached(key, () => build(program, toolchain));
}
