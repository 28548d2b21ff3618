import { readFileSync } from 'node:fs';
import { SimError } from '../sim/index.ts';
import { compileAssemblyScript } from './toolchain/assemblyscript.ts';
import { compileC, compileCObject, type CProgram } from './toolchain/c.ts';
import {
  componentFromModule,
  componentFromScript,
  type ScriptFeature,
} from './toolchain/component.ts';
import { buildEtcdRaft, FORGET_VOTE, type SourceChange } from './toolchain/etcd-raft.ts';
import { buildGo } from './toolchain/go.ts';
import { readNpmSource } from './toolchain/npm-source.ts';
import { guestPath } from './toolchain/root.ts';
import { buildRust } from './toolchain/rust.ts';
import type { SystemToolchain } from './toolchain/setup.ts';
import { readSources, under } from './toolchain/sources.ts';
import { C_GUESTS, cProgramOf, findCGuest } from './c-guests.ts';

/** A program that can run as a guest, and how it comes into being. */
export interface GuestEntry {
  readonly name: string;
  readonly language: 'c' | 'go' | 'rust' | 'assemblyscript' | 'javascript';
  /** A preview 1 core module, or a preview 2 component. */
  readonly level: 'p1' | 'p2';
  readonly summary: string;
  /** Where the committed artefact lies, relative to `guests/`; undefined when it must be built. */
  readonly artefact: string | undefined;
  /** Compilers that npm does not bring. */
  readonly needs: readonly SystemToolchain[];
  /** Builds it from source, or takes it from the cache of builds. */
  readonly build: () => Promise<Uint8Array>;
}

const SQLITE = {
  name: 'better-sqlite3',
  version: '12.11.1',
  integrity:
    'sha512-dq9AtApgg5PGFtBzPFSBl3HZQjHok5gaQCM6zh2Yk0aSmDCs1CbnVI8/HgASQkNKsWFpseIO9beg5xxpYhbIfA==',
  files: ['deps/sqlite3/sqlite3.c', 'deps/sqlite3/sqlite3.h'],
};

const SQLITE_FLAGS = [
  '-DSQLITE_THREADSAFE=0',
  '-DSQLITE_OMIT_LOAD_EXTENSION',
  '-DSQLITE_DEFAULT_MEMSTATUS=0',
  '-Wno-all',
];

/**
 * SQLite's amalgamation, which the npm package `better-sqlite3` ships, with a main of ours. The
 * amalgamation takes minutes and is compiled apart, so that a change of main.c does not.
 */
async function sqliteProgram(): Promise<CProgram> {
  const amalgamation = await readNpmSource(SQLITE);
  const object = await compileCObject({
    files: amalgamation,
    unit: 'deps/sqlite3/sqlite3.c',
    flags: SQLITE_FLAGS,
  });
  const header = amalgamation.filter((file) => file.path.endsWith('.h'));
  const main = under('sqlite', readSources(guestPath('sqlite'), ['main.c']));
  return {
    files: [...main, ...header, { path: 'sqlite3.o', bytes: object }],
    units: ['sqlite/main.c', 'sqlite3.o'],
    includeDirectories: ['deps/sqlite3'],
    flags: ['-Wl,-z,stack-size=262144'],
  };
}

function goGuest(name: string, summary: string): GuestEntry {
  return {
    name,
    language: 'go',
    level: 'p1',
    summary,
    artefact: undefined,
    needs: ['go'],
    build: () => buildGo({ directory: guestPath(name) }),
  };
}

function etcdRaftGuest(
  name: string,
  summary: string,
  changes: readonly SourceChange[],
): GuestEntry {
  return {
    name,
    language: 'go',
    level: 'p1',
    summary,
    artefact: undefined,
    needs: ['go', 'etcd'],
    build: () => buildEtcdRaft(changes),
  };
}

function scriptGuest(
  name: string,
  script: string,
  features: readonly ScriptFeature[],
  summary: string,
): GuestEntry {
  const [source, wit] = [script, 'world.wit'].map(
    (path) => () => readSources(guestPath('javascript'), [path])[0],
  );
  return {
    name,
    language: 'javascript',
    level: 'p2',
    summary,
    artefact: undefined,
    needs: [],
    build: () =>
      componentFromScript({
        script: source(),
        wit: wit(),
        world: script.replace(/\.js$/, ''),
        features,
      }),
  };
}

/** Every guest of this package. Names are unique and stable. */
export const GUESTS: readonly GuestEntry[] = [
  ...C_GUESTS.map((guest): GuestEntry => ({
    name: guest.name,
    language: 'c',
    level: 'p1',
    summary: guest.summary,
    artefact: `built/${guest.name}.wasm`,
    needs: [],
    build: () => compileC(cProgramOf(guest)),
  })),
  {
    name: 'hello-component',
    language: 'c',
    level: 'p2',
    summary: 'the hello program as a preview 2 component',
    artefact: undefined,
    needs: [],
    build: () =>
      componentFromModule(readFileSync(guestPath('built', `${findCGuest('hello').name}.wasm`))),
  },
  {
    name: 'sqlite',
    language: 'c',
    level: 'p1',
    summary: 'SQLite doing transactions on a file database, or a fixed benchmark',
    artefact: undefined,
    needs: [],
    build: async () => compileC(await sqliteProgram()),
  },
  goGuest('gohello', 'goroutines, channels and timers without a network'),
  goGuest('gohttp', 'a register replicated over net/http servers, and its checking client'),
  etcdRaftGuest('etcdraft', "a store replicated with etcd's raft library, unchanged", []),
  etcdRaftGuest('etcdraft-forget-vote', 'the same over a copy that does not store its votes', [
    FORGET_VOTE,
  ]),
  {
    name: 'rusttcp',
    language: 'rust',
    level: 'p1',
    summary: 'a calculator over TCP in std Rust, server and client',
    artefact: undefined,
    needs: ['rust'],
    build: () =>
      buildRust({
        directory: guestPath(),
        root: 'rusttcp/main.rs',
        files: ['rusttcp/main.rs', 'sdk/rust/simnet.rs'],
      }),
  },
  {
    name: 'assemblyscript',
    language: 'assemblyscript',
    level: 'p1',
    summary: 'a sieve with strings, maps and floats in AssemblyScript',
    artefact: undefined,
    needs: [],
    build: () =>
      compileAssemblyScript({
        files: [{ path: 'main.ts', bytes: readFileSync(guestPath('assemblyscript', 'main.as')) }],
        entry: 'main.ts',
        flags: ['--use', 'abort=main/fail'],
      }),
  },
  scriptGuest('js-handler', 'handler.js', [], 'a reactor in JavaScript: one call for each event'),
  scriptGuest(
    'js-command',
    'command.js',
    ['stdio', 'clocks', 'random'],
    'a command in JavaScript: clocks, a sleep, random numbers',
  ),
];

/** The entry of that name. Error: `input/unknown-guest`. */
export function findGuest(name: string): GuestEntry {
  const entry = GUESTS.find((guest) => guest.name === name);
  if (entry !== undefined) return entry;
  throw new SimError({
    code: 'input/unknown-guest',
    message: `there is no guest named ${JSON.stringify(name)}`,
    place: name,
    remedy: `one of: ${GUESTS.map((guest) => guest.name).join(', ')}`,
  });
}

/** The bytes of a guest: the committed artefact if it has one, otherwise built or from the cache. */
export async function loadGuest(name: string): Promise<Uint8Array> {
  const entry = findGuest(name);
  return entry.artefact === undefined ? entry.build() : readFileSync(guestPath(entry.artefact));
}
