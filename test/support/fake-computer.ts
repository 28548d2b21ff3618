import {
  digest32,
  encodeUtf8,
  ETHER_IPV4,
  macOfAddress,
  nodeAddress,
  serializeEthernet,
  serializeIpv4,
  serializeUdp,
  type BlockRequest,
  type Effect,
  type Guest,
  type GuestImage,
  type GuestPort,
  type MachineDef,
  type MachineDevices,
  type MachineInput,
  type Outcome,
} from '../../sim/index.ts';
import { Draws } from '../instrument/random-source.ts';

/** The port that everybody listens on. */
export const COMPUTER_PORT = 9_000;
const SECTOR_BYTES = 512;

/** The least that a machine can be. */
export const SMALL_MACHINE: MachineDef = {
  type: 'microvm',
  cpus: 1,
  memoryMib: 64,
  shift: 0,
  initrd: null,
  commandLine: 'console=ttyS0',
  disks: [{ bytes: 64 * 1_024, extents: [] }],
};

/** What a computer did, at a time of the world. */
type Deed =
  | { readonly kind: 'frame'; readonly atNs: number; readonly bytes: Uint8Array }
  | { readonly kind: 'block'; readonly atNs: number; readonly request: BlockRequest }
  | { readonly kind: 'line'; readonly atNs: number; readonly text: string }
  | { readonly kind: 'bell'; readonly atNs: number; readonly value: number }
  | { readonly kind: 'off'; readonly atNs: number };

interface Stop {
  readonly atNs: number;
  readonly deeds: readonly Deed[];
}

interface ComputerState {
  nowNs: number;
  /** When it does something of its own accord. */
  tickNs: number;
  ticks: number;
  requests: number;
  /** All that it has seen: what it does depends on each bit of it. */
  seen: number;
}

/** How a fake computer behaves. */
export interface ComputerOptions {
  readonly nodeCount: number;
  /** The mean time between two things that it does. */
  readonly paceNs: number;
  /** Is told of each run that has begun before its turn. */
  readonly onAhead: () => void;
}

/**
 * A machine without QEMU: its processor is a function of what it has seen, which runs on its own from
 * one stop to the next as QEMU does, and stops at a request to its disk. Asked to set off it runs at once,
 * before anybody whose turn is earlier: as parallel as anything can be.
 */
export class FakeComputer implements Guest {
  private readonly port: GuestPort;
  private readonly devices: MachineDevices;
  private readonly options: ComputerOptions;
  private state: ComputerState = { nowNs: 0, tickNs: 0, ticks: 0, requests: 0, seen: 0 };
  private stop: Stop | null = null;

  constructor(port: GuestPort, options: ComputerOptions) {
    this.port = port;
    this.devices = port.machine as MachineDevices;
    this.options = options;
  }

  setOff({ atNs, reason }: Outcome): void {
    if (reason === 'start') throw new Error('a start is never ahead of its turn');
    this.options.onAhead();
    this.state.nowNs = atNs;
    this.go();
  }

  resume({ atNs, reason }: Outcome): Effect {
    const { port } = this;
    if (this.stop === null) {
      this.state.nowNs = atNs;
      if (reason === 'start') this.boot(atNs);
      this.go();
    }
    for (;;) {
      const end = this.hear();
      if (end !== null) return end;
      if (port.nowNs >= port.horizonNs) return { kind: 'preempted', atNs: port.nowNs };
      this.go();
    }
  }

  capture(): GuestImage {
    return { kind: 'fake', version: 1, pages: new Map(), state: structuredClone(this.state) };
  }

  restore(image: GuestImage): void {
    this.state = structuredClone(image.state) as ComputerState;
  }

  digest(): string {
    return JSON.stringify(this.state);
  }

  dispose(): void {
    this.stop = null;
  }

  private boot(atNs: number): void {
    const seed = new Uint8Array(4);
    this.port.nowNs = atNs;
    this.port.entropy(seed);
    this.state = { nowNs: atNs, tickNs: atNs + 1, ticks: 0, requests: 0, seen: digest32(seed) };
  }

  private go(): void {
    const inputs = this.devices.takeInputs();
    this.stop = this.compute(inputs, this.port.horizonNs);
  }

  private hear(): Effect | null {
    const { port, devices, stop } = this;
    if (stop === null) throw new Error('the computer runs');
    this.stop = null;
    const { horizonNs } = port;
    let end: Effect | null = null;
    for (const deed of stop.deeds) {
      port.nowNs = deed.atNs;
      if (deed.kind === 'frame') devices.sendFrame(deed.bytes);
      else if (deed.kind === 'block') devices.request(deed.request);
      else if (deed.kind === 'line') port.console(1, encodeUtf8(deed.text));
      else if (deed.kind === 'bell') devices.ring(0, deed.value);
      else end ??= { kind: 'exit', atNs: deed.atNs, code: 0 };
    }
    port.nowNs = stop.atNs;
    port.observedNs = Math.min(stop.atNs, horizonNs);
    return end;
  }

  /** From now to `untilNs`, or to the first request to the disk. */
  private compute(inputs: readonly MachineInput[], untilNs: number): Stop {
    const { state } = this;
    const deeds: Deed[] = [];
    for (const input of inputs) {
      state.nowNs = Math.max(state.nowNs, input.atNs);
      const text = textOf(input);
      state.seen = digest32(encodeUtf8(`${state.seen} ${input.atNs} ${text}`));
      deeds.push({ kind: 'line', atNs: state.nowNs, text: `${state.nowNs} ${text}\n` });
      if (input.kind === 'frame' && state.seen % 3 === 0) deeds.push(this.frame(state.seen));
    }
    while (state.tickNs < untilNs) {
      state.nowNs = Math.max(state.nowNs, state.tickNs);
      const draws = new Draws(state.seen ^ state.ticks++);
      state.tickNs += 1 + draws.below(2 * this.options.paceNs);
      const deed = this.deed(draws);
      deeds.push(deed);
      if (deed.kind === 'block' || deed.kind === 'off') return { atNs: state.nowNs, deeds };
    }
    state.nowNs = Math.max(state.nowNs, untilNs);
    return { atNs: state.nowNs, deeds };
  }

  private deed(draws: Draws): Deed {
    const { state } = this;
    const atNs = state.nowNs;
    const choice = draws.below(200);
    if (choice === 0) return { kind: 'off', atNs };
    if (choice < 90) return this.frame(draws.next());
    if (choice < 110) return { kind: 'bell', atNs, value: draws.below(8) };
    if (choice < 140) return { kind: 'line', atNs, text: `${atNs} ${draws.below(50)}\n` };
    const operation = draws.pick(['read', 'write', 'write', 'flush', 'discard'] as const);
    const byteCount = operation === 'flush' ? 0 : SECTOR_BYTES;
    const data = new Uint8Array(operation === 'write' ? byteCount : 0).fill(choice);
    const sector = operation === 'flush' ? 0 : draws.below(130);
    const id = ++state.requests;
    return { kind: 'block', atNs, request: { id, disk: 0, operation, sector, byteCount, data } };
  }

  private frame(draw: number): Deed {
    const { nodeCount } = this.options;
    const own = this.port.guest;
    const to = (own + 1 + (draw % (nodeCount - 1))) % nodeCount;
    const bytes = datagramFrame(own, to, encodeUtf8(`${this.state.seen}`));
    return { kind: 'frame', atNs: this.state.nowNs, bytes };
  }
}

function textOf(input: MachineInput): string {
  if (input.kind === 'frame') return `frame ${digest32(input.bytes)}`;
  if (input.kind === 'block') {
    return `disk ${input.end.id} ${input.end.status} ${digest32(input.end.data)}`;
  }
  // When it came is no part of what it is.
  return JSON.stringify({ ...input, atNs: 0 });
}

/** A datagram from one node to another as an Ethernet frame. */
export function datagramFrame(from: number, to: number, payload: Uint8Array): Uint8Array {
  const ends = { source: nodeAddress(from), target: nodeAddress(to) };
  const ports = { sourcePort: COMPUTER_PORT, targetPort: COMPUTER_PORT };
  const packet = serializeIpv4({
    identification: 1,
    dontFragment: true,
    moreFragments: false,
    fragmentOffset: 0,
    timeToLive: 64,
    protocol: 17,
    ...ends,
    payload: serializeUdp({ ...ports, payload }, ends),
  });
  const macs = { source: macOfAddress(ends.source), target: macOfAddress(ends.target) };
  return serializeEthernet({ ...macs, type: ETHER_IPV4, payload: packet });
}
