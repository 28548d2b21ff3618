import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const NAME = /^draft-(\d+)-/;

/**
 * Calls `work` with an empty folder in `cacheFolder`, which goes when it ends. What it made is moved
 * out under its own name when it is whole. Folders that a killed process left behind go first.
 */
export async function withDraft<T>(
  cacheFolder: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = makeDraft(cacheFolder);
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same folder, for a caller that removes it by itself. */
export function makeDraft(cacheFolder: string): string {
  mkdirSync(cacheFolder, { recursive: true });
  removeLeftovers(cacheFolder);
  return mkdtempSync(join(cacheFolder, `draft-${process.pid}-`));
}

function removeLeftovers(cacheFolder: string): void {
  for (const name of readdirSync(cacheFolder)) {
    const owner = NAME.exec(name)?.[1];
    if (owner === undefined || existsSync(join('/proc', owner))) continue;
    rmSync(join(cacheFolder, name), { recursive: true, force: true });
  }
}
