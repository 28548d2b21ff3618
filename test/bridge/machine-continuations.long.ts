import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EchoFolder, echoWorld } from '../support/echo-folder.ts';

/** The client is late where packets were lost: in about two runs of three. */
const LATE = `${echoWorld('1900ms')}
[limits]
virtual_time = "2300ms"

[[property]]
name = "the client is in time"
kind = "eventually"
when = { after = "1900ms" }
that = { node_state = { nodes = ["client"], is = "exited" } }
within = "200ms"
`;

/** Processes of machines whose files stand in a folder, alive or not yet waited for. */
function machinesOf(folder: string): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(folder);
    } catch {
      return false;
    }
  });
}

describe('a world with a machine that fails', () => {
  const folder = new EchoFolder();
  const { TMPDIR } = process.env;
  let temporary = '';

  beforeAll(async () => {
    await folder.prepare();
    temporary = folder.folder('temporary');
    process.env['TMPDIR'] = temporary;
    folder.write('late.toml', LATE);
    for (let seed = 1; seed <= 8; seed++) {
      const ended = await folder.sim('run', 'late.toml', '--seed', String(seed), '--out', 'late');
      if (ended.exitCode === 1) return;
    }
    throw new Error('no seed of eight makes the client late');
  });

  afterAll(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
    folder.remove();
  });

  it('is bisected over time, by forks of machines that stand parked', async () => {
    const args = ['bisect', 'late', '--budget', '16', '--jobs', '2'];
    const { exitCode, errors, records } = await folder.sim(...args);
    expect([exitCode, errors]).toEqual([0, expect.stringMatching(/^(warning: the budget.*\n)?$/)]);
    const points = records.filter(({ type }) => type === 'point');
    expect(points.length).toBeGreaterThan(1);
    expect(points.at(-1)).toMatchObject({ share: 1 });
    expect(records.at(-1)).toMatchObject({ type: 'result', mode: 'time', continuations: 16 });
  });

  it('is shrunk, and what is left fails in the same way', async () => {
    const args = ['shrink', 'late', '--budget', '4', '--out', 'small'];
    const { exitCode, errors } = await folder.sim(...args);
    expect([exitCode, errors]).toEqual([0, '']);
    const { records } = await folder.sim('replay', 'small');
    expect(records.at(-1)).toMatchObject({ validation: 'passed', reproduced_status: 'fail' });
  });

  it('leaves no process and no file behind', () => {
    expect(machinesOf(temporary)).toEqual([]);
    expect(readdirSync(temporary)).toEqual([]);
  });
});
