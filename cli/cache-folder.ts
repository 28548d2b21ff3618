import { join, resolve } from 'node:path';
import type { Host } from './host.ts';

/**
 * Where what is built or downloaded for machines is kept, for all of a user's worlds:
 * `$ATHANOR_CACHE`, else `$XDG_CACHE_HOME/athanor`, else `~/.cache/athanor`.
 */
export function cacheFolder(host: Pick<Host, 'env' | 'cwd'>): string {
  const { ATHANOR_CACHE = '', XDG_CACHE_HOME = '', HOME = '' } = host.env;
  if (ATHANOR_CACHE !== '') return resolve(host.cwd, ATHANOR_CACHE);
  if (XDG_CACHE_HOME !== '') return join(resolve(host.cwd, XDG_CACHE_HOME), 'athanor');
  return join(resolve(host.cwd, HOME), '.cache', 'athanor');
}

/** Its part for machines: QEMU's sources, adapters, images and their packages (docs/machines.md). */
export function machinesFolder(host: Pick<Host, 'env' | 'cwd'>): string {
  return join(cacheFolder(host), 'machines');
}
