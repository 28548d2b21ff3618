import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineEvent, StopKind } from '../../bridge/index.ts';
import {
  assert,
  EPOCH_NS,
  formatMac,
  macOfAddress,
  formatAddress,
  ipv6Of,
  nodeAddress,
  NS_PER_S,
  readBytes,
  readInteger,
  readList,
  readPair,
  readRecord,
  readText,
  SimError,
  type Effect,
  type Guest,
  type GuestImage,
  type GuestPort,
  type MachineDevices,
  type MachineGuestDef,
  type MachineInput,
  type NodeDef,
  type Outcome,
} from '../../sim/index.ts';
import { joinConsole } from './join-console.ts';
import type { MachineHost, Ticket } from './machine-host.ts';
import type { MachineId, MachineStart } from './messages.ts';
import { PanicWatch, readPanicState } from './panic-watch.ts';
import { TEXT_LINE_BYTES_MAX, TextLines } from './text-lines.ts';

/** What a machine is made from. */
export interface MachineGuestOptions {
  readonly host: MachineHost;
  readonly port: GuestPort;
  readonly guest: MachineGuestDef;
  readonly nodes: readonly NodeDef[];
  readonly images: ReadonlyMap<string, Uint8Array>;
  /** Whether gdb is to hold it. */
  readonly isDebugged: boolean;
}

/** The effects at which a machine stops, since the world's answer may be due before the horizon. */
const STOPS: readonly StopKind[] = ['block', 'power-off', 'panic'];
const PAGE_BYTES = 65_536;
const NO_PAGE = Buffer.alloc(PAGE_BYTES);
const IMAGE_KIND = 'vm';
const IMAGE_VERSION = 3;
/** A bell of this value and a status in its last byte: see docs/machines.md. */
const ENDED = 0x0200_0000;

interface MachineState {
  readonly seed: number;
  readonly bootNs: number;
  readonly offsetNs: number;
  readonly stoppedNs: number;
  readonly instructions: number;
  readonly status: number;
  /** A line of the text port that is not complete. */
  readonly text: Uint8Array;
  readonly panic: ReturnType<typeof readPanicState>;
  /** Name and size of each file of the checkpoint; their pages follow one another. */
  readonly files: readonly (readonly [name: string, bytes: number])[];
}

const readState = readRecord<MachineState>({
  seed: readInteger(),
  bootNs: readInteger(),
  offsetNs: readInteger(),
  stoppedNs: readInteger(),
  instructions: readInteger(),
  status: readInteger(0, 255),
  text: readBytes(TEXT_LINE_BYTES_MAX),
  panic: readPanicState,
  files: readList(readPair(readText(255), readInteger()), 16),
});

/**
 * A machine as a guest of the world. Its own clock begins at 0 when it boots and stands still
 * while it is paused; everything that crosses is turned into the world's time and back.
 */
export class MachineGuest implements Guest {
  private readonly options: MachineGuestOptions;
  private readonly devices: MachineDevices;
  private machine: MachineId | null = null;
  /** Of the run that is under way. */
  private ticket: Ticket<'run'> | null = null;
  private seed = 0;
  private bootNs = 0;
  /** The world's time less the machine's. */
  private offsetNs = 0;
  /** Where it last stopped, in the world's time. */
  private stoppedNs = 0;
  private instructionCount = 0;
  /** The status that its main command has told. */
  private status = 0;
  private readonly text = new TextLines();
  private readonly panic = new PanicWatch();
  /** Of the last checkpoint: the next one shares what has not changed. */
  private pages: ReadonlyMap<number, Uint8Array> = new Map();

  constructor(options: MachineGuestOptions) {
    const { machine } = options.port;
    assert(machine !== null, 'a machine has devices');
    this.options = options;
    this.devices = machine;
  }

  /** Instructions that its processors have executed. */
  get instructions(): number {
    return this.instructionCount;
  }

  setOff(outcome: Outcome): void {
    // A machine that was paused has not seen the time pass.
    this.offsetNs += outcome.atNs - this.stoppedNs;
    this.stoppedNs = outcome.atNs;
    this.go();
  }

  resume(outcome: Outcome): Effect {
    if (outcome.reason === 'start') this.boot(outcome.atNs);
    if (this.ticket === null) this.setOff(outcome);
    const { port } = this.options;
    for (;;) {
      const end = this.await();
      if (end !== null) return end;
      if (port.nowNs >= port.horizonNs) return { kind: 'preempted', atNs: port.nowNs };
      this.go();
    }
  }

  capture(): GuestImage {
    const { host } = this.options;
    const folder = host.emptyFolder();
    try {
      host.ask({ kind: 'save', machine: this.running(), folder });
      const pages = new Map<number, Uint8Array>();
      const files: (readonly [string, number])[] = [];
      let place = 0;
      for (const name of readdirSync(folder).sort()) {
        const bytes = readFileSync(join(folder, name));
        files.push([name, bytes.length]);
        for (let at = 0; at < bytes.length; at += PAGE_BYTES, place++) {
          const page = bytes.subarray(at, at + PAGE_BYTES);
          const before = this.pages.get(place);
          if (before !== undefined && page.equals(before)) pages.set(place, before);
          else if (!page.equals(NO_PAGE.subarray(0, page.length)))
            pages.set(place, new Uint8Array(page));
        }
      }
      this.pages = pages;
      const { seed, bootNs, offsetNs, stoppedNs, status, instructionCount: instructions } = this;
      const clock = { bootNs, offsetNs, stoppedNs };
      const text = this.text.capture();
      const panic = this.panic.capture();
      const state: MachineState = { seed, ...clock, instructions, status, text, panic, files };
      return { kind: IMAGE_KIND, version: IMAGE_VERSION, pages, state };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  restore(image: GuestImage): void {
    if (image.kind !== IMAGE_KIND || image.version !== IMAGE_VERSION) {
      throw new SimError({
        code: 'bundle/checkpoint',
        message: `the checkpoint of ${this.options.port.name} is of kind ${image.kind} ${image.version}`,
      });
    }
    const { host } = this.options;
    const state = readState(image.state, 'machine');
    this.dispose();
    this.seed = state.seed;
    this.bootNs = state.bootNs;
    this.offsetNs = state.offsetNs;
    this.stoppedNs = state.stoppedNs;
    this.instructionCount = state.instructions;
    this.status = state.status;
    this.text.restore(state.text);
    this.panic.restore(state.panic);
    const load = (): MachineId => this.load(image, state.files);
    this.machine = host.purpose === 'branches' ? host.copyOf(image, load) : load();
  }

  digest(): string {
    const { ram, devices } = this.options.host.ask({ kind: 'hash', machine: this.running() });
    return ram + devices;
  }

  dispose(): void {
    const { host } = this.options;
    // What it would still have told of a run that nobody waits for any more.
    if (this.ticket !== null) host.forget(this.ticket);
    this.ticket = null;
    if (this.machine === null) return;
    host.ask({ kind: 'close', machine: this.machine });
    this.machine = null;
  }

  /** A new process from the files of a checkpoint. */
  private load(image: GuestImage, files: MachineState['files']): MachineId {
    const { host, isDebugged } = this.options;
    const folder = host.emptyFolder();
    try {
      let place = 0;
      for (const [name, length] of files) {
        const bytes = new Uint8Array(length);
        for (let at = 0; at < length; at += PAGE_BYTES, place++) {
          const page = image.pages.get(place);
          if (page !== undefined) bytes.set(page, at);
        }
        writeFileSync(join(folder, name), bytes);
      }
      const machine = host.newMachine();
      const gdb = isDebugged ? host.gdbSocket : null;
      host.ask({ kind: 'restore', machine, start: this.startOptions(), folder, gdb });
      return machine;
    } finally {
      // The process has its memory mapped: the file goes when it does.
      rmSync(folder, { recursive: true, force: true });
    }
  }

  private boot(atNs: number): void {
    const { host, port } = this.options;
    const seed = new Uint8Array(6);
    port.nowNs = atNs;
    port.entropy(seed);
    this.seed = seed.reduce((sum, byte) => sum * 256 + byte, 0);
    this.bootNs = atNs;
    this.offsetNs = atNs;
    this.stoppedNs = atNs;
    const machine = host.newMachine();
    host.ask({ kind: 'start', machine, start: this.startOptions() });
    this.machine = machine;
  }

  /** Lets the machine run up to the horizon or the next effect. */
  private go(): void {
    const { host, port } = this.options;
    this.ticket = host.begin({
      kind: 'run',
      machine: this.running(),
      untilNs: port.horizonNs - this.offsetNs,
      stopOn: STOPS,
      inputs: this.takeInputs(),
    });
  }

  /** Waits until it has stopped, and does what it did; gives the end of its life, or null. */
  private await(): Effect | null {
    const { host, port } = this.options;
    assert(this.ticket !== null, 'the machine has set off');
    const ticket = this.ticket;
    this.ticket = null;
    const stop = host.take(ticket);
    this.instructionCount = stop.instructions;
    const horizonNs = port.horizonNs;
    let end: Effect | null = null;
    for (const event of joinConsole(stop.events)) {
      port.nowNs = event.atNs + this.offsetNs;
      end ??= this.perform(event);
    }
    this.stoppedNs = stop.atNs + this.offsetNs;
    port.nowNs = this.stoppedNs;
    // It may have run a little past the horizon, and has seen nothing there (see docs/machines.md).
    port.observedNs = Math.min(this.stoppedNs, horizonNs);
    if (end === null && stop.isOff) end = this.powerOff();
    return end;
  }

  private perform(event: MachineEvent): Effect | null {
    switch (event.kind) {
      case 'frame':
        this.devices.sendFrame(Uint8Array.from(event.bytes));
        return null;
      case 'block': {
        const { id, disk, operation, sector, byteCount, data } = event;
        const bytes = Uint8Array.from(data);
        this.devices.request({ id, disk, operation, sector, byteCount, data: bytes });
        return null;
      }
      case 'console':
        if (event.port === 0) return this.hear(event.bytes);
        this.tell(event.bytes);
        return null;
      case 'bell':
        this.devices.ring(event.offset, event.value);
        if (event.value >>> 8 === ENDED >>> 8) this.status = event.value & 255;
        return null;
      case 'random':
        this.devices.drew(event.value);
        return null;
      case 'reset':
        if (this.panic.hasPanicked) return this.trap();
        this.devices.restarted();
        return null;
      case 'power-off':
        return this.powerOff();
      case 'panic':
        return this.trap();
    }
  }

  private hear(bytes: Uint8Array): Effect | null {
    this.options.port.console(1, bytes);
    return this.panic.take(bytes) ? this.trap() : null;
  }

  private trap(): Effect {
    const { nowNs: atNs } = this.options.port;
    const message = 'the kernel of the machine panicked';
    return { kind: 'trap', atNs, code: 'kernel-panic', message };
  }

  /** A program has written to the text port: markers, and lines of a log. */
  private tell(bytes: Uint8Array): void {
    for (const line of this.text.take(bytes)) {
      if (line.kind === 'marker') this.options.port.marker(line.bytes);
      else this.options.port.console(2, line.bytes);
    }
  }

  /** The machine is off: with the status that its main command told by the doorbell, or 0. */
  private powerOff(): Effect {
    return { kind: 'exit', atNs: this.options.port.nowNs, code: this.status };
  }

  private takeInputs(): readonly MachineInput[] {
    return this.devices.takeInputs().map((input) => {
      return { ...input, atNs: input.atNs - this.offsetNs };
    });
  }

  private running(): MachineId {
    assert(this.machine !== null, 'the machine has been started');
    return this.machine;
  }

  private startOptions(): MachineStart {
    const { guest, host, port } = this.options;
    const { type, cpus, memoryMib, shift, initrd, disks } = guest.machine;
    const mac = formatMac(macOfAddress(nodeAddress(port.guest)));
    return {
      machine: type,
      cpus,
      memoryMiB: memoryMib,
      shift,
      kernel: host.part(guest.image, this.image(guest.image)),
      ...(initrd === null ? {} : { initrd: host.part(initrd, this.image(initrd)) }),
      commandLine: this.commandLine(),
      nics: [{ mac }],
      disks: disks.map(({ bytes }) => ({ sectors: bytes / 512 })),
      seed: this.seed,
      rtcBase: calendarTime(this.bootNs),
    };
  }

  /** The image's own words, the node's, and the world's: who it is, and who the others are. */
  private commandLine(): string {
    const { guest, port, nodes } = this.options;
    const own = nodeAddress(port.guest);
    const others = nodes.map(({ name }, node) => {
      return `athanor.host=${name},${formatAddress(nodeAddress(node))}`;
    });
    return [
      guest.machine.commandLine,
      ...port.args.slice(1),
      `athanor.name=${port.name}`,
      `athanor.address=${formatAddress(own)}/16`,
      `athanor.address=eth0,${formatAddress(ipv6Of(own))}/96`,
      ...others,
    ].join(' ');
  }

  private image(digest: string): Uint8Array {
    const bytes = this.options.images.get(digest);
    if (bytes !== undefined) return bytes;
    throw new SimError({
      code: 'scenario/image',
      message: `the image ${digest} of guest "${this.options.guest.label}" is not at hand`,
      place: `node ${this.options.port.name}`,
      remedy: 'give the kernel and the initial file system with the scenario or bundle',
    });
  }
}

/** The whole second at which the machine's calendar clock begins. */
function calendarTime(atNs: number): string {
  const seconds = EPOCH_NS / BigInt(NS_PER_S) + BigInt(Math.floor(atNs / NS_PER_S));
  return new Date(Number(seconds) * 1_000).toISOString().slice(0, 19);
}
