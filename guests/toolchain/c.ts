import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { OutputStream, Tree } from '@yowasp/clang';
import { cached } from './cache.ts';
import { compileFailed, toolchainMissing } from './command.ts';
import { sourceDigest, type SourceFile } from './sources.ts';

const TOOLCHAIN = '@yowasp/clang';
const OUTPUT = 'output';

/** A C or C++ program for preview 1. All paths are virtual: `files` is the whole file system. */
export interface CProgram {
  /** Everything that the compiler may read besides its own sysroot. */
  readonly files: readonly SourceFile[];
  /**
   * Which of the files are compiled or, when they end in `.o`, linked. One that ends in `.cc`,
   * `.cpp` or `.cxx` makes it C++.
   */
  readonly units: readonly string[];
  readonly includeDirectories?: readonly string[];
  /** After the common flags, so that they win. */
  readonly flags?: readonly string[];
}

/** One C or C++ file that is compiled apart, because it is large and seldom changes. */
export interface CObject {
  readonly files: readonly SourceFile[];
  readonly unit: string;
  readonly includeDirectories?: readonly string[];
  readonly flags?: readonly string[];
}

/**
 * Flags of every build. `--stack-first` lets a stack overflow trap at address 0 instead of running
 * into the data; names and debug information go, since artefacts are compared byte by byte.
 */
export const C_FLAGS: readonly string[] = ['--target=wasm32-wasip1', '-O2', '-Wall'];
export const C_LINK_FLAGS: readonly string[] = ['-Wl,--stack-first', '-Wl,--strip-all'];

/** Name and exact version of the compiler: part of every build key. */
export function cToolchainVersion(): string {
  let path: string;
  try {
    path = createRequire(import.meta.url).resolve(TOOLCHAIN);
  } catch (cause) {
    throw toolchainMissing(TOOLCHAIN, 'npm install, with development dependencies', cause);
  }
  const bundle = path.slice(0, path.lastIndexOf('/gen/'));
  const description: unknown = JSON.parse(readFileSync(`${bundle}/package.json`, 'utf8'));
  const version =
    typeof description === 'object' && description !== null && 'version' in description
      ? String(description.version)
      : 'unknown';
  return `${TOOLCHAIN} ${version}`;
}

function treeOf(files: readonly SourceFile[]): Tree {
  const root: Tree = {};
  for (const file of files) {
    const parts = file.path.split('/');
    const name = parts.pop() ?? '';
    let folder = root;
    for (const part of parts) {
      const next = folder[part] ?? {};
      folder[part] = next;
      if (typeof next === 'string' || next instanceof Uint8Array) {
        throw compileFailed(TOOLCHAIN, file.path, `${part} is both a file and a folder`);
      }
      folder = next;
    }
    folder[name] = file.bytes;
  }
  return root;
}

/** Whether a unit is C++. */
function isCxx(unit: string): boolean {
  return /\.(cc|cpp|cxx)$/.test(unit);
}

/** One driver for both languages: it tells them apart by name, which clang++ would not. */
function argumentsOf(program: CProgram): string[] {
  return [
    ...C_FLAGS,
    ...C_LINK_FLAGS,
    ...(program.includeDirectories ?? []).map((directory) => `-I${directory}`),
    ...(program.flags ?? []),
    ...program.units,
    ...(program.units.some(isCxx) ? ['-lc++', '-lc++abi'] : []),
  ];
}

async function loadCompiler() {
  try {
    const compiler = await import('@yowasp/clang');
    // Fetched here with a silent progress callback: the compiler itself would print to the console.
    await compiler.runLLVM(undefined, {}, { fetchProgress: () => {} });
    return compiler;
  } catch (cause) {
    throw toolchainMissing(TOOLCHAIN, 'npm install, with development dependencies', cause);
  }
}

async function build(
  args: readonly string[],
  files: readonly SourceFile[],
  place: string,
): Promise<Uint8Array> {
  const { commands } = await loadCompiler();
  let transcript = '';
  const decoder = new TextDecoder();
  const collect: OutputStream = (bytes) => {
    if (bytes !== null) transcript += decoder.decode(bytes, { stream: true });
  };
  let tree: Tree | undefined;
  try {
    tree = await commands.clang([...args, '-o', OUTPUT], treeOf(files), {
      stdout: collect,
      stderr: collect,
    });
  } catch (cause) {
    // The compiler's Exit is known by its shape: the package does not export the class itself.
    if (!(cause instanceof Error) || !('code' in cause)) throw cause;
    throw compileFailed(TOOLCHAIN, place, transcript);
  }
  const output = tree?.[OUTPUT];
  if (!(output instanceof Uint8Array)) throw compileFailed(TOOLCHAIN, place, transcript);
  return output;
}

function cachedBuild(
  args: readonly string[],
  files: readonly SourceFile[],
  place: string,
): Promise<Uint8Array> {
  const key = {
    toolchain: cToolchainVersion(),
    arguments: args.join('\n'),
    source: sourceDigest(files),
  };
  return cached(key, () => build(args, files, place));
}

/**
 * Compiles and links with the compiler that npm brings; no other package of the system is needed.
 * Equal programs give equal bytes. Errors: `backend/toolchain-missing`, `guest/compile-failed`.
 */
export function compileC(program: CProgram): Promise<Uint8Array> {
  return cachedBuild(argumentsOf(program), program.files, program.units.join(' '));
}

/** Compiles one file to an object file. Errors as compileC. */
export function compileCObject(object: CObject): Promise<Uint8Array> {
  const args = [
    '-c',
    ...C_FLAGS,
    ...(object.includeDirectories ?? []).map((directory) => `-I${directory}`),
    ...(object.flags ?? []),
    object.unit,
  ];
  return cachedBuild(args, object.files, object.unit);
}
