import type { Suspends } from '../instrument/options.ts';
import type { HostContext } from './host-context.ts';
import type { HostSet } from './host-set.ts';

/** Where an import of a program's module comes from. */
export type ImportTarget =
  /** The program's one memory. */
  | { readonly kind: 'memory' }
  /** An export of another module's instance; of a later one only a function. */
  | { readonly kind: 'export'; readonly module: number; readonly name: string }
  /** A host function, by its place in the host set. */
  | { readonly kind: 'host'; readonly index: number };

export interface ProgramImport {
  readonly module: string;
  readonly name: string;
  readonly target: ImportTarget;
}

/** A core module of a program. Exactly one defines the state that all share. */
export interface ProgramModule {
  readonly binary: Uint8Array;
  readonly sharedState: 'define' | 'import';
  readonly suspends: Suspends;
  readonly imports: readonly ProgramImport[];
}

/** A call that the runtime makes: entries run one after another. */
export interface ProgramEntry {
  readonly module: number;
  readonly exportName: string;
  /** The result of `main` gives the exit code. */
  readonly kind: 'main' | 'other';
}

/** A guest program: what a module or component needs to run, whatever its WASI version. */
export interface GuestProgram {
  readonly kind: 'preview1' | 'component';
  readonly modules: readonly ProgramModule[];
  readonly entries: readonly ProgramEntry[];
  /** Names of the host functions, for the log and for errors. */
  readonly hostNames: readonly string[];
  makeHost(context: HostContext): HostSet;
}
