import type { ErrorCode } from '../kernel/errors.ts';
import {
  readBytes,
  readHex,
  readInteger,
  readList,
  readNullable,
  readRecord,
  readText,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import { complaintOfHardware, isHardwareAction } from './hardware-admit.ts';
import { complaintOfReady, readReady, type ReadyDef } from './ready.ts';
import type { ActionDef, GuestDef, NodeDef, ScenarioDef } from './scenario.ts';

/** Machines of QEMU that run under the world's clock. */
export const MACHINE_TYPES = ['microvm', 'q35'] as const;
export type MachineType = (typeof MACHINE_TYPES)[number];

export const MACHINE_CPUS_MAX = 4;
/** The memory of a machine, in MiB: Debian's kernels want 48. */
export const MACHINE_MEMORY_MIB_MIN = 48;
export const MACHINE_MEMORY_MIB_MAX = 4_096;
/** An instruction takes 2^shift nanoseconds; beyond 10 a stop would overshoot by microseconds. */
export const MACHINE_SHIFT_MAX = 10;
export const MACHINE_DISKS_MAX = 4;
/** A machine's disk: at most 16 GiB, in whole pages (see storage/content.ts). */
export const MACHINE_DISK_BYTES_MAX = 2 ** 34;
const DISK_PAGE_BYTES = 4_096;
/** What Linux takes of a command line (x86: COMMAND_LINE_SIZE), less what the world adds. */
export const COMMAND_LINE_LENGTH_MAX = 1_500;

/** A whole machine as a guest: what it boots, and what it is made of. All of it is identity. */
export interface MachineDef {
  readonly type: MachineType;
  readonly cpus: number;
  readonly memoryMib: number;
  /** An instruction takes 2^shift nanoseconds. */
  readonly shift: number;
  /** SHA-256 of the initial file system, or null; the kernel's is the guest's `image`. */
  readonly initrd: string | null;
  /** The kernel's command line; the world and the node add to it. */
  readonly commandLine: string;
  /** The node's `disk` says how they behave. */
  readonly disks: readonly MachineDiskDef[];
  /** Where its first life begins; absent for one that boots. */
  readonly ready?: ReadyDef;
}

export interface MachineDiskDef {
  readonly bytes: number;
  /** What stands on it at the start, in order and without overlap; the rest is zero. */
  readonly extents: readonly MachineExtentDef[];
}

export interface MachineExtentDef {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** All disks of a machine together hold at most this much that is not zero. */
export const MACHINE_EXTENT_BYTES_MAX = 64 * 2 ** 20;
const EXTENTS_MAX = 65_536;

export const readMachine: Read<MachineDef> = readRecord<MachineDef>(
  {
    type: readWord(MACHINE_TYPES),
    cpus: readInteger(1, MACHINE_CPUS_MAX),
    memoryMib: readInteger(MACHINE_MEMORY_MIB_MIN, MACHINE_MEMORY_MIB_MAX),
    shift: readInteger(0, MACHINE_SHIFT_MAX),
    initrd: readNullable(readHex(64)),
    commandLine: readText(COMMAND_LINE_LENGTH_MAX),
    disks: readList(
      readRecord<MachineDiskDef>({
        bytes: readInteger(DISK_PAGE_BYTES, MACHINE_DISK_BYTES_MAX),
        extents: readList(
          readRecord<MachineExtentDef>({
            offset: readInteger(),
            bytes: readBytes(MACHINE_EXTENT_BYTES_MAX),
          }),
          EXTENTS_MAX,
        ),
      }),
      MACHINE_DISKS_MAX,
    ),
    ready: readReady,
  },
  ['ready'],
);

/** The path at which a machine's disk stands among its node's files, which keep its bytes. */
export function machineDiskPath(place: number): string {
  return `/vd${String.fromCharCode(97 + place)}`;
}

/** The machines among a scenario's nodes, by node. */
export function machinesOf(world: ScenarioDef['world']): ReadonlyMap<number, MachineDef> {
  const machines = new Map<number, MachineDef>();
  world.nodes.forEach(({ guest }, node) => {
    if (guest.kind === 'vm') machines.set(node, guest.machine);
  });
  return machines;
}

/** The digests of all that a guest is made of. */
export function imagesOfGuest(guest: GuestDef): readonly string[] {
  const initrd = guest.kind === 'vm' ? guest.machine.initrd : null;
  return initrd === null ? [guest.image] : [guest.image, initrd];
}

/** Something wrong with a machine, or with what a plan does to one. */
export interface MachineIssue {
  readonly code: ErrorCode;
  readonly path: string;
  /** The node and the event that it is about, or -1. */
  readonly node: number;
  readonly event: number;
  readonly why: string;
}

/** What is wrong with machines as guests; empty if nothing is (CR-108). */
export function machineIssues(def: Pick<ScenarioDef, 'world' | 'plan'>): readonly MachineIssue[] {
  const issues: MachineIssue[] = [];
  const { nodes } = def.world;
  const code = 'scenario/machine';
  nodes.forEach((each, node) => {
    if (each.guest.kind !== 'vm') return;
    const found = complaintOfMachine(each.guest.machine) ?? complaintOfNode(each);
    if (found === null) return;
    issues.push({ code, path: `world.nodes[${node}].${found[0]}`, node, event: -1, why: found[1] });
  });
  const machines = machinesOf(def.world);
  def.plan.events.forEach(({ action, atNs, withinNs }, event) => {
    const why = isHardwareAction(action)
      ? complaintOfHardware(action, nodes, atNs + withinNs)
      : complaintOfAction(action, machines, nodes);
    const path = `plan.events[${event}].action`;
    if (why !== null) issues.push({ code, path, node: -1, event, why });
  });
  return issues;
}

type Complaint = readonly [field: string, why: string] | null;

function complaintOfMachine(machine: MachineDef): Complaint {
  const { cpus, memoryMib, shift, commandLine, disks } = machine;
  const ranges: readonly (readonly [string, number, number, number])[] = [
    ['cpus', cpus, 1, MACHINE_CPUS_MAX],
    ['memoryMib', memoryMib, MACHINE_MEMORY_MIB_MIN, MACHINE_MEMORY_MIB_MAX],
    ['shift', shift, 0, MACHINE_SHIFT_MAX],
    ['disks', disks.length, 0, MACHINE_DISKS_MAX],
  ];
  for (const [field, value, min, max] of ranges) {
    if (Number.isSafeInteger(value) && value >= min && value <= max) continue;
    return [`guest.machine.${field}`, `${value} is not within ${min} to ${max}`];
  }
  const plain = /^[\x20-\x7e]*$/.test(commandLine) && commandLine.length <= COMMAND_LINE_LENGTH_MAX;
  if (!plain) {
    const why = `a command line is at most ${COMMAND_LINE_LENGTH_MAX} printable ASCII characters`;
    return ['guest.machine.commandLine', why];
  }
  const unready = machine.ready === undefined ? null : complaintOfReady(machine.ready);
  if (unready !== null) return ['guest.machine.ready', unready];
  const wrong = disks.find(({ bytes }) => {
    return bytes <= 0 || bytes > MACHINE_DISK_BYTES_MAX || bytes % DISK_PAGE_BYTES !== 0;
  });
  if (wrong === undefined) return complaintOfExtents(disks);
  const why = `a disk has a multiple of ${DISK_PAGE_BYTES} bytes, at most 16 GiB: not ${wrong.bytes}`;
  return ['guest.machine.disks', why];
}

function complaintOfExtents(disks: readonly MachineDiskDef[]): Complaint {
  let total = 0;
  for (const { bytes: size, extents } of disks) {
    let end = 0;
    for (const { offset, bytes } of extents) {
      if (offset < end || bytes.length === 0 || offset + bytes.length > size) {
        return ['guest.machine.disks', 'what stands on a disk is in order, and within it'];
      }
      end = offset + bytes.length;
      total += bytes.length;
    }
  }
  if (total <= MACHINE_EXTENT_BYTES_MAX) return null;
  const why = `the disks hold ${total} bytes, the limit is ${MACHINE_EXTENT_BYTES_MAX}`;
  return ['guest.machine.disks', why];
}

/** What other guests are given, a machine has no way to take. */
function complaintOfNode(node: NodeDef): Complaint {
  if (node.env.length > 0) return ['env', 'a machine has no environment: use its command line'];
  if (node.files.length > 0) return ['files', 'a machine takes no files: put them in its image'];
  if (node.args.every((arg) => /^[\x21-\x7e]+$/.test(arg))) return null;
  return ['args', 'the arguments of a machine are words of its command line: printable ASCII'];
}

const NOT_FOR_MACHINES: Readonly<Partial<Record<ActionDef['kind'], string>>> = {
  kill: 'a machine has no program that could be ended alone: use "crash"',
  upgrade: 'a machine keeps its image: use another node',
};

function complaintOfAction(
  action: ActionDef,
  machines: ReadonlyMap<number, MachineDef>,
  nodes: readonly NodeDef[],
): string | null {
  if (action.kind === 'interrupt') return complaintOfInterrupt(action.oneOf, machines, nodes);
  if (action.kind === 'stall') return complaintOfStall(action, machines, nodes);
  if (action.kind === 'clock') return complaintOfClock(action, machines, nodes);
  if (action.kind === 'upgrade' && action.guest.kind === 'vm') {
    return 'no node can become a machine';
  }
  const reason = NOT_FOR_MACHINES[action.kind];
  if (reason === undefined || !('oneOf' in action)) return null;
  const named = action.oneOf.length > 0 ? action.oneOf : nodes.map((_, node) => node);
  const node = named.find((each) => machines.has(each));
  if (node === undefined) return null;
  return `"${action.kind}" cannot be done to the machine "${nodes[node]?.name ?? ''}": ${reason}`;
}

function complaintOfInterrupt(
  oneOf: readonly number[],
  machines: ReadonlyMap<number, MachineDef>,
  nodes: readonly NodeDef[],
): string | null {
  const node = oneOf.find((each) => !machines.has(each));
  if (node === undefined) return null;
  return `"interrupt" cannot be done to "${nodes[node]?.name ?? ''}": only machines have interrupts`;
}

function complaintOfStall(
  { oneOf, vcpu }: Extract<ActionDef, { kind: 'stall' }>,
  machines: ReadonlyMap<number, MachineDef>,
  nodes: readonly NodeDef[],
): string | null {
  for (const node of oneOf) {
    const name = nodes[node]?.name ?? '';
    const machine = machines.get(node);
    if (machine === undefined) {
      const instead = 'use "pause", or "slow"';
      return `"stall" cannot be done to "${name}": only machines have several processors: ${instead}`;
    }
    const { cpus } = machine;
    if (Number.isSafeInteger(vcpu) && vcpu >= 0 && vcpu < cpus) continue;
    const has = cpus === 1 ? 'only processor 0' : `processors 0 to ${cpus - 1}`;
    return `the machine "${name}" has ${has}, not ${vcpu}: "cpus" of its guest says how many`;
  }
  return null;
}

/** A machine's calendar chip is set, its counter runs at a rate: nothing else can be done to them. */
function complaintOfClock(
  { oneOf, change }: Extract<ActionDef, { kind: 'clock' }>,
  machines: ReadonlyMap<number, MachineDef>,
  nodes: readonly NodeDef[],
): string | null {
  const node = oneOf.find((each) => machines.has(each));
  if (node === undefined) return null;
  const name = nodes[node]?.name ?? '';
  if (change.kind === 'slew') {
    return `the calendar chip of the machine "${name}" is set at once: use "jump", or "drift"`;
  }
  if (change.kind === 'freeze' && change.clock === 'realtime') {
    return `the clocks of the machine "${name}" follow one counter: use freeze = "both"`;
  }
  return null;
}
