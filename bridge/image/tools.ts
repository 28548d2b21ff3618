import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SimError } from '../../sim/index.ts';
import { runCommand } from './command.ts';

const UNITS = ['main.c', 'init.c', 'tool.c', 'modules.c', 'network.c'];
const HEADERS = ['athanor.h', 'program.h'];
const REMEDY = 'apt-get install gcc libc6-dev';
/** Flags that make the output depend on sources and compiler alone. */
const FLAGS = ['-std=gnu11', '-O2', '-static', '-s', '-Wall', '-Wl,--build-id=none'];

/**
 * The one program of ours in an image, a static executable for Linux x86-64. Compiled once for
 * each compiler and each state of its sources. Throws `backend/program-missing`,
 * `backend/compile-failed`.
 */
export async function guestProgram(cacheFolder: string): Promise<Uint8Array> {
  const sources = sourceFolder();
  const version = await runCommand('gcc', ['--version'], { remedy: REMEDY });
  const hash = createHash('sha256').update(FLAGS.join(' ')).update(version.output);
  for (const name of [...UNITS, ...HEADERS]) {
    hash.update(`\0${name}\0`).update(readFileSync(join(sources, name)));
  }
  const path = join(cacheFolder, `program-${hash.digest('hex').slice(0, 32)}`);
  if (existsSync(path)) return readFileSync(path);
  mkdirSync(cacheFolder, { recursive: true });
  const draft = mkdtempSync(join(cacheFolder, 'compile-'));
  try {
    const output = join(draft, 'program');
    const result = await runCommand('gcc', [...FLAGS, '-o', output, ...UNITS], {
      folder: sources,
      remedy: REMEDY,
    });
    if (result.status !== 0) throw compileFailed(result.errors);
    renameSync(output, path);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return readFileSync(path);
}

/** The header for programs of one's own, as it stands in each image too. */
export function guestHeader(): Uint8Array {
  return readFileSync(join(sourceFolder(), 'athanor.h'));
}

/** The C sources lie in the package, beside this file's own source. */
function sourceFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return join(folder, 'bridge', 'image', 'guest');
}

function compileFailed(errors: string): SimError {
  return new SimError({
    code: 'backend/compile-failed',
    message: `gcc cannot make the program of an image: ${errors.trim().slice(0, 2000)}`,
    place: 'gcc',
    remedy: `${REMEDY}; it must make static programs for x86-64`,
  });
}
