import {
  RollingDigest,
  SimError,
  type FatCheckpoint,
  type FingerprintRecord,
  type IdleEvent,
  type Note,
  type DecisionSource,
  type MachinesIdentity,
  type Override,
  type PlanFiring,
  type Recording,
  type RunOutcome,
  type ScenarioDef,
} from '../sim/index.ts';
import type { ModelEngine } from '../scenarios/index.ts';
import type { WasmEngine } from '../wasm/index.ts';
import { identityOf, type MachineChoice } from './machines/machine-backend.ts';
import type { MachineHost } from './machines/machine-host.ts';
import { Simulation, type SimulationResult, type StopAt } from './simulation.ts';
import type { Trace } from './trace.ts';

/** A piece of a console, as it was written. */
export interface ConsolePiece {
  readonly node: number;
  readonly descriptor: 1 | 2;
  readonly bytes: Uint8Array;
  readonly atNs: number;
}

export interface RunRequest {
  /** Its seed is the run's. */
  readonly scenario: ScenarioDef;
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly engine: WasmEngine;
  /** Shared by many runs of guests in TypeScript. */
  readonly models?: ModelEngine;
  /** How machines are run. */
  readonly machines?: MachineChoice | undefined;
  /** Holds the machines of many runs. */
  readonly machineHost?: MachineHost | undefined;
  readonly trace?: Trace | null;
  readonly replay?: Recording;
  /** Where to go on from, and how to leave the run that was recorded there. */
  readonly from?: {
    readonly checkpoint: FatCheckpoint;
    readonly seed: number | null;
    readonly overrides: readonly Override[];
  };
  /** Asked before the seed answers, from the start or from `from` on. */
  readonly answers?: DecisionSource;
  /** Firings of the plan's events that do nothing. */
  readonly withheld?: readonly PlanFiring[];
  /** The first boundary at which nothing more is wanted of the run. */
  readonly stop?: StopAt;
  /** When a checkpoint of the end is wanted (CR-11). */
  readonly saveOn?: 'fail' | 'always' | 'never';
  readonly onConsole?: (piece: ConsolePiece) => void;
}

/** A run, whatever became of it. */
export interface RunRecord {
  readonly scenario: ScenarioDef;
  readonly outcome: RunOutcome;
  readonly schedule: Uint8Array;
  readonly events: Uint8Array;
  readonly fingerprints: readonly FingerprintRecord[];
  readonly notes: readonly Note[];
  /** Events of the plan that changed nothing (FB-73). */
  readonly idleEvents: readonly IdleEvent[];
  /** What a failure of a history looks like, by the property's name. */
  readonly pictures: ReadonlyMap<string, readonly string[]>;
  readonly checkpoint: FatCheckpoint | null;
  /** What ran machines; null where none has started. */
  readonly machines: MachinesIdentity | null;
  /** Overrides that no decision has reached (CR-23). */
  readonly unreached: readonly string[];
  /** Why the simulator gave up, where the verdict is `error`. */
  readonly error: SimError | null;
}

/**
 * Runs a scenario to its end. An error of the engine or a guest's refusal becomes a record with the
 * verdict `error` and the logs so far, since a run that does not pass always leaves one (CR-106).
 */
export function runToEnd(request: RunRequest): RunRecord {
  const { scenario, images, engine, trace, onConsole } = request;
  const frames: { schedule: Uint8Array[]; events: Uint8Array[] } = { schedule: [], events: [] };
  const simulation = new Simulation({
    scenario,
    seed: scenario.seed ?? 0,
    images,
    engine,
    machines: request.machines,
    ...(request.withheld === undefined ? {} : { withheld: request.withheld }),
    machineHost: request.machineHost,
    ...(request.models === undefined ? {} : { models: request.models }),
    ...(request.replay === undefined ? {} : { replay: request.replay }),
    onDecisionFrame: (frame) => {
      frames.schedule.push(frame.slice());
      trace?.frame(frame);
    },
    onEventFrame: (frame) => {
      frames.events.push(frame.slice());
      trace?.frame(frame);
    },
    ...(onConsole === undefined
      ? {}
      : {
          onConsole: (node, descriptor, bytes, atNs) => {
            onConsole({ node, descriptor, bytes: bytes.slice(), atNs });
          },
        }),
  });
  try {
    if (request.from !== undefined) leaveCheckpoint(simulation, request.from);
    if (request.answers !== undefined) simulation.answerFrom(request.answers);
    simulation.runUntil(request.stop ?? {});
    return recordOf(scenario, simulation, request.saveOn);
  } catch (error) {
    if (!(error instanceof SimError) || error.code === 'verdict/divergence') throw error;
    if (isHostTrouble(error)) throw error;
    return brokenRecord(scenario, error, { ...frames, machines: machinesOf(simulation) });
  } finally {
    simulation.dispose();
  }
}

/** What ran the machines of a simulation, as its bundle says it. */
export function machinesOf({ machineBackend, ready }: Simulation): MachinesIdentity | null {
  if (machineBackend === null) return null;
  const identity = identityOf(machineBackend);
  return ready.length === 0 ? identity : { ...identity, ready };
}

/** The record of a run that has ended, or goes no further. */
export function recordOf(
  scenario: ScenarioDef,
  simulation: Simulation,
  saveOn: RunRequest['saveOn'] = 'never',
): RunRecord {
  const checkpoint = saveOn === 'never' ? null : simulation.capture();
  const result = simulation.finish();
  const wanted = saveOn === 'always' || result.verdict !== 'pass';
  return {
    scenario,
    outcome: outcomeOf(result),
    schedule: result.schedule,
    events: result.events,
    fingerprints: result.fingerprints,
    notes: result.notes,
    idleEvents: result.idleEvents,
    pictures: picturesOf(result),
    checkpoint: wanted ? checkpoint : null,
    machines: machinesOf(simulation),
    unreached: simulation.unreachedOverrides(),
    error: null,
  };
}

/** Goes to a checkpoint; damage that only restoring shows becomes `bundle/checkpoint`. */
export function restoreCheckpoint(simulation: Simulation, checkpoint: FatCheckpoint): void {
  try {
    simulation.restore(checkpoint);
  } catch (error) {
    throw new SimError({
      code: 'bundle/checkpoint',
      message: 'the checkpoint is damaged: its state cannot be restored',
      cause: error,
    });
  }
}

function leaveCheckpoint(simulation: Simulation, from: NonNullable<RunRequest['from']>): void {
  restoreCheckpoint(simulation, from.checkpoint);
  if (from.seed !== null) simulation.reseed(from.seed);
  if (from.overrides.length > 0) simulation.override(from.overrides);
}

/** Not the run's own failure: a full disk, a guest that is refused, an override that cannot be. */
function isHostTrouble(error: SimError): boolean {
  return /^(store|input|scenario|guest|bundle|usage)\//.test(error.code);
}

function picturesOf({ properties }: SimulationResult): RunRecord['pictures'] {
  return new Map(properties.flatMap(({ name, picture }) => (picture ? [[name, picture]] : [])));
}

export function outcomeOf(result: SimulationResult): RunOutcome {
  const last = result.fingerprints[result.fingerprints.length - 1];
  return {
    verdict: result.verdict,
    reason: result.reason,
    signature: result.signature,
    endNs: result.endNs,
    quanta: result.quanta,
    decisionCount: result.decisionCount,
    eventCount: result.eventCount,
    decisionChain: last?.decisionChain ?? EMPTY_CHAIN,
    eventChain: last?.eventChain ?? EMPTY_CHAIN,
    lastDraw: result.lastDraw,
    properties: result.properties.map(({ name, kind, verdict, detail, atNs }) => {
      return { name, kind, verdict, detail, atNs };
    }),
    nodes: result.nodes.map(({ name, status, code, lives, instructions }) => {
      return { name, status, code, lives, instructions };
    }),
  };
}

const EMPTY_CHAIN = new RollingDigest().hex();

function brokenRecord(
  scenario: ScenarioDef,
  error: SimError,
  so: {
    readonly schedule: readonly Uint8Array[];
    readonly events: readonly Uint8Array[];
    readonly machines: MachinesIdentity | null;
  },
): RunRecord {
  return {
    scenario,
    outcome: {
      verdict: 'error',
      reason: error.code,
      signature: `error:${error.code}`,
      endNs: 0,
      quanta: 0,
      decisionCount: 0,
      eventCount: 0,
      decisionChain: chainAfter(so.schedule),
      eventChain: chainAfter(so.events),
      lastDraw: 0,
      properties: [],
      nodes: [],
    },
    schedule: Buffer.concat(so.schedule),
    events: Buffer.concat(so.events),
    fingerprints: [],
    notes: [],
    idleEvents: [],
    pictures: new Map(),
    checkpoint: null,
    machines: so.machines,
    unreached: [],
    error,
  };
}

/** The chain that stands in the last frame's header, bytes 18 to 25. */
function chainAfter(frames: readonly Uint8Array[]): string {
  const last = frames[frames.length - 1];
  return last === undefined ? EMPTY_CHAIN : Buffer.from(last.subarray(18, 26)).toString('hex');
}

/** The exit code that a run's outcome gives (CR-48). */
export function exitCodeOfRun({ outcome, error }: RunRecord): number {
  switch (outcome.verdict) {
    case 'pass':
      return 0;
    case 'fail':
      return 1;
    case 'inconclusive':
      return 2;
    case 'error':
      return error?.exitCode ?? 3;
  }
}
