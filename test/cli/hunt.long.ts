import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SimFolder } from './sim.ts';

const MAIN = join(process.cwd(), 'dist', 'cli', 'main.js');
const JSONL = ['--format', 'jsonl'];

function sim(folder: SimFolder, args: readonly string[]): void {
  execFileSync(process.execPath, [MAIN, ...args], { cwd: folder.path });
}

describe('a hunt for a planted bug', () => {
  it(
    'finds, shrinks and tells how a Raft voter forgot its vote',
    { timeout: 300_000 },
    async () => {
      const folder = new SimFolder();
      const found = await folder.sim([
        ...['search', 'forgotten-vote', '--seed', '265', '--max-states', '16', ...JSONL],
      ]);
      expect(found.exitCode).toBe(1);
      const [bundle = ''] = folder.bundles();
      const shrunk = await folder.sim(['shrink', bundle, '--out', 's.athanor', ...JSONL]);
      const records = shrunk.records();
      const result = records.find(({ type }) => type === 'result');
      expect(result).toMatchObject({
        status: 'shrunk',
        signature: 'one leader a term: unique: "became leader term=*"',
      });
      expect(result?.['faults_removed_millionths']).toBeGreaterThan(750_000);
      const story = records.filter(({ type }) => type === 'story');
      expect(story.length).toBeLessThanOrEqual(24);
      const roles = story.map(({ role }) => role);
      expect(roles.filter((role) => role === 'violation')).toHaveLength(1);
      expect(roles.filter((role) => role === 'contradicted')).toHaveLength(1);
      const votes = story.filter(({ text }) => String(text).startsWith('voted for'));
      // One voter, two votes, one term.
      expect(new Set(votes.map(({ node }) => node)).size).toBe(1);
      expect(votes).toHaveLength(2);
      expect((await folder.sim(['replay', 's.athanor', '--check', 'log'])).exitCode).toBe(0);
    },
  );

  it('shrinks to the same bytes, whatever the number of jobs', { timeout: 300_000 }, async () => {
    const folder = new SimFolder();
    await folder.sim(['run', 'fault-campaign', '--seed', '27', '--out', 'failed.athanor']);
    for (const jobs of ['1', '2', '3']) {
      sim(folder, ['shrink', 'failed.athanor', '--jobs', jobs, '--out', `${jobs}.athanor`]);
    }
    expect(folder.read('2.athanor').equals(folder.read('1.athanor'))).toBe(true);
    expect(folder.read('3.athanor').equals(folder.read('1.athanor'))).toBe(true);
  });
});
