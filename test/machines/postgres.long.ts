import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lineOf, MachineFolder, verdictOf, type Ended } from './machine-folder.ts';

const WHOLE = 'PostgreSQL is whole after a loss of power';

/** How many transactions each recovery found. */
function recoveries({ records }: Ended): readonly number[] {
  return records.flatMap((each) => {
    const found = /^recovered (\d+) transactions$/.exec(String(each['text']));
    return found === null ? [] : [Number(found[1])];
  });
}

describe(
  "Debian's PostgreSQL under pgbench on a disk that tears pages",
  { timeout: 1_200_000 },
  () => {
    const folder = new MachineFolder();
    beforeAll(async () => {
      await folder.image('pgbench');
      folder.scenario('pgbench', 'on');
      folder.scenario('pgbench', 'off', [
        ['args = ["FULL_PAGE_WRITES=on"]', 'args = ["FULL_PAGE_WRITES=off"]'],
      ]);
    }, 600_000);
    afterAll(() => {
      folder.remove();
    });

    const run = (name: string): Promise<Ended> => {
      const out = ['--out', `${name}.athanor`];
      return folder.sim('run', `${name}.toml`, '--seed', '1', '--full', '--thin', ...out);
    };

    it('recovers from each loss of power with full_page_writes, and not without', async () => {
      const [on, off] = await Promise.all([run('on'), run('off')]);
      expect([on.exitCode, on.errors]).toEqual([0, '']);
      expect(verdictOf(on, WHOLE)).toBe('pass');
      const counts = recoveries(on);
      expect(counts).toHaveLength(3);
      expect(counts[0]).toBeGreaterThan(0);
      expect([...counts].sort((a, b) => a - b)).toEqual(counts);
      expect([off.exitCode, off.errors]).toEqual([1, '']);
      expect(verdictOf(off, WHOLE)).toBe('fail');
      expect(lineOf(off, 'postgres', /invalid page in block \d+ of relation/)).not.toBe(null);
    });

    it('repeats the corruption from its bundle', async () => {
      const replayed = await folder.sim('replay', 'off.athanor', '--check', 'log');
      expect(replayed.errors).toBe('');
      expect(replayed.records.at(-1)).toMatchObject({ validation: 'passed' });
    });
  },
);
