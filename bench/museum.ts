/**
 *   node dist/bench/museum.js [CASE…] [--search]
 *
 * Takes the cases of the museum through a campaign of faults, bisect and shrink, and prints the
 * table of docs/museum.md. With --search it looks for the campaigns' seeds instead of using those
 * that are known.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MUSEUM_CASES, type MuseumCase } from '../scenarios/museum/index.ts';
import { findCampaign, tryCase, type Trial } from './museum-trial.ts';

const SEEDS_MAX = 600;

async function main(args: readonly string[]): Promise<void> {
  const names = args.filter((arg) => !arg.startsWith('--'));
  const folder = mkdtempSync(join(tmpdir(), 'museum-'));
  const shares: number[] = [];
  try {
    for (const one of MUSEUM_CASES) {
      if (names.length > 0 && !names.includes(one.name)) continue;
      const known = args.includes('--search') ? null : one.campaign.seed;
      const seed = known ?? findCampaign(one, 1, SEEDS_MAX);
      if (seed === null) {
        console.log(`| \`${one.name}\` | none of ${SEEDS_MAX} seeds |`);
        continue;
      }
      const trial = await tryCase(one, seed, folder);
      shares.push(1 - trial.faultsAfter / trial.faultsBefore);
      const cells = [
        `\`${one.name}\``,
        `${seed}`,
        `${trial.faultsBefore} → ${trial.faultsAfter}`,
        `${trial.shrinkSeconds.toFixed(0)} s`,
        trial.needed.join(', '),
        trial.rise === null ? 'certain from the start' : `\`${trial.rise}\``,
        `${trial.bisectSeconds.toFixed(0)} s`,
      ];
      console.log(`| ${cells.join(' | ')} |`);
      for (const line of trial.story) console.error(`    ${line}`);
      console.error(
        `    replay ${trial.replayed}, exact ${trial.exact}, ${isNamed(one, trial) ? 'named' : 'NOT NAMED'}`,
      );
    }
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    console.log(`${(mean * 100).toFixed(1)} % of the faults removed on average`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Whether the bisection names the fault of the mechanism. */
function isNamed({ campaign }: MuseumCase, { needed }: Trial): boolean {
  return needed.some((text) => campaign.fault.test(text));
}

await main(process.argv.slice(2));
