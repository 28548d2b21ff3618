import {
  answersOf,
  decodeDecisions,
  failureSignature,
  LOG_DECISIONS,
  readWholeLog,
  sameFailure,
  SimError,
  type Answer,
  type Decision,
  type FailureSignature,
  type FatCheckpoint,
  type Note,
} from '../../sim/index.ts';
import type { WasmEngine } from '../../wasm/index.ts';
import type { Bundle } from '../bundle.ts';
import { Simulation } from '../simulation.ts';

/** A place between two quanta of the recorded run. */
export interface Boundary {
  readonly quanta: number;
  /** How many decisions have been made. */
  readonly decisions: number;
  readonly atNs: number;
}

/** How many checkpoints of the run are kept, so that any boundary is near one: 16 worlds fit. */
const CHECKPOINTS = 16;

/**
 * A failed run as a line of decisions: position k is the world after k of them. Any position can be
 * left for another future: from the last boundary before it, the recorded answers up to it are given
 * by address, and what follows is drawn from another seed.
 */
export class DecisionLine {
  /** The decisions up to the failure. */
  readonly decisions: readonly Decision[];
  readonly notes: readonly Note[];
  private readonly bundle: Bundle;
  private readonly engine: WasmEngine;
  private readonly boundaries: readonly Boundary[];
  private readonly kept: readonly { readonly quanta: number; readonly at: FatCheckpoint }[];

  private constructor(
    source: { readonly bundle: Bundle; readonly engine: WasmEngine },
    found: Pass,
    notes: readonly Note[],
  ) {
    this.bundle = source.bundle;
    this.engine = source.engine;
    const { boundaries, kept } = found;
    this.boundaries = boundaries;
    this.kept = kept;
    this.notes = notes;
    const length = (boundaries.at(-1) as Boundary).decisions;
    this.decisions = decisionsOf(source.bundle).slice(0, length);
  }

  /**
   * Repeats the run up to its failure, comparing it with its record. Throws `verdict/…` if it parts
   * from the record or no longer fails in this way.
   */
  static follow(bundle: Bundle, wanted: FailureSignature, engine: WasmEngine): DecisionLine {
    const { scenario, images, machines, schedule, events } = bundle;
    const replay = { schedule, events };
    const options = { scenario, seed: scenario.seed ?? 0, images, engine, machines, replay };
    const simulation = new Simulation(options);
    try {
      const every = Math.max(1, Math.ceil(bundle.manifest.outcome.decisionCount / CHECKPOINTS));
      const found = walk(simulation, wanted.property, every);
      const result = simulation.finish();
      if (!sameFailure(wanted, failureSignature(scenario, result))) {
        throw new SimError({
          code: 'verdict/mismatch',
          message: `the run no longer fails as it was recorded: expected ${wanted.primary}, found ${result.verdict}`,
          remedy: 'run `sim replay` on the bundle',
        });
      }
      return new DecisionLine({ bundle, engine }, found, result.notes);
    } finally {
      simulation.dispose();
    }
  }

  /** The position of the failure: how many decisions had been made. */
  get length(): number {
    return this.decisions.length;
  }

  /** The last boundary with no more than `position` decisions. */
  boundaryBefore(position: number): Boundary {
    let low = 0;
    let high = this.boundaries.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.boundaries[middle] as Boundary).decisions <= position) low = middle;
      else high = middle;
    }
    return this.boundaries[low] as Boundary;
  }

  /** The last boundary before a time: nothing of that time has happened there. */
  boundaryAt(atNs: number): Boundary {
    return this.boundaries.findLast((each) => each.atNs < atNs) ?? (this.boundaries[0] as Boundary);
  }

  /** The first boundary after a time, or the failure. */
  boundaryAfter(atNs: number): Boundary {
    return this.boundaries.find((each) => each.atNs > atNs) ?? (this.boundaries.at(-1) as Boundary);
  }

  /** The recorded answers between a boundary and a position after it. */
  answers(from: Boundary, position: number): readonly Answer[] {
    return answersOf(this.decisions.slice(from.decisions, position));
  }

  /** When the world had made `position` decisions. */
  timeOf(position: number): number {
    const decision = this.decisions[position - 1];
    return Math.max(decision?.atNs ?? 0, this.boundaryBefore(position).atNs);
  }

  /** The world at a boundary; null for the start. */
  checkpoint(boundary: Boundary): FatCheckpoint | null {
    if (boundary.quanta === 0) return null;
    return this.at(boundary, (simulation) => simulation.capture());
  }

  /** A simulation of the recorded run at a boundary, for as long as `use` takes. */
  at<T>(boundary: Boundary, use: (simulation: Simulation) => T): T {
    const { engine } = this;
    const { scenario, images, machines, schedule, events } = this.bundle;
    const options = { scenario, seed: scenario.seed ?? 0, images, engine, machines };
    const simulation = new Simulation(options);
    try {
      const near = this.kept.findLast(({ quanta }) => quanta <= boundary.quanta);
      if (near !== undefined) simulation.restore(near.at);
      simulation.startReplay({ schedule, events });
      simulation.runUntil({ quanta: boundary.quanta });
      return use(simulation);
    } finally {
      simulation.dispose();
    }
  }
}

function decisionsOf({ schedule }: Bundle): Decision[] {
  return [...decodeDecisions(readWholeLog(schedule, LOG_DECISIONS))];
}

interface Pass {
  readonly boundaries: readonly Boundary[];
  readonly kept: readonly { readonly quanta: number; readonly at: FatCheckpoint }[];
}

/** Goes quantum by quantum to the failure, or to the end where only the end decides. */
function walk(simulation: Simulation, property: string, every: number): Pass {
  const boundaries: Boundary[] = [{ quanta: 0, decisions: 0, atNs: 0 }];
  const kept: { quanta: number; at: FatCheckpoint }[] = [];
  let nextKept = every;
  for (;;) {
    const ended = simulation.runUntil({ quanta: simulation.quanta + 1 }) === 'ended';
    const { quanta, decisionCount: decisions, nowNs: atNs } = simulation;
    // Of boundaries without a decision between them the last is the shortest way to the end.
    if (boundaries.at(-1)?.decisions === decisions) boundaries.pop();
    boundaries.push({ quanta, decisions, atNs });
    if (ended) break;
    if (decisions >= nextKept) {
      kept.push({ quanta, at: simulation.capture() });
      nextKept = decisions + every;
    }
    if (simulation.isDecided(property)) break;
  }
  return { boundaries, kept };
}
