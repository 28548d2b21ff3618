import { describe, expect, it } from 'vitest';
import { SimFolder } from '../cli/sim.ts';

const folder = new SimFolder();

folder.write(
  'a.sim.ts',
  `import { choose, service, test } from 'athanor/spec';
service('db', { ports: { main: 7000 } });
service('api', { dependsOn: ['db'] });
test('t', () => { choose('n', [1, 2, 3]); });
`,
);

describe('sim plan', () => {
  it('FB-2 FB-3 FB-7 prints header, tree and totals', async () => {
    const { exitCode, stdout } = await folder.sim(['plan', 'a.sim.ts', '--format', 'table']);
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      [
        'Plan: a.sim.ts',
        'Seed: (unseeded)',
        'Determinism: L1 (strict) — default; spec did not call determinism()',
        '',
        '1 test',
        '└─ t [test_builtin]  x 3',
        '   └─ choose n: [1, 2, 3]',
        '',
        'Total: 3 plan instances',
        'Services: 2 (db, api)',
        '',
      ].join('\n'),
    );
  });

  it('FB-9 writes one JSON document, or a graph', async () => {
    const json = await folder.sim(['plan', 'a.sim.ts', '--format', 'json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ schema_version: 1, totals: { instances: 3 } });
    const dot = await folder.sim(['plan', 'a.sim.ts', '--dot']);
    expect(dot.stdout).toMatch(/^digraph plan \{\n[^]*\n\}\n$/);
  });

  it('FB-10 writes nothing to stdout when the spec is missing or a flag unknown', async () => {
    const missing = await folder.sim(['plan', 'none.sim.ts']);
    expect([missing.exitCode, missing.stdout]).toEqual([5, '']);
    const unknown = await folder.sim(['plan', 'a.sim.ts', '--cost']);
    expect([unknown.exitCode, unknown.stdout]).toEqual([64, '']);
  });

  it('FB-15 FB-17 FB-19 shows the gaps of coverage and may fail for them', async () => {
    const command = ['plan', 'a.sim.ts', '--strict-coverage', '--format', 'table'];
    const { exitCode, stdout } = await folder.sim(command);
    expect(exitCode).toBe(1);
    expect(stdout).toContain('  ⚠ api → db (no fault test)\n');
    expect(stdout).toContain('1 edge(s) without fault coverage — see sim plan --suggest\n');
  });

  it('FB-20 FB-23 suggests a stub, and says when there is nothing to suggest', async () => {
    const { stdout } = await folder.sim(['plan', 'a.sim.ts', '--suggest', '--format', 'table']);
    expect(stdout).toContain("suggested.faultAssumption('api_without_db_down', {");
    folder.write('b.sim.ts', `import { test } from 'athanor/spec';\ntest('t', () => {});\n`);
    const none = await folder.sim(['plan', 'b.sim.ts', '--suggest', '--format', 'table']);
    expect(none.stdout).toContain('no topology data');
    expect(none.stdout).toContain('nothing to suggest');
  });

  it('FB-24 knows one strategy and reserves another', async () => {
    for (const [strategy, message] of [
      ['llm', /reserved/],
      ['best', /valid: rules; reserved: llm/],
    ] as const) {
      const result = await folder.sim(['plan', 'a.sim.ts', '--strategy', strategy]);
      expect([result.exitCode, result.stdout]).toEqual([64, '']);
      expect(result.stderr).toMatch(message);
    }
  });

  it('FB-27 FB-28 exits 2 above the most instances, after the whole plan', async () => {
    const cost = ['plan', 'a.sim.ts', '--check-cost', '--format', 'table', '--max-instances'];
    expect((await folder.sim([...cost, '3'])).exitCode).toBe(0);
    const over = await folder.sim([...cost, '2']);
    expect(over.exitCode).toBe(2);
    expect(over.stdout).toContain('Total: 3 plan instances');
    expect(over.stderr).toBe('cost gate: plan has 3 instances; --max-instances=2 exceeded\n');
  });

  it('FB-72 has the exceeded cost among the diagnostics of its document', async () => {
    const cost = ['plan', 'a.sim.ts', '--check-cost', '--format', 'json', '--max-instances'];
    const codes = async (most: string): Promise<unknown> => {
      const { stdout } = await folder.sim([...cost, most]);
      const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string }[] };
      return diagnostics.map(({ code }) => code);
    };
    expect([await codes('3'), await codes('2')]).toEqual([[], ['PLAN_COST_EXCEEDED']]);
  });

  it('FB-29 refuses a gate that would always pass', async () => {
    const { exitCode, stdout } = await folder.sim(['plan', 'a.sim.ts', '--check-cost']);
    expect([exitCode, stdout]).toEqual([64, '']);
  });
});
