import type {
  Axis,
  Composition,
  PlanDiagnostic,
  PlannedEdge,
  PlannedTest,
  PlanTree,
} from '../../sim/index.ts';
import type { SpecAssumption, SpecModel, SpecService, SpecTest } from './spec-model.ts';

/** The plan of a spec. `seed` is the one that was asked for, if any. */
export function makePlan(model: SpecModel, seed: number | null): PlanTree {
  const assumptions = new Map(model.assumptions.map((each) => [each.name, each]));
  const scenarios = new Map(model.scenarios.map(({ name, axes }) => [name, axes]));
  const tests = model.tests.map((test) => planTest(test, scenarios, assumptions));
  const diagnostics = [...model.diagnostics, ...unsizedRules(model)];
  if (tests.length === 0) {
    const message = 'the spec declares no test, scenario or matrix';
    diagnostics.push({ code: 'no_tests_discovered', message, place: model.file });
  }
  return {
    spec: model.file,
    seed: seed ?? model.seed,
    determinism: model.determinism,
    tests,
    services: model.services.map(({ name, ports }) => {
      const interfaces = ports.map((port) => ({ name: port.name, protocol: port.protocol }));
      return { name, interfaces };
    }),
    edges: planEdges(model, assumptions),
    diagnostics,
  };
}

function planTest(
  test: SpecTest,
  scenarios: ReadonlyMap<string, readonly Composition[]>,
  assumptions: ReadonlyMap<string, SpecAssumption>,
): PlannedTest {
  const runs = test.kind === 'scenario' || test.scenario === null;
  const own = runs ? test.axes : (scenarios.get(test.scenario ?? '') ?? []);
  const compositions: Composition[] = [];
  if (!runs) compositions.push({ kind: 'scenario', axes: [] });
  if (test.cells.length > 0)
    compositions.push({ kind: 'matrix', axes: [cellAxis(test, assumptions)] });
  else {
    for (const name of test.faults) {
      compositions.push({ kind: 'fault', axes: ruleAxes(assumptions.get(name)) });
    }
  }
  return {
    name: test.name,
    kind: test.kind,
    compositions: [...compositions, ...own],
    matrixCells: test.cells.map(({ name }) => name),
    faults: [...new Set(test.faults)],
    expect: test.expect,
    timeout: test.timeout,
    place: test.place,
  };
}

/** Each cell has the leaves of its assumption's exhaustive rules: the axis lists them all. */
function cellAxis(test: SpecTest, assumptions: ReadonlyMap<string, SpecAssumption>): Axis {
  const sizes = test.cells.map(({ fault }) => {
    return ruleAxes(assumptions.get(fault)).reduce((product, { size }) => product * size, 1);
  });
  return {
    name: 'cell',
    values: test.cells.map(({ name }, index) => {
      const size = sizes[index] as number;
      return size === 1 ? name : `${name} x ${size}`;
    }),
    size: sizes.reduce((sum, size) => sum + size, 0),
    estimated: null,
  };
}

/** One axis for each rule that is tried both ways: 2^N fired-or-not vectors (FB-39). */
export function ruleAxes(assumption: SpecAssumption | undefined): Axis[] {
  return (assumption?.rules ?? []).flatMap(({ name, exhaustiveFires }) => {
    if (exhaustiveFires === null) return [];
    const size = 2 ** exhaustiveFires;
    const values = [`${size} vectors over the first ${exhaustiveFires} occurrences`];
    return [{ name, values, size, estimated: null }];
  });
}

/** Chances that only the seed decides have no size that a plan could tell (FB-35). */
function unsizedRules({ assumptions }: SpecModel): PlanDiagnostic[] {
  return assumptions.flatMap(({ rules, place }) => {
    return rules.flatMap(({ name, probabilistic, bounded }) => {
      if (!probabilistic || bounded) return [];
      const message = `rule ${name} has a chance and no max_fires: the seed decides, no leaf pins it`;
      return [{ code: 'unmodeled_fanout' as const, message, place }];
    });
  });
}

function planEdges(
  model: SpecModel,
  assumptions: ReadonlyMap<string, SpecAssumption>,
): PlannedEdge[] {
  return model.services.flatMap((service) => {
    return model.services.flatMap((target) => {
      const found = edgeVia(service, target);
      if (found === null) return [];
      const faultTests = model.tests
        .filter(({ faults }) => {
          return faults.some((name) => hits(assumptions.get(name), service.name, target.name));
        })
        .map(({ name }) => name);
      return [{ from: service.name, to: target.name, ...found, faultTests }];
    });
  });
}

/** An edge stands in `dependsOn`, or in a variable that names the target and a port of it. */
function edgeVia(
  service: SpecService,
  target: SpecService,
): Pick<PlannedEdge, 'protocol' | 'via'> | null {
  const protocol = target.ports[0]?.protocol ?? 'tcp';
  if (service.dependsOn.includes(target.name)) return { protocol, via: 'depends_on' };
  if (service.name === target.name) return null;
  for (const port of target.ports) {
    if (port.port === null) continue;
    const address = `${target.name}:${port.port}`;
    for (const value of service.env.values()) {
      if (mentions(value, address)) return { protocol: port.protocol, via: 'env' };
    }
  }
  return null;
}

/** Whether an address stands in a text as a word of its own. */
function mentions(text: string, address: string): boolean {
  const at = text.indexOf(address);
  if (at < 0) return false;
  const before = text[at - 1] ?? ' ';
  const after = text[at + address.length] ?? ' ';
  return !/[\w.-]/.test(before) && !/\d/.test(after);
}

/** An edge is covered by a fault on its target or on the link between the two (FB-16). */
function hits(assumption: SpecAssumption | undefined, from: string, to: string): boolean {
  return (assumption?.targets ?? []).some((target) => {
    const ends = target.split('->');
    return ends.length === 1 ? target === to : ends.includes(from) && ends.includes(to);
  });
}
