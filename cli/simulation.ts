import type { MachineBackend } from '../bridge/index.ts';
import {
  assert,
  describeDivergence,
  Divergence,
  matchPattern,
  compilePattern,
  NS_PER_S,
  OverrideSource,
  readyNodesOf,
  Replay,
  runSlices,
  SimError,
  World,
  type ActionDef,
  type DecisionSource,
  type EndReason,
  type GuestImage,
  type MachineGuestDef,
  type Note,
  type Override,
  type PlanFiring,
  type PropertyResult,
  type ReadyRecord,
  type Recording,
  type ScenarioDef,
  type SliceDriver,
  type WorldState,
} from '../sim/index.ts';
import { isModelImage, ModelEngine } from '../scenarios/index.ts';
import type { WasmEngine } from '../wasm/index.ts';
import { ByteList } from './byte-list.ts';
import { makeOwnGuest, type RunGuest } from './guest-kinds.ts';
import type { MachineChoice } from './machines/machine-backend.ts';
import { MachineGuest } from './machines/machine-guest.ts';
import { MachineHost } from './machines/machine-host.ts';
import type { Baking } from './machines/ready-bake.ts';
import type { ReadyState } from './machines/ready-entry.ts';
import { findReadyStates } from './machines/ready-states.ts';
import type {
  Checkpoint,
  Fingerprint,
  NodeResult,
  SimulationResult,
  StopAt,
} from './simulation-result.ts';

export type * from './simulation-result.ts';

export interface SimulationOptions {
  /** How machines are run. */
  readonly machines?: MachineChoice | undefined;
  /** Holds the machines of many simulations; not ended. */
  readonly machineHost?: MachineHost | undefined;
  /** The node whose machine gdb is to hold. */
  readonly debugged?: number;
  /** Who waits for the world's only machine to get ready. */
  readonly baking?: Baking;
  readonly scenario: ScenarioDef;
  readonly seed: number;
  /** SHA-256 of each guest image to its bytes. */
  readonly images: ReadonlyMap<string, Uint8Array>;
  /** Shared by all simulations of the process: it keeps compiled guests. */
  readonly engine: WasmEngine;
  /** The same for guests in TypeScript; absent where none is shared. */
  readonly models?: ModelEngine;
  readonly overrides?: readonly Override[];
  /** Firings of the plan's events that do nothing in this run: what would have been without them. */
  readonly withheld?: readonly PlanFiring[];
  /** Every decision and event is compared with it; see Simulation.stopReplay. */
  readonly replay?: Recording;
  readonly onDecisionFrame?: (frame: Uint8Array) => void;
  readonly onEventFrame?: (frame: Uint8Array) => void;
  readonly onConsole?: (node: number, descriptor: 1 | 2, bytes: Uint8Array, atNs: number) => void;
}

/** Fingerprints are taken when virtual time first reaches 1 s, 2 s, 4 s, …, and at the end. */
const FIRST_FINGERPRINT_NS = NS_PER_S;

/** One run: a world, its guests, and the loop between them. */
export class Simulation {
  private readonly options: SimulationOptions;
  private readonly world: World;
  private readonly guests: (RunGuest | null)[];
  /** Made when the first machine starts. */
  private machines: MachineHost | null = null;
  private readonly driver: SliceDriver = this.makeDriver();
  private readonly readyStates: ReadonlyMap<number, ReadyState>;
  private readonly consoles: readonly ByteList[];
  private readonly schedule = new ByteList();
  private readonly events = new ByteList();
  private models: ModelEngine | null = null;
  private instructionCounts: number[];
  private fingerprintList: Fingerprint[] = [];
  private nextFingerprintNs = FIRST_FINGERPRINT_NS;
  private replay: Replay | null = null;
  private recording: Recording | null = null;
  private overrideSource: OverrideSource | null = null;
  private answers: DecisionSource | null = null;
  private watch: { readonly matches: (line: string) => boolean; seen: boolean } | null = null;

  constructor(options: SimulationOptions) {
    this.options = options;
    const { nodes } = options.scenario.world;
    this.guests = nodes.map(() => null);
    this.consoles = nodes.map(() => new ByteList());
    this.instructionCounts = nodes.map(() => 0);
    this.readyStates = this.findReady();
    this.world = new World({
      scenario: options.scenario,
      seed: options.seed,
      withheld: options.withheld ?? [],
      ready: new Map([...this.readyStates].map(([node, state]) => [node, state.node])),
      onDecisionFrame: (frame) => {
        this.schedule.append(frame);
        options.onDecisionFrame?.(frame);
      },
      onEventFrame: (frame) => {
        this.events.append(frame);
        options.onEventFrame?.(frame);
      },
      onConsole: (node, descriptor, bytes, atNs) => {
        this.consoles[node]?.append(bytes);
        options.onConsole?.(node, descriptor, bytes, atNs);
      },
      onLine: (line) => {
        if (this.watch !== null && this.watch.matches(line)) this.watch.seen = true;
      },
    });
    if (options.overrides !== undefined) {
      this.overrideSource = new OverrideSource(options.overrides);
    }
    this.useSources();
    if (options.replay !== undefined) this.startReplay(options.replay);
  }

  /** The time up to which everything has happened. */
  get nowNs(): number {
    return this.world.frontierNs();
  }

  get quanta(): number {
    return this.world.quanta;
  }

  get decisionCount(): number {
    return this.world.decisions.decisionCount;
  }

  get eventCount(): number {
    return this.world.events.eventCount;
  }

  get endReason(): EndReason | null {
    return this.world.endReason;
  }

  /** What runs the machines; null as long as none has started. */
  get machineBackend(): MachineBackend | null {
    return this.machines?.backend ?? null;
  }

  /** Where machines begin that are ready at their start. */
  get ready(): readonly ReadyRecord[] {
    const { nodes } = this.options.scenario.world;
    return [...this.readyStates].map(([node, { key, digest }]) => {
      return { node: nodes[node]?.name ?? '', key, digest };
    });
  }

  /** The world alone, without its guests. */
  worldState(): WorldState {
    return this.world.capture();
  }

  /** How many properties are decided so far. */
  get decidedPropertyCount(): number {
    const { properties } = this.options.scenario;
    return properties.filter(({ name }) => this.world.checker.decided(name)).length;
  }

  /** How many timers of guests have fired. */
  get timerCount(): number {
    return this.world.timerCount;
  }

  /** What has happened to nodes and network so far. */
  get notes(): readonly Note[] {
    return this.world.notes;
  }

  /** The properties' verdicts as they stand. */
  properties(): readonly PropertyResult[] {
    return this.world.results();
  }

  /** Whether the property of that name is decided. */
  isDecided(property: string): boolean {
    return this.world.checker.decided(property);
  }

  /** Runs to the first boundary at which `stop` holds, or to the end of the run. */
  runUntil(stop: StopAt): 'stopped' | 'ended' {
    const pattern = stop.console === undefined ? null : compilePattern(stop.console);
    this.watch = pattern && {
      matches: (line) => matchPattern(pattern, line) !== null,
      seen: false,
    };
    try {
      for (;;) {
        this.takeDueFingerprint();
        if (this.holds(stop)) return 'stopped';
        if (!this.step()) return 'ended';
      }
    } catch (error) {
      throw this.describe(error);
    } finally {
      this.watch = null;
    }
  }

  /** The whole world, between quanta. */
  capture(): Checkpoint {
    return {
      version: 1,
      world: this.world.capture(),
      guests: this.guests.map((guest) => guest?.capture() ?? null),
      fingerprints: this.fingerprintList.slice(),
      nextFingerprintNs: this.nextFingerprintNs,
      schedule: this.schedule.capture(),
      events: this.events.capture(),
      consoles: this.consoles.map((console) => console.capture()),
      instructionCounts: this.instructionCounts.slice(),
    };
  }

  /** Goes back or forward to a checkpoint of the same scenario; ends a replay. */
  restore(checkpoint: Checkpoint): void {
    this.stopReplay();
    this.world.restore(checkpoint.world);
    checkpoint.guests.forEach((image, node) => {
      const guest = this.guests[node];
      if (image === null) this.drop(node);
      else if (guest === null || guest === undefined) this.guests[node] = this.make(node, image);
      else guest.restore(image);
    });
    this.fingerprintList = checkpoint.fingerprints.slice();
    this.nextFingerprintNs = checkpoint.nextFingerprintNs;
    this.schedule.restore(checkpoint.schedule);
    this.events.restore(checkpoint.events);
    checkpoint.consoles.forEach((pieces, node) => this.consoles[node]?.restore(pieces));
    this.instructionCounts = checkpoint.instructionCounts.slice();
  }

  /** From here on decisions come from another seed. */
  reseed(seed: number): void {
    this.world.decisions.streams.reseed(seed);
  }

  /** From here on these decisions are answered so. */
  override(overrides: readonly Override[]): void {
    this.overrideSource = new OverrideSource(overrides);
    this.useSources();
  }

  /** From here on this source is asked, after overrides. */
  answerFrom(source: DecisionSource): void {
    this.answers = source;
    this.useSources();
  }

  /** Does this to the world once everything that runs now has stopped: no part of any record. */
  inject(action: ActionDef): void {
    this.world.inject(action);
  }

  /** Overrides that no decision has reached. */
  unreachedOverrides(): readonly string[] {
    return this.overrideSource?.unreached() ?? [];
  }

  /** Leaves the recording: what follows is a run of its own. */
  stopReplay(): void {
    this.replay = null;
    this.world.events.log.setCheck(undefined);
    this.useSources();
  }

  /** The result, after the end of the run or where it was stopped. */
  finish(): SimulationResult {
    const { world } = this;
    this.fingerprintList.push(this.fingerprint());
    world.decisions.log.flush();
    world.events.log.flush();
    if (this.replay !== null && world.endReason !== null) this.finishReplay(this.replay);
    const properties = world.results();
    const failed = properties.filter((property) => property.verdict === 'fail');
    const open = properties.some((property) => property.verdict === 'inconclusive');
    const reason = world.endReason ?? 'stopped';
    const cut = isBudget(reason, this.options.scenario);
    return {
      verdict: failed.length > 0 ? 'fail' : open || cut ? 'inconclusive' : 'pass',
      reason,
      properties,
      signature: failed.map(({ kind, name }) => `${kind}:${name}`).join(' '),
      endNs: world.nowNs,
      quanta: world.quanta,
      decisionCount: world.decisions.decisionCount,
      eventCount: world.events.eventCount,
      schedule: this.schedule.bytes(),
      events: this.events.bytes(),
      fingerprints: this.fingerprintList,
      consoles: this.options.scenario.world.nodes.map(({ name }, node) => {
        return { node: name, bytes: (this.consoles[node] as ByteList).bytes() };
      }),
      nodes: this.nodes(),
      notes: world.notes,
      idleEvents: world.idleEvents(),
      lastDraw: world.lastDraw(),
    };
  }

  dispose(): void {
    this.guests.forEach((_, node) => this.drop(node));
    this.closeMachines();
  }

  private closeMachines(): void {
    if (this.machines !== this.options.machineHost) this.machines?.close();
    this.machines = null;
  }

  /** From here on the run is compared with the recording it is a part of. */
  startReplay(recording: Recording): void {
    const { events, decisions } = this.world;
    this.recording = recording;
    this.replay = new Replay(recording, () => events.eventCount, decisions.decisionCount);
    events.log.setCheck(this.replay.checkEvent);
    this.useSources();
  }

  private useSources(): void {
    const sources: DecisionSource[] = [];
    if (this.overrideSource !== null) sources.push(this.overrideSource);
    if (this.answers !== null) sources.push(this.answers);
    if (this.replay !== null) sources.push(this.replay);
    this.world.setSources(sources);
  }

  /** Makes one step; false when the run has ended. */
  private step(): boolean {
    const step = this.world.next();
    switch (step.kind) {
      case 'end':
        return false;
      case 'start':
        this.drop(step.node);
        this.guests[step.node] = this.make(step.node);
        return true;
      case 'stop':
        this.drop(step.node);
        return true;
      case 'resume':
        runSlices(step.slices, this.driver);
        return true;
    }
  }

  private makeDriver(): SliceDriver {
    const atOnce = (): number => this.machines?.atOnce ?? 1;
    return {
      get atOnce() {
        return atOnce();
      },
      guestOf: (node) => {
        const guest = this.guests[node];
        assert(guest !== null && guest !== undefined, 'a guest that is resumed has been started');
        return guest;
      },
      apply: (effect) => {
        this.world.apply(effect);
      },
    };
  }

  private make(node: number, from: GuestImage | null = null): RunGuest {
    const { scenario, images, engine } = this.options;
    const def = scenario.world.nodes[node];
    assert(def !== undefined, 'a node that starts is defined');
    const guest = this.world.guestOf(node);
    if (guest.kind === 'vm') return this.makeMachine(node, guest, from);
    const image = images.get(guest.image);
    if (image === undefined) {
      throw new SimError({
        code: 'scenario/image',
        message: `the image ${guest.image} of guest "${guest.label}" is not at hand`,
        place: `node ${def.name}`,
        remedy: 'give the guest binary with the scenario or bundle',
      });
    }
    const port = this.world.ports[node];
    assert(port !== undefined, 'each node has a port');
    if (guest.kind !== 'wasm') return makeOwnGuest(guest.kind, image, port, from);
    if (isModelImage(image)) {
      this.models ??= this.options.models ?? new ModelEngine();
      const program = this.models.load(guest.image, image);
      return from === null
        ? this.models.spawn(program, port)
        : this.models.fork(program, from, port);
    }
    const program = engine.load(guest.image, image, def.memoryPagesMax);
    const { nsPerThousandInstructions } = def;
    if (from !== null) return engine.fork(program, from, port, nsPerThousandInstructions);
    return engine.spawn(program, port, nsPerThousandInstructions);
  }

  private makeMachine(node: number, guest: MachineGuestDef, from: GuestImage | null): RunGuest {
    const { scenario, images, machineHost } = this.options;
    const port = this.world.ports[node];
    assert(port !== undefined, 'each node has a port');
    this.machines ??= machineHost ?? new MachineHost(this.options.machines);
    // A machine that starts again boots: its ready point is where the first life begins.
    const isFirst = this.world.life(node).lives === 1;
    const { nodes } = scenario.world;
    const isDebugged = node === this.options.debugged;
    const machine = new MachineGuest({
      host: this.machines,
      port,
      guest,
      nodes,
      images,
      isDebugged,
      ready: isFirst ? (this.readyStates.get(node) ?? null) : null,
      baking: this.options.baking ?? null,
    });
    if (from !== null) machine.restore(from);
    return machine;
  }

  private findReady(): ReadonlyMap<number, ReadyState> {
    const { scenario, images, engine, machines, machineHost } = this.options;
    if (readyNodesOf(scenario.world).size === 0) return new Map();
    this.machines = machineHost ?? new MachineHost(machines);
    try {
      return findReadyStates({
        scenario,
        images,
        host: this.machines,
        recorded: machines?.ready ?? [],
        tells: machines?.tells ?? false,
        simulate: (baking) => new Simulation({ ...baking, images, engine }),
      });
    } catch (error) {
      this.closeMachines();
      throw error;
    }
  }

  private drop(node: number): void {
    const guest = this.guests[node];
    if (guest === null || guest === undefined) return;
    this.instructionCounts[node] = guest.instructions;
    guest.dispose();
    this.guests[node] = null;
  }

  private holds(stop: StopAt): boolean {
    const { world } = this;
    return (
      (stop.virtualNs !== undefined && world.frontierNs() >= stop.virtualNs) ||
      (stop.quanta !== undefined && world.quanta >= stop.quanta) ||
      (stop.events !== undefined && world.events.eventCount >= stop.events) ||
      (stop.decisions !== undefined && world.decisions.decisionCount >= stop.decisions) ||
      (stop.property !== undefined && world.checker.decided(stop.property)) ||
      (stop.decidedProperties !== undefined &&
        this.decidedPropertyCount >= stop.decidedProperties) ||
      (stop.timers !== undefined && world.timerCount >= stop.timers) ||
      (this.watch?.seen ?? false) ||
      (stop.baked === true && this.options.baking?.watch.isReady === true)
    );
  }

  private takeDueFingerprint(): void {
    if (this.world.frontierNs() < this.nextFingerprintNs || this.world.endReason !== null) return;
    if (this.world.hasPending) return;
    this.fingerprintList.push(this.fingerprint());
    while (this.nextFingerprintNs <= this.world.frontierNs()) this.nextFingerprintNs *= 2;
  }

  private fingerprint(): Fingerprint {
    const { world } = this;
    return {
      atNs: world.nowNs,
      quanta: world.quanta,
      decisionChain: world.decisions.log.chain(),
      eventChain: world.events.log.chain(),
      guests: this.guests.map((guest, node) => {
        return guest === null ? world.fileDigest(node) : guest.digest() + world.fileDigest(node);
      }),
    };
  }

  private finishReplay(replay: Replay): void {
    try {
      replay.assertFinished(this.world.events.log.byteCount);
    } catch (error) {
      throw this.describe(error);
    }
  }

  private describe(error: unknown): unknown {
    if (!(error instanceof Divergence) || this.recording === null) return error;
    this.world.decisions.log.flush();
    this.world.events.log.flush();
    const produced = { schedule: this.schedule.bytes(), events: this.events.bytes() };
    const names = this.options.scenario.world.nodes.map((node) => node.name);
    return describeDivergence(error.parting, this.recording, produced, names);
  }

  /** How each node stands. */
  nodes(): readonly NodeResult[] {
    return this.options.scenario.world.nodes.map(({ name }, node) => {
      const { status, exitCode, lives } = this.world.life(node);
      const alive = status === 'runnable' || status === 'waiting';
      return {
        name,
        status: alive ? 'running' : status,
        code: exitCode,
        lives,
        instructions: this.guests[node]?.instructions ?? (this.instructionCounts[node] as number),
      };
    });
  }
}

/** Whether the run was cut off by a budget (CR-10): never a failure of a property. */
function isBudget(reason: EndReason | 'stopped', scenario: ScenarioDef): boolean {
  if (reason === 'quanta') return true;
  return reason === 'virtual-time' && scenario.plan.until !== 'virtual-time';
}
