import { SimError, assert } from '../sim/index.ts';
import { Channel } from './channel/channel.ts';
import {
  COMMAND,
  HASH_DEVICES,
  HASH_RAM,
  REPORT,
  RESET_CLEAR_RAM,
  SHARE_WHOLE,
  STOP,
  WIRE_VERSION,
} from './channel/wire.ts';
import type { Message } from './channel/wire.ts';
import { machineArguments } from './machine-command.ts';
import { exactNumber, readEvent, stopMask } from './machine-events.ts';
import type { MachineEvent, StopKind } from './machine-events.ts';
import { ForkDoor } from './machine-fork.ts';
import { checkMachineOptions } from './machine-options.ts';
import type { MachineOptions } from './machine-options.ts';
import { adoptProcess, machineEnded, startProcess } from './machine-process.ts';
import type { MachineProcess } from './machine-process.ts';

/** Wall time that a machine may take for one answer, unless the caller says otherwise. */
const WAIT_MS = 120_000;
const START_MS = 30_000;

/** Where a run came to rest. */
export interface MachineStop {
  /** Virtual time. With `shift` > 0 it may pass the limit by less than 2^shift ns. */
  readonly atNs: number;
  /** Instructions executed since the start, by all CPUs. */
  readonly instructions: number;
  /**
   * `limit`: the time asked for; `event`: one of `stopOn`; `backlog`: so much was reported that it
   * should be taken first (go on with the same limit); `off`: powered off, time stands still.
   */
  readonly reason: 'limit' | 'event' | 'backlog' | 'off';
  /** What happened on the way, in order. */
  readonly events: readonly MachineEvent[];
}

/** Digests of a machine's state: 16 hexadecimal digits each. */
export interface MachineHash {
  readonly ram: string;
  readonly devices: string;
}

const REASON: Readonly<Record<number, MachineStop['reason']>> = {
  [STOP.LIMIT]: 'limit',
  [STOP.EVENT]: 'event',
  [STOP.BACKLOG]: 'backlog',
  [STOP.OFF]: 'off',
};

/** Status of a completed block request, as virtio numbers them. */
const BLOCK_STATUS = { ok: 0, 'io-error': 1, unsupported: 2 } as const;
export type BlockStatus = keyof typeof BLOCK_STATUS;

/**
 * A full machine under QEMU whose virtual time belongs to the caller: it stands still except
 * within `run`. Every method fails with `backend/machine-ended` once the process is gone, with
 * `backend/timeout` if it does not answer in time; either way the process is ended.
 */
export class Machine {
  readonly options: MachineOptions;
  private readonly process: MachineProcess;
  private readonly channel: Channel;
  private events: MachineEvent[] = [];
  private timeNs = 0;
  private instructionCount = 0;
  private closed = false;
  private door: ForkDoor | undefined;

  private constructor(options: MachineOptions, process: MachineProcess) {
    this.options = options;
    this.process = process;
    this.channel = new Channel(process.stream, (message) => {
      this.events.push(readEvent(message));
    });
    void process.ended.then((how) => {
      this.channel.fail(machineEnded(how, process.stderr));
    });
  }

  /**
   * Starts a machine; it stands at virtual time 0 before its first instruction. Errors:
   * `scenario/machine` for options out of range, `backend/missing`, `backend/machine-ended`,
   * `backend/identity` if QEMU and the controller speak other versions of the channel.
   */
  static async start(options: MachineOptions): Promise<Machine> {
    checkMachineOptions(options);
    return Machine.launch(options, machineArguments(options));
  }

  /**
   * A new process that goes on where `save` wrote `folder`. The folder must stay as it is while
   * the machine lives: its memory is read from there on demand.
   */
  static async restore(options: MachineOptions, folder: string): Promise<Machine> {
    checkMachineOptions(options);
    const machine = await Machine.launch(options, machineArguments(options, `${folder}/ram`));
    try {
      await machine.command(COMMAND.LOAD, 0n, 0n, Buffer.from(folder));
      await machine.readTime();
      return machine;
    } catch (error) {
      await machine.close();
      throw error;
    }
  }

  private static async launch(options: MachineOptions, argv: string[]): Promise<Machine> {
    const process = await startProcess(options.backend.binary, argv);
    const machine = new Machine(options, process);
    await machine.greet();
    return machine;
  }

  /** Virtual time at which the machine stands. */
  get nowNs(): number {
    return this.timeNs;
  }

  /** Number of the machine's process, for a debugger or a look at its memory. */
  get processId(): number {
    return this.process.id;
  }

  /** Instructions executed since the start, by all CPUs. */
  get instructions(): number {
    return this.instructionCount;
  }

  /** Runs until `untilNs`, or until an event of `stopOn`. */
  async run(
    untilNs: number,
    stopOn: readonly StopKind[] = [],
    waitMs = WAIT_MS,
  ): Promise<MachineStop> {
    assert(Number.isSafeInteger(untilNs) && untilNs >= 0, 'a run has an exact limit');
    const message = await this.ask(REPORT.STOPPED, waitMs, () => {
      this.channel.send(COMMAND.RUN, BigInt(untilNs), stopMask(stopOn));
    });
    this.timeNs = exactNumber(message.a);
    this.instructionCount = exactNumber(message.b);
    const reason = REASON[message.payload.readUInt32LE(0)];
    assert(reason !== undefined, 'a machine stops for a reason');
    const events = this.events;
    this.events = [];
    return { atNs: this.timeNs, instructions: this.instructionCount, reason, events };
  }

  /** A frame for network card `port`, to arrive at `atNs`. */
  deliverFrame(port: number, atNs: number, bytes: Uint8Array): void {
    this.checkFuture(atNs);
    this.channel.send(COMMAND.FRAME, BigInt(atNs), BigInt(port), bytes);
  }

  /** Bytes for the console `port` to read at `atNs`; what the port cannot hold is lost. */
  deliverConsole(port: number, atNs: number, bytes: Uint8Array): void {
    this.checkFuture(atNs);
    this.channel.send(COMMAND.CONSOLE, BigInt(atNs), BigInt(port), bytes);
  }

  /** Ends a block request at `atNs`; `data` is what a read gives, of the request's length. */
  completeBlock(id: number, atNs: number, status: BlockStatus, data?: Uint8Array): void {
    this.checkFuture(atNs);
    const payload = Buffer.alloc(4 + (data?.length ?? 0));
    payload.writeUInt32LE(BLOCK_STATUS[status], 0);
    if (data !== undefined) payload.set(data, 4);
    this.channel.send(COMMAND.BLOCK_COMPLETE, BigInt(atNs), BigInt(id), payload);
  }

  /** Digests of all memory and of the state of all devices. */
  async hash(): Promise<MachineHash> {
    const message = await this.ask(REPORT.HASHED, WAIT_MS, () => {
      this.channel.send(COMMAND.HASH, BigInt(HASH_RAM | HASH_DEVICES), 0n);
    });
    return { ram: hex(message.a), devices: hex(message.b) };
  }

  /** `length` bytes (at most 16 MiB) of guest-physical memory from `address`. */
  async readMemory(address: number, length: number): Promise<Buffer> {
    const message = await this.ask(REPORT.MEMORY, WAIT_MS, () => {
      this.channel.send(COMMAND.READ_MEMORY, BigInt(address), BigInt(length));
    });
    return Buffer.from(message.payload);
  }

  /** The bytes that the device digest is made of, to find out where two machines part. */
  async deviceState(): Promise<Buffer> {
    const message = await this.ask(REPORT.MEMORY, WAIT_MS, () => {
      this.channel.send(COMMAND.DEVICE_STATE, 0n, 0n);
    });
    return Buffer.from(message.payload);
  }

  /** Gives the machine's entropy a new seed: what it draws from now on differs. */
  async seedEntropy(seed: number): Promise<void> {
    await this.command(COMMAND.SEED, BigInt(seed), 0n);
  }

  /** A second machine in the same state, in a few milliseconds. Both go on independently. */
  async fork(): Promise<Machine> {
    return this.guard(async () => {
      const door = (this.door ??= await ForkDoor.open());
      const socket = await door.admit(() => {
        this.channel.send(COMMAND.FORK, 0n, 0n, Buffer.from(door.name));
        return this.channel.receiveAnswer(REPORT.FORKED, WAIT_MS);
      });
      const child = new Machine(this.options, adoptProcess(socket, this.process.stderr));
      await child.greet();
      child.timeNs = this.timeNs;
      child.instructionCount = this.instructionCount;
      child.events = [...this.events];
      return child;
    });
  }

  /**
   * Writes a checkpoint (files `ram` and `state`) into the empty folder `folder`, an absolute
   * path. The machine goes on unchanged.
   */
  async save(folder: string): Promise<void> {
    await this.command(COMMAND.SAVE, 0n, 0n, Buffer.from(folder));
  }

  /**
   * Takes the power away now and gives it back at `onAtNs`: memory is gone, devices are reset,
   * waiting block requests and deliveries are forgotten. The disks' contents are the caller's.
   */
  async powerLoss(onAtNs: number): Promise<void> {
    this.checkFuture(onAtNs);
    await this.command(COMMAND.RESET, BigInt(onAtNs), BigInt(RESET_CLEAR_RAM));
  }

  /** Presses the reset button: as `powerLoss` without a pause, and memory keeps its contents. */
  async reset(): Promise<void> {
    await this.command(COMMAND.RESET, 0n, 0n);
  }

  /** Raises a non-maskable interrupt on all CPUs. */
  async interrupt(): Promise<void> {
    await this.command(COMMAND.NMI, 0n, 0n);
  }

  /** Flips these bits of the 8 bytes of memory at a guest-physical address, all at once. */
  async flipMemory(address: number, bits: readonly number[]): Promise<void> {
    await this.command(COMMAND.FLIP_MEMORY, BigInt(address), maskOf(bits));
  }

  /** Flips these bits of a general register, by its number in instructions: RAX is 0, RCX 1. */
  async flipRegister(cpu: number, register: number, bits: readonly number[]): Promise<void> {
    await this.command(COMMAND.FLIP_REGISTER, both(cpu, register), maskOf(bits));
  }

  /** A CPU finds that memory at `address` cannot be read, or could be put right (`corrected`). */
  async machineCheck(cpu: number, corrected: boolean, address: number): Promise<void> {
    await this.command(COMMAND.MACHINE_CHECK, both(cpu, corrected ? 1 : 0), BigInt(address));
  }

  /** Pulses on a line of the ISA bus, the first one now. */
  async storm(line: number, count: number, gapNs: number): Promise<void> {
    await this.command(COMMAND.STORM, both(line, count), BigInt(gapNs));
  }

  /**
   * From now on the CPUs execute for this share of virtual time, 1 to 1,000,000 millionths: after a
   * few instructions all of them stand still, while timers, devices and deliveries go on. Time
   * without work is not counted. Outlasts `powerLoss` and `reset`.
   */
  async setShare(millionths: number): Promise<void> {
    const isShare = Number.isSafeInteger(millionths) && millionths >= 1;
    assert(isShare && millionths <= SHARE_WHOLE, 'a share is more than nothing, at most all');
    await this.command(COMMAND.SHARE, BigInt(millionths), 0n);
  }

  /**
   * From now on just these CPUs (from 0) get no turns; all others do. Where none is left the
   * machine idles, and its timers go on. Outlasts `powerLoss` and `reset`.
   */
  async stall(cpus: readonly number[]): Promise<void> {
    const known = cpus.every(
      (cpu) => Number.isSafeInteger(cpu) && cpu >= 0 && cpu < this.options.cpus,
    );
    assert(known, 'a CPU that is stalled is one of the machine');
    const mask = cpus.reduce((sum, cpu) => sum | (1 << cpu), 0);
    await this.command(COMMAND.STALL, BigInt(mask), 0n);
  }

  /**
   * From now on the processors' counter (TSC) gains `rate` in 10^6 ns, from 0 (it stands still) to
   * 2 * 10^6; and the calendar chip is `leadNs` ahead of virtual time. Virtual time stays.
   */
  async setClocks(rate: number, leadNs: number): Promise<void> {
    await this.command(COMMAND.CLOCKS, BigInt(rate), BigInt.asUintN(64, BigInt(leadNs)));
  }

  /** Ends the process; resolves when it is gone. Calling it again changes nothing. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.door?.close();
    this.channel.close();
    await this.process.kill();
  }

  private async greet(): Promise<void> {
    const message = await this.ask(REPORT.HELLO, START_MS, () => undefined);
    this.process.id = exactNumber(message.a);
    if (message.b === BigInt(WIRE_VERSION)) return;
    await this.close();
    throw new SimError({
      code: 'backend/identity',
      message: `QEMU's adapter speaks version ${message.b} of the channel, expected ${WIRE_VERSION}`,
      remedy: 'run `sim vm setup` to build the adapter that belongs to this version',
    });
  }

  private async readTime(): Promise<void> {
    const message = await this.ask(REPORT.STATUS, WAIT_MS, () => {
      this.channel.send(COMMAND.QUERY, 0n, 0n);
    });
    this.timeNs = exactNumber(message.a);
    this.instructionCount = exactNumber(message.b);
  }

  private async command(type: number, a: bigint, b: bigint, payload?: Buffer): Promise<void> {
    await this.ask(REPORT.DONE, WAIT_MS, () => {
      this.channel.send(type, a, b, payload);
    });
  }

  private ask(answer: number, waitMs: number, send: () => void): Promise<Message> {
    return this.guard(() => {
      send();
      return this.channel.receiveAnswer(answer, waitMs);
    });
  }

  /** A machine that failed once is not used again: its process goes with the first error. */
  private async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const cause = await this.explain(error);
      await this.close();
      throw cause;
    }
  }

  /** The closed channel is a symptom: if the process ended as well, that says why. */
  private async explain(error: unknown): Promise<unknown> {
    const closedByItself =
      error instanceof SimError && error.code === 'backend/machine-ended' && !this.closed;
    if (!closedByItself) return error;
    return machineEnded(await this.process.ended, this.process.stderr);
  }

  private checkFuture(atNs: number): void {
    assert(Number.isSafeInteger(atNs) && atNs >= this.timeNs, 'a delivery is not in the past');
  }
}

/** Two numbers of 32 bits in one of 64. */
function both(low: number, high: number): bigint {
  return BigInt(low) | (BigInt(high) << 32n);
}

/** The word in which these bits are set. */
function maskOf(bits: readonly number[]): bigint {
  return bits.reduce((mask, bit) => mask | (1n << BigInt(bit)), 0n);
}

function hex(value: bigint): string {
  return value.toString(16).padStart(16, '0');
}
