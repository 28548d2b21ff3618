import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { FAULTS_MIN, tryCase } from '../../bench/museum-trial.ts';
import { MUSEUM_CASES } from '../../scenarios/museum/index.ts';

/** Those that are quick; `bench/museum.ts` takes all of them through it. */
const TRIED = [
  'ack-before-save',
  'fsync-retry',
  'membership-change',
  'retry-without-key',
  'lease-without-fence',
];

const folder = mkdtempSync(join(tmpdir(), 'museum-'));

afterAll(() => rmSync(folder, { recursive: true }));

describe.each(MUSEUM_CASES.filter(({ name }) => TRIED.includes(name)))(
  'a campaign of faults in the museum: $name',
  (one) => {
    it('CR-37: is shrunk to one or two faults, told and replayed, and bisected to the planted fault', async () => {
      const trial = await tryCase(one, one.campaign.seed, folder);
      expect(trial.faultsBefore).toBeGreaterThanOrEqual(FAULTS_MIN);
      expect(trial.faultsAfter).toBeLessThanOrEqual(2);
      expect(trial.faultsAfter).toBeGreaterThan(0);
      expect(trial.replayed).toBe(0);
      expect(trial.story).toContainEqual(expect.stringMatching(one.campaign.story));
      expect(trial.story.some((line) => line.includes(' violation '))).toBe(true);
      expect(trial.exact).toBe(true);
      expect(trial.needed).toContainEqual(expect.stringMatching(one.campaign.fault));
      expect(trial.needed.length).toBeLessThanOrEqual(5);
    });
  },
);
