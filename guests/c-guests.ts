import { assert } from '../sim/index.ts';
import type { CProgram } from './toolchain/c.ts';
import { socketLibrary } from './toolchain/c-sdk.ts';
import { guestPath } from './toolchain/root.ts';
import { readSourceTree, under } from './toolchain/sources.ts';

/** A C program of ours. Its artefact is committed, and a test of the second tier rebuilds it. */
export interface CGuest {
  readonly name: string;
  readonly summary: string;
  /** Folder under `guests/` whose files the compiler may read. */
  readonly directory: string;
  /** What is compiled, relative to that folder. */
  readonly units: readonly string[];
  /** Whether it is linked with our socket library and compiled against its headers. */
  readonly sockets: boolean;
}

function single(name: string, summary: string): CGuest {
  return { name, summary, directory: name, units: ['main.c'], sockets: false };
}

/** All C programs of ours. */
export const C_GUESTS: readonly CGuest[] = [
  single('sha256', 'SHA-256 of a generated message: an integer kernel'),
  single('fp', 'n-body, Mandelbrot, matrix product, and every way to make a NaN'),
  single('spin', 'uses the processor and the clock, and waits'),
  single('files', 'a crash-safe counter, and every file system call once'),
  single('kv', 'a key-value store with a write-ahead log that checks itself'),
  single('hello', 'one of everything that a command line program does'),
  single('hostile', 'misbehaves, in a mode of your choice'),
  {
    name: 'echo-server',
    summary: 'a TCP echo server with blocking sockets and poll',
    directory: 'echo',
    units: ['server.c'],
    sockets: true,
  },
  {
    name: 'echo-client',
    summary: 'a TCP client that checks its echoes and measures round trips',
    directory: 'echo',
    units: ['client.c'],
    sockets: true,
  },
];

/** The C guest of that name, which must exist. */
export function findCGuest(name: string): CGuest {
  const guest = C_GUESTS.find((candidate) => candidate.name === name);
  assert(guest !== undefined, 'a C guest is named as in the table');
  return guest;
}

/** What the compiler gets: the program's own folder, and the socket library where it is used. */
export function cProgramOf(guest: CGuest): CProgram {
  const own = under(guest.directory, readSourceTree(guestPath(guest.directory)));
  const units = guest.units.map((unit) => `${guest.directory}/${unit}`);
  if (!guest.sockets) return { files: own, units };
  const library = socketLibrary();
  return {
    files: [...own, ...library.files],
    units: [...units, ...library.units],
    includeDirectories: library.includeDirectories,
  };
}
