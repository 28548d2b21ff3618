import { assert } from '../kernel/assert.ts';
import { Decisions, type DecisionSource } from '../kernel/decision.ts';
import { draw32, streamKey } from '../kernel/draw.ts';
import { SimError } from '../kernel/errors.ts';
import { EventLog, type EventKind } from '../kernel/event-log.ts';
import type { Effect } from '../kernel/guest.ts';
import { EventQueue, type QueuedEvent } from '../kernel/queue.ts';
import { digest32 } from '../kernel/rolling-digest.ts';
import { formatTime, type VirtualNs } from '../kernel/units.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';
import { Network } from '../network/network.ts';
import { machinesOf } from '../plan/machine.ts';
import type { ActionDef, GuestDef, NodeDef, ScenarioDef } from '../plan/scenario.ts';
import { DirectiveQueues } from '../plan/directives.ts';
import { PropertyChecker, type PropertyResult } from '../property/checker.ts';
import type { FileSystem } from '../storage/file-system.ts';
import { assertionFilePath, readAssertionFile } from './assertion-files.ts';
import { Consoles } from './consoles.ts';
import { isAlive, type NodeLife } from './node-life.ts';
import { Machines } from './machines.ts';
import { NodeLives } from './node-lives.ts';
import { NodeDisks } from './node-disks.ts';
import { NodePort } from './node-port.ts';
import { NoteList } from './notes.ts';
import { Scheduling } from './scheduling.ts';
import { Slices } from './slices.ts';
import { PLAN_PHASES } from './plan-actions.ts';
import type { IdleEvent } from './plan-report.ts';
import { PlanRunner } from './plan-runner.ts';
import { watchedTriggers } from './plan-triggers.ts';
import { makePlanTarget } from './plan-target.ts';
import type { ReadyNode } from './ready-node.ts';
import type { EndReason, Step } from './step.ts';
import type { Note } from './timeline.ts';
import { canLapse, type WorldEvent } from './world-event.ts';
import type { WorldOptions, WorldState } from './world-state.ts';

export type { WorldOptions, WorldState } from './world-state.ts';

/**
 * The world: a state machine that says what to do next and is told what happened. It calls no
 * guest and no host. Guests act on it through their ports while they run.
 *
 * Order: the earliest of queued events and runnable guests goes first; at equal times events come
 * before guests, and ties end in (consumer, producer, sequence) or in the guest's index (CR-112).
 */
export class World {
  readonly scenario: ScenarioDef;
  readonly seed: number;
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly network: Network;
  readonly ports: readonly NodePort[];
  readonly checker: PropertyChecker;
  private readonly disks: NodeDisks;
  private readonly directives: DirectiveQueues;
  private readonly machines: Machines;
  private readonly ready: ReadonlyMap<number, ReadyNode>;
  private readonly files: readonly FileSystem[];
  private readonly queue = new EventQueue<WorldEvent>();
  private readonly plan: PlanRunner;
  private readonly planKind: EventKind;
  private readonly consoles: Consoles;
  private readonly lives: NodeLives;
  private pending: Step[] = [];
  private readonly noteList = new NoteList();
  private begun = false;
  private now: VirtualNs = 0;
  /** The time of what the world handles now, while no guest runs. */
  private actingNs: VirtualNs = 0;
  private quantumCount = 0;
  private ended: EndReason | null = null;
  private readonly slices: Slices;

  constructor(options: WorldOptions) {
    const { scenario, seed } = options;
    this.scenario = scenario;
    this.seed = seed;
    this.slices = this.makeSlices();
    this.ready = options.ready ?? new Map();
    this.decisions = new Decisions(seed, options.onDecisionFrame);
    this.events = new EventLog(options.onEventFrame);
    const { nodes, links } = scenario.world;
    const names = nodes.map((node) => node.name);
    this.network = new Network({
      nodeNames: names,
      links,
      host: {
        decisions: this.decisions,
        events: this.events,
        schedule: (atNs, consumer, producer, event) => {
          this.schedule(atNs, consumer, producer, { kind: 'network', event });
        },
        nowNs: () => this.localNow(),
        onPacket: (when, packet, atNs) => this.checker.temporal?.packet(when, packet, atNs),
        frameArrives: (node, frame, atNs) => this.machines.frameArrives(node, frame, atNs),
      },
      machines: new Set(machinesOf(scenario.world).keys()),
    });
    this.disks = new NodeDisks({
      scenario,
      ready: this.ready,
      decisions: this.decisions,
      events: this.events,
      nowNs: () => this.localNow(),
      note: (note) => this.noteList.add(note),
      hang: (node) => this.slices.cutOff(node),
      onRelease: (node, atNs) => {
        this.lives.wakeFromDisk(node, atNs);
      },
    });
    this.files = this.disks.files;
    this.directives = new DirectiveQueues(scenario.plan.directives ?? [], names, this.decisions);
    this.machines = this.makeMachines();
    this.ports = nodes.map((def, index) => this.makePort(def, index));
    const liftedNs = scenario.plan.liveness?.atNs ?? 0;
    const startsNs = nodes.map(({ startNs }, node) => this.ready.get(node)?.atNs ?? startNs);
    const triggers = watchedTriggers(scenario.plan);
    this.checker = new PropertyChecker(scenario.properties, names, liftedNs, startsNs, triggers);
    this.watchFiles();
    this.consoles = new Consoles(names, {
      bytes: (node, descriptor, bytes, atNs) => options.onConsole(node, descriptor, bytes, atNs),
      line: (node, line, atNs) => {
        this.checker.line(node, line, atNs);
        options.onLine(line);
      },
      end: (node, atNs) => {
        this.readAssertions(node, atNs);
        this.checker.lifeEnded(node);
      },
    });
    this.lives = this.makeLives();
    this.plan = this.makePlan();
    this.plan.withhold(options.withheld ?? []);
    this.planKind = this.events.kind('plan');
    this.setSources([]);
  }

  /** The time up to which the world has been decided. */
  get nowNs(): VirtualNs {
    return this.now;
  }

  /** How many slices guests have run. */
  get quanta(): number {
    return this.quantumCount;
  }

  get endReason(): EndReason | null {
    return this.ended;
  }

  /** Whether the driver has yet to make or drop a guest before the next boundary. */
  get hasPending(): boolean {
    return this.pending.length > 0;
  }

  /** Everything before this time has happened: the time of what comes next; at the end, `nowNs`. */
  frontierNs(): VirtualNs {
    const node = this.lives.firstRunnable();
    const guestNs = node < 0 ? Infinity : this.life(node).localNs;
    const nextNs = Math.min(this.queue.peekNs(), guestNs);
    return nextNs === Infinity ? this.now : nextNs;
  }

  get notes(): readonly Note[] {
    return this.noteList.all;
  }

  /** What is known of a node's guest. */
  life(node: number): Readonly<NodeLife> {
    return this.lives.life(node);
  }

  /** The build that a node runs, or will when it starts again. */
  guestOf(node: number): GuestDef {
    return this.life(node).build ?? (this.scenario.world.nodes[node] as NodeDef).guest;
  }

  /** Events of the plan that changed nothing so far, and why (FB-73). */
  idleEvents(): readonly IdleEvent[] {
    return this.plan.idle(this.now);
  }

  /** The digest of a node's disk. */
  fileDigest(node: number): string {
    return (this.files[node] as FileSystem).digest();
  }

  /** Who is asked before the seed answers. */
  setSources(sources: readonly DecisionSource[]): void {
    const planned = this.scenario.plan.directives === undefined ? [] : [this.directives.source];
    this.decisions.setSources([...this.plan.sources, ...sources, ...planned]);
  }

  /** What to do next. After 'end' it stays 'end'. */
  next(): Step {
    assert(this.slices.areDone, 'the world is asked only between slices');
    if (!this.begun) this.begin();
    for (;;) {
      const pending = this.pending.shift();
      if (pending !== undefined) return pending;
      if (this.ended !== null) return { kind: 'end', reason: this.ended };
      this.judge();
      const end = this.endDue();
      if (end !== null) {
        this.ended = end;
        continue;
      }
      const eventNs = this.queue.peekNs();
      const node = this.lives.firstRunnable();
      const guestNs = node < 0 ? Infinity : this.life(node).localNs;
      if (eventNs <= guestNs) this.handle(this.queue.pop());
      else return this.resume(node);
    }
  }

  /** Tells what the resumed guest did; of those of one step, in their order. */
  apply(effect: Effect): void {
    const node = this.slices.stop();
    this.actingNs = effect.atNs;
    this.lives.apply(node, effect, (this.ports[node] as NodePort).observedNs);
    this.plan.quantum(node, effect.atNs);
    this.slices.advance();
    this.enter();
  }

  /** How many timers of guests have fired since this world was made. */
  get timerCount(): number {
    return this.lives.timersFired;
  }

  /**
   * Does this to the world as soon as no guest is ahead of it. Somebody outside asked for it: it is
   * no decision and in no schedule, so a run with it is not repeatable (CR-30).
   */
  inject(action: ActionDef): void {
    const atNs = Math.max(this.frontierNs(), this.lives.latestNs());
    this.schedule(atNs, -1, -1, { kind: 'plan', index: this.plan.add(action), phase: 'fire' });
  }

  /** The last draw of the seed's own stream: differs if any decision was drawn more or less. */
  lastDraw(): number {
    return draw32(streamKey(this.seed, 'seed/last'), this.decisions.log.recordCount, 0);
  }

  /** The properties' verdicts so far, or at the end. */
  results(): readonly PropertyResult[] {
    const complete = this.ended === 'quiescence' || this.ended === 'stopped';
    this.scenario.world.nodes.forEach((_, node) => {
      if (isAlive(this.life(node).status)) this.readAssertions(node, this.now);
    });
    return this.checker.results(this.now, complete, this.frontierNs());
  }

  capture(): WorldState {
    assert(this.slices.areDone, 'the world is captured between slices');
    return {
      version: 1,
      seed: this.seed,
      begun: this.begun,
      nowNs: this.now,
      quanta: this.quantumCount,
      end: this.ended,
      decisions: this.decisions.capture(),
      events: this.events.capture(),
      queue: this.queue.capture(),
      lives: this.lives.capture(),
      pending: this.pending.slice(),
      network: this.network.capture(),
      files: this.files.map((files) => files.capture()),
      consoles: this.consoles.capture(),
      checker: this.checker.capture(),
      notes: this.noteList.capture(),
      plan: this.plan.capture(),
      clocks: this.ports.map((port) => port.captureClock()),
      ...this.machines.capture(),
    };
  }

  restore(state: WorldState): void {
    this.begun = state.begun;
    this.now = state.nowNs;
    this.quantumCount = state.quanta;
    this.ended = state.end;
    this.slices.reset();
    this.decisions.restore(state.decisions);
    this.events.restore(state.events);
    this.queue.restore(state.queue);
    this.lives.restore(state.lives);
    this.pending = state.pending.slice();
    this.network.restore(state.network);
    this.files.forEach((files, index) => files.restore(state.files[index]));
    this.consoles.restore(state.consoles);
    this.checker.restore(state.checker);
    this.noteList.restore(state.notes);
    this.plan.restore(state.plan);
    this.machines.restore(state);
    this.ports.forEach((port, node) => {
      port.restoreClock(state.clocks[node]);
    });
  }

  private begin(): void {
    this.begun = true;
    this.scenario.world.nodes.forEach(({ startNs }, node) => {
      this.schedule(this.ready.get(node)?.atNs ?? startNs, node, -1, { kind: 'start' });
    });
    this.plan.begin();
  }

  private makeMachines(): Machines {
    const { scenario, ready, decisions, events, network, files } = this;
    return new Machines({
      scenario,
      ready,
      decisions,
      events,
      network,
      files,
      nowNs: () => this.localNow(),
      note: (note) => this.noteList.add(note),
      schedule: (atNs, node, event) => {
        this.schedule(atNs, node, node, event);
      },
      sourcesOfTime: (node, atNs) => (this.ports[node] as NodePort).sourcesOfTime(atNs),
      livesOf: (node) => this.life(node).lives,
    });
  }

  /** Made first of all: what it is cut from is asked for when there is something to cut. */
  private makeSlices(): Slices {
    const { limits } = this.scenario.plan;
    return new Slices({
      virtualNsMax: limits.virtualNsMax,
      lives: () => this.lives,
      network: () => this.network,
      machines: () => this.machines,
      port: (node) => this.ports[node] as NodePort,
      nextEventNs: () => this.queue.peekNs(),
      slicesLeft: () => limits.quantaMax - this.quantumCount,
      isArmed: () => this.plan.isArmed,
    });
  }

  private makeLives(): NodeLives {
    const { decisions, events, network, files, machines, consoles, checker } = this;
    const names = this.scenario.world.nodes.map(({ name }) => name);
    return new NodeLives({
      names,
      scheduling: new Scheduling(this.scenario.plan.scheduling, names, decisions),
      decisions,
      events,
      network,
      files,
      machines,
      consoles,
      checker,
      notes: this.noteList,
      newDisk: (node) => this.disks.blank(node),
      push: (step) => this.pending.push(step),
      schedule: (atNs, node, kind) => {
        this.schedule(atNs, node, kind === 'start' ? -1 : node, { kind });
      },
    });
  }

  private makePort(def: NodeDef, index: number): NodePort {
    return new NodePort({
      index,
      def,
      decisions: this.decisions,
      events: this.events,
      files: this.files[index] as FileSystem,
      sockets: this.network.stack(index),
      directives: this.directives,
      machine: this.machines.of(index),
      flips: this.machines.flips,
      listener: {
        console: (node, descriptor, bytes, atNs) => {
          this.consoles.write(node, descriptor, bytes, atNs);
        },
        isSettled: (node) => {
          if (!this.network.isAtRest || !this.lives.areAtRest(node)) return false;
          return !this.queue.some(({ kind }) => kind === 'plan' || kind === 'start');
        },
        marker: (node, bytes, atNs) => {
          this.noteList.add({
            atNs,
            node,
            kind: 'marker',
            text: this.checker.marker(node, bytes, atNs),
          });
        },
      },
    });
  }

  private watchFiles(): void {
    const { temporal } = this.checker;
    if (temporal?.watchesFiles !== true) return;
    this.files.forEach((files, node) => {
      files.watch((use) => {
        temporal.file(node, use, this.localNow());
      });
    });
  }

  private readAssertions(node: number, atNs: VirtualNs): void {
    const path = assertionFilePath(this.scenario.world.nodes[node]?.env ?? []);
    if (path === null) return;
    const { assertions } = this.checker;
    readAssertionFile(this.files[node] as FileSystem, path, { assertions, node, atNs });
  }

  private makePlan(): PlanRunner {
    const { scenario, network, ports, lives, disks, machines, noteList: notes } = this;
    const target = makePlanTarget({
      names: scenario.world.nodes.map(({ name }) => name),
      network,
      ports,
      lives,
      disks,
      machines,
      notes,
      decisions: this.decisions,
      events: this.events,
      schedule: (atNs, index, phase, node) => {
        const event = { kind: 'plan', index, phase } as const;
        this.schedule(atNs, -1, -1, node < 0 ? event : { ...event, node });
      },
    });
    const { temporal } = this.checker;
    const plan = new PlanRunner(scenario.plan, this.decisions, target, (atNs) => {
      temporal?.ask(atNs);
    });
    temporal?.setTriggered((event, atNs) => {
      plan.predicate(event, atNs);
    });
    if (plan.watches('effect')) {
      this.events.setWatch((kind, guest, atNs) => {
        plan.effect(kind, guest, atNs);
      });
    }
    return plan;
  }

  /** Takes out timers that were stopped, before their time: nobody runs who could start them again. */
  private dropVoid(): void {
    while (this.lives.firstRunnable() < 0) {
      const payload = this.queue.peekPayload();
      if (payload === undefined || !canLapse(payload)) return;
      const { atNs, consumer } = this.queue.peek();
      const isVoid =
        payload.kind === 'network'
          ? this.network.isVoid(payload.event, atNs)
          : this.lives.isVoid(consumer, atNs);
      if (!isVoid) return;
      this.dispatch(this.queue.pop());
    }
  }

  /** Judges what nothing can precede any more. */
  private judge(): void {
    const { temporal } = this.checker;
    if (temporal === null) return;
    temporal.advance(this.frontierNs());
    if (this.queue.length === 0 && this.lives.firstRunnable() < 0) temporal.catchUp();
  }

  /** The reason to end now, or null. */
  private endDue(): EndReason | null {
    const { until, limits } = this.scenario.plan;
    if (until === 'property' && (this.checker.failed || this.checker.settled)) return 'property';
    if (until === 'stopped' && this.lives.allStopped) return 'stopped';
    if (this.quantumCount >= limits.quantaMax) return 'quanta';
    const isAtLimit = this.frontierNs() >= limits.virtualNsMax;
    if (isAtLimit) this.dropVoid();
    if (this.queue.length === 0 && this.lives.firstRunnable() < 0) return 'quiescence';
    if (!isAtLimit) return null;
    this.now = limits.virtualNsMax;
    return 'virtual-time';
  }

  private resume(node: number): Step {
    const slices = this.slices.cut(node);
    this.enter();
    return { kind: 'resume', slices };
  }

  /** The turn of a guest begins, if it is some guest's. */
  private enter(): void {
    const { running } = this.slices;
    if (running < 0) return;
    this.now = Math.max(this.now, this.life(running).localNs);
    this.quantumCount++;
  }

  /** Queues an event, and brings the running guest's horizon nearer if it could be reached. */
  private schedule(atNs: VirtualNs, consumer: number, producer: number, event: WorldEvent): void {
    this.queue.push(atNs, consumer, producer, event);
    this.slices.queued(atNs, consumer);
  }

  private handle(queued: QueuedEvent<WorldEvent>): void {
    const { atNs, consumer } = queued;
    if (consumer >= 0 && atNs < this.life(consumer).observedNs) {
      throw new SimError({
        code: 'crash/late-delivery',
        message: `a delivery is due at ${formatTime(atNs)}, but its consumer has observed ${formatTime(this.life(consumer).observedNs)}`,
        place: `node ${this.nameOf(consumer)}`,
        remedy: 'this is a defect of the simulator; please report it with the bundle',
      });
    }
    this.actingNs = atNs;
    // A timer that was stopped is nothing that happens: a world that waits for no other is quiet.
    if (this.dispatch(queued)) this.now = Math.max(this.now, atNs);
  }

  /** Does what is due; false if nothing was, because a timer had been stopped or moved. */
  private dispatch({ atNs, consumer, payload }: QueuedEvent<WorldEvent>): boolean {
    switch (payload.kind) {
      case 'network':
        if (!this.network.handle(payload.event, atNs)) return false;
        this.lives.wakeIfReady(consumer, atNs);
        return true;
      case 'deadline':
        return this.lives.deadline(consumer, atNs);
      case 'start':
        this.lives.start(consumer, atNs);
        return true;
      case 'block':
        return this.machines.complete(consumer, payload.life, payload.end, atNs);
      case 'plan': {
        const name = encodeUtf8(this.plan.eventName(payload.index));
        const { index, phase, node = -1 } = payload;
        this.events.append(this.planKind, -1, atNs, digest32(name), PLAN_PHASES[phase]);
        this.plan.handle(index, phase, node, atNs);
        return true;
      }
    }
  }

  private localNow(): VirtualNs {
    const { running } = this.slices;
    return running < 0 ? this.actingNs : (this.ports[running] as NodePort).nowNs;
  }

  private nameOf(node: number): string {
    return (this.scenario.world.nodes[node] as NodeDef).name;
  }
}
