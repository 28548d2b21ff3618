import { describe, expect, it } from 'vitest';
import { scenario } from '../../scenarios/index.ts';
import { prepare, simulate, type Outcome, type Prepared } from './simulate.ts';

const SEEDS = 300;

type Journal = 'delete' | 'wal';

/** SQLite on a disk that reorders and tears what was not synced, through two losses of power. */
function bank(journal: Journal, lyingFlush: string): Promise<Prepared> {
  return prepare(
    scenario('bank')
      .node({
        name: 'bank',
        guest: 'sqlite',
        args: ['transactions', '/bank.db', '300', 'EXTRA', journal],
        disk: {
          crash: 'reordered',
          tear: '50%',
          sync_latency: '100us',
          jitter: '20us',
          lying_flush: lyingFlush,
        },
      })
      .event({ name: 'crash-1', do: 'crash', at: '1ms', within: '9ms', node: 'bank' })
      .event({ name: 'restart-1', do: 'restart', at: '20ms', node: 'bank' })
      .event({ name: 'crash-2', do: 'crash', at: '21ms', within: '9ms', node: 'bank' })
      .event({ name: 'restart-2', do: 'restart', at: '40ms', node: 'bank' }),
    ['sqlite'],
  );
}

interface Story {
  /** How many restarts found less than had been committed. */
  readonly lost: number;
  /** Whether the last run checked everything, `PRAGMA integrity_check` too, and ended well. */
  readonly whole: boolean;
  /** How many rows the crashes left to be found, for each start. */
  readonly found: readonly number[];
}

function storyOf(run: Outcome): Story {
  const text = run.consoles.bank ?? '';
  let [committed, lost] = [0, 0];
  const found: number[] = [];
  for (const line of text.split('\n')) {
    const [what, count] = line.split(': ');
    if (what === 'committed') committed = Number(count);
    if (what !== 'transfers found') continue;
    found.push(Number(count));
    if (Number(count) < committed) lost++;
  }
  return { lost, whole: text.includes('ok: 300 transfers') && !text.includes('wrong'), found };
}

describe('SQLite on a disk that reorders and tears', () => {
  it.each(['delete', 'wal'] as const)(
    'keeps its integrity and every committed row, with the journal "%s"',
    async (journal) => {
      const prepared = await bank(journal, '0%');
      const starts = new Set<string>();
      for (let seed = 1; seed <= SEEDS; seed++) {
        const { lost, whole, found } = storyOf(simulate(prepared, seed));
        expect([seed, lost, whole]).toEqual([seed, 0, true]);
        starts.add(found.join(' '));
      }
      expect(starts.size).toBeGreaterThan(5);
    },
  );

  it.each(['delete', 'wal'] as const)(
    'loses rows to a flush that lies, within 50 seeds, with the journal "%s"',
    async (journal) => {
      const prepared = await bank(journal, '20%');
      let seed = 1;
      while (seed <= 50) {
        const { lost, whole } = storyOf(simulate(prepared, seed));
        if (lost > 0 || !whole) break;
        seed++;
      }
      expect(seed).toBeLessThanOrEqual(50);
    },
  );
});
