import {
  decodeDecisions,
  decodeEvents,
  Decisions,
  EventLog,
  EventQueue,
  LOG_DECISIONS,
  LOG_EVENTS,
  Network,
  NS_PER_MS,
  readWholeLog,
  type Decision,
  type DecisionsState,
  type EventLogState,
  type LinkDef,
  type LoggedEvent,
  type NetworkEvent,
  type QueueState,
  type SocketStack,
} from '../../sim/index.ts';

/** A link with some of its values; by default 1 ms, no jitter, no loss, no limit. */
export function link(from: number, to: number, values: Partial<LinkDef> = {}): LinkDef {
  return { latencyNs: NS_PER_MS, jitterNs: 0, loss: 0, bandwidth: null, ...values, from, to };
}

/** Equal links between all nodes, both ways. */
export function mesh(count: number, values: Partial<LinkDef> = {}): LinkDef[] {
  const nodes = Array.from({ length: count }, (_, node) => node);
  return nodes.flatMap((from) => {
    return nodes.filter((to) => to !== from).map((to) => link(from, to, values));
  });
}

/** The sockets of nodes, and the time. */
export interface NetStacks {
  readonly nowNs: number;
  stack(node: number): SocketStack;
}

/** Something that acts on sockets whenever anything has happened; its state is plain data. */
export interface NetProgram {
  act(loop: NetStacks): void;
  capture(): unknown;
  restore(state: unknown): void;
}

export interface NetLoopOptions {
  readonly nodes: readonly string[];
  readonly links: readonly LinkDef[];
  readonly seed?: number;
  readonly aliases?: ReadonlyMap<string, readonly number[]>;
  readonly programs?: readonly NetProgram[];
  readonly machines?: ReadonlySet<number>;
  readonly frameArrives?: (node: number, frame: Uint8Array, atNs: number) => boolean;
}

export interface NetLoopState {
  readonly nowNs: number;
  readonly queue: QueueState<NetworkEvent>;
  readonly decisions: DecisionsState;
  readonly events: EventLogState;
  readonly network: unknown;
  readonly programs: readonly unknown[];
}

/** The least world that a network needs: the real queue, decisions and logs, and no guests. */
export class NetLoop implements NetStacks {
  readonly network: Network;
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly queue = new EventQueue<NetworkEvent>();
  readonly programs: readonly NetProgram[];
  /** How many events were handled. */
  handled = 0;
  nowNs = 0;
  /** Looks at a node before each event for it; what it returns is called after the event. */
  watch: ((node: number) => () => void) | null = null;
  private readonly decisionFrames: Uint8Array[] = [];
  private readonly eventFrames: Uint8Array[] = [];

  constructor(options: NetLoopOptions) {
    this.decisions = new Decisions(options.seed ?? 1, (frame) => this.decisionFrames.push(frame));
    this.events = new EventLog((frame) => this.eventFrames.push(frame));
    this.network = new Network({
      nodeNames: options.nodes,
      links: options.links,
      aliases: options.aliases ?? new Map(),
      machines: options.machines ?? new Set(),
      host: {
        ...(options.frameArrives === undefined ? {} : { frameArrives: options.frameArrives }),
        decisions: this.decisions,
        events: this.events,
        schedule: (atNs, consumer, producer, event) => {
          if (atNs < this.nowNs) throw new Error(`scheduled for ${atNs} at ${this.nowNs}`);
          this.queue.push(atNs, consumer, producer, event);
        },
        nowNs: () => this.nowNs,
      },
    });
    this.programs = options.programs ?? [];
    options.nodes.forEach((_, node) => this.network.setUp(node, true));
  }

  stack(node: number): SocketStack {
    return this.network.stack(node);
  }

  /** Lets the programs act and handles the next event; false when there is none. */
  step(): boolean {
    for (const program of this.programs) program.act(this);
    if (this.queue.length === 0) return false;
    const { atNs, consumer, payload } = this.queue.pop();
    this.nowNs = atNs;
    const look = this.watch?.(consumer);
    this.network.handle(payload, atNs);
    look?.();
    this.handled++;
    return true;
  }

  /** Runs to the end, or up to a time that is then now. */
  run(untilNs = Infinity): void {
    for (;;) {
      for (const program of this.programs) program.act(this);
      if (this.queue.length === 0 || this.queue.peekNs() > untilNs) break;
      this.step();
    }
    if (untilNs !== Infinity) this.nowNs = untilNs;
  }

  /** The chains of both logs. */
  chains(): readonly [decisions: string, events: string] {
    return [this.decisions.log.chain(), this.events.log.chain()];
  }

  allDecisions(): Decision[] {
    this.decisions.log.flush();
    return [...decodeDecisions(readWholeLog(join(this.decisionFrames), LOG_DECISIONS))];
  }

  allEvents(): LoggedEvent[] {
    this.events.log.flush();
    return [...decodeEvents(readWholeLog(join(this.eventFrames), LOG_EVENTS))];
  }

  capture(): NetLoopState {
    return {
      nowNs: this.nowNs,
      queue: this.queue.capture(),
      decisions: this.decisions.capture(),
      events: this.events.capture(),
      network: this.network.capture(),
      programs: this.programs.map((program) => program.capture()),
    };
  }

  restore(state: NetLoopState): void {
    this.nowNs = state.nowNs;
    this.queue.restore(state.queue);
    this.decisions.restore(state.decisions);
    this.events.restore(state.events);
    this.network.restore(state.network);
    this.programs.forEach((program, index) => program.restore(state.programs[index]));
  }
}

function join(frames: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(frames.reduce((sum, frame) => sum + frame.length, 0));
  let offset = 0;
  for (const frame of frames) {
    bytes.set(frame, offset);
    offset += frame.length;
  }
  return bytes;
}
