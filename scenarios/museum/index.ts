import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../package-root.ts';

/** A bug of a real system, rebuilt in small; docs/museum.md tells its mechanism. */
export interface MuseumCase {
  /** The scenario is `scenarios/museum/<name>.toml`. */
  readonly name: string;
  /** The property that the bug breaks, and the first seed from 1 on that shows it. */
  readonly property: string;
  readonly failingSeed: number;
  /** Within so many seeds from 1 on a search must find it. */
  readonly budgetRuns: number;
}

/** The cases with their stated budgets. */
export const MUSEUM_CASES: readonly MuseumCase[] = [
  {
    name: 'ack-before-save',
    property: 'nothing acknowledged is lost',
    failingSeed: 17,
    budgetRuns: 400,
  },
  {
    name: 'ack-before-fsync',
    property: 'nothing acknowledged is lost',
    failingSeed: 1,
    budgetRuns: 20,
  },
  {
    name: 'index-before-apply',
    property: 'nothing acknowledged is lost',
    failingSeed: 20,
    budgetRuns: 200,
  },
  {
    name: 'fsync-retry',
    property: 'nothing acknowledged is lost',
    failingSeed: 1,
    budgetRuns: 20,
  },
  {
    name: 'corrupt-truncate',
    property: 'what is committed stays',
    failingSeed: 1,
    budgetRuns: 100,
  },
  {
    name: 'vote-in-two-writes',
    property: 'one vote a term',
    failingSeed: 1,
    budgetRuns: 20,
  },
  {
    name: 'membership-change',
    property: 'members agree on what is committed',
    failingSeed: 6,
    budgetRuns: 200,
  },
  { name: 'stale-read', property: 'no read is stale', failingSeed: 51, budgetRuns: 400 },
  {
    name: 'retry-without-key',
    property: 'each addition counts once',
    failingSeed: 4,
    budgetRuns: 100,
  },
  { name: 'lease-without-fence', property: 'no token goes back', failingSeed: 7, budgetRuns: 60 },
];

/** The text of a case's scenario, with the bug or as its corrected twin. */
export function museumText(name: string, variant: 'bug' | 'twin'): string {
  const path = join(packageRoot(), 'scenarios', 'museum', `${name}.toml`);
  const text = readFileSync(path, 'utf8');
  return variant === 'bug' ? text : text.replaceAll(', "--bug"', '');
}
