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
  /**
   * Within a campaign of many faults (campaign.ts): a failing seed, what its story must tell, and
   * the fault of the mechanism, which a bisection must name.
   */
  readonly campaign: { readonly seed: number; readonly story: RegExp; readonly fault: RegExp };
}

/** The cases with their stated budgets. */
export const MUSEUM_CASES: readonly MuseumCase[] = [
  {
    name: 'ack-before-save',
    property: 'nothing acknowledged is lost',
    failingSeed: 17,
    budgetRuns: 400,
    campaign: { seed: 406, story: /store fault crash/, fault: /"crash \d": crash of store/ },
  },
  {
    name: 'ack-before-fsync',
    property: 'nothing acknowledged is lost',
    failingSeed: 1,
    budgetRuns: 20,
    campaign: { seed: 2, story: /store fault crash/, fault: /"crash \d": crash of store/ },
  },
  {
    name: 'index-before-apply',
    property: 'nothing acknowledged is lost',
    failingSeed: 20,
    budgetRuns: 200,
    campaign: { seed: 22, story: /store fault crash/, fault: /"crash \d": crash of store/ },
  },
  {
    name: 'fsync-retry',
    property: 'nothing acknowledged is lost',
    failingSeed: 1,
    budgetRuns: 20,
    campaign: { seed: 1, story: /store fault sync-error/, fault: /store: disk sync-error/ },
  },
  {
    name: 'corrupt-truncate',
    property: 'what is committed stays',
    failingSeed: 1,
    budgetRuns: 100,
    campaign: { seed: 1, story: /n\d fault bit-rot/, fault: /n\d: disk bit-rot/ },
  },
  {
    name: 'vote-in-two-writes',
    property: 'one vote a term',
    failingSeed: 1,
    budgetRuns: 20,
    campaign: { seed: 1, story: /n0 fault crash/, fault: /"crash": crash of n0/ },
  },
  {
    name: 'membership-change',
    property: 'members agree on what is committed',
    failingSeed: 6,
    budgetRuns: 200,
    campaign: { seed: 6, story: /world fault cut/, fault: /"n0 leaves n1 and n2": partition/ },
  },
  {
    name: 'stale-read',
    property: 'no read is stale',
    failingSeed: 51,
    budgetRuns: 400,
    campaign: { seed: 177, story: /world fault degrade/, fault: /"deaf \d\.n\d": degrade/ },
  },
  {
    name: 'retry-without-key',
    property: 'each addition counts once',
    failingSeed: 4,
    budgetRuns: 100,
    campaign: {
      seed: 295,
      story: /(server|client) fault packet to/,
      fault: /packet from server to client: loss/,
    },
  },
  {
    name: 'lease-without-fence',
    property: 'no token goes back',
    failingSeed: 7,
    budgetRuns: 60,
    campaign: { seed: 2, story: /(ada|bob) fault pause/, fault: /"pause \d": pause of (ada|bob)/ },
  },
];

/** The text of a case's scenario, with the bug or as its corrected twin. */
export function museumText(name: string, variant: 'bug' | 'twin'): string {
  const path = join(packageRoot(), 'scenarios', 'museum', `${name}.toml`);
  const text = readFileSync(path, 'utf8');
  return variant === 'bug' ? text : text.replaceAll(', "--bug"', '');
}
