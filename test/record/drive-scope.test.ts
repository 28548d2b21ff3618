import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SimFolder } from '../cli/sim.ts';

const WORLD = `
name: steps
services:
  s:
    records: { effects: { step: int, note: str } }
    operations:
      act: { kind: create, record: effects }
      all: { kind: list, record: effects }
`;

async function drive(target: string, plan: object): Promise<Readonly<Record<string, unknown>>> {
  const folder = new SimFolder();
  folder.write('world.yaml', WORLD);
  folder.write('target.mjs', target);
  folder.write(
    'p.json',
    JSON.stringify({ target: 'target.mjs', worlds: { world: 'world.yaml' }, ...plan }),
  );
  const result = await folder.sim(['drive', 'p.json', '--format', 'jsonl', '--out', 'b.athanor']);
  const report = result.records().find(({ type }) => type === 'drive') ?? {};
  const trace = (await folder.sim(['inspect', 'b.athanor', 'trace.json'])).stdout;
  const { rows } = JSON.parse(trace) as {
    rows: readonly { node: number; kind: string; text: string }[];
  };
  const lines = rows.flatMap(({ node, kind, text }) => {
    return node === 0 && kind === 'stdout' ? [text] : [];
  });
  return { ...report, lines };
}

const model = (body: string): string => `export function* main({ env }) {\n${body}\n}`;

describe('how a target ends', () => {
  test.each([
    ['an exit', `return 0;`, {}, 0, 0],
    ['an exit with the code of a signal', `return 137;`, {}, 137, 0],
    ['a trap of its own', `throw new Error('broken');`, {}, 134, 0],
    [
      'a crash of the plan',
      `yield { do: 'call', target: 'world.act', args: { step: 1 } }; return 3;`,
      { 'world.act': ['crash'] },
      3,
      1,
    ],
  ])(
    'KS-14 KS-21: %s is told apart, and only a crash starts it again',
    async (_, body, faults, code, restarts) => {
      const report = await drive(model(body), { faults });
      expect(report).toMatchObject({ exit_code: code, restarts, ok: true });
    },
  );

  test('KS-21: a crash without a restart left is a finding, the same code by an exit is none', async () => {
    const call = `yield { do: 'call', target: 'world.act', args: { step: 1 } }; return 0;`;
    const crashed = await drive(model(call), {
      faults: { 'world.act': ['crash'] },
      max_restarts: 0,
    });
    expect(crashed).toMatchObject({
      exit_code: 137,
      ok: false,
      findings: [expect.objectContaining({ topic: 'crash-restart' })],
    });
  });
});

describe('what a drive leaves alone', () => {
  test('KS-40: the plan comes through the host: the environment of the target tells nothing of it', async () => {
    const body = `yield { do: 'log', text: JSON.stringify(env) }; return 0;`;
    const faults = { 'world.act': ['5xx'] };
    expect((await drive(model(body), { faults })).lines).toEqual(['{}']);
    const leased = await drive(model(body), { faults, flow_lease_ms: 20 });
    expect(leased.lines).toEqual(['{"ATHANOR_FLOW_LEASE_MS":"20"}']);
  });

  test('KS-41: the page states both scopes, the reference and ours', () => {
    const page = readFileSync('docs/drive.md', 'utf8');
    expect(page).toContain('wraps one adapter in a real process with a real network');
    expect(page).toContain('Here all is inside: time is virtual');
    expect(page).toContain('its attempts are not seen');
  });
});

describe('agents', () => {
  test('FH-53: a recorded agent is a script of its calls; a live one has no way to its model', async () => {
    const recorded = [
      { tool: 'world.act', args: { step: 1, note: 'refund order 3' } },
      { tool: 'world.act', args: { step: 2, note: 'tell the customer' } },
      { tool: 'world.all', args: {} },
    ];
    const agent = model(`
      for (const { tool, args } of ${JSON.stringify(recorded)}) {
        let reply = { status: 0 };
        for (let n = 1; n <= 5 && reply.status !== 200; n++) {
          reply = yield { do: 'call', target: tool, args, timeout_ms: 200 };
        }
        yield { do: 'log', text: tool + ' ' + reply.status };
      }
      return 0;`);
    const report = await drive(agent, { faults: { 'world.act': ['5xx', 'timeout'] } });
    expect(report).toMatchObject({ ok: true, exit_code: 0 });
    expect(report['lines']).toEqual(['world.act 200', 'world.act 200', 'world.all 200']);
    const live = model(
      `yield { do: 'log', text: [typeof fetch, typeof process, typeof WebSocket].join() }; return 0;`,
    );
    expect((await drive(live, {})).lines).toEqual(['undefined,undefined,undefined']);
  });
});
