import { compareText } from '../plan/admit.ts';
import { countPlan, countTest, type Axis, type PlanTree } from './plan-tree.ts';

/** The version of the plan's JSON; a reader refuses another one (FB-55). */
export const PLAN_VERSION = 1;

/**
 * The JSON document of a plan: what `sim plan --format json` prints and what a bundle keeps as
 * `plan.json` (FB-54, FB-56). Keys stand in a fixed order, so equal plans give equal bytes.
 */
export function planDocument(plan: PlanTree): Readonly<Record<string, unknown>> {
  const totals = countPlan(plan);
  return {
    schema_version: PLAN_VERSION,
    spec_path: plan.spec,
    seed: plan.seed,
    determinism: plan.determinism,
    tests: plan.tests.map((test) => {
      const { instances, estimated } = countTest(test);
      return {
        name: test.name,
        kind: test.kind,
        instances,
        compositions: test.compositions.map(({ kind, axes }) => ({ kind, axes: axes.map(axisOf) })),
        matrix_cells: test.matrixCells,
        faults: test.faults,
        expect: test.expect,
        timeout: test.timeout,
        estimated,
      };
    }),
    totals: { instances: totals.instances, estimated: totals.estimated },
    topology: { services: plan.services },
    coverage: coverageOf(plan),
    diagnostics: plan.diagnostics,
  };
}

function axisOf({ name, values, size, estimated, level }: Axis): Readonly<Record<string, unknown>> {
  const own = level === undefined ? {} : { level };
  return { name, values, size, estimated: estimated !== null, ...own };
}

function coverageOf({ services, edges }: PlanTree): Readonly<Record<string, unknown>> {
  const covered = edges.filter(({ faultTests }) => faultTests.length > 0);
  const open = edges.filter(({ faultTests }) => faultTests.length === 0);
  const protocols = (list: typeof edges): string[] => {
    return [...new Set(list.map(({ protocol }) => protocol))].sort(compareText);
  };
  return {
    services: services.length,
    edges: edges.map(({ from, to, protocol, via, faultTests }) => {
      return { from, to, protocol, via, fault_tests: faultTests };
    }),
    uncovered_edges: open.map(({ from, to, protocol, via }) => ({ from, to, protocol, via })),
    covered_protocols: protocols(covered),
    uncovered_protocols: protocols(open).filter((each) => !protocols(covered).includes(each)),
  };
}
