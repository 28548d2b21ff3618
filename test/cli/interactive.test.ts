import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { helloToml, SimFolder, type SimResult } from './sim.ts';

interface Acknowledged {
  readonly type: string;
  readonly command: string;
  readonly at_ns: number;
  readonly quanta: number;
  readonly events: number;
  readonly ended: string | null;
}

async function session(
  folder: SimFolder,
  lines: readonly string[],
  more: readonly string[] = [],
): Promise<SimResult> {
  folder.write('hello.toml', helloToml());
  const args = ['run', 'hello.toml', '--seed', '7', '--interactive', ...more];
  return folder.sim([...args, '--format', 'jsonl'], { lines });
}

function acknowledged(result: SimResult): readonly Acknowledged[] {
  const records = result.records() as unknown as readonly Acknowledged[];
  return records.filter(({ type }) => type === 'acknowledged');
}

describe('sim run --interactive', () => {
  it('CR-12: waits at the start, and acknowledges each command at a boundary', async () => {
    const lines = [
      '# a comment, then a blank line',
      '',
      'step',
      'step-duration 100ms',
      'step-event',
      'step 2',
      'step-timer',
      'step-assertion',
      'query nodes',
      'query properties',
      'pause',
      'continue',
      'query',
    ];
    const result = await session(new SimFolder(), lines);
    const said = acknowledged(result);
    expect(said.map(({ command }) => command)).toEqual(['start', ...lines.slice(2)]);
    const [start, step, duration, event, two] = said as [
      Acknowledged,
      Acknowledged,
      Acknowledged,
      Acknowledged,
      Acknowledged,
    ];
    expect([start.at_ns, start.quanta, start.events]).toEqual([0, 0, 0]);
    expect([step.quanta, two.quanta > event.quanta]).toEqual([1, true]);
    expect(duration.at_ns).toBeGreaterThanOrEqual(step.at_ns + 100_000_000);
    expect(event.events).toBeGreaterThan(duration.events);
    expect(said.at(-1)?.ended).toBe('quiescence');
    expect(result.exitCode).toBe(0);
  });

  it('a session that only looks gives the bundle of the plain run', async () => {
    const folder = new SimFolder();
    await session(folder, ['step 3', 'query nodes', 'continue'], ['--out', 'a.athanor']);
    await folder.sim(['run', 'hello.toml', '--seed', '7', '--out', 'b.athanor']);
    expect(folder.read('a.athanor').equals(folder.read('b.athanor'))).toBe(true);
  });

  it('CR-30: a session that injects leaves no artefact, and says that it was not captured', async () => {
    const folder = new SimFolder();
    const lines = ['step', 'inject crash ada', 'heal', 'save x.athanor', 'continue'];
    const result = await session(folder, lines);
    const last = result.records().at(-1);
    expect(last).toMatchObject({ type: 'result', bundle: null, reproduction: 'not-captured' });
    expect(last).toMatchObject({ verdict: 'fail', exit_code: 1 });
    const refused = result.records().filter(({ type }) => type === 'refused');
    expect(refused.map(({ code }) => code)).toEqual(['usage/not-captured']);
    expect(existsSync(join(folder.path, '.athanor', 'runs'))).toBe(false);
    expect(existsSync(join(folder.path, 'x.athanor'))).toBe(false);
  });

  it('saves a point that resumes to the same end, and branches by seed or by answer', async () => {
    const folder = new SimFolder();
    await session(folder, ['step 2', 'save s.athanor', 'continue'], ['--out', 'a.athanor']);
    const resumed = await folder.sim(['resume', 's.athanor', '--out', 'b.athanor']);
    expect(resumed.exitCode).toBe(0);
    expect(folder.read('a.athanor').equals(folder.read('b.athanor'))).toBe(true);
    const forked = await session(folder, ['step 2', 'fork seed=8', 'continue']);
    expect(forked.records().at(-1)).toMatchObject({ reproduction: 'not-captured' });
  });

  it('refuses what it does not understand, each with its reason, and goes on', async () => {
    const lines = [
      'jump',
      'step x',
      'step 1 2',
      'inject crash nobody',
      'inject flood ada',
      'step-duration 0s',
      'fork n1=2',
      'query weather',
      'continue no=where',
      'stop',
      'step',
    ];
    const result = await session(new SimFolder(), lines);
    const refused = result.records().filter(({ type }) => type === 'refused');
    expect(refused.map(({ command }) => command)).toEqual(lines.slice(0, -2));
    expect(refused.every(({ code }) => String(code).startsWith('usage/'))).toBe(true);
    expect(result.records().at(-1)).toMatchObject({
      type: 'result',
      reason: 'stopped',
      reproduction: 'not-captured',
    });
  });

  it('CR-12: --watch says how far a run is, and a pause stops it short of its end', async () => {
    const args = ['run', 'raft', '--seed', '1', '--interactive', '--format', 'jsonl'];
    const lines = ['continue', 'pause', 'stop'];
    const paused = await new SimFolder().sim([...args, '--watch'], { lines });
    const said = acknowledged(paused);
    expect(said.map(({ command }) => command)).toEqual(['start', 'continue', 'continue']);
    expect(said.every(({ ended }) => ended === null)).toBe(true);
    expect(said.at(-1)?.quanta).toBeGreaterThan(0);
    const plain = acknowledged(await new SimFolder().sim(args, { lines }));
    expect(plain.map(({ command }) => command)).toEqual(['start', 'continue']);
  });

  it('writes the trace that was asked for', async () => {
    const folder = new SimFolder();
    await session(folder, ['continue'], ['--trace', 'led.trace']);
    await folder.sim(['run', 'hello.toml', '--seed', '7', '--trace', 'plain.trace']);
    expect(folder.read('led.trace').equals(folder.read('plain.trace'))).toBe(true);
  });

  it.each([
    ['about one run', ['--interactive', '--runs', '3'], 'usage/interactive'],
    ['what --watch is about', ['--watch'], 'usage/watch'],
  ])('is %s', async (_, flags, code) => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml());
    const { exitCode, stderr } = await folder.sim(['run', 'hello.toml', ...flags]);
    expect([exitCode, stderr.includes(code)]).toEqual([64, true]);
    expect(existsSync(join(folder.path, '.athanor', 'store'))).toBe(false);
  });
});
