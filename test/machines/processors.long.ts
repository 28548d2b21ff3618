import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testBackend } from '../support/machine-fixture.ts';
import { lineOf, MachineFolder, type Ended, type SimRecord } from './machine-folder.ts';

/** Programs on one machine's processors that say how far they come in 20 ms of its own clock. */
const VM = `main = "/spin $PROCESSORS $SPIN_MS"

[machine]
memory = "96MiB"

[files]
"/spin" = { source = "spin", mode = "0755" }
`;

const machine = (cpus: number): string => `[guest.linux.machine]
vm = "processors.vm.toml"
command_line = "cryptomgr.notests"
cpus = ${cpus}
`;

const event = (name: string, atMs: number, forMs: number, keys: string): string => {
  return `[[event]]\nname = "${name}"\nat = "${atMs}ms"\nfor = "${forMs}ms"\nnode = "vm"\n${keys}\n`;
};

const node = (processors: number, spinMs: number): string => {
  const args = [`PROCESSORS=${processors}`, `SPIN_MS=${spinMs}`];
  return `[[node]]\nname = "vm"\nguest = "linux"\nargs = ${JSON.stringify(args)}\n`;
};

/** A half of its processor, a quarter, a tenth, and all of it between. */
const SLOW = [
  'schema_version = 1\nname = "slow"',
  machine(1),
  node(1, 460),
  event('half', 850, 70, 'do = "slow"\ncpu = "50%"'),
  event('quarter', 970, 70, 'do = "slow"\ncpu = "25%"'),
  event('tenth', 1_080, 70, 'do = "slow"\ncpu = "10%"'),
].join('\n');

/** The second of two processors stands still for 250 ms, held twice. */
const STALL = [
  'schema_version = 1\nname = "stall"',
  machine(2),
  node(2, 480),
  event('stalled', 900, 150, 'do = "stall"\nvcpu = 1'),
  event('and again', 1_000, 150, 'do = "stall"\nvcpu = 1'),
].join('\n');

/** It stands still for so long that the kernel on the first one finds it. */
const LONG_STALL = [
  'schema_version = 1\nname = "long stall"',
  // The kernel's own least; usually it waits for 21 s.
  machine(2).replace('notests', 'notests rcupdate.rcu_cpu_stall_timeout=3'),
  node(2, 400),
  event('stalled', 1_000, 4_000, 'do = "stall"\nvcpu = 1'),
].join('\n');

/** What a processor's program said of the windows of 20 ms that lie within so many ms. */
function roundsWithin(
  { records }: Ended,
  processor: number,
  [fromMs, toMs]: readonly [number, number],
): readonly number[] {
  const told = ({ type, text, at_ns: atNs }: SimRecord): number[] => {
    const found = /^processor (\d) at \d+ ms: (\d+) rounds$/.exec(String(text));
    if (type !== 'timeline' || found === null || Number(found[1]) !== processor) return [];
    // It is told at the end of a window.
    const endMs = Number(atNs) / 1e6;
    return endMs - 21 >= fromMs && endMs <= toMs ? [Number(found[2])] : [];
  };
  return records.flatMap(told);
}

function mean(counts: readonly number[]): number {
  expect(counts.length).toBeGreaterThan(0);
  return counts.reduce((sum, count) => sum + count, 0) / counts.length;
}

describe('the processors of a machine of a scenario', { timeout: 600_000 }, () => {
  const folder = new MachineFolder();
  const path = (name: string): string => join(folder.path, name);
  const run = async (name: string, out: string): Promise<Ended> => {
    const words = ['run', `${name}.toml`, '--seed', '1', '--full', '--out', out];
    const ended = await folder.sim(...words);
    expect([ended.exitCode, ended.errors]).toEqual([0, '']);
    return ended;
  };
  let slow: Ended;

  beforeAll(async () => {
    await testBackend();
    const source = resolve('test', 'support', 'machine-spin.c');
    execFileSync('gcc', ['-O2', '-static', '-o', path('spin'), source]);
    writeFileSync(path('processors.vm.toml'), VM);
    for (const [name, text] of Object.entries({ slow: SLOW, stall: STALL, long: LONG_STALL })) {
      writeFileSync(path(`${name}.toml`), text);
    }
    await folder.image('processors.vm.toml');
    slow = await run('slow', 'slow');
  }, 300_000);
  afterAll(() => {
    folder.remove();
  });

  it('execute for the share that "slow" leaves them, by the clock of its guest (CR-86)', () => {
    const full = mean(roundsWithin(slow, 0, [750, 850]));
    const between = mean(roundsWithin(slow, 0, [920, 970]));
    expect(Math.abs(between / full - 1)).toBeLessThan(0.01);
    for (const [fromMs, share] of [
      [850, 0.5],
      [970, 0.25],
      [1_080, 0.1],
    ] as const) {
      const slowed = mean(roundsWithin(slow, 0, [fromMs, fromMs + 70]));
      // The kernel's own ticks cost as many instructions as ever.
      expect(slowed / full / share, `${share}`).toBeGreaterThan(0.93);
      expect(slowed / full / share, `${share}`).toBeLessThan(1.01);
    }
  });

  it('CR-59: the same in every run, in a replay, and from a savepoint within a share', async () => {
    const result = slow.records.at(-1);
    const verified = await folder.sim('verify', 'slow.toml', '--seed', '1');
    expect(verified.records.at(-1)).toMatchObject({ deterministic: true });
    const replayed = await folder.sim('replay', 'slow', '--check', 'log');
    expect([replayed.exitCode, replayed.errors]).toEqual([0, '']);
    const at = ['--at', 'virtual-time=1000ms'];
    await folder.sim('save', 'slow.toml', '--seed', '1', ...at, '--out', 'saved');
    const resumed = await folder.sim('resume', 'saved', '--out', 'resumed');
    expect(resumed.exitCode).toBe(0);
    for (const key of ['end_ns', 'event_chain', 'decision_chain']) {
      expect(resumed.records.at(-1)?.[key]).toEqual(result?.[key]);
    }
  });

  it('are stalled one by one, and go on when the last stall has ended (CR-86)', async () => {
    const ended = await run('stall', 'stall');
    const during = [900, 1_150] as const;
    expect(roundsWithin(ended, 1, during)).toEqual([]);
    const [alone, shared] = [
      mean(roundsWithin(ended, 0, during)),
      mean(roundsWithin(ended, 0, [820, 900])),
    ];
    expect(alone / shared).toBeGreaterThan(1.8);
    expect(mean(roundsWithin(ended, 1, [1_170, 1_260])) / shared).toBeGreaterThan(0.9);
    const replayed = await folder.sim('replay', 'stall', '--check', 'log');
    expect([replayed.exitCode, replayed.errors]).toEqual([0, '']);
    const listed = await folder.sim('inspect', 'stall', '--events', '--limit', '0');
    const stalls = listed.records.filter(({ kind }) => kind === 'guest/stall');
    expect(stalls.map(({ at_ns: atNs, result }) => [atNs, result])).toEqual([
      [900_000_000, 1],
      [1_150_000_000, 0],
    ]);
  });

  it("are missed by Debian's kernel when one stalls for long", async () => {
    const ended = await run('long', 'long');
    expect(lineOf(ended, 'vm', /rcu: INFO: rcu_\w+ detected stalls on CPUs\/tasks/)).not.toBe(null);
    expect(lineOf(ended, 'vm', /^spun$/)).not.toBe(null);
  });
});
