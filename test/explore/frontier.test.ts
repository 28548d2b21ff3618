import { describe, expect, it } from 'vitest';
import { branchesOf, BRANCHES_MAX, Frontier, type Decision, type Prefix } from '../../sim/index.ts';

/** A program of three decisions: the third is asked only if the first two differ. */
function runOf(prefix: Prefix): Decision[] {
  const decisions: Decision[] = [];
  const decide = (stream: string, arity: number): number => {
    const choice = prefix[decisions.length]?.choice ?? 0;
    const index = decisions.length;
    decisions.push({ index, stream, ordinal: 0, atNs: index, arity, choice, door: 'seeded' });
    return choice;
  };
  if (decide('a', 2) !== decide('b', 3)) decide('c', 2);
  return decisions;
}

function walk(order: 'bfs' | 'dfs', depthMax: number) {
  const frontier = new Frontier({ order, depthMax, waitingMax: 100 });
  const runs: string[] = [];
  for (let batch = frontier.take(1); batch.length > 0; batch = frontier.take(1)) {
    for (const prefix of batch) {
      const decisions = runOf(prefix);
      runs.push(decisions.map(({ choice }) => choice).join(''));
      frontier.expand(prefix, decisions);
    }
  }
  return { runs, frontier };
}

const ALL = ['00', '010', '011', '020', '021', '100', '101', '11', '120', '121'];

describe('the frontier of an exhaustive search (CR-31, CR-103)', () => {
  it.each(['bfs', 'dfs'] as const)('runs every schedule once: %s', (order) => {
    const { runs, frontier } = walk(order, 3);
    expect([...runs].sort()).toEqual(ALL);
    expect(frontier.isWalked).toBe(true);
    expect(frontier.isSampled).toBe(false);
  });

  it('goes wide or deep first', () => {
    expect(walk('bfs', 3).runs.slice(0, 4)).toEqual(['00', '100', '010', '020']);
    expect(walk('dfs', 3).runs.slice(0, 4)).toEqual(['00', '020', '021', '010']);
  });

  it('branches only within the depth', () => {
    expect(walk('bfs', 1).runs).toEqual(['00', '100']);
  });

  it('does not claim a tree of which it left a part out', () => {
    const frontier = new Frontier({ order: 'bfs', depthMax: 3, waitingMax: 1 });
    const [root] = frontier.take(1);
    frontier.expand(root ?? [], runOf([]));
    expect(frontier.take(10)).toHaveLength(1);
    expect(frontier.isWalked).toBe(false);
  });

  it('tries spread answers of a decision of many, the first and the last among them (CR-84)', () => {
    expect(branchesOf(3)).toEqual([0, 1, 2]);
    const many = branchesOf(1_000_001);
    expect(many).toHaveLength(BRANCHES_MAX);
    expect([many[0], many[BRANCHES_MAX - 1]]).toEqual([0, 1_000_000]);
  });
});
