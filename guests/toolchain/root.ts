import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert } from '../../sim/index.ts';

const PACKAGE_NAME = 'athanor';

function isPackageRoot(directory: string): boolean {
  const path = join(directory, 'package.json');
  if (!existsSync(path)) return false;
  const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
  return (
    typeof parsed === 'object' &&
    parsed !== null &&
    'name' in parsed &&
    parsed.name === PACKAGE_NAME
  );
}

/**
 * The absolute path of this package's own folder, found from this module's place: it is the same
 * for the sources and for their compiled form under `dist/`.
 */
export function packageRoot(): string {
  let directory = import.meta.dirname;
  while (!isPackageRoot(directory)) {
    const parent = dirname(directory);
    assert(parent !== directory, 'this module lies inside the package that it belongs to');
    directory = parent;
  }
  return directory;
}

/** Absolute path of a file or folder under `guests/`. */
export function guestPath(...parts: readonly string[]): string {
  return join(packageRoot(), 'guests', ...parts);
}
