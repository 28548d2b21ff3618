import { resolve } from 'node:path';
import { chooseBackend, type Backend } from './backend.ts';
import type { Host } from './host.ts';
import type { GlobalOptions } from './options.ts';
import { Output } from './output.ts';
import { Store } from './store.ts';

/** What every command gets. */
export interface Context {
  readonly host: Host;
  readonly globals: GlobalOptions;
  readonly output: Output;
  readonly backend: Backend;
  /** Where artefacts go; absolute. */
  readonly artifactDir: string;
  readonly store: Store;
  /** A path that somebody wrote, from the folder they are in. */
  path(text: string): string;
}

export function makeContext(host: Host, globals: GlobalOptions): Context {
  const artifactDir = resolve(host.cwd, globals.artifactDir ?? '.athanor');
  const storeDir =
    globals.store === undefined ? resolve(artifactDir, 'store') : resolve(host.cwd, globals.store);
  return {
    host,
    globals,
    output: new Output(host, globals),
    backend: chooseBackend(globals.backend, host.env),
    artifactDir,
    store: new Store(storeDir),
    path: (text) => resolve(host.cwd, text),
  };
}
