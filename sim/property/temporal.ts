import { EventQueue, type QueuedEvent, type QueueState } from '../kernel/queue.ts';
import { formatSpan, type VirtualNs } from '../kernel/units.ts';
import type { Packet } from '../network/packet.ts';
import type {
  AssertionState,
  IoKind,
  PredicateDef,
  TemporalDef,
  WatchedNodeState,
} from '../plan/predicates.ts';
import { tellNodes } from './describe-predicate.ts';
import { Monitor, type MonitorState, type MonitorVerdict } from './monitor.ts';
import { Observers } from './observers.ts';
import { PredicateParts, type PartState } from './predicate-state.ts';

/** Something that was observed, or a time that somebody waits for, as plain data. */
type Happening =
  /** Everything is looked at, at the start and when all faults are lifted. */
  | { readonly kind: 'begin' }
  /** These parts are true for this one moment. */
  | { readonly kind: 'pulse'; readonly parts: readonly number[]; readonly what: string }
  /** This part is true from now on. */
  | { readonly kind: 'set'; readonly part: number; readonly what: string }
  | {
      readonly kind: 'node';
      readonly node: number;
      readonly state: WatchedNodeState;
      /** `hung`: until when, unless something else comes before. */
      readonly untilNs: VirtualNs;
    }
  | { readonly kind: 'timer'; readonly part: number }
  | { readonly kind: 'deadline'; readonly monitor: number };

/** At equal times: what time brings, then what was observed, then waits that are over. */
const ORDER = { time: 0, observed: 1, deadline: 2 } as const;

interface WatchedNode {
  state: WatchedNodeState | null;
  hungUntilNs: VirtualNs;
}

export interface TemporalState {
  readonly queue: QueueState<Happening>;
  readonly parts: readonly PartState[];
  readonly monitors: readonly MonitorState[];
  readonly nodes: readonly Readonly<WatchedNode>[];
  /** Everything before this time has been judged. */
  readonly doneNs: VirtualNs;
  readonly lastNs: VirtualNs;
}

export type TemporalResult = MonitorVerdict & { readonly atNs: VirtualNs | null };

export interface TemporalOptions {
  readonly defs: readonly TemporalDef[];
  readonly nodeNames: readonly string[];
  /** When each node starts; a node that is left out starts at once. */
  readonly startsNs: readonly VirtualNs[];
  readonly liftedNs: VirtualNs;
  /** What events of the plan wait for. */
  readonly triggers: readonly TriggerWatch[];
}

/** The predicate of an event's trigger, and the event's place in the plan. */
export interface TriggerWatch {
  readonly event: number;
  readonly that: PredicateDef;
}

/**
 * The properties over moments (CR-95, CR-96). Guests run ahead of one another, so what is observed
 * waits in a queue until everything before it has happened; then each moment is judged in the order
 * of time, node and occurrence. A moment costs what the predicates cost that it touches.
 */
export class TemporalProperties {
  private readonly options: TemporalOptions;
  private readonly queue = new EventQueue<Happening>();
  private readonly parts: PredicateParts;
  private readonly monitors: readonly Monitor[];
  /** Of each monitor the roots of `that` and `when`, and of each root its monitor. */
  private readonly roots: readonly { readonly that: number; readonly when: number }[];
  private readonly owners: number[] = [];
  /** The roots of what events of the plan wait for; their owners come after the monitors. */
  private readonly triggerRoots: readonly number[];
  private onTrigger: (event: number, atNs: VirtualNs) => void = () => undefined;
  private readonly observers: Observers;
  private nodes: WatchedNode[];
  private doneNs: VirtualNs = 0;
  /** The time of the last thing that was observed. */
  private lastNs: VirtualNs = 0;

  constructor(options: TemporalOptions) {
    this.options = options;
    const { defs, nodeNames, startsNs, liftedNs, triggers } = options;
    const tell = tellNodes(nodeNames);
    this.parts = new PredicateParts((atNs, part) => {
      this.queue.push(atNs, ORDER.time, -1, { kind: 'timer', part });
    });
    this.monitors = defs.map((def, monitor) => {
      return new Monitor(def, tell, liftedNs, (atNs) => {
        this.queue.push(atNs, ORDER.deadline, -1, { kind: 'deadline', monitor });
      });
    });
    this.roots = defs.map(({ that, when }, monitor) => {
      this.owners.push(monitor);
      const root = this.parts.add(that);
      if (when === null) return { that: root, when: -1 };
      this.owners.push(monitor);
      return { that: root, when: this.parts.add(when) };
    });
    this.triggerRoots = triggers.map(({ that }, index) => {
      this.owners.push(defs.length + index);
      return this.parts.add(that);
    });
    this.observers = new Observers(this.parts.parts);
    this.nodes = nodeNames.map((_, node) => {
      const state = (startsNs[node] ?? 0) === 0 ? 'started' : null;
      return { state, hungUntilNs: 0 };
    });
    this.begin();
  }

  /** Whether anything is asked about files, so that somebody must tell of them. */
  get watchesFiles(): boolean {
    return this.observers.watchesFiles;
  }

  /** From here on it is told of each moment at which what an event waits for is so. */
  setTriggered(onTrigger: (event: number, atNs: VirtualNs) => void): void {
    this.onTrigger = onTrigger;
  }

  /** Has all predicates looked at, at that time. */
  ask(atNs: VirtualNs): void {
    this.queue.push(Math.max(atNs, this.doneNs), ORDER.time, -1, { kind: 'begin' });
  }

  /** Judges all that was observed: nothing can come any more, unless an event of the plan does. */
  catchUp(): void {
    this.advance(this.lastNs + 1);
  }

  line(node: number, line: string, atNs: VirtualNs): void {
    const parts = this.observers.line(node, line);
    this.pulse(parts, node, atNs, () => `${this.name(node)} wrote "${cut(line)}"`);
  }

  marker(node: number, text: string, atNs: VirtualNs): void {
    const parts = this.observers.marker(node, text);
    this.pulse(parts, node, atNs, () => `${this.name(node)} marked ${cut(text)}`);
  }

  packet(when: 'send' | 'deliver', packet: Packet, atNs: VirtualNs): void {
    const { from, to, payload } = packet;
    const node = when === 'send' ? from : to;
    const parts = this.observers.packet(when, packet);
    const verb = when === 'send' ? 'was sent' : 'arrived';
    this.pulse(parts, node, atNs, () => {
      const ends = `from ${this.name(from)} to ${this.name(to)}`;
      return `a packet of ${payload.length} bytes ${ends} ${verb}`;
    });
  }

  file(node: number, io: IoKind, atNs: VirtualNs): void {
    this.pulse(this.observers.io(node, io), node, atNs, () => `${this.name(node)} did ${io}`);
  }

  /** A node's state is another from now on; `untilNs` is the end of its being hung. */
  node(node: number, state: WatchedNodeState, atNs: VirtualNs, untilNs: VirtualNs = 0): void {
    if (!this.observers.watchesNodes) return;
    this.observe(node, atNs, { kind: 'node', node, state, untilNs });
  }

  assertion(node: number, name: string, state: AssertionState, atNs: VirtualNs): void {
    for (const part of this.observers.assertion(name, state)) {
      const what = `"${cut(name)}" was ${state} on ${this.name(node)}`;
      this.observe(node, atNs, { kind: 'set', part, what });
    }
  }

  /** Judges everything before `frontierNs`: nothing can come before that any more. */
  advance(frontierNs: VirtualNs): void {
    while (this.queue.peekNs() < frontierNs) this.handle(this.queue.pop());
    this.doneNs = Math.max(this.doneNs, frontierNs);
  }

  get failed(): boolean {
    return this.monitors.some(({ state }) => state.verdict === 'fail');
  }

  /** Of the properties that can pass early, whether each is decided; see `PropertyChecker.settled`. */
  early(): readonly boolean[] {
    return this.monitors.flatMap(({ def, state }) => {
      const { operator, when, unreached } = def;
      const waits = operator === 'eventually' && when === null;
      const must = (operator === 'sometimes' || operator === 'reachable') && unreached === 'fail';
      return waits || must ? [state.verdict !== null] : [];
    });
  }

  decided(name: string): boolean {
    return this.monitors.some(({ def, state }) => def.name === name && state.verdict !== null);
  }

  /**
   * How each property stands if the run ends here, by name. A run that is `complete` ended of
   * itself: nothing can happen in it any more. Otherwise only what came before `knownNs` counts.
   */
  results(
    endNs: VirtualNs,
    complete: boolean,
    knownNs: VirtualNs,
  ): ReadonlyMap<string, TemporalResult> {
    const end = new TemporalProperties(this.options);
    end.restore(this.capture());
    if (complete) end.rest(Math.max(endNs, this.lastNs));
    else end.advance(knownNs);
    return new Map(
      end.monitors.map((monitor): [string, TemporalResult] => {
        const { verdict, detail, atNs } = monitor.state;
        if (verdict !== null) return [monitor.def.name, { verdict, detail, atNs }];
        return [monitor.def.name, { ...monitor.end(complete), atNs: null }];
      }),
    );
  }

  capture(): TemporalState {
    return {
      queue: this.queue.capture(),
      parts: this.parts.capture(),
      monitors: this.monitors.map(({ state }) => ({ ...state })),
      nodes: this.nodes.map((node) => ({ ...node })),
      doneNs: this.doneNs,
      lastNs: this.lastNs,
    };
  }

  restore(state: TemporalState): void {
    this.queue.restore(state.queue);
    this.parts.restore(state.parts);
    state.monitors.forEach((saved, place) => {
      (this.monitors[place] as Monitor).state = { ...saved };
    });
    this.nodes = state.nodes.map((node) => ({ ...node }));
    this.doneNs = state.doneNs;
    this.lastNs = state.lastNs;
  }

  /** What is so before anything happens, and the times that are known already. */
  private begin(): void {
    this.queue.push(0, ORDER.time, -2, { kind: 'begin' });
    const { liftedNs } = this.options;
    if (liftedNs > 0) this.queue.push(liftedNs, ORDER.time, -2, { kind: 'begin' });
    this.parts.parts.forEach(({ def, state }, part) => {
      if (def.kind === 'at') {
        const what = `at ${formatSpan(def.atNs)}`;
        this.queue.push(def.atNs, ORDER.time, -1, { kind: 'pulse', parts: [part], what });
      } else if (def.kind === 'after') {
        const what = `past ${formatSpan(def.atNs)}`;
        this.queue.push(def.atNs, ORDER.time, -3, { kind: 'set', part, what });
      } else if (def.kind === 'node_state') {
        state.on = def.nodes.filter((node) => this.nodes[node]?.state === def.state).length;
      }
    });
  }

  /** The run is over, and nothing can happen any more. */
  private rest(endNs: VirtualNs): void {
    while (this.queue.peekNs() <= endNs) this.handle(this.queue.pop());
    const quiescent = this.observers.quiescent;
    for (const part of quiescent) this.parts.state(part).on = 1;
    this.look(this.ownersOf(quiescent), endNs, 'the world came to rest');
    this.monitors.forEach((monitor, place) => {
      monitor.rest(this.isTrue(this.roots[place]?.that ?? -1, endNs), endNs);
    });
  }

  private pulse(parts: readonly number[], node: number, atNs: VirtualNs, what: () => string): void {
    if (parts.length > 0) this.observe(node, atNs, { kind: 'pulse', parts, what: what() });
  }

  /** What is told late (a file of assertions, read at the end) counts from when it is told. */
  private observe(node: number, atNs: VirtualNs, happening: Happening): void {
    const seenNs = Math.max(atNs, this.doneNs);
    this.lastNs = Math.max(this.lastNs, seenNs);
    this.queue.push(seenNs, ORDER.observed, node, happening);
  }

  private handle({ atNs, payload }: QueuedEvent<Happening>): void {
    switch (payload.kind) {
      case 'begin':
        return this.look(this.all(), atNs, 'at the start');
      case 'pulse':
        return this.beat(payload.parts, atNs, payload.what);
      case 'set':
        this.parts.state(payload.part).on = 1;
        return this.look(this.ownersOf([payload.part]), atNs, payload.what);
      case 'node':
        return this.enter(payload, atNs);
      case 'timer':
        if (this.parts.rings(payload.part, atNs)) this.beat([payload.part], atNs, 'a timer rang');
        return;
      case 'deadline':
        return this.monitors[payload.monitor]?.deadline(atNs);
    }
  }

  /** Parts are true for one moment, which is judged, and then what is left of it. */
  private beat(parts: readonly number[], atNs: VirtualNs, what: string): void {
    const owners = this.ownersOf(parts);
    for (const part of parts) this.parts.state(part).on = 1;
    this.look(owners, atNs, what);
    for (const part of parts) this.parts.state(part).on = 0;
    this.look(owners, atNs, what);
  }

  private enter(
    { node, state, untilNs }: Extract<Happening, { kind: 'node' }>,
    atNs: VirtualNs,
  ): void {
    const watched = this.nodes[node] as WatchedNode;
    // The end of a hang that something else has ended, or that was made longer.
    if (untilNs < 0 && (watched.state !== 'hung' || watched.hungUntilNs > atNs)) return;
    if (state === 'hung') {
      watched.hungUntilNs = Math.max(watched.hungUntilNs, untilNs);
      const end = { kind: 'node', node, state: 'started', untilNs: -1 } as const;
      this.queue.push(untilNs, ORDER.time, node, end);
    }
    if (watched.state === state) return;
    const left = this.observers.inState(node, watched.state);
    const entered = this.observers.inState(node, state);
    for (const part of left) this.parts.state(part).on--;
    for (const part of entered) this.parts.state(part).on++;
    watched.state = state;
    this.look(this.ownersOf([...left, ...entered]), atNs, `${this.name(node)} is ${state}`);
  }

  private look(monitors: Iterable<number>, atNs: VirtualNs, what: string): void {
    for (const place of monitors) {
      const roots = this.roots[place];
      if (roots === undefined) {
        this.trigger(place - this.monitors.length, atNs);
        continue;
      }
      const that = this.isTrue(roots.that, atNs);
      const when = roots.when < 0 || this.isTrue(roots.when, atNs);
      (this.monitors[place] as Monitor).look({ atNs, that, when, what });
    }
  }

  private trigger(index: number, atNs: VirtualNs): void {
    const root = this.triggerRoots[index];
    const watch = this.options.triggers[index];
    if (root === undefined || watch === undefined) return;
    if (this.isTrue(root, atNs)) this.onTrigger(watch.event, atNs);
  }

  /** The monitors, and behind them the triggers. */
  private all(): Iterable<number> {
    return Array.from({ length: this.monitors.length + this.triggerRoots.length }, (_, at) => at);
  }

  private isTrue(root: number, atNs: VirtualNs): boolean {
    return this.parts.evaluate(root, atNs);
  }

  /** The monitors that these parts belong to, ascending. */
  private ownersOf(parts: readonly number[]): readonly number[] {
    const owners = parts.map((part) => {
      return this.owners[this.parts.parts[part]?.root ?? -1] as number;
    });
    return [...new Set(owners)].sort((a, b) => a - b);
  }

  private name(node: number): string {
    return this.options.nodeNames[node] ?? `node ${node}`;
  }
}

/** What is told of a line or marker is at most so long. */
const TOLD_LENGTH_MAX = 200;

function cut(text: string): string {
  return text.slice(0, TOLD_LENGTH_MAX);
}
