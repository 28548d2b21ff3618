import type ts from 'typescript';
import type {
  Composition,
  DeterminismContract,
  PlanDiagnostic,
  TestKind,
} from '../../sim/index.ts';
import type { Static } from './static-value.ts';

/** The node that a test's body runs on, and what its choices are decided on. */
export const TEST_NODE = 'test';

/** What a spec declares, read from its text. */
export interface SpecModel {
  /** The path by which the spec was asked for. */
  readonly file: string;
  readonly seed: number | null;
  readonly determinism: DeterminismContract;
  readonly services: readonly SpecService[];
  readonly assumptions: readonly SpecAssumption[];
  readonly scenarios: readonly SpecScenario[];
  readonly tests: readonly SpecTest[];
  readonly diagnostics: readonly PlanDiagnostic[];
  /** Every local file that the spec is made of, by its path from the spec's folder (FB-60). */
  readonly files: ReadonlyMap<string, string>;
}

export interface SpecService {
  readonly name: string;
  readonly ports: readonly SpecPort[];
  readonly dependsOn: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  /** Whether a full machine runs it; other guests keep levels up to L4 (FB-69). */
  readonly isMachine: boolean;
  readonly place: string;
}

export interface SpecPort {
  readonly name: string;
  readonly protocol: string;
  readonly port: number | null;
}

/** A named set of faults on a target: a service, a link `a->b`, or several of them. */
export interface SpecAssumption {
  readonly name: string;
  readonly targets: readonly string[];
  readonly rules: readonly SpecRule[];
  readonly place: string;
}

export interface SpecRule {
  readonly name: string;
  /** Whether some of its chances are neither never nor always. */
  readonly probabilistic: boolean;
  /** How many occurrences are tried both ways; null for a rule that the seed draws (FB-39). */
  readonly exhaustiveFires: number | null;
  readonly bounded: boolean;
}

export interface SpecScenario {
  readonly name: string;
  readonly axes: readonly Composition[];
  readonly place: string;
}

export interface SpecTest {
  readonly name: string;
  readonly kind: TestKind;
  /** The scenario that it runs, for those that run one. */
  readonly scenario: string | null;
  /** Axes of its own body; empty for those that run a scenario. */
  readonly axes: readonly Composition[];
  readonly cells: readonly SpecCell[];
  readonly faults: readonly string[];
  readonly expect: string | null;
  readonly timeout: string | null;
  readonly place: string;
}

/** One cell of a matrix: a scenario under an assumption. */
export interface SpecCell {
  readonly name: string;
  readonly scenario: string;
  readonly fault: string;
  readonly expect: string | null;
}

/** A call that declares something, with its arguments read. */
export interface Declaration {
  readonly node: ts.CallExpression;
  readonly args: readonly Static[];
  readonly place: string;
}
