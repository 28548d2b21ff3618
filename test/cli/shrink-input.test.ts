import { describe, expect, it } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { SimFolder } from './sim.ts';

const COMMENT = '# nobody has read this line since it was written';

/** Statements of the C guest `desk`, which traps where one divides by zero. */
const CALM = ['t = 40', 'u + t', 'v = 3 # three of them', 't * v', 'what is this', 'z - t'];

interface Given {
  readonly args: readonly string[];
  readonly variable: string;
  readonly lines: readonly string[];
}

function scenario({ args, variable, lines }: Given): string {
  return `
schema_version = 1
name = "desk"
seed = 1

[guest.desk]
builtin = "desk"

[[node]]
names = ["ada", "bob"]
guest = "desk"
args = ${JSON.stringify(args)}
env = { LANG = "C", PROGRAM = ${JSON.stringify(variable)}, HOME = "/" }

[[node.file]]
path = "/other"
text = "not needed"

[[node.file]]
path = "/program"
text = ${JSON.stringify(`${lines.join('\n')}\n`)}
`;
}

const folder = new SimFolder();

async function shrink(given: Given) {
  folder.write('desk.toml', scenario(given));
  const run = await folder.sim(['run', 'desk.toml', '--out', 'failed.athanor']);
  expect(run.exitCode).toBe(1);
  const args = ['shrink', 'failed.athanor', '--out', 'small.athanor', '--format', 'jsonl'];
  const { exitCode, records } = await folder.sim(args);
  expect(exitCode).toBe(0);
  const replayed = await folder.sim(['replay', 'small.athanor', '--check', 'log']);
  expect(replayed.exitCode).toBe(0);
  const { nodes } = openBundle(folder.read('small.athanor')).scenario.world;
  return { result: records().at(-1), nodes };
}

describe('sim shrink of what a program is given', () => {
  it('keeps the arguments that are needed, and of these only what is', async () => {
    const args = [...CALM, 'c - 1', ...CALM, 'a / c # a statement that goes wrong'];
    const { nodes, result } = await shrink({ args, variable: 'x = 7', lines: [COMMENT] });
    expect(nodes).toHaveLength(1);
    expect(nodes[0]).toMatchObject({ args: ['c - 1', 'a/c'], env: [], files: [] });
    expect(result).toMatchObject({ after: { nodes: 1, input_bytes: 8 } });
  });

  it('keeps the variable that is needed, and of it only what is', async () => {
    const variable = '  b   /   0   # the last of all statements';
    const { nodes } = await shrink({ args: CALM, variable, lines: [COMMENT, ...CALM] });
    expect(nodes).toHaveLength(1);
    expect(nodes[0]).toMatchObject({ args: [], env: [['PROGRAM', 'b/0']], files: [] });
  });

  it('cuts a file to the lines that are needed, and these to their characters', async () => {
    const around = Array.from({ length: 12 }, () => [COMMENT, ...CALM]).flat();
    const lines = [...around, 'c - 1', ...around, 'a / c', ...around];
    const { nodes, result } = await shrink({ args: CALM, variable: 'x = 7', lines });
    expect(nodes).toHaveLength(1);
    expect(nodes[0]).toMatchObject({ args: [], env: [] });
    const files = nodes[0]?.files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()]);
    expect(files).toEqual([['/program', 'c-1\na/c']]);
    const { before } = result as { readonly before: Readonly<Record<string, number>> };
    expect(before['input_bytes']).toBeGreaterThan(4_000);
  });
});
