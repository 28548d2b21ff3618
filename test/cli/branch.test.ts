import { describe, expect, it } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { packZip, unpackZip } from '../../cli/zip.ts';
import { decodeManifest, encodeManifest } from '../../sim/index.ts';
import { helloToml, SimFolder } from './sim.ts';

const SCENARIO = 'partition-recovery';

/** A folder with a run of the scenario and a savepoint in the middle of it. */
async function saved(at: string): Promise<SimFolder> {
  const folder = new SimFolder();
  await folder.sim(['run', SCENARIO, '--seed', '3', '--out', 'run.athanor']);
  const save = await folder.sim([
    'save',
    SCENARIO,
    '--seed',
    '3',
    '--at',
    at,
    '--out',
    's.athanor',
  ]);
  expect([save.exitCode, save.stderr]).toEqual([0, '']);
  return folder;
}

describe('sim save and resume', () => {
  it.each([
    'virtual-time=0',
    'virtual-time=600ms',
    'quanta=100',
    'console=ok',
    'property=clients finish',
  ])('CR-20, CR-21, CR-101: resuming from %s gives the very run that never stopped', async (at) => {
    const folder = await saved(at);
    const { exitCode, records } = await folder.sim([
      'resume',
      's.athanor',
      '--out',
      'resumed.athanor',
      '--format',
      'jsonl',
    ]);
    expect(exitCode).toBe(0);
    expect(records().at(-1)).toMatchObject({ canonical: true, verdict: 'pass' });
    expect(folder.read('resumed.athanor').equals(folder.read('run.athanor'))).toBe(true);
  });

  it('CR-17: saves at quiescence', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 1 }));
    const args = ['save', 'hello.toml', '--at', 'quiescence', '--out', 's.athanor'];
    expect((await folder.sim(args)).exitCode).toBe(0);
    expect((await folder.sim(['resume', 's.athanor'])).exitCode).toBe(0);
  });

  it('CR-19: the handle names selector, label and the proof of its boundary', async () => {
    const folder = new SimFolder();
    const args = ['save', SCENARIO, '--seed', '3', '--at', '600ms', '--label', 'split'];
    const { records } = await folder.sim([...args, '--out', 's.athanor', '--format', 'jsonl']);
    const { manifest } = openBundle(folder.read('s.athanor'));
    expect(manifest.savepoint).toMatchObject({ selector: 'virtual-time=600ms', label: 'split' });
    expect(records().at(-1)).toMatchObject({
      type: 'savepoint',
      selector: 'virtual-time=600ms',
      quanta: manifest.savepoint?.quanta,
      eventCount: manifest.savepoint?.eventCount,
      decisionChain: manifest.savepoint?.decisionChain,
    });
    expect(manifest.savepoint?.frontierNs).toBeGreaterThanOrEqual(600_000_000);
  });

  it('CR-19: a handle whose proof was changed is refused', async () => {
    const folder = await saved('600ms');
    const forged = packZip(
      unpackZip(folder.read('s.athanor')).map((member) => {
        if (member.name !== 'manifest.cbor') return member;
        const manifest = decodeManifest(member.bytes);
        const proof = manifest.savepoint;
        if (proof === null) return member;
        const savepoint = { ...proof, quanta: proof.quanta + 1 };
        return { ...member, bytes: encodeManifest({ ...manifest, savepoint }) };
      }),
    );
    folder.write('forged.athanor', forged);
    const { exitCode, stderr } = await folder.sim(['resume', 'forged.athanor']);
    expect([exitCode, stderr]).toEqual([
      5,
      'error bundle/content: the bundle is refused: its proof names another boundary than its ' +
        'logs have\n',
    ]);
  });

  it('CR-18: a boundary that never comes exits 3, writes nothing, and the trace says so', async () => {
    const folder = new SimFolder();
    const args = [
      'save',
      SCENARIO,
      '--seed',
      '3',
      '--at',
      'console=never said',
      '--out',
      's.athanor',
    ];
    const { exitCode, stderr } = await folder.sim([...args, '--trace', 'save.trace']);
    expect(exitCode).toBe(3);
    expect(stderr).toContain('error oracle/boundary: the run does not stop at console=never said');
    expect(() => folder.read('s.athanor')).toThrow('ENOENT');
    const trace = await folder.sim(['inspect', 'save.trace', '--format', 'jsonl']);
    expect(trace.records()[0]).toMatchObject({
      type: 'save_boundary_failure',
      text: expect.stringContaining('console=never said') as string,
    });
  });

  it('CR-20: another engine is refused', async () => {
    const folder = await saved('600ms');
    const other = packZip(
      unpackZip(folder.read('s.athanor')).map((member) => {
        if (member.name !== 'manifest.cbor') return member;
        const manifest = decodeManifest(member.bytes);
        const engine = { ...manifest.engine, schema: 0 };
        return { ...member, bytes: encodeManifest({ ...manifest, engine }) };
      }),
    );
    folder.write('other.athanor', other);
    expect((await folder.sim(['resume', 'other.athanor'])).exitCode).toBe(3);
  });

  it('needs to know where', async () => {
    const folder = new SimFolder();
    expect((await folder.sim(['save', SCENARIO])).exitCode).toBe(64);
    for (const at of ['sometime', 'quanta=x', 'quanta=', 'virtual-time=1.5s', 'foo=1']) {
      const { exitCode, stderr } = await folder.sim(['save', SCENARIO, '--at', at]);
      expect([exitCode, stderr.split(':')[0]]).toEqual([64, 'error usage/at']);
    }
  });
});

describe('sim fork', () => {
  it('CR-22, CR-25: another seed shares the prefix and leaves it', async () => {
    const folder = await saved('600ms');
    const fork = ['fork', 's.athanor', '--seed', '99', '--out', 'f.athanor', '--format', 'jsonl'];
    const { exitCode, records } = await folder.sim(fork);
    expect(exitCode).toBe(0);
    expect(records().at(-1)).toMatchObject({ canonical: false });
    const child = openBundle(folder.read('f.athanor'));
    const parent = openBundle(folder.read('run.athanor'));
    const { lineage } = child.manifest;
    expect(lineage).toMatchObject({ seed: 99, overrides: [] });
    expect(lineage?.parent).toBe(openBundle(folder.read('s.athanor')).digest);
    expect(lineage?.proof?.selector).toBe('virtual-time=600ms');
    expect(Buffer.compare(child.schedule, parent.schedule)).not.toBe(0);
    const prefix = await decisions(folder, 's.athanor');
    expect((await decisions(folder, 'f.athanor')).slice(0, prefix.length)).toEqual(prefix);
  });

  it('CR-25: without a seed and overrides the child goes the parent’s way', async () => {
    const folder = await saved('600ms');
    await folder.sim(['fork', 's.athanor', '--out', 'f.athanor']);
    const child = openBundle(folder.read('f.athanor'));
    const parent = openBundle(folder.read('run.athanor'));
    expect(Buffer.compare(child.events, parent.events)).toBe(0);
    expect(child.manifest.lineage?.seed).toBe(null);
  });

  it('CR-22, CR-24: an override that was printed can be pasted back, percent-encoded', async () => {
    const folder = await saved('100ms');
    const list = await decisions(folder, 'run.athanor');
    const heal = list.find((decision) => String(decision['stream']) === 'plan/heal/at');
    const [address] = String(heal?.['override']).split('=');
    const args = ['fork', 'run.athanor', '--at', '100ms', '--override', `${address}=5`];
    const { exitCode, records } = await folder.sim([
      ...args,
      '--out',
      'f.athanor',
      '--format',
      'jsonl',
    ]);
    expect(exitCode).toBe(0);
    const healed = records().find(({ kind, text }) => kind === 'network' && text === 'heal');
    expect(healed?.['at_ns']).toBe(2_000_000_005);
    const forced = (await decisions(folder, 'f.athanor')).filter(({ door }) => door === 'override');
    expect(forced.map(({ stream, choice }) => [stream, choice])).toEqual([['plan/heal/at', 5]]);
    const { manifest } = openBundle(folder.read('f.athanor'));
    expect(manifest.lineage?.overrides).toEqual([
      { stream: 'plan/heal/at', ordinal: 0, choice: 5 },
    ]);
  });

  it('CR-25: a fork is replayed from its own record', async () => {
    const folder = await saved('600ms');
    await folder.sim(['fork', 's.athanor', '--seed', '99', '--out', 'f.athanor']);
    const { exitCode, records } = await folder.sim(['replay', 'f.athanor', '--format', 'jsonl']);
    expect(exitCode).toBe(0);
    expect(records().at(-1)).toMatchObject({ validation: 'passed', canonical: false });
  });

  it('CR-26: a fork is never taken for evidence of determinism', async () => {
    const folder = await saved('600ms');
    await folder.sim(['fork', 's.athanor', '--seed', '99', '--out', 'f.athanor']);
    const { exitCode, stderr } = await folder.sim([
      'verify',
      '--compare',
      'run.athanor',
      'f.athanor',
    ]);
    expect([exitCode, stderr.split(':')[0]]).toEqual([3, 'error oracle/non-canonical']);
  });

  it('CR-22: a seed and an override never go together', async () => {
    const folder = await saved('600ms');
    const args = ['fork', 's.athanor', '--seed', '1', '--override', 'plan/heal/at#0=5'];
    const { exitCode, stderr } = await folder.sim(args);
    expect([exitCode, stderr.split(':')[0]]).toEqual([64, 'error usage/branch']);
  });

  it.each([
    ['node/nobody/entropy#0=1', 5, 'the scenario has no node "nobody"'],
    ['plan/nothing/at#0=1', 5, 'the scenario has no event "nothing"'],
    ['link/ada/nobody/loss#0=1', 5, 'the scenario has no node "nobody"'],
    ['weather#0=1', 5, 'no stream is called "weather"'],
    ['plan/split/at#0=1', 5, 'it was decided before the branch; the next one is number 1'],
    ['plan/heal/at#0=99999999999', 5, 'choice 99999999999 is not among the 1000000001 answers'],
    ['plan/heal/at=1', 64, '"plan/heal/at=1" is no override'],
    ['plan/%zz#0=1', 64, '"plan/%zz#0=1" is no override'],
    ['plan/heal/at#0=-1', 64, '"plan/heal/at#0=-1" is no override'],
  ])('CR-23: %s is refused', async (override, expected, why) => {
    const folder = await saved('600ms');
    const { exitCode, stderr } = await folder.sim(['fork', 's.athanor', '--override', override]);
    expect([exitCode, stderr.includes(why)]).toEqual([expected, true]);
  });

  it('CR-23: a decision that is never reached fails the run', async () => {
    const folder = await saved('600ms');
    const args = ['fork', 's.athanor', '--override', 'node/ada/entropy#7=1'];
    const { exitCode, stderr } = await folder.sim(args);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      'error verdict/override-unreached: the run ended before it reached node/ada/entropy#7',
    );
  });

  it('a recorded run needs --at, a savepoint must not have it', async () => {
    const folder = await saved('600ms');
    expect((await folder.sim(['fork', 'run.athanor'])).exitCode).toBe(64);
    expect((await folder.sim(['fork', 's.athanor', '--at', '1s'])).exitCode).toBe(64);
  });
});

async function decisions(
  folder: SimFolder,
  file: string,
): Promise<readonly Record<string, unknown>[]> {
  const args = ['inspect', file, '--decisions', '--limit', '0', '--format', 'jsonl'];
  const { records } = await folder.sim(args);
  return records().filter(({ type }) => type === 'decision');
}
