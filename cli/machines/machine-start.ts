import {
  assert,
  EPOCH_NS,
  formatAddress,
  formatMac,
  ipv6Of,
  macOfAddress,
  nodeAddress,
  NS_PER_S,
  SimError,
  type MachineGuestDef,
  type NodeDef,
} from '../../sim/index.ts';
import type { MachineHost } from './machine-host.ts';
import type { MachineStart } from './messages.ts';

/** A node of a world that is a machine. */
export interface MachinePlace {
  readonly host: MachineHost;
  readonly guest: MachineGuestDef;
  readonly node: number;
  readonly nodes: readonly NodeDef[];
  /** SHA-256 of each part of a guest to its bytes. */
  readonly images: ReadonlyMap<string, Uint8Array>;
}

/** What a machine is started with; its calendar clock begins at a second of the world's. */
export function machineStart(
  place: MachinePlace,
  { seed, bootNs }: { readonly seed: number; readonly bootNs: number },
): MachineStart {
  const { guest, host, node } = place;
  const { type, cpus, memoryMib, shift, initrd, disks } = guest.machine;
  const part = (digest: string): string => host.part(digest, imageOf(place, digest));
  return {
    machine: type,
    cpus,
    memoryMiB: memoryMib,
    shift,
    kernel: part(guest.image),
    ...(initrd === null ? {} : { initrd: part(initrd) }),
    commandLine: commandLine(place),
    nics: [{ mac: formatMac(macOfAddress(nodeAddress(node))) }],
    disks: disks.map(({ bytes }) => ({ sectors: bytes / 512 })),
    seed,
    rtcBase: calendarTime(bootNs),
  };
}

/** The image's own words, the node's, and the world's: who it is, and who the others are. */
function commandLine({ guest, node, nodes }: MachinePlace): string {
  const def = nodes[node];
  assert(def !== undefined, 'the machine is a node');
  const own = nodeAddress(node);
  const others = nodes.map(({ name }, other) => {
    return `athanor.host=${name},${formatAddress(nodeAddress(other))}`;
  });
  return [
    guest.machine.commandLine,
    ...def.args,
    `athanor.name=${def.name}`,
    `athanor.address=${formatAddress(own)}/16`,
    `athanor.address=eth0,${formatAddress(ipv6Of(own))}/96`,
    ...others,
  ].join(' ');
}

function imageOf({ images, guest, node, nodes }: MachinePlace, digest: string): Uint8Array {
  const bytes = images.get(digest);
  if (bytes !== undefined) return bytes;
  throw new SimError({
    code: 'scenario/image',
    message: `the image ${digest} of guest "${guest.label}" is not at hand`,
    place: `node ${nodes[node]?.name ?? ''}`,
    remedy: 'give the kernel and the initial file system with the scenario or bundle',
  });
}

/** The whole second at which the machine's calendar clock begins. */
function calendarTime(atNs: number): string {
  const seconds = EPOCH_NS / BigInt(NS_PER_S) + BigInt(Math.floor(atNs / NS_PER_S));
  return new Date(Number(seconds) * 1_000).toISOString().slice(0, 19);
}
