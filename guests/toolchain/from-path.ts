import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { SimError } from '../../sim/index.ts';
import { compileAssemblyScript } from './assemblyscript.ts';
import { compileC } from './c.ts';
import { componentFromScript } from './component.ts';
import { socketLibrary } from './c-sdk.ts';
import { buildGo } from './go.ts';
import { buildRust } from './rust.ts';
import { listSources, readSources } from './sources.ts';

const C_UNITS = ['.c', '.cc', '.cpp', '.cxx'];
const C_HEADERS = ['.h', '.hh', '.hpp', '.inc'];

function refuse(path: string, message: string, remedy: string): SimError {
  return new SimError({ code: 'input/source-kind', message, place: path, remedy });
}

function hasExtension(extensions: readonly string[]): (path: string) => boolean {
  return (path) => extensions.includes(extname(path));
}

/** The given units of a folder, all its headers, and our socket library. */
function buildC(directory: string, units: readonly string[]): Promise<Uint8Array> {
  const headers = listSources(directory).filter(hasExtension(C_HEADERS));
  const library = socketLibrary();
  return compileC({
    files: [...readSources(directory, [...units, ...headers]), ...library.files],
    units: [...units, ...library.units],
    includeDirectories: ['.', ...library.includeDirectories],
  });
}

function buildScript(path: string): Promise<Uint8Array> {
  const directory = dirname(path);
  const name = basename(path, extname(path));
  const wit = [`${name}.wit`, 'world.wit'].find((file) => existsSync(join(directory, file)));
  if (wit === undefined) {
    const remedy = `put ${name}.wit or world.wit beside it, with a world named ${name}`;
    throw refuse(path, 'a JavaScript guest needs the WIT text of its world', remedy);
  }
  const [script, world] = readSources(directory, [basename(path), wit]);
  return componentFromScript({
    script,
    wit: world,
    world: name,
    features: ['stdio', 'clocks', 'random'],
  });
}

function buildFile(path: string): Promise<Uint8Array> {
  const directory = dirname(path);
  const file = basename(path);
  switch (extname(path)) {
    case '.c':
    case '.cc':
    case '.cpp':
    case '.cxx':
      return buildC(directory, [file]);
    case '.rs': {
      const files = listSources(directory).filter(hasExtension(['.rs']));
      return buildRust({ directory, root: file, files });
    }
    case '.as':
      return compileAssemblyScript({
        files: [{ path: 'main.ts', bytes: readFileSync(path) }],
        entry: 'main.ts',
      });
    case '.js':
    case '.mjs':
      return buildScript(path);
    default:
      throw refuse(
        path,
        'the kind of this source is not known',
        'one of .c .cc .cpp .cxx .rs .as .js, or a folder with C sources or a go.mod',
      );
  }
}

function buildDirectory(directory: string): Promise<Uint8Array> {
  if (existsSync(join(directory, 'go.mod'))) return buildGo({ directory });
  if (existsSync(join(directory, 'Cargo.toml'))) {
    const remedy = 'build it with cargo build --target wasm32-wasip1, and name the .wasm file';
    throw refuse(directory, 'a Cargo package is built by cargo', remedy);
  }
  const units = listSources(directory).filter(hasExtension(C_UNITS));
  if (units.length === 0) {
    throw refuse(
      directory,
      'the folder has no go.mod and no C or C++ source',
      'name a source file',
    );
  }
  return buildC(directory, units);
}

/**
 * Builds a guest from a source file or a folder of somebody's own, with the compiler that its name
 * calls for. Answers a preview 1 module, or a preview 2 component for JavaScript.
 * Errors: `input/source-missing`, `input/source-kind`, `backend/toolchain-missing`,
 * `guest/compile-failed`.
 */
export async function buildGuestFromPath(path: string): Promise<Uint8Array> {
  const absolute = resolve(path);
  const status = statSync(absolute, { throwIfNoEntry: false });
  if (status === undefined) {
    throw new SimError({
      code: 'input/source-missing',
      message: 'the source does not exist',
      place: path,
      remedy: 'check the path',
    });
  }
  return status.isDirectory() ? buildDirectory(absolute) : buildFile(absolute);
}
