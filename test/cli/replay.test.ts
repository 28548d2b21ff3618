import { describe, expect, it } from 'vitest';
import { packBundle, type BundleParts } from '../../cli/bundle.ts';
import { packZip, unpackZip } from '../../cli/zip.ts';
import { decodeManifest, encodeManifest, RollingDigest, type Manifest } from '../../sim/index.ts';
import { partsOf } from './bundle-parts.ts';
import { helloToml, SimFolder } from './sim.ts';

/** A folder with the bundle of a run in it. */
async function recorded(exitCode = 0): Promise<SimFolder> {
  const folder = new SimFolder();
  folder.write('hello.toml', helloToml({ exitCode }));
  await folder.sim(['run', 'hello.toml', '--seed', '7', '--out', 'run.athanor']);
  return folder;
}

/** Writes a bundle again with another manifest. */
function withManifest(file: Uint8Array, change: (manifest: Manifest) => Manifest): Uint8Array {
  return packZip(
    unpackZip(file).map((member) => {
      if (member.name !== 'manifest.cbor') return member;
      return { ...member, bytes: encodeManifest(change(decodeManifest(member.bytes))) };
    }),
  );
}

describe('sim replay', () => {
  it('CR-27: repeats a run in fresh guests and compares everything', async () => {
    const folder = await recorded();
    const { exitCode, stdout } = await folder.sim(['replay', 'run.athanor', '--format', 'table']);
    expect(exitCode).toBe(0);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('validation=passed  reproduced_status=pass');
  });

  it('CR-28: --check log says that both logs are identical', async () => {
    const folder = await recorded();
    const { records } = await folder.sim([
      'replay',
      'run.athanor',
      '--check',
      'log',
      '--format',
      'jsonl',
    ]);
    expect(records().at(-1)).toMatchObject({ validation: 'passed', log: 'identical' });
  });

  it('CR-29: reproducing a recorded failure is a success', async () => {
    const folder = await recorded(3);
    const { exitCode, records } = await folder.sim(['replay', 'run.athanor', '--format', 'jsonl']);
    expect(exitCode).toBe(0);
    expect(records().at(-1)).toMatchObject({
      validation: 'passed',
      reproduced_status: 'fail',
      signature: 'exit:everybody finishes',
    });
  });

  it('CR-28: --to validates a prefix', async () => {
    const folder = await recorded();
    for (const [to, expected] of [
      ['virtual-time=1s', { to: 'virtual-time=1s' }],
      ['1s', { to: 'virtual-time=1s' }],
      ['quanta=2', { quanta: 2 }],
      ['decision=1', { decisions: 1 }],
      ['console=after', { to: 'console=after' }],
      ['quiescence', { to: 'quiescence' }],
    ] as const) {
      const { exitCode, records, stderr } = await folder.sim([
        'replay',
        'run.athanor',
        '--to',
        to,
        '--format',
        'jsonl',
      ]);
      expect([stderr, exitCode]).toEqual(['', 0]);
      expect(records().at(-1)).toMatchObject({ validation: 'passed', ...expected });
    }
  });

  it('CR-28: --to a savepoint of the same run', async () => {
    const folder = await recorded();
    const save = ['save', 'hello.toml', '--seed', '7', '--at', '1s', '--out', 's.athanor'];
    await folder.sim(save);
    const args = ['replay', 'run.athanor', '--to', 's.athanor', '--format', 'jsonl'];
    expect((await folder.sim(args)).records().at(-1)).toMatchObject({ validation: 'passed' });
    await folder.sim(['run', 'hello.toml', '--seed', '8', '--out', 'other.athanor']);
    const other = await folder.sim(['replay', 'other.athanor', '--to', 's.athanor']);
    expect([other.exitCode, other.stderr.split(':')[0]]).toEqual([3, 'error oracle/scenario']);
  });

  it('CR-18: boundaries lie between quanta; one that does not is refused with the next', async () => {
    const folder = await recorded();
    const to = async (at: string): Promise<[number, string]> => {
      const { exitCode, stderr } = await folder.sim(['replay', 'run.athanor', '--to', at]);
      return [exitCode, stderr.split('\n')[0] ?? ''];
    };
    const [exitCode, error] = await to('event=10');
    const next =
      /the next boundary is quanta=1 \((event=\d+), decision=0\)$/.exec(error)?.[1] ?? '';
    expect([exitCode, next]).toEqual([3, expect.stringMatching(/^event=\d+$/)]);
    expect(await to(next)).toEqual([0, '']);
  });

  it('a boundary that the run does not have is an error', async () => {
    const folder = await recorded();
    const { exitCode, stderr } = await folder.sim(['replay', 'run.athanor', '--to', 'console=xyz']);
    expect(exitCode).toBe(3);
    expect(stderr).toContain(
      'error oracle/boundary: the run does not stop at console=xyz: it ended',
    );
  });

  it('stops at the first event that differs, and names it', async () => {
    const folder = await recorded();
    // Another guest binary would do this; here the record is of another seed.
    const parts = partsOf(folder.read('run.athanor'));
    await folder.sim(['run', 'hello.toml', '--seed', '8', '--out', 'eight.athanor']);
    const eight = partsOf(folder.read('eight.athanor'));
    const mixed = packBundle({
      ...eight,
      scenario: parts.scenario,
      manifest: { ...eight.manifest, seed: 7 },
    });
    folder.write('mixed.athanor', mixed);
    const mixedReplay = await folder.sim(['replay', 'mixed.athanor']);
    // Its decisions answer as recorded, so the run is that of seed 8, but for the last draw.
    expect([mixedReplay.exitCode, mixedReplay.stderr]).toEqual([
      1,
      expect.stringContaining("error verdict/mismatch: the outcome's lastDraw"),
    ]);
    const cut = packBundle(withoutEvents(parts));
    folder.write('cut.athanor', cut);
    const { exitCode, stderr } = await folder.sim(['replay', 'cut.athanor']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^error verdict\/divergence: the replay met another event than was/);
    expect(stderr).toContain('expected the end of the run; came ');
  });

  it('FB-62: another engine is refused, a near version is worth a warning', async () => {
    const folder = await recorded();
    const file = folder.read('run.athanor');
    const engine = (change: object): Uint8Array => {
      return withManifest(file, (manifest) => ({
        ...manifest,
        engine: { ...manifest.engine, ...change },
      }));
    };
    folder.write('schema.athanor', engine({ schema: 99 }));
    folder.write('major.athanor', engine({ version: '9.0.0' }));
    folder.write('minor.athanor', engine({ version: '0.9.9' }));
    for (const name of ['schema.athanor', 'major.athanor']) {
      const { exitCode, stderr } = await folder.sim(['replay', name]);
      expect(exitCode).toBe(3);
      expect(stderr).toContain('error identity/engine: the bundle was made by another engine');
    }
    const minor = await folder.sim(['replay', 'minor.athanor', '--format', 'table']);
    expect([minor.exitCode, minor.stderr]).toEqual([
      0,
      'warning: the bundle was written by version 0.9.9, this is 0.1.0\n',
    ]);
  });

  it('FB-57, FB-58: no plan is said, a drifted plan is warned of', async () => {
    const folder = await recorded();
    const parts = partsOf(folder.read('run.athanor'));
    const drifted = (parts.plan ?? '').replace('"kind": "exit"', '"kind": "never"');
    folder.write('drift.athanor', packBundle({ ...parts, plan: drifted }));
    const { exitCode, stderr } = await folder.sim(['replay', 'drift.athanor', '--format', 'table']);
    expect(exitCode).toBe(0);
    expect(stderr).toBe('warning: the plan has drifted, first at: "kind": "exit"\n');
  });

  it('a thin bundle takes its guests from the store', async () => {
    const folder = await recorded();
    await folder.sim(['run', 'hello.toml', '--seed', '7', '--thin', '--out', 'thin.athanor']);
    expect(folder.read('thin.athanor').length).toBeLessThan(8_000);
    expect((await folder.sim(['replay', 'thin.athanor'])).exitCode).toBe(0);
    const { exitCode, stderr } = await folder.sim(['replay', 'thin.athanor', '--store', 'empty']);
    expect(exitCode).toBe(5);
    expect(stderr).toContain('error store/missing: the store lacks the object ');
  });

  it('a damaged bundle is one clear error', async () => {
    const folder = await recorded();
    folder.write('cut.athanor', folder.read('run.athanor').subarray(0, 5_000));
    const { exitCode, stdout, stderr } = await folder.sim(['replay', 'cut.athanor']);
    expect([exitCode, stdout]).toEqual([5, '']);
    expect(stderr).toBe(
      'error bundle/zip: the file is no sound bundle: it does not end as a bundle does; it is cut ' +
        'off or another kind of file\n  at: offset 4891\n',
    );
  });

  it('a run that the simulator itself gave up must end in the same error again', async () => {
    const folder = await recorded();
    const parts = partsOf(folder.read('run.athanor'));
    const outcome = {
      ...parts.manifest.outcome,
      verdict: 'error',
      reason: 'crash/assertion',
    } as const;
    folder.write('e.athanor', packBundle({ ...parts, manifest: { ...parts.manifest, outcome } }));
    const { exitCode, stderr } = await folder.sim(['replay', 'e.athanor']);
    expect([exitCode, stderr.split('\n')[0]]).toEqual([
      1,
      'error verdict/mismatch: the error differs from the record: expected crash/assertion, found ' +
        'quiescence',
    ]);
  });

  it('a savepoint is not a run', async () => {
    const folder = await recorded();
    await folder.sim(['save', 'hello.toml', '--seed', '7', '--at', '1s', '--out', 's.athanor']);
    const { exitCode, stderr } = await folder.sim(['replay', 's.athanor']);
    expect([exitCode, stderr.split(':')[0]]).toEqual([5, 'error input/kind']);
  });
});

/** The parts of a run whose event log is empty. */
function withoutEvents(parts: BundleParts): BundleParts {
  const eventChain = new RollingDigest().hex();
  const outcome = { ...parts.manifest.outcome, eventCount: 0, eventChain };
  return { ...parts, events: new Uint8Array(0), manifest: { ...parts.manifest, outcome } };
}
