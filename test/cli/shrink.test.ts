import { beforeAll, describe, expect, it } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { helloToml, SimFolder } from './sim.ts';

const JSONL = ['--format', 'jsonl'];

let folder: SimFolder;

beforeAll(async () => {
  folder = new SimFolder();
  await folder.sim(['run', 'fault-campaign', '--seed', '27', '--out', 'failed.athanor']);
});

function ofType(records: readonly Readonly<Record<string, unknown>>[], type: string) {
  return records.filter((record) => record['type'] === type);
}

describe('sim shrink', () => {
  it('makes a run smaller that fails in the same way, and replays from its bundle', async () => {
    const shrunk = await folder.sim(['shrink', 'failed.athanor', '--out', 's.athanor', ...JSONL]);
    expect(shrunk.exitCode).toBe(0);
    const [result] = ofType(shrunk.records(), 'result');
    expect(result).toMatchObject({
      status: 'shrunk',
      signature: 'clients finish: exit: still running when nothing could happen',
      before: { nodes: 4 },
      after: { nodes: 2 },
      canonical: false,
    });
    const { before, after } = result as Record<string, Record<string, number>>;
    expect(after?.['fault_events']).toBeLessThan(before?.['fault_events'] ?? 0);
    expect(after?.['end_ns']).toBeLessThan(before?.['end_ns'] ?? 0);
    const replayed = await folder.sim(['replay', 's.athanor', '--check', 'log', ...JSONL]);
    expect([replayed.exitCode, replayed.stderr]).toEqual([0, '']);
    // All that is left stands in the scenario: it fails in a run of its own, too.
    const again = await folder.sim(['run', 's.athanor', '--out', 'again.athanor', ...JSONL]);
    expect(again.exitCode).toBe(1);
  });

  it('CR-25, CR-26: names its parent and is no evidence of it', async () => {
    const parent = openBundle(folder.read('failed.athanor'));
    const { manifest, scenario } = openBundle(folder.read('s.athanor'));
    expect(manifest.lineage).toMatchObject({
      parent: parent.digest,
      proof: null,
      shrunk: { signature: 'clients finish: exit: still running when nothing could happen' },
    });
    expect(manifest.ids.plan).not.toBe(parent.manifest.ids.plan);
    // What mends a fault stays as long as the fault does.
    expect(scenario.plan.events.map(({ action }) => action.kind)).toContain('restart');
    const verified = await folder.sim(['verify', '--compare', 's.athanor', 'failed.athanor']);
    expect(verified.exitCode).not.toBe(0);
  });

  it('tells a story that ends with what did not hold', async () => {
    const told = await folder.sim(['shrink', 'failed.athanor'], { terminal: true });
    expect(told.stderr).toMatch(/\[#*-*\] \d+\/\d+ /);
    expect(told.stdout).toMatch(/server +\u21af crash/);
    expect(told.stdout).toContain('"clients finish" failed: still running when nothing');
    expect(told.stdout).toMatch(/replay {2}sim replay \.athanor/);
    expect(told.stdout.split('\n').length).toBeLessThan(35);
  });

  it('keeps to a budget of runs', async () => {
    const few = await folder.sim(['shrink', 'failed.athanor', '--budget', '5', ...JSONL]);
    expect(ofType(few.records(), 'result')).toMatchObject([{ probes: 5, status: 'shrunk' }]);
    for (const budget of ['0', '0s', 'much']) {
      const refused = await folder.sim(['shrink', 'failed.athanor', '--budget', budget]);
      expect([refused.exitCode, refused.stderr]).toEqual([
        64,
        expect.stringContaining('--budget is'),
      ]);
    }
  });

  it('CR-37: reports a timeout and does not shrink it', async () => {
    const args = ['run', 'fault-campaign', '--seed', '1', '--max-virtual-time', '100ms'];
    await folder.sim([...args, '--out', 'timeout.athanor']);
    const told = await folder.sim(['shrink', 'timeout.athanor', ...JSONL]);
    expect(told.exitCode).toBe(2);
    expect(ofType(told.records(), 'result')).toMatchObject([{ status: 'not-applicable-timeout' }]);
  });

  it('refuses a run that passed', async () => {
    folder.write('hello.toml', helloToml({ seed: 1 }));
    await folder.sim(['run', 'hello.toml', '--out', 'passed.athanor']);
    const refused = await folder.sim(['shrink', 'passed.athanor']);
    expect([refused.exitCode, refused.stderr]).toEqual([
      5,
      expect.stringContaining('input/not-failed'),
    ]);
  });

  it('shrinks what fails without any fault to what fails at all', async () => {
    folder.write('hello.toml', helloToml({ exitCode: 3, seed: 1 }));
    await folder.sim(['run', 'hello.toml', '--out', 'code.athanor']);
    const told = await folder.sim(['shrink', 'code.athanor', ...JSONL]);
    expect(ofType(told.records(), 'result')).toMatchObject([
      { status: 'shrunk', after: { nodes: 1, fault_events: 0 } },
    ]);
  });
});
