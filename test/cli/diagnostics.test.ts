import { describe, expect, it } from 'vitest';
import { helloToml, SimFolder } from './sim.ts';

/** Nobody writes a history, nothing is left to kill at 20 s, and the two exits hold. */
const IDLE = `
[[property]]
name = "reads are fresh"
kind = "linearizable"
model = "register"

[[event]]
name = "too late"
at = "20s"
do = "kill"
node = "ada"
`;

type Records = readonly Readonly<Record<string, unknown>>[];

async function run(more: string, flags: readonly string[] = []): Promise<Records> {
  const folder = new SimFolder();
  folder.write('hello.toml', helloToml({ more }));
  const args = ['run', 'hello.toml', '--seed', '1', ...flags, '--format', 'jsonl'];
  return (await folder.sim(args)).records();
}

describe('what a run says beside its verdict', () => {
  it('FB-71: a property that had nothing to judge passes with a warning that names it', async () => {
    const records = await run(IDLE);
    const warning = { code: 'vacuous_property', property: 'linearizable reads are fresh' };
    expect(records).toContainEqual(expect.objectContaining(warning));
    expect(records.at(-1)).toMatchObject({ type: 'result', verdict: 'pass' });
    const plain = await run('');
    expect(plain.filter(({ code }) => code === 'vacuous_property')).toEqual([]);
  });

  it('FB-71: over many runs it is warned of once', async () => {
    const records = await run(IDLE, ['--runs', '3']);
    const warnings = records.filter(({ code }) => code === 'never_fired');
    expect(warnings.map(({ property }) => property)).toEqual(['linearizable reads are fresh']);
  });

  it('FB-73: an event that changed nothing is listed with the reason', async () => {
    const records = await run(IDLE);
    const idle = records.filter(({ type }) => type === 'idle-event');
    expect(idle.map(({ name }) => name)).toEqual(['too late']);
    expect((await run('')).filter(({ type }) => type === 'idle-event')).toEqual([]);
  });

  it('FB-70: a failure outweighs what is not known, and that what holds', async () => {
    const late = `
[[node]]
name = "late"
guest = "hello"
args = ["/", "0"]
start = "10s"
`;
    const never = `
[[property]]
name = "nobody says anything"
kind = "never"
console = "file:"
`;
    const verdict = async (more: string, flags: readonly string[]): Promise<unknown> => {
      return (await run(more, flags)).at(-1)?.['verdict'];
    };
    const cut = ['--max-virtual-time', '5s'];
    expect(await verdict(late, [])).toBe('pass');
    expect(await verdict(late, cut)).toBe('inconclusive');
    expect(await verdict(late + never, cut)).toBe('fail');
  });
});
