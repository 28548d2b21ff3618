import { assert } from '../kernel/assert.ts';
import type { Decisions } from '../kernel/decision.ts';
import { ERRNO } from '../kernel/errno.ts';
import type { EventLog } from '../kernel/event-log.ts';
import { digest32 } from '../kernel/rolling-digest.ts';
import { readList, readRecord } from '../kernel/shape.ts';
import { MILLION, type Millionths, type VirtualNs } from '../kernel/units.ts';
import { machineDiskPath, type MachineDef } from '../plan/machine.ts';
import type { FileSystem } from '../storage/file-system.ts';
import {
  BLOCK_BYTES_MAX,
  readMachineInput,
  type BlockEnd,
  type HardwareInput,
  type MachineInput,
  type SourcesOfTime,
} from './machine-input.ts';
import { MachineStalls, readStalls, type StallCounts } from './machine-stalls.ts';
import type { Note } from './timeline.ts';

/** What a machine's disk takes for a request, before what its rules add. */
export const BLOCK_READ_NS: VirtualNs = 100_000;
export const BLOCK_WRITE_NS: VirtualNs = 50_000;
export const BLOCK_FLUSH_NS: VirtualNs = 500_000;
/** A card keeps at most this many frames for a machine that is paused; later ones are dropped. */
export const FRAMES_WAITING_MAX = 1_024;

const SECTOR_BYTES = 512;
/** The root directory of the node's files, in which the disks stand. */
const ROOT = 1;

/** What a machine asks of its disk. */
export interface BlockRequest {
  /** The machine's own name for it, unique within its life. */
  readonly id: number;
  /** The place of the disk. */
  readonly disk: number;
  readonly operation: 'read' | 'write' | 'flush' | 'discard';
  /** The first sector, of 512 bytes. */
  readonly sector: number;
  readonly byteCount: number;
  /** What is to be written; empty for other operations. */
  readonly data: Uint8Array;
}

const readState = readRecord<{
  readonly inputs: readonly MachineInput[];
  readonly stalls?: StallCounts;
}>({ inputs: readList(readMachineInput, Number.MAX_SAFE_INTEGER), stalls: readStalls }, ['stalls']);

export interface MachineDevicesOptions {
  readonly node: number;
  readonly name: string;
  readonly def: MachineDef;
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly files: FileSystem;
  /** The local time of the machine while it runs. */
  readonly nowNs: () => VirtualNs;
  readonly sendFrame: (node: number, frame: Uint8Array) => void;
  /** Tells people of a request that met the end of the disk's space. */
  readonly note: (note: Note) => void;
  /** Queues the end of a request; the world gives it back to `complete` at that time. */
  readonly schedule: (atNs: VirtualNs, node: number, end: BlockEnd) => void;
}

/**
 * The world's side of a machine's devices: what they do is an effect of the world, with its
 * decisions and events; what comes back waits here until the machine goes on. A disk is a file of
 * the node's file system, whose layers and faults are therefore those of every other disk.
 */
export class MachineDevices {
  readonly def: MachineDef;
  readonly stalls = new MachineStalls();
  private readonly options: MachineDevicesOptions;
  private inputs: MachineInput[] = [];

  constructor(options: MachineDevicesOptions) {
    this.options = options;
    this.def = options.def;
  }

  /** The machine has sent a frame. */
  sendFrame(frame: Uint8Array): void {
    this.options.sendFrame(this.options.node, frame);
  }

  /** A frame reaches the card; false if there is no room for it. */
  frameArrives(bytes: Uint8Array, atNs: VirtualNs): boolean {
    if (!this.hasRoom) return false;
    this.inputs.push({ kind: 'frame', atNs, bytes });
    return true;
  }

  /** The machine asks its disk for something: it is done now, and its end comes later. */
  request(request: BlockRequest): void {
    const { operation, disk, sector, byteCount, id, data } = request;
    const { events, node, files, nowNs } = this.options;
    const kind = events.kind(`machine/block-${operation}`);
    events.append(kind, node, nowNs(), digest32(data) ^ byteCount, sector * 8 + disk);
    const done = this.perform(request);
    const takesNs = usualNs(operation) + files.takeDelayNs();
    this.options.schedule(nowNs() + takesNs, node, { id, ...done });
  }

  /** The end of a request is due. */
  complete(end: BlockEnd, atNs: VirtualNs): void {
    const { events, node } = this.options;
    const kind = events.kind('machine/block-end');
    events.append(kind, node, atNs, digest32(end.data), end.status === 'ok' ? 0 : 1);
    this.inputs.push({ kind: 'block', atNs, end });
  }

  /** Whether one more thing may wait for the machine. */
  get hasRoom(): boolean {
    return this.inputs.length < FRAMES_WAITING_MAX;
  }

  /** A fault happens inside the machine, when it goes on. */
  strike(fault: HardwareInput): void {
    this.inputs.push(fault);
  }

  /** Its sources of time are these from now on. */
  tellTime(sources: SourcesOfTime, atNs: VirtualNs): void {
    this.inputs.push({ kind: 'clocks', atNs, ...sources });
  }

  /** A non-maskable interrupt is raised. */
  interrupt(atNs: VirtualNs): void {
    const { events, node } = this.options;
    events.append(events.kind('machine/interrupt'), node, atNs, 0, 0);
    this.inputs.push({ kind: 'interrupt', atNs });
  }

  /** From now on the processors execute for this share of the time. */
  share(cpu: Millionths, atNs: VirtualNs): void {
    this.inputs.push({ kind: 'share', atNs, cpu });
  }

  /** The stalls of its processors are others from now on. */
  stallsChanged(atNs: VirtualNs): void {
    this.inputs.push({ kind: 'stall', atNs, vcpus: this.stalls.vcpus });
  }

  /** A program of the machine rang the doorbell: seen by the log, and by triggers on it. */
  ring(offset: number, value: number): void {
    const { events, node, nowNs } = this.options;
    events.append(events.kind('machine/bell'), node, nowNs(), value, offset);
  }

  /** The doorbell gave a program 32 bits of the machine's own entropy. */
  drew(value: number): void {
    const { events, node, nowNs } = this.options;
    events.append(events.kind('machine/random'), node, nowNs(), value, 0);
  }

  /** The machine started over by itself. */
  restarted(): void {
    const { events, node, nowNs } = this.options;
    events.append(events.kind('machine/reset'), node, nowNs(), 0, 0);
  }

  /** What has reached the machine since the last question, in order. */
  takeInputs(): readonly MachineInput[] {
    const { inputs } = this;
    this.inputs = [];
    return inputs;
  }

  /** A life begins: what was under way to it is gone, what slows its processors is not. */
  begin(cpu: Millionths, atNs: VirtualNs): void {
    this.inputs = [];
    if (cpu !== MILLION) this.share(cpu, atNs);
    if (this.stalls.vcpus.length > 0) this.stallsChanged(atNs);
  }

  capture(): unknown {
    return { inputs: this.inputs.slice(), ...this.stalls.capture() };
  }

  /** Takes what `capture` gave; anything else is refused (`bundle/shape`). */
  restore(state: unknown): void {
    const { inputs, stalls } = readState(state, 'world.machines');
    this.inputs = [...inputs];
    this.stalls.restore(stalls);
  }

  private perform(request: BlockRequest): Omit<BlockEnd, 'id'> {
    const { operation, disk, sector, byteCount, data } = request;
    const { files, nowNs } = this.options;
    const size = this.def.disks[disk]?.bytes ?? 0;
    const offset = sector * SECTOR_BYTES;
    if (operation === 'discard') return OK;
    if (byteCount > BLOCK_BYTES_MAX || offset + byteCount > size) return FAILED;
    const inode = files.lookup(ROOT, machineDiskPath(disk).slice(1));
    assert(inode > 0, "a machine's disk is a file of its node");
    if (operation === 'flush') return files.synchronise(inode, true) < 0 ? FAILED : OK;
    if (operation === 'write') {
      const written = files.write(inode, offset, data, BigInt(nowNs()));
      if (written === data.length) return OK;
      if (written >= 0 || NO_SPACE.includes(written)) this.isFull(request);
      return FAILED;
    }
    const into = new Uint8Array(byteCount);
    return files.read(inode, offset, into) === byteCount ? { status: 'ok', data: into } : FAILED;
  }

  /** The write needs sectors that were never written, and the disk has no space for them. */
  private isFull({ disk, sector, byteCount }: BlockRequest): void {
    const { events, node, nowNs, note } = this.options;
    const atNs = nowNs();
    events.append(events.kind('disk/no-space'), node, atNs, byteCount, sector * 8 + disk);
    const text = `no space for ${byteCount} bytes at sector ${sector} of ${machineDiskPath(disk)}`;
    note({ atNs, node, kind: 'disk', text });
  }
}

/** What a write is told where there is no room: what came before the end of the space is written. */
const NO_SPACE: readonly number[] = [-ERRNO.NOSPC, -ERRNO.DQUOT];
const NO_BYTES = new Uint8Array(0);
const OK = { status: 'ok', data: NO_BYTES } as const;
const FAILED = { status: 'io-error', data: NO_BYTES } as const;

function usualNs(operation: BlockRequest['operation']): VirtualNs {
  if (operation === 'flush') return BLOCK_FLUSH_NS;
  return operation === 'read' ? BLOCK_READ_NS : BLOCK_WRITE_NS;
}
