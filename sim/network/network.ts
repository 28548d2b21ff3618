import type { Decisions } from '../kernel/decision.ts';
import type { EventLog } from '../kernel/event-log.ts';
import type { Millionths, VirtualNs } from '../kernel/units.ts';
import type { LinkDef } from '../plan/scenario.ts';
import type { NetworkEvent, Schedule } from './packet.ts';
import { SocketStack } from './socket-stack.ts';

export type { NetworkEvent } from './packet.ts';

/** What the world gives its network. */
export interface NetworkHost {
  readonly decisions: Decisions;
  readonly events: EventLog;
  /** Queues an event; the world later gives it back to `handle` at that time. */
  readonly schedule: Schedule;
  /** The local time of the guest that runs, or the world's time when none does. */
  nowNs(): VirtualNs;
}

export interface NetworkOptions {
  /** In declared order: the place gives the address. */
  readonly nodeNames: readonly string[];
  readonly links: readonly LinkDef[];
  readonly host: NetworkHost;
  /** Further names, each for one node or several. */
  readonly aliases?: ReadonlyMap<string, readonly number[]>;
}

/** A directed pair of nodes. */
export type NodePair = readonly [from: number, to: number];

export class Network {
  private readonly stacks: readonly SocketStack[];

  constructor(options: NetworkOptions) {
    this.stacks = options.nodeNames.map(() => new SocketStack());
  }

  stack(node: number): SocketStack {
    return this.stacks[node] as SocketStack;
  }

  /** Delivers a packet or fires a timer that is due at `atNs`. */
  handle(event: NetworkEvent, atNs: VirtualNs): void {
    void event;
    void atNs;
  }

  /** Switches a node on, or off as by power loss. Nodes begin switched off. */
  setUp(node: number, up: boolean): void {
    if (!up) this.stack(node).reset();
  }

  /** Cuts directed links until `heal`; packets in flight on them are lost. */
  cut(pairs: readonly NodePair[]): void {
    void pairs;
  }

  /** Mends every cut. */
  heal(): void {
    return;
  }

  /** Sets the added loss and latency of all links between the nodes (all nodes if empty). */
  degrade(nodes: readonly number[], loss: Millionths, extraLatencyNs: VirtualNs): void {
    void nodes;
    void loss;
    void extraLatencyNs;
  }

  /** The least time that a packet takes to this node from any other; `Infinity` without links. */
  lookaheadNs(into: number): VirtualNs {
    return into < 0 ? 0 : 1;
  }

  capture(): unknown {
    return null;
  }

  restore(state: unknown): void {
    void state;
  }

  digest(): string {
    return '';
  }
}
