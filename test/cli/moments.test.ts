import { describe, expect, it } from 'vitest';
import { helloToml, SimFolder } from './sim.ts';

/** One that holds, one that is not asked, one that nothing fulfils. */
const MORE = `
[[property]]
name = "nobody crashes"
kind = "always"
that = { named = "no_crashed_nodes" }

[[property]]
name = "comes back"
kind = "eventually"
when = { node_state = { is = "crashed" } }
that = { named = "no_crashed_nodes" }

[[property]]
name = "says so"
kind = "sometimes"
that = { console_match = { text = "no such line" } }
`;

const LATE = `
[[property]]
name = "both are gone in time"
kind = "eventually"
that = { all_of = [{ node_state = { nodes = ["ada"], is = "exited" } }, { node_state = { nodes = ["bob"], is = "exited" } }] }
within = "1ns"
`;

async function run(more: string, ...flags: string[]) {
  const folder = new SimFolder();
  folder.write('hello.toml', helloToml({ more }));
  const args = ['run', 'hello.toml', '--seed', '1', '--format', 'jsonl'];
  const result = await folder.sim([...args, ...flags]);
  return { ...result, folder };
}

describe('properties over moments, on the command line', () => {
  it('FB-71: what was never asked passes with a warning that names it', async () => {
    const { exitCode, records } = await run(MORE);
    expect(exitCode).toBe(0);
    const warned = records().flatMap(({ code, property }) => {
      return code === 'vacuous_property' ? [property] : [];
    });
    expect(warned).toEqual(['eventually comes back', 'sometimes says so']);
  });

  it('FB-71: over many runs it is named once, as never fired', async () => {
    const { records } = await run(MORE, '--runs', '3');
    const warned = records().flatMap(({ code, property }) => {
      return code === 'never_fired' ? [property] : [];
    });
    expect(warned).toEqual(['eventually comes back', 'sometimes says so']);
  });

  it('CR-95: a failure has its moment, a bundle that replays, and a savepoint', async () => {
    const { exitCode, records, folder } = await run(LATE);
    expect(exitCode).toBe(1);
    const failed = records().find(({ type, verdict }) => type === 'property' && verdict === 'fail');
    expect(failed).toMatchObject({ name: 'both are gone in time', kind: 'eventually', at_ns: 1 });
    const [bundle = ''] = folder.bundles();
    expect((await folder.sim(['replay', bundle, '--check', 'log'])).exitCode).toBe(0);
    const at = 'property=both are gone in time';
    const save = ['save', 'hello.toml', '--seed', '1', '--at', at, '--out', 's.athanor'];
    expect((await folder.sim(save)).exitCode).toBe(0);
    const resumed = await folder.sim(['resume', 's.athanor', '--format', 'jsonl']);
    expect(resumed.exitCode).toBe(1);
    expect(resumed.records().find(({ verdict }) => verdict === 'fail')).toMatchObject({ at_ns: 1 });
  });

  it('CR-96: an unknown predicate is one error with what was meant', async () => {
    const wrong = MORE.replace('console_match', 'console_mach');
    const { exitCode, stderr } = await run(wrong);
    expect(exitCode).toBe(5);
    expect(stderr).toContain('(did you mean \\"console_match\\"?)');
  });

  it('CR-108: a predicate that no guest supports is refused by name, with what to do', async () => {
    const wrong = MORE.replace('console_match = { text = "no such line" }', 'coverage_point = "f"');
    const { exitCode, stderr } = await run(wrong);
    expect(exitCode).toBe(5);
    const error = JSON.parse(stderr) as Readonly<Record<string, unknown>>;
    expect(error['code']).toBe('scenario/unsupported');
    expect(error['message']).toContain('coverage_point is not to be had');
    expect(error['remedy']).toContain('assertion_state');
  });
});
