import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SimError } from '../../sim/index.ts';
import { readRun } from '../bundle-input.ts';
import { shrinkRun, sizeRecord, type Shrunk } from '../commands/shrink.ts';
import type { Context } from '../context.ts';
import type { OptionsOf } from '../options.ts';
import { printable } from '../timeline.ts';
import type { Cluster } from './clusters.ts';

/** A bundle of a cluster, and what became of it. */
export interface Minimized {
  readonly rank: number;
  readonly parent: string;
  /** Null where it could not be shrunk, for the reason that `why` says. */
  readonly shrunk: Shrunk | null;
  readonly why: string;
}

/** Where shrunk bundles go: not among the runs, so that the next triage does not count them. */
const FOLDER = join('.athanor', 'minimized');

/**
 * Shrinks the smallest bundle of each cluster, or all of its bundles (CR-36). The names of what is
 * written follow from the parents, so that the same findings give the same files. A bundle that does
 * not fail again is listed, and stops nothing.
 */
export async function minimizeClusters(
  clusters: readonly Cluster[],
  options: Pick<OptionsOf<'triage'>, 'minimize' | 'budget' | 'jobs' | 'out'>,
  context: Context,
): Promise<readonly Minimized[]> {
  const { minimize = 'none', budget, jobs, out: folder = FOLDER } = options;
  const minimized: Minimized[] = [];
  for (const [index, { kind, smallest, bundles }] of clusters.entries()) {
    const first = smallest?.bundle?.path;
    const parents = minimize === 'all' ? bundles : first === undefined ? [] : [first];
    for (const parent of minimize === 'none' ? [] : parents) {
      const so = { rank: index + 1, parent };
      if (kind !== 'fail') {
        const why = kind === 'inconclusive' ? 'not-applicable-timeout' : 'not-applicable-error';
        minimized.push({ ...so, shrunk: null, why });
        continue;
      }
      mkdirSync(context.path(folder), { recursive: true });
      try {
        const bundle = readRun(parent, context);
        const out = join(folder, `${bundle.digest.slice(0, 16)}.athanor`);
        const shrunk = await shrinkRun(bundle, { budget, jobs, out, thin: false }, context);
        minimized.push({ ...so, shrunk, why: 'shrunk' });
      } catch (error) {
        if (!(error instanceof SimError) || error.code.startsWith('usage/')) throw error;
        minimized.push({ ...so, shrunk: null, why: error.code });
      }
    }
  }
  return minimized;
}

export function minimizedRecord({ rank, parent, shrunk, why }: Minimized): Record<string, unknown> {
  if (shrunk === null) return { rank, parent, status: why, bundle: null };
  const [before, after] = shrunk.sizes;
  return {
    rank,
    parent,
    status: why,
    bundle: shrunk.path,
    signature: shrunk.wanted.primary,
    moral: shrunk.story.moral,
    before: sizeRecord(before),
    after: sizeRecord(after),
    probes: shrunk.charged,
  };
}

export function minimizedLine({ rank, parent, shrunk, why }: Minimized): string {
  if (shrunk === null) return `${rank}  ${printable(parent)}: ${why}`;
  const [before, after] = shrunk.sizes;
  const faults = `${before.events + before.singles} to ${after.events + after.singles} faults`;
  const rest = `${before.nodes} to ${after.nodes} nodes`;
  return `${rank}  shrunk ${faults}, ${rest}: ${printable(shrunk.path)}`;
}
