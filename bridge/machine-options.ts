import { SimError, VIRTUAL_NS_MAX } from '../sim/index.ts';

/** A QEMU that can run simulated machines, as `findBackend` or `sim vm setup` made it. */
export interface MachineBackend {
  /** `plugin`: a stock QEMU that loads the adapter; `patched`: one with the adapter built in. */
  readonly kind: 'plugin' | 'patched';
  /** QEMU's version, `10.0.2`. */
  readonly version: string;
  /** Path of the QEMU binary. */
  readonly binary: string;
  /** Path of the adapter, for `plugin`. */
  readonly plugin?: string;
  /** Folders in which QEMU looks for firmware. */
  readonly firmwareFolders: readonly string[];
  /** Digest of all that decides the machine's behaviour besides the options (see docs). */
  readonly identity: string;
}

export interface NicOptions {
  /** Six bytes, `52:54:00:12:34:56`. */
  readonly mac: string;
}

export interface DiskOptions {
  /** Size in sectors of 512 bytes, at least 1. */
  readonly sectors: number;
  readonly readOnly?: boolean;
}

/** All that decides what a machine does, apart from what the controller delivers to it. */
export interface MachineOptions {
  readonly backend: MachineBackend;
  readonly machine: 'microvm' | 'q35';
  /** 1 to 4. */
  readonly cpus: number;
  /** 32 to 4096. */
  readonly memoryMiB: number;
  /** Path of a Linux kernel (bzImage); absent for firmware that does without. */
  readonly kernel?: string;
  /** Path of an initial file system (cpio). */
  readonly initrd?: string;
  readonly commandLine: string;
  /** Path of a firmware in the place of qboot, which starts `kernel` and nothing else. */
  readonly firmware?: string;
  /** Network cards; ports are their indexes. At most 8. */
  readonly nics: readonly NicOptions[];
  /** Block devices; the controller holds their contents. At most 8. */
  readonly disks: readonly DiskOptions[];
  /** An instruction takes 2^shift virtual nanoseconds; 0 to 10. */
  readonly shift: number;
  /** Path of a socket at which gdb may hold the machine: its time is no longer the caller's. */
  readonly gdb?: string;
  /** Seed of all entropy of the machine, 0 to 2^53 - 1. */
  readonly seed: number;
  /** What the machine's calendar clock shows at virtual time 0: `2024-01-01T00:00:00`, UTC. */
  readonly rtcBase?: string;
}

const CALENDAR = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/;
const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/;
const DEVICES_MAX = 8;
const MEMORY_MIB_MIN = 32;
const MEMORY_MIB_MAX = 4096;
const CPUS_MAX = 4;
const SHIFT_MAX = 10;
/** 2^43 sectors are 4 EiB; the number stays exact. */
const SECTORS_MAX = 2 ** 43;

function refuse(message: string): never {
  throw new SimError({
    code: 'scenario/machine',
    message,
    remedy: 'correct the machine: docs/machines.md has the table of options',
  });
}

function integer(name: string, value: number, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    refuse(`${name} is ${String(value)}, expected a whole number within ${least} to ${most}`);
  }
}

/** Throws `scenario/machine` for options outside the ranges that `MachineOptions` states. */
export function checkMachineOptions(options: MachineOptions): void {
  integer('cpus', options.cpus, 1, CPUS_MAX);
  integer('memory in MiB', options.memoryMiB, MEMORY_MIB_MIN, MEMORY_MIB_MAX);
  integer('shift', options.shift, 0, SHIFT_MAX);
  integer('seed', options.seed, 0, VIRTUAL_NS_MAX);
  integer('number of network cards', options.nics.length, 0, DEVICES_MAX);
  integer('number of disks', options.disks.length, 0, DEVICES_MAX);
  for (const { mac } of options.nics) {
    if (!MAC.test(mac)) refuse(`the address "${mac}" is not of the form 52:54:00:12:34:56`);
  }
  for (const { sectors } of options.disks) integer('sectors of a disk', sectors, 1, SECTORS_MAX);
  if (options.rtcBase !== undefined && !CALENDAR.test(options.rtcBase)) {
    refuse(`the calendar time "${options.rtcBase}" is not of the form 2024-01-01T00:00:00`);
  }
  for (const path of [options.kernel, options.initrd, options.firmware]) {
    if (path?.includes(',') === true) refuse('a path with a comma cannot be passed to QEMU');
  }
}
