import type { HostFunctionRow, HostInterface, HostResourceRow } from './host-table.ts';
import { ENVIRONMENT, EXIT, STDERR, STDIN, STDOUT, TERMINALS } from './wasi/cli.ts';
import { MARKER } from './wasi/marker.ts';
import { MONOTONIC_CLOCK, TIMEZONE, WALL_CLOCK } from './wasi/clocks.ts';
import { FILESYSTEM_TYPES, PREOPENS } from './wasi/filesystem.ts';
import { ERROR, POLL, STREAMS } from './wasi/io.ts';
import { IP_NAME_LOOKUP } from './wasi/ip-name-lookup.ts';
import { INSTANCE_NETWORK, NETWORK_INTERFACE } from './wasi/network.ts';
import { INSECURE, INSECURE_SEED, RANDOM } from './wasi/random.ts';
import { TCP, TCP_CREATE_SOCKET } from './wasi/tcp.ts';
import { UDP, UDP_CREATE_SOCKET } from './wasi/udp.ts';

/** 0.2.0 and all that add to it. */
const WASI_VERSIONS = /^0\.2\.\d+$/;

/** Everything that the host offers to components: world wasi:cli/imports of WASI 0.2, and a marker. */
export const HOST_INTERFACES: readonly HostInterface[] = [
  ENVIRONMENT,
  EXIT,
  STDIN,
  STDOUT,
  STDERR,
  ...TERMINALS,
  MONOTONIC_CLOCK,
  WALL_CLOCK,
  TIMEZONE,
  ERROR,
  POLL,
  STREAMS,
  FILESYSTEM_TYPES,
  PREOPENS,
  RANDOM,
  INSECURE,
  INSECURE_SEED,
  NETWORK_INTERFACE,
  INSTANCE_NETWORK,
  IP_NAME_LOOKUP,
  TCP_CREATE_SOCKET,
  TCP,
  UDP_CREATE_SOCKET,
  UDP,
  MARKER,
];

/** A function of the table with what a call of it takes. */
export interface OfferedFunction extends HostFunctionRow {
  readonly costNs: number;
  /** Versions of its interface that are offered. */
  readonly versions: RegExp;
}

const FUNCTIONS: ReadonlyMap<string, OfferedFunction> = new Map(
  HOST_INTERFACES.flatMap(({ name, costNs, versions, functions }) =>
    functions.map((one) => {
      const offered = { ...one, costNs: one.costNs ?? costNs, versions: versions ?? WASI_VERSIONS };
      return [`${name}#${one.name}`, offered] as const;
    }),
  ),
);

const RESOURCES: ReadonlyMap<string, HostResourceRow> = new Map(
  HOST_INTERFACES.flatMap(({ resources }) => resources.map((one) => [one.name, one] as const)),
);

/** The function of that name, `wasi:io/poll#poll`. */
export function hostFunction(name: string): OfferedFunction | undefined {
  return FUNCTIONS.get(name);
}

/** The resource of that name, `wasi:io/poll#pollable`. */
export function hostResource(name: string): HostResourceRow | undefined {
  return RESOURCES.get(name);
}
