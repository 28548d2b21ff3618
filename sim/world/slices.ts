import { assert } from '../kernel/assert.ts';
import type { VirtualNs } from '../kernel/units.ts';
import type { Network } from '../network/network.ts';
import type { Machines } from './machines.ts';
import type { NodeLives } from './node-lives.ts';
import type { NodePort } from './node-port.ts';
import type { Slice } from './step.ts';

/**
 * A slice is at most this long, and ends at a multiple of it: 10 ms are ten million
 * instructions at the usual rate, against which a stop is cheap.
 */
export const QUANTUM_NS_MAX: VirtualNs = 10_000_000;

/** What slices are cut from. */
export interface SlicesHost {
  /** Nothing runs beyond this time. */
  readonly virtualNsMax: VirtualNs;
  lives(): NodeLives;
  network(): Network;
  machines(): Machines;
  port(node: number): NodePort;
  /** The time of the first queued event, or `Infinity`. */
  nextEventNs(): VirtualNs;
  /** How many slices there may still be. */
  slicesLeft(): number;
  /** Whether anything that a guest does may call for an action of the plan there and then. */
  isArmed(): boolean;
}

/**
 * Who runs next and how far: guests that take their turns, and machines that run side by side.
 * What it gives is a function of the world alone, so it is the same however many of them really
 * run at once. There is no state between two steps.
 */
export class Slices {
  private readonly host: SlicesHost;
  /** Of the step under way. */
  private slices: readonly Slice[] = [];
  private place = 0;
  private runs = false;

  constructor(host: SlicesHost) {
    this.host = host;
  }

  /** Whether no slice is under way or waits for its turn. */
  get areDone(): boolean {
    return this.place === this.slices.length;
  }

  /** The guest whose turn it is, or -1. */
  get running(): number {
    return this.runs ? (this.slices[this.place] as Slice).node : -1;
  }

  /** The slices of the next step, that of the first runnable guest first; its turn begins. */
  cut(first: number): readonly Slice[] {
    const horizonNs = this.horizonNs(first);
    const { nodes, endNs } = this.sideBySide(first, horizonNs);
    this.slices = nodes.map((node) => this.prepare(node, endNs));
    this.place = 0;
    this.runs = true;
    return this.slices;
  }

  /** The turn of the running guest is over; gives the guest. */
  stop(): number {
    const { running } = this;
    assert(running >= 0, 'a slice is under way');
    this.runs = false;
    return running;
  }

  /** After `stop`, when the world knows what it did: the turn of the next one begins, if any. */
  advance(): void {
    this.place++;
    this.runs = !this.areDone;
  }

  /** Forgets the step under way, which has failed. */
  reset(): void {
    this.slices = [];
    this.place = 0;
    this.runs = false;
  }

  /** The running guest does nothing more in this turn; false if it is another's. */
  cutOff(node: number): boolean {
    if (node !== this.running) return false;
    const port = this.host.port(node);
    port.horizonNs = Math.min(port.horizonNs, port.nowNs);
    return true;
  }

  /** An event was queued: brings the running guest's horizon nearer if that could be reached. */
  queued(atNs: VirtualNs, consumer: number): void {
    if (this.runs) {
      const port = this.host.port(this.running);
      port.horizonNs = Math.min(port.horizonNs, this.reachNs(this.running, atNs, consumer));
    }
    for (let later = this.place + 1; later < this.slices.length; later++) {
      const { node } = this.slices[later] as Slice;
      const { horizonNs } = this.host.port(node);
      assert(
        this.reachNs(node, atNs, consumer) >= horizonNs,
        'those side by side are out of reach',
      );
    }
  }

  /** When an event at that time can first be felt by a node. */
  private reachNs(node: number, atNs: VirtualNs, consumer: number): VirtualNs {
    const isDirect = consumer === node || consumer < 0;
    return isDirect ? atNs : atNs + this.host.network().lookaheadNs(node);
  }

  private prepare(node: number, endNs: VirtualNs): Slice {
    const port = this.host.port(node);
    const life = this.host.lives().resumed(node);
    port.nowNs = life.localNs;
    port.cpu = life.cpu;
    port.horizonNs = endNs;
    assert(endNs > life.localNs, 'a guest is resumed before its horizon');
    return { node, outcome: { reason: life.reason, atNs: life.localNs } };
  }

  /**
   * The guests that run beside this one, it included, and where all of them stop. Only machines run
   * side by side: those whose own horizon is ahead of them, up to the nearest of these horizons, so
   * that they meet there and go on together. One that is behind all others runs alone until it has
   * caught up. A machine that starts draws its entropy, which belongs into its turn.
   */
  private sideBySide(
    first: number,
    horizonNs: VirtualNs,
  ): { readonly nodes: readonly number[]; readonly endNs: VirtualNs } {
    const lives = this.host.lives();
    const machines = this.host.machines();
    if (machines.of(first) === null || this.host.isArmed())
      return { nodes: [first], endNs: horizonNs };
    const beside: number[] = [];
    let endNs = horizonNs;
    for (const node of lives.runnableNodes) {
      if (node === first || machines.of(node) === null) continue;
      const { reason, localNs } = lives.life(node);
      if (reason === 'start') continue;
      const aheadNs = this.horizonNs(node);
      if (aheadNs > localNs) beside.push(node);
      endNs = Math.min(endNs, Math.max(aheadNs, localNs));
    }
    const nodes = beside.filter((node) => lives.life(node).localNs < endNs);
    nodes.sort((a, b) => lives.life(a).localNs - lives.life(b).localNs || a - b);
    return { nodes: [first, ...nodes].slice(0, this.host.slicesLeft()), endNs };
  }

  /**
   * The earliest time at which anything could still reach the guest: the first queued event, any
   * other runnable guest's clock plus the least time a packet takes to it, or the limit. Besides,
   * all guests stop at the whole multiples of QUANTUM_NS_MAX, where checkpoints are exact.
   */
  private horizonNs(node: number): VirtualNs {
    const { host } = this;
    const lives = host.lives();
    const { localNs } = lives.life(node);
    return Math.min(
      (Math.floor(localNs / QUANTUM_NS_MAX) + 1) * QUANTUM_NS_MAX,
      host.nextEventNs(),
      lives.othersNs(node) + host.network().lookaheadNs(node),
      host.machines().reachNs(node, localNs),
      host.virtualNsMax,
    );
  }
}
