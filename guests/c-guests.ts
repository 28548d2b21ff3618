import { assert } from '../sim/index.ts';
import type { CProgram } from './toolchain/c.ts';
import { socketLibrary } from './toolchain/c-sdk.ts';
import { guestPath } from './toolchain/root.ts';
import { readSourceTree, under, type SourceFile } from './toolchain/sources.ts';

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
  /** Compiler flags of its own: a planted bug is one. */
  readonly flags?: readonly string[];
}

function single(name: string, summary: string): CGuest {
  return { name, summary, directory: name, units: ['main.c'], sockets: false };
}

/** The Raft server's sources; the client shares some of them. */
const RAFT_SERVER = [
  'buffer.c',
  'checksum.c',
  'cluster.c',
  'connection.c',
  'election.c',
  'link.c',
  'log.c',
  'machine.c',
  'message.c',
  'network.c',
  'options.c',
  'raft.c',
  'replication.c',
  'request.c',
  'server.c',
  'storage.c',
  'system.c',
];

const RAFT_CLIENT = [
  'buffer.c',
  'cluster.c',
  'connection.c',
  'log.c',
  'message.c',
  'options.c',
  'session.c',
  'system.c',
  'client.c',
];

const MUSEUM = [
  'counter.c',
  'lease.c',
  'main.c',
  'replica-client.c',
  'replicas.c',
  'store.c',
  'system.c',
];

function raft(name: string, summary: string, flags: readonly string[] = []): CGuest {
  return { name, summary, directory: 'raft', units: RAFT_SERVER, sockets: true, flags };
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
  single('desk', 'a calculator that traps on some of the statements that it is given'),
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
  raft('raft', 'a Raft server that replicates a key-value store'),
  raft('raft-forget-vote', 'the same with a planted bug: votes are not kept over a crash', [
    '-DBUG_FORGET_VOTE',
  ]),
  raft('raft-no-fsync', 'the same with a planted bug: it acknowledges before its log is durable', [
    '-DBUG_NO_FSYNC',
  ]),
  {
    name: 'raft-client',
    summary: 'a client that writes and reads through a Raft cluster, and checks what it reads',
    directory: 'raft',
    units: RAFT_CLIENT,
    sockets: true,
  },
  {
    name: 'redis-client',
    summary: 'a client of Redis that finds out what a loss of power takes',
    directory: 'services',
    units: ['connection.c', 'redis-client.c'],
    sockets: true,
  },
  {
    name: 'etcd-client',
    summary: "a client of an etcd cluster's JSON gateway that writes down a history",
    directory: 'services',
    units: ['connection.c', 'etcd-client.c'],
    sockets: true,
  },
  {
    name: 'museum',
    summary: 'bugs found in real systems, rebuilt in small, and their corrected twins',
    directory: 'museum',
    units: MUSEUM,
    sockets: true,
  },
];

/** The C guest of that name, which must exist. */
export function findCGuest(name: string): CGuest {
  const guest = C_GUESTS.find((candidate) => candidate.name === name);
  assert(guest !== undefined, 'a C guest is named as in the table');
  return guest;
}

/** Sources and headers: what else lies in a folder, such as its README, makes no other program. */
function ownSources(guest: CGuest): SourceFile[] {
  const files = readSourceTree(guestPath(guest.directory));
  return under(
    guest.directory,
    files.filter((file) => /\.[ch]$/.test(file.path)),
  );
}

/** What the compiler gets: the program's own folder, and the socket library where it is used. */
export function cProgramOf(guest: CGuest): CProgram {
  const own = ownSources(guest);
  const units = guest.units.map((unit) => `${guest.directory}/${unit}`);
  const flags = guest.flags === undefined ? {} : { flags: guest.flags };
  if (!guest.sockets) return { files: own, units, ...flags };
  const library = socketLibrary();
  return {
    ...flags,
    files: [...own, ...library.files],
    units: [...units, ...library.units],
    includeDirectories: library.includeDirectories,
  };
}
