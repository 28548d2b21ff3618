import { guestPath } from './root.ts';
import { readSourceTree, under, type SourceFile } from './sources.ts';

/** The C socket library as the compiler needs it. */
export interface CLibrary {
  readonly files: readonly SourceFile[];
  readonly units: readonly string[];
  readonly includeDirectories: readonly string[];
}

/**
 * Our socket library with BSD names (`guests/sdk/c`): headers and sources. What a program does not
 * call is not linked in.
 */
export function socketLibrary(): CLibrary {
  const files = under('sdk/c', readSourceTree(guestPath('sdk', 'c')));
  return {
    files,
    units: files.map((file) => file.path).filter((path) => path.endsWith('.c')),
    includeDirectories: ['sdk/c/include'],
  };
}
