import type { MachineEvent, StopKind } from '../../bridge/index.ts';
import { BELL_READY, NS_PER_MS, type ReadyCondition } from '../../sim/index.ts';

/** What made a machine ready: the first thing that happens in a run from there. */
export type ReadyEvent =
  | { readonly kind: 'bell'; readonly value: number }
  | { readonly kind: 'console'; readonly port: number; readonly bytes: Uint8Array };

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** What is longer has no end that is looked for. */
const LINE_BYTES_MAX = 65_536;
/** While the machine idles, its instructions are counted this often. */
const COUNT_INTERVAL_NS = NS_PER_MS;

/** Where a run of a machine came to rest, in its own time. */
export interface ReadyStop {
  readonly atNs: number;
  readonly instructions: number;
  readonly events: readonly MachineEvent[];
}

/** Sees when a machine is ready (CR-55). All times are the machine's own. */
export class ReadyWatch {
  /** Effects at which the machine is to stop besides others. */
  readonly stops: readonly StopKind[];
  private readonly when: ReadyCondition;
  /** How long an instruction takes. */
  private readonly instructionNs: number;
  private readonly lines = new Map<number, number[]>();
  private lastFrameNs: number | null = null;
  private instructions = 0;
  private ready = false;
  private readyEvent: ReadyEvent | null = null;

  constructor(when: ReadyCondition, instructionNs: number) {
    this.when = when;
    this.instructionNs = instructionNs;
    this.stops = when.kind === 'bell' || when.kind === 'console' ? [when.kind] : [];
  }

  get isReady(): boolean {
    return this.ready;
  }

  /** What made it ready; null where nothing happened that could be told. */
  get event(): ReadyEvent | null {
    return this.readyEvent;
  }

  /** Where the machine is to stop at the latest, to be looked at. */
  limitNs(nowNs: number): number {
    const { when } = this;
    if (when.kind === 'instructions') {
      // No instruction takes less, so it cannot have executed too many before.
      const leftNs = (when.count - this.instructions) * this.instructionNs;
      return nowNs + Math.max(leftNs, COUNT_INTERVAL_NS);
    }
    if (when.kind === 'network-idle' && this.lastFrameNs !== null) {
      return this.lastFrameNs + when.forNs;
    }
    return Infinity;
  }

  /** The machine has stopped. */
  saw({ atNs, instructions, events }: ReadyStop): void {
    const { when } = this;
    this.instructions = instructions;
    for (const event of events) this.hear(event);
    if (when.kind === 'instructions') this.ready = instructions >= when.count;
    if (when.kind !== 'network-idle' || this.lastFrameNs === null) return;
    this.ready = atNs >= this.lastFrameNs + when.forNs;
  }

  private hear(event: MachineEvent): void {
    const { when } = this;
    switch (event.kind) {
      case 'frame':
        this.lastFrameNs = Math.max(this.lastFrameNs ?? 0, event.atNs);
        return;
      case 'bell':
        if (when.kind !== 'bell' || event.offset !== 0 || event.value !== BELL_READY) return;
        this.becomeReady({ kind: 'bell', value: event.value });
        return;
      case 'console':
        if (when.kind === 'console') this.read(event.port, event.bytes, when.text);
        return;
      default:
        return;
    }
  }

  private read(port: number, bytes: Uint8Array, text: string): void {
    const line = this.lines.get(port) ?? [];
    this.lines.set(port, line);
    for (const byte of bytes) {
      if (byte !== CARRIAGE_RETURN && line.length < LINE_BYTES_MAX) line.push(byte);
      if (byte !== LINE_FEED) continue;
      const whole = Buffer.from(line.splice(0));
      if (whole.includes(text)) this.becomeReady({ kind: 'console', port, bytes: whole });
    }
  }

  private becomeReady(event: ReadyEvent): void {
    this.ready = true;
    this.readyEvent ??= event;
  }
}
