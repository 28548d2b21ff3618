import type { DecisionsState } from '../kernel/decision.ts';
import type { EventLogState } from '../kernel/event-log.ts';
import type { QueueState } from '../kernel/queue.ts';
import type { VirtualNs } from '../kernel/units.ts';
import type { ScenarioDef } from '../plan/scenario.ts';
import type { CheckerState } from '../property/checker.ts';
import type { ConsolesState } from './consoles.ts';
import type { MachinesState } from './machines.ts';
import type { NodeLife } from './node-life.ts';
import type { PlanFiring } from './plan-report.ts';
import type { PlanState } from './plan-runner.ts';
import type { ReadyNode } from './ready-node.ts';
import type { EndReason, Step } from './step.ts';
import type { Note } from './timeline.ts';
import type { WorldEvent } from './world-event.ts';

/** What a world is made of, and whom it tells. */
export interface WorldOptions {
  readonly scenario: ScenarioDef;
  readonly seed: number;
  readonly onDecisionFrame: (frame: Uint8Array) => void;
  readonly onEventFrame: (frame: Uint8Array) => void;
  readonly onConsole: (node: number, descriptor: 1 | 2, bytes: Uint8Array, atNs: VirtualNs) => void;
  /** Each whole line of each console. */
  readonly onLine: (line: string) => void;
  /** Firings of the plan's events that do nothing in this run; none where absent. */
  readonly withheld?: readonly PlanFiring[];
  /** Machines that begin where they are ready, by node; none where absent. */
  readonly ready?: ReadonlyMap<number, ReadyNode>;
}

export interface WorldState extends MachinesState {
  readonly version: 1;
  readonly seed: number;
  readonly begun: boolean;
  readonly nowNs: VirtualNs;
  readonly quanta: number;
  readonly end: EndReason | null;
  readonly decisions: DecisionsState;
  readonly events: EventLogState;
  readonly queue: QueueState<WorldEvent>;
  readonly lives: readonly NodeLife[];
  readonly pending: readonly Step[];
  readonly network: unknown;
  readonly files: readonly unknown[];
  readonly consoles: ConsolesState;
  readonly checker: CheckerState;
  readonly notes: readonly Note[];
  readonly plan: PlanState;
  /** Each node's clocks, or null where they show the world's time. */
  readonly clocks: readonly unknown[];
}
