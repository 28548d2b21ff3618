import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { decodeEvents, LOG_EVENTS, readLog, splitFrames } from '../../sim/index.ts';
import { helloToml, SimFolder } from './sim.ts';

/** What only real processes show. They run what `npm run build` has made. */
const MAIN = join(process.cwd(), 'dist', 'cli', 'main.js');

interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function sim(folder: SimFolder, args: readonly string[]): Promise<Ended> {
  try {
    const options = { cwd: folder.path, maxBuffer: 64 * 1024 * 1024 };
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [MAIN, ...args],
      options,
    );
    return { exitCode: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { exitCode: code, stdout, stderr };
  }
}

describe('sim as a process', () => {
  it('CR-27: replays in another process what was recorded in this one', async () => {
    const folder = new SimFolder();
    await folder.sim(['run', 'partition-recovery', '--seed', '5', '--out', 'here.athanor']);
    const replayed = await sim(folder, ['replay', 'here.athanor', '--check', 'log']);
    expect([replayed.exitCode, replayed.stderr]).toEqual([0, '']);
    await sim(folder, ['run', 'partition-recovery', '--seed', '5', '--out', 'there.athanor']);
    expect(folder.read('here.athanor').equals(folder.read('there.athanor'))).toBe(true);
  });

  it('workers find what one process finds, group for group', async () => {
    const folder = new SimFolder();
    const args = ['run', 'fault-campaign', '--seed', '1', '--runs', '24', '--format', 'jsonl'];
    const groups = ({ stdout }: Ended): unknown[] => {
      const lines = stdout.split('\n').filter((line) => line !== '');
      const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      return records.slice(1);
    };
    const alone = await sim(folder, args);
    const together = await sim(folder, [...args, '--jobs', '3']);
    expect(alone.exitCode).toBe(together.exitCode);
    expect(groups(together)).toEqual(groups(alone));
    expect(groups(alone).at(-1)).toMatchObject({ type: 'result', runs: 24 });
  });

  it('CR-13, CR-14: independent processes under hostile hosts agree byte for byte', async () => {
    const folder = new SimFolder();
    const args = ['verify', 'hello', '--runs', '3', '--format', 'jsonl'];
    const { exitCode, stdout, stderr } = await sim(folder, args);
    expect([exitCode, stderr]).toEqual([0, '']);
    const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as object;
    expect(last).toMatchObject({ type: 'verify', deterministic: true, runs: 3, verdict: 'pass' });
    expect(readdirSync(join(folder.path, '.athanor', 'verify'))).toEqual([]);
  });

  it('CR-13: exactly one of the two forms of verify', async () => {
    const folder = new SimFolder();
    await folder.sim(['run', 'hello', '--seed', '1', '--out', 'a.athanor']);
    await folder.sim(['run', 'hello', '--seed', '1', '--out', 'b.athanor']);
    const compare = ['verify', '--compare', 'a.athanor', 'b.athanor'];
    expect((await sim(folder, compare)).exitCode).toBe(0);
    expect((await sim(folder, ['verify', '--compare', 'a.athanor'])).exitCode).toBe(64);
    expect((await sim(folder, [...compare, '--runs', '2'])).exitCode).toBe(64);
    expect((await sim(folder, ['verify', 'a.athanor', 'b.athanor'])).exitCode).toBe(64);
    expect((await sim(folder, ['verify', 'hello', '--runs', '1'])).exitCode).toBe(64);
    const other = await sim(folder, ['verify', 'hello', '--node', './no-such-node']);
    expect([other.exitCode, other.stderr.split(':')[0]]).toEqual([4, 'error backend/process']);
  });

  it('a killed run leaves no bundle, and a trace that is readable to its last whole frame', async () => {
    const folder = new SimFolder();
    const toml = helloToml({ seed: 1 })
      .replace('builtin = "hello"', 'builtin = "spin"')
      .replace('args = ["/", "0"]', 'args = ["ticks", "1", "1000000"]')
      .concat('\n[limits]\nvirtual_time = "100000s"\n');
    folder.write('long.toml', toml);
    const args = [MAIN, 'run', 'long.toml', '--trace', 'long.trace', '--out', 'long.athanor'];
    const child = spawn(process.execPath, args, { cwd: folder.path, stdio: 'ignore' });
    const trace = join(folder.path, 'long.trace');
    while (!existsSync(trace) || statSync(trace).size < 200_000) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    child.kill('SIGKILL');
    await new Promise((resolve) => child.on('exit', resolve));
    expect(existsSync(join(folder.path, 'long.athanor'))).toBe(false);
    const { byKind } = splitFrames(readFileSync(trace));
    const log = readLog(byKind.get(LOG_EVENTS) ?? new Uint8Array(0), LOG_EVENTS);
    expect(log.damage).toBe(null);
    expect([...decodeEvents(log)].length).toBeGreaterThan(1_000);
    expect((await sim(folder, ['inspect', 'long.trace'])).exitCode).toBe(0);
  });

  it('a full disk is one clear error, exit 5, and leaves nothing half-written', async () => {
    const folder = new SimFolder();
    await folder.sim(['run', 'hello', '--seed', '1', '--out', 'whole.athanor']);
    // A limit on the size of files stands for the disk: 16 KiB are not enough for any bundle.
    const script = `trap '' XFSZ; ulimit -f 16; exec "$0" "$@"`;
    const words = [process.execPath, MAIN, 'run', 'hello', '--seed', '1', '--out', 'full.athanor'];
    let ended: Ended;
    try {
      const stdout = execFileSync('bash', ['-c', script, ...words], {
        cwd: folder.path,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      ended = { exitCode: 0, stdout, stderr: '' };
    } catch (error) {
      const { status, stdout, stderr } = error as {
        status: number;
        stdout: string;
        stderr: string;
      };
      ended = { exitCode: status, stdout, stderr };
    }
    expect(ended.exitCode).toBe(5);
    expect(ended.stderr).toMatch(
      /^error store\/write: cannot write "full\.athanor": the file would be larger than is allowed\n/,
    );
    const left = readdirSync(folder.path).filter((name) => name.includes('full'));
    expect(left).toEqual([]);
    expect(openBundle(folder.read('whole.athanor')).manifest.outcome.verdict).toBe('pass');
  });

  it('output that is closed early is no error', () => {
    const folder = new SimFolder();
    writeFileSync(join(folder.path, 'hello.toml'), helloToml({ seed: 1 }));
    const command = `"${process.execPath}" "${MAIN}" run crash-restart --format jsonl --full | head -1`;
    const stdout = execFileSync('bash', ['-o', 'pipefail', '-c', command], {
      cwd: folder.path,
      encoding: 'utf8',
    });
    expect(stdout.split('\n')[0]).toMatch(/^\{"schema_version":1,"type":"start"/);
  });
});
