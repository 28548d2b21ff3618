import { describe, expect, it } from 'vitest';
import { loadSpec, makePlan } from '../../scenarios/spec/index.ts';
import {
  countPlan,
  countTest,
  interleavingCount,
  interleavingOrder,
  leafDigits,
  planDocument,
  suggestFaults,
  type PlannedTest,
  type PlanTree,
} from '../../sim/index.ts';

const WORDS = `import { assume, choose, determinism, faultAssumption, faultMatrix, faultScenario,
  halt, parallel, scenario, service, test } from 'athanor/spec';\n`;

function plan(text: string, more: Readonly<Record<string, string>> = {}): PlanTree {
  const files: Readonly<Record<string, string>> = { 'a.sim.ts': WORDS + text, ...more };
  const model = loadSpec('a.sim.ts', (path) => {
    const found = files[path];
    if (found === undefined) throw new Error(`no file ${path}`);
    return found;
  });
  return makePlan(model, null);
}

function only(text: string): PlannedTest {
  const { tests } = plan(text);
  expect(tests).toHaveLength(1);
  return tests[0] as PlannedTest;
}

function leaves(text: string): number {
  return countTest(only(text)).instances;
}

const DOWN = `faultAssumption('down', { target: 'db', rules: [{ do: 'isolate', node: 'db', at: '0s' }] });
service('db');\n`;

describe('the plan of a spec', () => {
  it('FB-1 never runs a body, a factory or a statement of the spec', () => {
    const spec = `
      throw new Error('the module ran');
      service('db', { env: { A: (() => { throw new Error('a factory ran'); })() } });
      test('a', () => { throw new Error('a body ran'); });`;
    expect(plan(spec).tests.map(({ name }) => name)).toEqual(['a']);
  });

  it('FB-4 tells the five kinds of tests apart', () => {
    const { tests } = plan(`${DOWN}
      const s = scenario('s', () => {});
      faultScenario('fs', { scenario: s, faults: ['down'] });
      faultMatrix({ scenarios: [s], faults: ['down'] });
      test('t', () => {});
      export function test_d() {}
      function test_hidden() {}`);
    expect(tests.map(({ name, kind }) => [name, kind])).toEqual([
      ['s', 'scenario'],
      ['fs', 'fault_scenario'],
      ['test_matrix_s', 'fault_matrix'],
      ['t', 'test_builtin'],
      ['test_d', 'def'],
    ]);
  });

  it('FB-5 FB-6 FB-12 makes one test of the cells that share a scenario', () => {
    const { tests } = plan(`${DOWN}
      faultAssumption('slow', { target: 'db', rules: [{ do: 'pause', node: 'db', at: '0s', for: '1s' }] });
      scenario('s', () => {});
      scenario('r', () => {});
      faultMatrix({ scenarios: ['s', 'r'], faults: ['down', 'slow'], expect: 'passes',
        overrides: [{ scenario: 'r', fault: 'slow', expect: 'fails' }],
        exclude: [{ scenario: 's', fault: 'slow' }] });`);
    const [s, r] = tests.slice(2) as [PlannedTest, PlannedTest];
    expect([s.matrixCells, countTest(s).instances, s.expect]).toEqual([['s_down'], 1, 'passes']);
    expect(r.matrixCells).toEqual(['r_down', 'r_slow']);
    expect([countTest(r).instances, r.expect]).toEqual([2, '(mixed — per-cell overrides)']);
  });

  it('FB-8 is a pure function of spec and seed', () => {
    const text = `${DOWN} test('t', () => { choose('a', [1, 2]); });`;
    expect(JSON.stringify(planDocument(plan(text)))).toBe(JSON.stringify(planDocument(plan(text))));
  });

  it('FB-56 is a document of fixed fields with a version', () => {
    const document = planDocument(
      plan(`determinism({ level: 'L3', seed: 5 }); test('t', () => {});`),
    );
    expect(Object.keys(document)).toEqual(
      'schema_version spec_path seed determinism tests totals topology coverage diagnostics'.split(
        ' ',
      ),
    );
    expect(document).toMatchObject({
      schema_version: 1,
      spec_path: 'a.sim.ts',
      seed: 5,
      determinism: { level: 'L3', runtime: 'wasm', strict: true, explicit: true },
      totals: { instances: 1, estimated: false },
    });
  });

  it('FB-11 says so when a spec declares no test', () => {
    expect(plan('').diagnostics.map(({ code }) => code)).toEqual(['no_tests_discovered']);
  });
});

describe('choices', () => {
  it('FB-30 FB-31 FB-36 reads each named choice from the text of the body', () => {
    const axes = only(`const WAL = ['on', 'off'] as const;
      test('t', async () => {
        const retries = choose('retries', [0, 1, 2]);
        if (retries > 0) choose('wal', [...WAL, 'auto']);
        choose([1, 2, 3]);
      });`).compositions.flatMap((composition) => composition.axes);
    expect(axes.map(({ name, values }) => [name, values])).toEqual([
      ['retries', ['0', '1', '2']],
      ['wal', ['on', 'off', 'auto']],
    ]);
  });

  it('FB-31 counts 24 leaves where reading declarations only would count 2', () => {
    const text = `test('t', () => { choose('a', [1, 2]); choose('b', [1, 2, 3]); choose('c', [1, 2, 3, 4]); });`;
    expect(leaves(text)).toBe(24);
  });

  it('FB-32 FB-33 never shows a computed list as an empty one, and says "at least"', () => {
    const text = `test('t', () => { choose('n', make()); choose('m', [1, 2]); });`;
    const { tests } = plan(text);
    const axis = tests[0]?.compositions[0]?.axes[0];
    expect(axis).toMatchObject({ name: 'n', values: null, size: 1 });
    expect(countPlan(plan(text))).toEqual({ instances: 2, estimated: true });
  });

  it('FB-34 gives the choice of a helper to nobody', () => {
    const text = `function helper() { return choose('hidden', [1, 2, 3]); }
      test('t', () => { helper(); choose('own', [1, 2]); });`;
    expect(leaves(text)).toBe(2);
  });

  it('FB-37 refuses an empty list and what is no list, with the place', () => {
    const empty = `test('t', () => { choose('n', []); });`;
    expect(() => plan(empty)).toThrow(/empty list/);
    expect(() => plan(`test('t', () => { choose('n', 3); });`)).toThrow(/are 3, not a list/);
    expect(() => plan(empty)).toThrow(expect.objectContaining({ place: 'a.sim.ts:3:19' }));
  });

  it('takes an option list from another file of the spec', () => {
    const tree = plan(
      `import { SIZES as sizes } from './sizes.ts';
      test('t', () => { choose('size', sizes); });`,
      { 'sizes.ts': 'export const SIZES = [1, 2, 3];' },
    );
    expect(countPlan(tree).instances).toBe(3);
  });

  it('unrolls a loop over a list that stands in the spec, and counts no other', () => {
    const known = plan('for (const n of [3, 5]) test(`of ${n}`, () => {});');
    expect(known.tests.map(({ name }) => name)).toEqual(['of 3', 'of 5']);
    const hidden = plan('for (const n of make()) test(`of ${n}`, () => {});');
    expect(hidden.diagnostics[0]?.code).toBe('unmodeled_registration');
    expect(countPlan(hidden).estimated).toBe(true);
  });
});

describe('fan-out of rules', () => {
  const rule = (more: string): string => {
    return `service('db'); faultAssumption('f', { target: 'db', rules: [{ do: 'degrade', at: '0s', ${more} }] });
      test('t', { faults: ['f'] }, () => {});`;
  };

  it.each([1, 2, 3, 4, 5, 6])('FB-39 makes 2^%i leaves of an exhaustive rule', (fires) => {
    expect(leaves(rule(`loss: '10%', mode: 'exhaustive', max_fires: ${fires}`))).toBe(2 ** fires);
  });

  it('FB-35 FB-40 leaves a bare chance to the seed, and names it', () => {
    const tree = plan(rule(`loss: '10%'`));
    expect(countPlan(tree)).toEqual({ instances: 1, estimated: false });
    expect(tree.diagnostics.map(({ code }) => code)).toEqual(['unmodeled_fanout']);
  });

  it('FB-41 refuses modes and numbers of fires that do not fit', () => {
    expect(() => plan(rule(`loss: '10%', mode: 'exhaustive'`))).toThrow(/needs max_fires/);
    expect(() => plan(rule(`loss: '10%', mode: 'stochastic', max_fires: 2`))).toThrow(/stochastic/);
    expect(() => plan(rule(`loss: '100%', max_fires: 2`))).toThrow(/below 100%/);
    expect(() => plan(rule(`loss: '10%', max_fires: 17`))).toThrow(/above 16/);
  });

  it('FB-46 multiplies all kinds of axes, the last counting fastest', () => {
    const text = `service('db'); faultAssumption('f', { target: 'db', rules: [{ do: 'degrade', at: '0s', loss: '10%', max_fires: 2 }] });
      test('t', { faults: ['f'] }, () => {
        choose('a', [1, 2, 3]);
        parallel(() => {}, () => {}, () => {}, { interleavings: 'all' });
      });`;
    expect(leaves(text)).toBe(4 * 3 * 6);
    expect(leafDigits([4, 3, 6], 0)).toEqual([0, 0, 0]);
    expect(leafDigits([4, 3, 6], 7)).toEqual([0, 1, 1]);
    expect(leafDigits([4, 3, 6], 71)).toEqual([3, 2, 5]);
  });
});

describe('interleavings', () => {
  it.each([1, 2, 3, 4, 5, 6])('FB-43 counts the orders of %i branches exactly', (branches) => {
    const all = [1, 2, 6, 24, 120, 720][branches - 1] as number;
    expect(interleavingCount(branches, 'all')).toBe(all);
    expect(interleavingCount(branches, 'critical')).toBe(Math.min(2 * branches - 1, all));
    expect(interleavingCount(branches, 4)).toBe(Math.min(4, all));
    expect(interleavingCount(branches, 1)).toBe(1);
  });

  it.each(['all', 'critical', 7] as const)('FB-43 makes each order of %s once', (policy) => {
    for (const branches of [1, 2, 3, 4]) {
      const count = interleavingCount(branches, policy);
      const orders = Array.from({ length: count }, (_, index) => {
        return interleavingOrder(branches, policy, index).join(' ');
      });
      expect(new Set(orders).size).toBe(count);
      for (const order of orders) expect(new Set(order.split(' ')).size).toBe(branches);
    }
  });

  it('FB-45 refuses a reserved policy with what it needs', () => {
    const text = `test('t', () => { parallel(() => {}, () => {}, { interleavings: 'sut-internal' }); });`;
    expect(() => plan(text)).toThrow(/reserved: it needs guests/);
    expect(() => plan(text.replace('sut-internal', 'most'))).toThrow(/no policy/);
  });

  it('FB-43 leaves a parallel without the argument at one execution', () => {
    expect(leaves(`test('t', () => { parallel(() => {}, () => {}); });`)).toBe(1);
  });
});

describe('coverage', () => {
  const TOPOLOGY = `const db = service('db', { ports: { main: 7000 } });
    service('cache', { ports: { main: 6379 } });
    service('api', { dependsOn: [db], env: { CACHE: 'tcp://cache:6379/0', OTHER: 'xcache:6379' } });\n`;

  it('FB-16 FB-18 takes edges from dependsOn and from variables', () => {
    expect(plan(TOPOLOGY).edges).toEqual([
      { from: 'api', to: 'db', protocol: 'tcp', via: 'depends_on', faultTests: [] },
      { from: 'api', to: 'cache', protocol: 'tcp', via: 'env', faultTests: [] },
    ]);
  });

  it('FB-16 covers an edge by a fault on its target or on the link', () => {
    const faults = `faultAssumption('a', { target: db, rules: [{ do: 'crash', node: 'db', at: '1s' }] });
      faultAssumption('b', { target: 'api->cache', rules: [{ do: 'cut', from: ['api'], to: ['cache'], at: '1s' }] });
      test('t', { faults: ['a', 'b'] }, () => {});`;
    expect(plan(TOPOLOGY + faults).edges.map(({ faultTests }) => faultTests)).toEqual([
      ['t'],
      ['t'],
    ]);
  });

  it('FB-20 FB-22 suggests stubs that load and close the gaps', () => {
    const stubs = suggestFaults(plan(TOPOLOGY)) ?? '';
    const closed = plan(TOPOLOGY + stubs);
    expect(closed.edges.every(({ faultTests }) => faultTests.length > 0)).toBe(true);
    expect(suggestFaults(closed)).toBeNull();
  });
});

describe('specs that cannot be planned', () => {
  it.each([
    ['a syntax error', 'test(', 'spec-syntax'],
    ['the same test twice', `test('t', () => {}); test('t', () => {});`, 'spec-duplicate'],
    ['an empty matrix', `faultMatrix({ scenarios: [], faults: [] });`, 'spec-value'],
    ['an unknown option', `service('db', { port: 1 });`, 'spec-value'],
    ['a fault that nobody declared', `test('t', { faults: ['x'] }, () => {});`, 'spec-dangling'],
    ['an import from the host', `import fs from 'node:fs';`, 'spec-import'],
    ['a seed that is no number', `determinism({ seed: 'abc' });`, 'spec-value'],
    ['a seed that only a run tells', `determinism({ seed: make() });`, 'spec-value'],
    ['a strictness that is none', `determinism({ strict: 'no' });`, 'spec-value'],
    ['variables that are no table', `service('db', { env: 5 });`, 'spec-value'],
    ['a port that is none', `service('db', { ports: { a: 99999 } });`, 'spec-value'],
    ['a port that is a text', `service('db', { ports: { a: { port: 'x' } } });`, 'spec-value'],
    ['a service that is no host name', `service('My Db');`, 'spec-name'],
    ['a service with the name of the body', `service('test');`, 'spec-name'],
    ['a timeout that is a number', `test('t', { timeout: 5 }, () => {});`, 'spec-value'],
    ['a timeout that is no span', `test('t', { timeout: 'soon' }, () => {});`, 'spec-value'],
    ['an expectation that is none', `test('t', { expect: 'failes' }, () => {});`, 'spec-value'],
    ['a fault twice', `${DOWN} test('t', { faults: ['down', 'down'] }, () => {});`, 'spec-value'],
    [
      'a cell twice',
      `${DOWN} scenario('s', () => {}); faultMatrix({ scenarios: ['s', 's'], faults: ['down'] });`,
      'spec-value',
    ],
    ['an empty name', `test('', () => {});`, 'spec-value'],
    ['FB-52 halt outside a body', `halt('no');`, 'spec-outside'],
    ['FB-68 a level that wasm cannot keep', `determinism({ level: 'L5' });`, 'spec-value'],
  ])('refuses %s', (_, text, code) => {
    expect(() => plan(text)).toThrow(
      expect.objectContaining({
        code: `scenario/${code}`,
        place: expect.stringMatching(/^a\.sim\.ts:\d+:\d+$/) as string,
        remedy: expect.stringMatching(/./) as string,
      }),
    );
  });
});
