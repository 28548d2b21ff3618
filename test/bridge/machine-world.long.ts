import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keepBusy } from '../support/busy-host.ts';
import { testBackend } from '../support/machine-fixture.ts';

const MAIN = join(process.cwd(), 'dist', 'cli', 'main.js');

/** A machine that sends back what it hears on port 7, keeps it on its disk, and powers off. */
const VM = `main = """
mkfifo /run/back
nc -l -p 7 < /run/back | tee /data/heard > /run/back
sync
echo "kept $(wc -c < /data/heard)"
"""

[machine]
memory = "96MiB"

[disk]
size = "16MiB"
`;

const WHOLE = `schema_version = 1
name = "a machine and a client"

[guest.linux.machine]
vm = "echo.vm.toml"

[guest.client]
builtin = "echo-client"

[[node]]
name = "server"
guest = "linux"

[[node]]
name = "client"
guest = "client"
args = ["server", "7", "20", "256"]
start = "1500ms"

[network]
latency = "2ms"
jitter = "1ms"
loss = "3%"

[[property]]
name = "the client finishes"
kind = "exit"
nodes = ["client"]
`;

interface Ended {
  readonly exitCode: number;
  readonly errors: string;
  readonly records: readonly Readonly<Record<string, unknown>>[];
}

/** All that a run's result tells of its course. */
function course(record: Readonly<Record<string, unknown>> = {}): readonly unknown[] {
  const keys = ['verdict', 'end_ns', 'quanta', 'decision_chain', 'event_chain', 'last_draw'];
  return keys.map((key) => record[key]);
}

describe('a Debian machine and a WASM guest in one world', () => {
  const folder = mkdtempSync(join(tmpdir(), 'athanor-world-'));
  let calm: () => void = () => undefined;
  let whole: readonly unknown[] = [];

  /** `sim`, in a process of its own. */
  const sim = async (...args: string[]): Promise<Ended> => {
    const options = { cwd: folder, maxBuffer: 64 * 1024 ** 2 };
    const ended = await promisify(execFile)(process.execPath, [MAIN, ...args], options).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    );
    const lines = ended.stdout.split('\n').filter((line) => line !== '');
    const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    return { exitCode: ended.code, errors: ended.stderr, records };
  };
  const result = async (...args: string[]): Promise<Readonly<Record<string, unknown>>> => {
    const { exitCode, errors, records } = await sim(...args);
    expect([exitCode, errors], args.join(' ')).toEqual([0, '']);
    return records.at(-1) ?? {};
  };
  const bytes = (name: string): Buffer => readFileSync(join(folder, name));

  beforeAll(async () => {
    await testBackend();
    writeFileSync(join(folder, 'echo.vm.toml'), VM);
    writeFileSync(join(folder, 'world.toml'), WHOLE);
    // The image is made once, and found by all that follows.
    await sim('vm', 'image', 'echo.vm.toml');
    calm = keepBusy(1);
  });

  afterAll(() => {
    calm();
    rmSync(folder, { recursive: true, force: true });
  });

  it('talk over TCP on a link that loses packets, and the disk keeps what was heard', async () => {
    const { exitCode, records } = await sim('run', 'world.toml', '--seed', '1', '--out', 'a');
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
