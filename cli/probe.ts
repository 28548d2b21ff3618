import {
  AddressedAnswers,
  compilePattern,
  decodeDecisions,
  failureSignature,
  FirstAnswer,
  LOG_DECISIONS,
  matchPattern,
  policySource,
  readWholeLog,
  type Answer,
  type Decision,
  type Drift,
  type FailureSignature,
  type FatCheckpoint,
  type PlanFiring,
  type Policy,
  type RunOutcome,
  type ScenarioDef,
} from '../sim/index.ts';
import type { MachineChoice } from './machines/machine-backend.ts';
import type { WasmEngine } from '../wasm/index.ts';
import type { MachineHost } from './machines/machine-host.ts';
import { runToEnd, type ConsolePiece, type RunRecord } from './record.ts';

/** Where probes start from: the start of a scenario, or a point of one of its runs. */
export interface ProbeStart {
  /** Its seed is that of the run that is probed. */
  readonly scenario: ScenarioDef;
  readonly images: ReadonlyMap<string, Uint8Array>;
  /** How machines are run. */
  readonly machines?: MachineChoice | undefined;
  /** Null for the start of the scenario. */
  readonly checkpoint: FatCheckpoint | null;
}

/** One continuation that is asked for. Plain data: it crosses threads. */
export interface Probe {
  /** The number that `ProbePool.addStart` gave. */
  readonly start: number;
  /** The seed of all draws from the start on; null goes on with the run's own. */
  readonly seed: number | null;
  /** Decisions that are answered so wherever they come; those that never come are no error. */
  readonly answers: readonly Answer[];
  /** Firings of the plan's events that do nothing from the start on. */
  readonly withheld?: readonly PlanFiring[];
  /** The property after whose decision nothing more is wanted; null runs to the end. */
  readonly untilProperty: string | null;
  /** How decisions are answered that none of the answers fits; the seed answers without it. */
  readonly policy?: Policy;
  /** Which decisions the result names: the first so many whose stream matches a pattern. */
  readonly branchOn?: { readonly patterns: readonly string[]; readonly countMax: number };
}

/** What became of a continuation. */
export interface ProbeResult
  extends
    Drift,
    Pick<
      RunOutcome,
      'verdict' | 'reason' | 'properties' | 'endNs' | 'quanta' | 'decisionCount' | 'eventCount'
    > {
  /** Null for a run that did not fail. */
  readonly signature: FailureSignature | null;
  /** What `branchOn` asked for, in order; else nothing. */
  readonly branches: readonly Decision[];
}

/** Runs a probe here and keeps the whole record, as a bundle needs it. */
export function runProbe(
  start: ProbeStart,
  probe: Omit<Probe, 'start'>,
  engine: WasmEngine,
  onConsole?: (piece: ConsolePiece) => void,
  machineHost?: MachineHost,
): { readonly record: RunRecord; readonly result: ProbeResult } {
  const { images, machines, checkpoint } = start;
  const { seed, untilProperty } = probe;
  const fresh = checkpoint === null && seed !== null;
  const scenario = fresh ? { ...start.scenario, seed } : start.scenario;
  const answers = new AddressedAnswers(probe.answers);
  const { policy } = probe;
  const source = policy === undefined ? answers : new FirstAnswer(answers, policySource(policy));
  const record = runToEnd({
    scenario,
    images,
    engine,
    machines,
    machineHost,
    answers: source,
    ...(probe.withheld === undefined ? {} : { withheld: probe.withheld }),
    ...(onConsole === undefined ? {} : { onConsole }),
    ...(checkpoint === null ? {} : { from: { checkpoint, seed, overrides: [] } }),
    ...(untilProperty === null ? {} : { stop: { property: untilProperty } }),
  });
  const { outcome } = record;
  const { verdict, reason, properties, endNs, quanta, decisionCount, eventCount } = outcome;
  return {
    record,
    result: {
      verdict,
      reason,
      properties,
      endNs,
      quanta,
      decisionCount,
      eventCount,
      signature: failureSignature(scenario, outcome),
      branches: probe.branchOn === undefined ? [] : branchesIn(record.schedule, probe.branchOn),
      ...answers.drift(),
    },
  };
}

function branchesIn(
  schedule: Uint8Array,
  { patterns, countMax }: NonNullable<Probe['branchOn']>,
): readonly Decision[] {
  const compiled = patterns.map(compilePattern);
  const found: Decision[] = [];
  for (const decision of decodeDecisions(readWholeLog(schedule, LOG_DECISIONS))) {
    if (found.length >= countMax) break;
    if (compiled.some((pattern) => matchPattern(pattern, decision.stream) !== null)) {
      found.push(decision);
    }
  }
  return found;
}
