import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineEvent, StopKind } from '../../bridge/index.ts';
import {
  assert,
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
import { proveOnce } from './machine-proof.ts';
import { machineStart, type MachinePlace } from './machine-start.ts';
import type { MachineTape } from './machine-tape.ts';
import { readMachineState, type MachineCourse, type MachineState } from './machine-state.ts';
import type { MachineId } from './messages.ts';
import { PanicWatch } from './panic-watch.ts';
import type { Baking } from './ready-bake.ts';
import type { ReadyState } from './ready-entry.ts';
import { damaged, loadReady } from './ready-states.ts';
import { TextLines } from './text-lines.ts';

/** What a machine is made from. */
export interface MachineGuestOptions {
  readonly host: MachineHost;
  readonly port: GuestPort;
  readonly guest: MachineGuestDef;
  readonly nodes: readonly NodeDef[];
  readonly images: ReadonlyMap<string, Uint8Array>;
  /** Whether gdb is to hold it. */
  readonly isDebugged: boolean;
  /** Where its life begins; null for one that boots. */
  readonly ready: ReadyState | null;
  /** Who waits for it to get ready; null in a run. */
  readonly baking: Baking | null;
}

/** The effects at which a machine stops, since the world's answer may be due before the horizon. */
const STOPS: readonly StopKind[] = ['block', 'power-off', 'panic'];
const PAGE_BYTES = 65_536;
const NO_PAGE = Buffer.alloc(PAGE_BYTES);
/** The digest of a machine that has not been switched on yet. */
const NOTHING = '0'.repeat(32);
const IMAGE_KIND = 'vm';
const IMAGE_VERSION = 3;
/** A bell of this value and a status in its last byte: see docs/machines.md. */
const ENDED = 0x0200_0000;

/**
 * A machine as a guest of the world. Its own clock begins at 0 when it boots and stands still
 * while it is paused; everything that crosses is turned into the world's time and back.
 */
export class MachineGuest implements Guest {
  private readonly options: MachineGuestOptions;
  private readonly devices: MachineDevices;
  private readonly place: MachinePlace;
  private machine: MachineId | null = null;
  /** Of the run that is under way. */
  private ticket: Ticket<'run'> | null = null;
  private inputs: readonly MachineInput[] = [];
  /** Of this life, where it is kept. */
  private tape: MachineTape | null = null;
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
    const { host, guest, port, nodes, images } = options;
    this.place = { host, guest, node: port.guest, nodes, images };
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
    if (outcome.reason === 'start') this.begin(outcome.atNs);
    if (this.ticket === null) this.setOff(outcome);
    const { port } = this.options;
    for (;;) {
      const end = this.await();
      if (end !== null) return end;
      if (this.isBaked() || port.nowNs >= port.horizonNs) {
        return { kind: 'preempted', atNs: port.nowNs };
      }
      this.go();
    }
  }

  capture(): GuestImage {
    const { host } = this.options;
    if (this.machine === null) {
      const state: MachineState = { ...this.course(), files: [] };
      return { kind: IMAGE_KIND, version: IMAGE_VERSION, pages: new Map(), state };
    }
    const folder = host.emptyFolder();
    try {
      host.ask({ kind: 'save', machine: this.running(), folder }, this.where);
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
      const state: MachineState = { ...this.course(), files };
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
    const state = readMachineState(image.state, 'machine');
    this.dispose();
    this.tape = null;
    this.takeCourse(state);
    // Its life has begun, and it has not been switched on yet.
    if (state.files.length === 0) return;
    const load = (): MachineId => this.load(image, state.files);
    this.machine = host.purpose === 'branches' ? host.copyOf(image, load) : load();
  }

  digest(): string {
    if (this.machine === null) return NOTHING;
    const request = { kind: 'hash', machine: this.machine } as const;
    const { ram, devices } = this.options.host.ask(request, this.where);
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
      const start = machineStart(this.place, this.course());
      host.ask({ kind: 'restore', machine, start, folder, gdb }, this.where);
      return machine;
    } finally {
      // The process has its memory mapped: the file goes when it does.
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** A life begins: one decision seeds all of the machine's entropy. */
  private begin(atNs: number): void {
    const { port, ready } = this.options;
    const bytes = new Uint8Array(6);
    port.nowNs = atNs;
    port.entropy(bytes);
    const seed = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
    if (ready === null) this.boot(atNs, seed);
    else this.beginReady(ready, atNs, seed);
  }

  private boot(atNs: number, seed: number): void {
    const { host } = this.options;
    this.seed = seed;
    this.bootNs = atNs;
    this.offsetNs = atNs;
    this.stoppedNs = atNs;
    const start = machineStart(this.place, this.course());
    proveOnce(this.place, start, this.where);
    this.appear(() => {
      const machine = host.newMachine();
      host.ask({ kind: 'start', machine, start }, this.where);
      return machine;
    });
  }

  /** Goes on where the machine was ready, with entropy of this run; what made it so happens now. */
  private beginReady(ready: ReadyState, atNs: number, seed: number): void {
    const { host, isDebugged } = this.options;
    assert(atNs === ready.course.stoppedNs, 'a machine begins when it is ready');
    this.takeCourse(ready.course);
    const load = (): MachineId => {
      const loaded = loadReady(this.place, ready, isDebugged ? host.gdbSocket : null);
      if (loaded === null) throw damaged(ready);
      return loaded;
    };
    this.appear(() => {
      const machine = isDebugged ? load() : host.copyOf(ready, load);
      host.ask({ kind: 'seed', machine, seed });
      return machine;
    });
    const { event } = ready;
    if (event === null) return;
    const machineNs = atNs - this.offsetNs;
    const end =
      event.kind === 'bell'
        ? this.perform({ ...event, atNs: machineNs, offset: 0 })
        : this.perform({ ...event, atNs: machineNs, bytes: Buffer.from(event.bytes) });
    assert(end === null, 'a machine that is ready goes on');
  }

  /** A life begins with what `make` makes. */
  private appear(make: () => MachineId): void {
    this.machine = make();
    this.tape = this.options.host.tapes?.begin(this.options.port.guest, make) ?? null;
  }

  /** Whether the machine was to get ready, and is. */
  private isBaked(): boolean {
    const { baking } = this.options;
    if (baking?.watch.isReady !== true) return false;
    baking.keep(this.course(), this.running());
    return true;
  }

  private course(): MachineCourse {
    const { seed, bootNs, offsetNs, stoppedNs, status, instructionCount: instructions } = this;
    const text = this.text.capture();
    const panic = this.panic.capture();
    return { seed, bootNs, offsetNs, stoppedNs, instructions, status, text, panic };
  }

  private takeCourse(course: MachineCourse): void {
    this.seed = course.seed;
    this.bootNs = course.bootNs;
    this.offsetNs = course.offsetNs;
    this.stoppedNs = course.stoppedNs;
    this.instructionCount = course.instructions;
    this.status = course.status;
    this.text.restore(course.text);
    this.panic.restore(course.panic);
  }

  /** Lets the machine run up to the horizon or the next effect. */
  private go(): void {
    const { host, port, baking } = this.options;
    const watch = baking?.watch ?? null;
    const untilNs = port.horizonNs - this.offsetNs;
    this.inputs = this.takeInputs();
    this.ticket = host.begin({
      kind: 'run',
      machine: this.running(),
      untilNs: Math.min(untilNs, watch?.limitNs(this.stoppedNs - this.offsetNs) ?? untilNs),
      stopOn: watch === null ? STOPS : [...STOPS, ...watch.stops],
      inputs: this.inputs,
    });
  }

  /** Waits until it has stopped, and does what it did; gives the end of its life, or null. */
  private await(): Effect | null {
    const { host, port, baking } = this.options;
    assert(this.ticket !== null, 'the machine has set off');
    const ticket = this.ticket;
    this.ticket = null;
    const stop = host.take(ticket, this.where);
    this.instructionCount = stop.instructions;
    this.tape?.runs.push({ inputs: this.inputs, endNs: stop.atNs, offsetNs: this.offsetNs });
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
    baking?.watch.saw(stop);
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

  /** Where its errors are. */
  private get where(): string {
    return `node ${this.options.port.name}`;
  }

  private running(): MachineId {
    assert(this.machine !== null, 'the machine has been started');
    return this.machine;
  }
}
