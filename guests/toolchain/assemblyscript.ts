import { createRequire } from 'node:module';
import { cached } from './cache.ts';
import { compileFailed, toolchainMissing } from './command.ts';
import { sourceDigest, type SourceFile } from './sources.ts';

const TOOLCHAIN = 'assemblyscript';

/** The part of `assemblyscript/asc` that is used here: its own types redeclare global names. */
interface Asc {
  main(
    args: readonly string[],
    host: {
      stdout: { write(text: string | Uint8Array): void };
      stderr: { write(text: string | Uint8Array): void };
      readFile(path: string): string | null;
      writeFile(path: string, contents: string | Uint8Array): void;
      listFiles(path: string): string[];
    },
  ): Promise<{ error: Error | null }>;
}

/** An AssemblyScript program. Its files are virtual; names end in `.ts`. */
export interface AssemblyScriptProgram {
  readonly files: readonly SourceFile[];
  /** The entry, one of the files. */
  readonly entry: string;
  readonly flags?: readonly string[];
}

/** `start` as the exported name makes the program's top level a preview 1 command. */
const FLAGS = ['--optimize', '--runtime', 'incremental', '--exportStart', '_start'];

function toolchainVersion(): string {
  try {
    const description: unknown = createRequire(import.meta.url)(`${TOOLCHAIN}/package.json`);
    if (typeof description === 'object' && description !== null && 'version' in description) {
      return `${TOOLCHAIN} ${String(description.version)}`;
    }
  } catch (cause) {
    throw toolchainMissing(TOOLCHAIN, 'npm install, with development dependencies', cause);
  }
  return `${TOOLCHAIN} unknown`;
}

async function build(
  program: AssemblyScriptProgram,
  flags: readonly string[],
): Promise<Uint8Array> {
  const specifier: string = `${TOOLCHAIN}/asc`;
  const compiler = (await import(specifier)) as Asc;
  const byPath = new Map(program.files.map((file) => [file.path, file.bytes]));
  let transcript = '';
  let output: Uint8Array | undefined;
  const stream = {
    write: (text: string | Uint8Array): void => {
      transcript += typeof text === 'string' ? text : new TextDecoder().decode(text);
    },
  };
  const result = await compiler.main([program.entry, '--outFile', 'out.wasm', ...flags], {
    stdout: stream,
    stderr: stream,
    readFile: (path) => {
      const bytes = byPath.get(path.replace(/^\.\//, ''));
      return bytes === undefined ? null : new TextDecoder().decode(bytes);
    },
    writeFile: (path, contents) => {
      if (path === 'out.wasm' && typeof contents !== 'string') output = contents;
    },
    listFiles: () => [],
  });
  if (result.error !== null || output === undefined) {
    throw compileFailed(TOOLCHAIN, program.entry, `${transcript}${result.error?.message ?? ''}`);
  }
  return output;
}

/**
 * Compiles an AssemblyScript program with the compiler that npm brings. Equal programs give equal
 * bytes. Errors: `backend/toolchain-missing`, `guest/compile-failed`.
 */
export function compileAssemblyScript(program: AssemblyScriptProgram): Promise<Uint8Array> {
  const flags = [...FLAGS, ...(program.flags ?? [])];
  const key = {
    toolchain: toolchainVersion(),
    arguments: [program.entry, ...flags].join('\n'),
    source: sourceDigest(program.files),
  };
  return cached(key, () => build(program, flags));
}
