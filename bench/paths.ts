import { fileURLToPath } from 'node:url';

/** A file of the package, from the compiled code in dist/bench/. */
export function packagePath(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
