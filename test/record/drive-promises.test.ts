import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeDrive, runDrive } from '../../cli/drive.ts';
import { makeEngine } from '../../cli/engine.ts';
import { driveEvents, gradeDrive, readDrivePlan } from '../../sim/index.ts';
import { SimFolder, type SimResult } from '../cli/sim.ts';

const WORLD = `
name: steps
services:
  s:
    records: { effects: { step: int } }
    operations:
      act: { kind: create, record: effects }
`;

/** Calls once, says what it finds in its environment, and tells no marker of its own. */
const PLAIN = `
export function* main({ env }) {
  const reply = yield { do: 'call', target: 'world.act', args: { step: 1 }, timeout_ms: 200 };
  yield { do: 'log', text: reply.status + ' ' + JSON.stringify(env) };
  return 0;
}`;

function folderOf(): SimFolder {
  const folder = new SimFolder();
  folder.write('world.yaml', WORLD);
  folder.write('plain.mjs', PLAIN);
  return folder;
}

const PLAN = { target: 'plain.mjs', worlds: { world: 'world.yaml' } };

async function drive(folder: SimFolder, plan: object): Promise<SimResult> {
  folder.write('p.json', JSON.stringify({ ...PLAN, ...plan }));
  return folder.sim(['drive', 'p.json', '--out', 'b.athanor']);
}

const reportOf = (result: SimResult): Readonly<Record<string, unknown>> => {
  return result.records().find(({ type }) => type === 'drive') ?? {};
};

describe('what a drive promises besides', () => {
  test('KS-19: a cursor that cannot be written is told, and the run goes on without it', async () => {
    const folder = folderOf();
    mkdirSync(join(folder.path, 'p.cursor.json'));
    folder.write('p.cursor.json/in-the-way', 'x');
    const result = await drive(folder, { faults: { 'world.act': ['5xx'] } });
    expect(reportOf(result)).toMatchObject({ ok: true, exit_code: 0 });
    expect(result.stderr).toContain('warning: the cursor was not exported: ');
  });

  test('KS-23: attempts are seen though the target tells nothing', async () => {
    const result = await drive(folderOf(), {
      faults: { 'world.act': [{ kind: '5xx' }] },
      assert: { max_attempts: { 'world.act': 1 } },
    });
    expect(reportOf(result)).toMatchObject({ ok: true, findings: [], warnings: [] });
  });

  test('KS-24: only what this run did is graded, however many ran before in the folder', async () => {
    const folder = folderOf();
    const plan = { assert: { max_attempts: { 'world.act': 1 } } };
    const first = reportOf(await drive(folder, plan));
    expect(first).toMatchObject({ ok: true });
    for (let run = 0; run < 3; run++) expect(reportOf(await drive(folder, plan))).toEqual(first);
  });

  test('KS-25: markers that are none of a drive are left out, and are not fatal', () => {
    const own = '{"kind":"log","name":"flow_status","details":{"status":"done"}}';
    const foreign = ['', '{', 'null', '7', '"x"', '[]', '{"name":"flow_status"}', '{"name":7}'];
    const other = '{"name":"other","details":{}}';
    const odd = '{"name":"breaker_open","details":null}';
    expect(driveEvents([...foreign, own, other, odd])).toEqual([
      { name: 'flow_status', details: { status: 'done' } },
    ]);
  });

  test('KS-39: the driver never looks into the faults, and grading needs none of them', () => {
    const plan = readDrivePlan('{"target":"x","faults":{"a":[{"kind":"boom"}]}}', 'p.json', false);
    expect(plan).toMatchObject({ target: 'x', maxRestarts: 8 });
    const end = { exitCode: 0, restarts: 0, hasCrashed: false };
    expect(gradeDrive(plan.assert, [], end, plan.maxRestarts)).toEqual([]);
  });

  test('KS-42: a caller may add to the environment of each start', () => {
    const folder = folderOf();
    const said: string[] = [];
    const text = JSON.stringify({ ...PLAN, flow_lease_ms: 1, faults: { 'world.act': ['crash'] } });
    const made = makeDrive(text, {
      file: 'p.json',
      folder: folder.path,
      strict: true,
      virtualNsMax: 10_000_000_000,
      environment: { CONFIGURED: 'yes', ATHANOR_FLOW_LEASE_MS: '9' },
    });
    const { report } = runDrive(made, {
      planName: 'p.json',
      seed: 1,
      engine: makeEngine(join(folder.path, '.athanor')),
      onConsole: ({ node, bytes }) => {
        if (node === 0) said.push(Buffer.from(bytes).toString());
      },
    });
    expect(report).toMatchObject({ ok: true, restarts: 1 });
    expect(said.join('')).toContain('200 {"ATHANOR_FLOW_LEASE_MS":"9","CONFIGURED":"yes"}');
  });

  test('KS-45: what was injected and what really happened stand in one record', async () => {
    const folder = folderOf();
    await drive(folder, { faults: { 'world.act': ['timeout_after'] } });
    const trace = (await folder.sim(['inspect', 'b.athanor', 'trace.json'])).stdout;
    // The effect happened, its answer was lost, and the directive that lost it is a decision.
    expect(trace).toMatch(/"node":1,.*\\"tool\\":\\"act\\".*\\"world_rev\\":1/);
    expect(trace).toContain('-2 {}');
    const decisions = await folder.sim(['inspect', 'b.athanor', '--decisions']);
    expect(decisions.stdout).toMatch(/node\/target\/call\/world\.act.*directive/);
  });
});
