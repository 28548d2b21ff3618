import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lineOf, MachineFolder, verdictOf, type Ended } from './machine-folder.ts';

const LOST = /^lost (\d+) of (\d+) acknowledged keys, window (\d+) ms$/;

const KEPT = 'nothing acknowledged is lost';
const PAUSE = 'do = "pause"\nnode = "redis"\nfor = "30ms"';
const END_OF_CLIENT =
  '[[event]]\nname = "end of the client"\nat = "3500ms"\ndo = "kill"\nnode = "client"\n\n';
/** The first seed whose loss of power comes, of five that might. */
const CHANCE_SEED = 14;
/** Eight futures at each of the three positions that there are. */
const BISECT_BUDGET = 24;

/** Of a run's client: keys that are missing, keys that were acknowledged, and the loss window. */
function lossOf(run: Ended): readonly number[] {
  const line = lineOf(run, 'client', LOST) ?? [];
  return line.slice(1, 4).map(Number);
}

describe("Debian's Redis on a machine that loses its power", { timeout: 900_000 }, () => {
  const folder = new MachineFolder();
  beforeAll(async () => {
    await folder.image('redis');
    folder.scenario('redis-everysec', 'everysec');
    folder.scenario('redis-always', 'always');
    // A pause that harms nobody, and a loss of power that may come or not; else nothing is drawn.
    folder.scenario('redis-everysec', 'chance', [
      ['rootfstype=ramfs', 'rootfstype=ramfs cryptomgr.notests'],
      ['\njitter = "2ms"', ''],
      ['crash = "reordered"\ntear = "10%"', 'crash = "ordered"'],
      ['name = "slow flushes"\nat = "3s"', 'name = "a pause"\nat = "1500ms"'],
      ['do = "disk"\nnodes = ["redis"]\nsync_latency = "400ms"', PAUSE],
      ['at = "5s"\nwithin = "2s"', 'at = "1800ms"\nchance = "20%"'],
      ['at = "10s"', 'at = "3500ms"'],
      [
        '[[property]]\nname = "the client is done"',
        `${END_OF_CLIENT}[[property]]\nname = "${KEPT}"`,
      ],
      ['kind = "exit"\nnodes = ["client"]', 'kind = "linearizable"\nmodel = "set"'],
    ]);
    // The drive acknowledges flushes from its cache; what it loses is the end of what was written.
    folder.scenario('redis-always', 'lying', [
      ['rootfstype=ramfs', 'rootfstype=ramfs cryptomgr.notests'],
      ['crash = "reordered"', 'crash = "ordered"'],
      [
        '[[event]]\nname = "loss of power"',
        '[[event]]\nname = "lies"\nat = "3s"\ndo = "disk"\nnodes = ["redis"]\nlying_flush = "100%"\n\n[[event]]\nname = "loss of power"',
      ],
    ]);
  }, 900_000);
  afterAll(() => {
    folder.remove();
  });

  const run = (name: string, seed: number, ...more: readonly string[]): Promise<Ended> => {
    return folder.sim('run', `${name}.toml`, '--seed', String(seed), '--full', ...more);
  };

  it('keeps all that it acknowledged with appendfsync always', async () => {
    const always = await run('always', 1, '--thin');
    expect(always.exitCode, always.errors).toBe(0);
    const [lost, acknowledged = 0] = lossOf(always);
    expect(lost).toBe(0);
    expect(acknowledged).toBeGreaterThan(50);
    expect(verdictOf(always, 'nothing acknowledged is lost')).toBe('pass');
  });

  it('loses acknowledged keys when the flushes of its disk lie, and in forks others', async () => {
    const lying = await run('lying', 1, '--thin', '--out', 'lying.athanor');
    expect(lying.exitCode, lying.errors).toBe(1);
    expect(lossOf(lying)[0]).toBeGreaterThan(0);
    expect(verdictOf(lying, 'nothing acknowledged is lost')).toBe('fail');
    const at = ['--at', 'virtual-time=3900ms', '--seed', '8'];
    const fork = await folder.sim('fork', 'lying.athanor', ...at, '--full', '--thin');
    expect(fork.exitCode, fork.errors).toBe(1);
    expect(lossOf(fork)[0]).toBeGreaterThan(0);
    expect(lossOf(fork)).not.toEqual(lossOf(lying));
  });

  it('loses up to two seconds with appendfsync everysec, and that repeats', async () => {
    const everysec = await run('everysec', 1, '--out', 'everysec.athanor');
    const [lost, , windowMs = 0] = lossOf(everysec);
    expect(lost).toBeGreaterThan(0);
    expect(windowMs).toBeGreaterThan(0);
    expect(windowMs).toBeLessThanOrEqual(2_000);
    expect(verdictOf(everysec, 'the client is done')).toBe('pass');
    const replayed = await folder.sim('replay', 'everysec.athanor', '--check', 'log');
    expect([replayed.exitCode, replayed.errors]).toEqual([0, '']);
  });

  it('is bisected in time: to the loss of power, at its moment', async () => {
    const failed = await run('chance', CHANCE_SEED, '--out', 'chance.athanor');
    expect(failed.exitCode, failed.errors).toBe(1);
    expect(lossOf(failed)[0]).toBeGreaterThan(0);
    const budget = ['--budget', String(BISECT_BUDGET), '--jobs', '2'];
    const { records } = await folder.sim('bisect', 'chance.athanor', ...budget);
    const rise = records.find(({ type, which }) => type === 'moment' && which === 'rise');
    expect(rise).toMatchObject({
      decision: { stream: 'plan/loss of power/chance', atNs: 1_800_000_000 },
    });
    const points = records.filter(({ type }) => type === 'point');
    const shares = points.map(({ share }) => Number(share));
    expect(Math.max(...shares.slice(0, 2))).toBeLessThan(0.9);
    expect(shares.slice(2)).toEqual([1, 1]);
  });
});
