import { describe, expect, it } from 'vitest';
import { SimFolder } from '../cli/sim.ts';

const folder = new SimFolder();

/** 200 tests of eight shapes, 25 of each, with the leaves that a person counts for one of a shape. */
const SHAPES: readonly { readonly leaves: number; readonly write: (name: string) => string }[] = [
  { leaves: 1, write: (name) => `test('${name}', () => {});` },
  { leaves: 1, write: (name) => `test('${name}', () => { choose([1, 2, 3]); });` },
  { leaves: 3, write: (name) => `test('${name}', () => { choose('a', [1, 2, 3]); });` },
  {
    // 2 x 3 x 4
    leaves: 24,
    write: (name) =>
      `test('${name}', () => { choose('a', [1, 2]); choose('b', [1, 2, 3]); choose('c', [...FOUR]); });`,
  },
  {
    // 2^3 vectors x 2 options
    leaves: 16,
    write: (name) => `test('${name}', { faults: [lossy] }, () => { choose('a', [1, 2]); });`,
  },
  {
    // 3! orders
    leaves: 6,
    write: (name) =>
      `test('${name}', () => { parallel(() => {}, () => {}, () => {}, { interleavings: 'all' }); });`,
  },
  {
    // 2 x 4 - 1 orders
    leaves: 7,
    write: (name) =>
      `test('${name}', () => { parallel(() => {}, () => {}, () => {}, () => {}, { interleavings: 'critical' }); });`,
  },
  {
    // 8 vectors x 2 options of the scenario's body
    leaves: 16,
    write: (name) => `faultScenario('${name}', { scenario: pays, faults: [lossy] });`,
  },
];
const EACH = 25;
/** `pays` runs by itself, 2 leaves, and in a matrix of a plain cell and one of 8 vectors: (1 + 8) x 2. */
const OWN_LEAVES = 2 + 18;

function spec(): string {
  const tests = SHAPES.flatMap(({ write }, shape) => {
    return Array.from({ length: EACH }, (_, index) => write(`shape ${shape} number ${index}`));
  });
  return `import { choose, faultAssumption, faultMatrix, faultScenario, parallel, scenario, service, test } from 'athanor/spec';
const FOUR = ['a', 'b', 'c', 'd'] as const;
const db = service('db', { ports: { main: 7000 } });
const api = service('api', { dependsOn: [db] });
service('web', { dependsOn: [api, db] });
const lossy = faultAssumption('lossy', { target: 'api->db', rules: [
  { do: 'degrade', loss: '10%', mode: 'exhaustive', max_fires: 3 } ] });
const down = faultAssumption('down', { target: db, rules: [{ do: 'isolate', node: 'db', at: '0s' }] });
const pays = scenario('pays', () => { choose('a', [1, 2]); });
faultMatrix({ scenarios: [pays], faults: [down, lossy] });
${tests.join('\n')}
`;
}

describe('the plan of 200 tests', () => {
  it('FB-6 FB-46 equals a count by hand in all totals', async () => {
    folder.write('many.sim.ts', spec());
    const { stdout } = await folder.sim(['plan', 'many.sim.ts', '--format', 'json']);
    const plan = JSON.parse(stdout) as {
      readonly tests: readonly { readonly name: string; readonly instances: number }[];
      readonly totals: unknown;
      readonly topology: { readonly services: readonly unknown[] };
      readonly coverage: { readonly edges: readonly unknown[]; readonly uncovered_edges: unknown };
    };
    // 1 + 1 + 3 + 24 + 16 + 6 + 7 + 16 = 74 leaves of one of each shape
    const leaves = 74 * EACH + OWN_LEAVES;
    expect(plan.totals).toEqual({ instances: leaves, estimated: false });
    expect(leaves).toBe(1_870);
    // the 200, the scenario and its matrix
    expect(plan.tests).toHaveLength(202);
    for (const { name, instances } of plan.tests) {
      const shape = /^shape (\d)/.exec(name)?.[1];
      if (shape !== undefined) expect(instances, name).toBe(SHAPES[Number(shape)]?.leaves);
    }
    expect(plan.topology.services).toHaveLength(3);
    expect(plan.coverage.edges).toHaveLength(3);
    expect(plan.coverage.uncovered_edges).toEqual([
      { from: 'web', to: 'api', protocol: 'tcp', via: 'depends_on' },
    ]);
    const table = await folder.sim(['plan', 'many.sim.ts', '--format', 'table']);
    expect(table.stdout).toContain('\n202 tests\n');
    expect(table.stdout).toContain('\nTotal: 1870 plan instances\nServices: 3 (db, api, web)\n');
  });
});
