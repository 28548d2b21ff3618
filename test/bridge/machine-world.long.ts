import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keepBusy } from '../support/busy-host.ts';
import { EchoFolder, echoWorld } from '../support/echo-folder.ts';

const WHOLE = `${echoWorld('1500ms')}
[[property]]
name = "the client finishes"
kind = "exit"
nodes = ["client"]
`;

/** All that a run's result tells of its course. */
function course(record: Readonly<Record<string, unknown>> = {}): readonly unknown[] {
  const keys = ['verdict', 'end_ns', 'quanta', 'decision_chain', 'event_chain', 'last_draw'];
  return keys.map((key) => record[key]);
}

describe('a Debian machine and a WASM guest in one world', () => {
  const folder = new EchoFolder();
  let calm: () => void = () => undefined;
  let whole: readonly unknown[] = [];

  const result = async (...args: string[]): Promise<Readonly<Record<string, unknown>>> => {
    const { exitCode, errors, records } = await folder.sim(...args);
    expect([exitCode, errors], args.join(' ')).toEqual([0, '']);
    return records.at(-1) ?? {};
  };
  const bytes = (name: string): Buffer => folder.bytes(name);

  beforeAll(async () => {
    // The image is made once, and found by all that follows.
    await folder.prepare();
    folder.write('world.toml', WHOLE);
    calm = keepBusy(1);
  });

  afterAll(() => {
    calm();
    folder.remove();
  });

  it('talk over TCP on a link that loses packets, and the disk keeps what was heard', async () => {
    const { exitCode, records } = await folder.sim(
      'run',
      'world.toml',
      '--seed',
      '1',
      '--out',
      'a',
    );
    const text = JSON.stringify(records);
    expect(text).toMatch(/ok: 20 echoes of 256 bytes/);
    expect(text).toMatch(/kept 5120/);
    expect([exitCode, records.at(-1)?.['verdict']]).toEqual([0, 'pass']);
    whole = course(records.at(-1));
  });

  it('run to the same bundle again, and verify and replay agree (CR-13, CR-111)', async () => {
    await result('run', 'world.toml', '--seed', '1', '--out', 'b');
    expect(bytes('b').equals(bytes('a'))).toBe(true);
    expect(await result('verify', 'world.toml', '--seed', '1')).toMatchObject({
      deterministic: true,
      runs: 2,
    });
    expect(await result('replay', 'a')).toMatchObject({ validation: 'passed' });
  });

  it('go on from a savepoint as if they had never stopped, and in another way', async () => {
    await result('save', 'world.toml', '--seed', '1', '--at', 'virtual-time=1720ms', '--out', 's');
    expect(course(await result('resume', 's', '--out', 'c'))).toEqual(whole);
    expect(course(await result('fork', 's', '--seed', '8', '--out', 'f'))).not.toEqual(whole);
  });
});
