/**
 * The plan of a suite: what will run, what it costs, what no fault covers. A pure function of the
 * spec's text and the seed (FB-8); plain data, and the JSON document of `sim plan` (FB-56).
 */
export interface PlanTree {
  readonly spec: string;
  /** Null for a suite without a seed of its own. */
  readonly seed: number | null;
  readonly determinism: DeterminismContract;
  readonly tests: readonly PlannedTest[];
  readonly services: readonly PlannedService[];
  readonly edges: readonly PlannedEdge[];
  readonly diagnostics: readonly PlanDiagnostic[];
}

/** How much of a run must repeat (FB-69): L0 the plan, up to L5 the instruction boundary. */
export const LEVELS = ['L0', 'L1', 'L2', 'L3', 'L4', 'L5'] as const;
export type Level = (typeof LEVELS)[number];

export interface DeterminismContract {
  readonly level: Level;
  readonly runtime: string;
  readonly strict: boolean;
  /** Whether the spec said so; otherwise it is the default. */
  readonly explicit: boolean;
}

/** The closed set of what a test is (FB-4). */
export const TEST_KINDS = [
  'def',
  'fault_matrix',
  'fault_scenario',
  'scenario',
  'test_builtin',
] as const;
export type TestKind = (typeof TEST_KINDS)[number];

export interface PlannedTest {
  readonly name: string;
  readonly kind: TestKind;
  /** What is combined into it: a scenario, assumptions, choices; each with its axes. */
  readonly compositions: readonly Composition[];
  /** The names of a matrix's cells, in the order in which they run; empty for others (FB-5). */
  readonly matrixCells: readonly string[];
  readonly faults: readonly string[];
  /** What the outcome must be, or null; `mixed` where cells differ (FB-12). */
  readonly expect: string | null;
  /** As it is written, for example `10s`; null for the default. */
  readonly timeout: string | null;
  /** `file:line` of the declaration. */
  readonly place: string;
}

export type CompositionKind = 'choose' | 'fault' | 'parallel' | 'scenario' | 'matrix';

export interface Composition {
  readonly kind: CompositionKind;
  readonly axes: readonly Axis[];
}

/** A finite dimension along which a test fans out (FB-46). */
export interface Axis {
  readonly name: string;
  /** The values as they are shown; null where they are computed and cannot be read (FB-32). */
  readonly values: readonly string[] | null;
  /** How many leaves it makes: the values' number, 1 where that is not known. */
  readonly size: number;
  /** Why the size is not known, or is only a bound; null for an exact one. */
  readonly estimated: string | null;
  /** What an axis of `parallel` orders (FB-44): launches, or steps with all that comes of them. */
  readonly level?: 'launch' | 'event' | undefined;
}

export interface PlannedService {
  readonly name: string;
  readonly interfaces: readonly { readonly name: string; readonly protocol: string }[];
}

/** One service needs another (FB-18). */
export interface PlannedEdge {
  readonly from: string;
  readonly to: string;
  readonly protocol: string;
  readonly via: 'depends_on' | 'env';
  /** Tests in which a fault hits the target; empty for a gap (FB-16). */
  readonly faultTests: readonly string[];
}

export interface PlanDiagnostic {
  readonly code: 'unmodeled_fanout' | 'unmodeled_registration' | 'no_tests_discovered';
  readonly message: string;
  readonly place: string;
}

/** A number of leaves, and whether there may be more. */
export interface Count {
  readonly instances: number;
  readonly estimated: boolean;
}

/** How many leaves a test has: the product of its axes, in each cell (FB-6, FB-46). */
export function countTest(test: PlannedTest): Count {
  const axes = test.compositions.flatMap((composition) => composition.axes);
  return {
    instances: axes.reduce((product, { size }) => multiplyCounts(product, size), 1),
    estimated: axes.some(({ estimated }) => estimated !== null),
  };
}

/** How many leaves the whole plan has. */
export function countPlan(plan: PlanTree): Count {
  const counts = plan.tests.map(countTest);
  return {
    instances: counts.reduce((sum, { instances }) => Math.min(sum + instances, COUNT_MAX), 0),
    estimated:
      counts.some(({ estimated }) => estimated) ||
      plan.diagnostics.some(({ code }) => code === 'unmodeled_registration'),
  };
}

/** Counts beyond this are kept at it: no such plan ever runs. */
export const COUNT_MAX = Number.MAX_SAFE_INTEGER;

/** The product, at most `COUNT_MAX`. */
export function multiplyCounts(a: number, b: number): number {
  return b !== 0 && a > COUNT_MAX / b ? COUNT_MAX : a * b;
}
