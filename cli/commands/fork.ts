import {
  checkpointLogs,
  decodeDecisions,
  LOG_DECISIONS,
  readWholeLog,
  SimError,
  type FatCheckpoint,
  type Lineage,
  type SavepointProof,
} from '../../sim/index.ts';
import type { Bundle } from '../bundle.ts';
import { proofOf } from '../branch-proof.ts';
import { readBundle } from '../bundle-input.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import type { OptionsOf } from '../options.ts';
import { admitOverrides, parseOverride } from '../override.ts';
import { parseSelector, runToSelector } from '../selector.ts';
import { Simulation } from '../simulation.ts';
import { goOn, missingCheckpoint } from './resume.ts';

/**
 * `sim fork`: shares a prefix with a recorded run, then leaves it on purpose, by another seed or by
 * other answers (CR-22 to CR-26).
 */
export function run(args: readonly string[], options: OptionsOf<'fork'>, context: Context): number {
  const overrides = options.override.map(parseOverride);
  const { seed } = context.globals;
  if (seed !== undefined && overrides.length > 0) {
    throw new SimError({
      code: 'usage/branch',
      message: '`sim fork` takes --seed or --override, never both',
      remedy: 'fork twice: the second fork may start from the first',
    });
  }
  const bundle = readBundle(args[0] ?? '', context);
  const { checkpoint, proof } = branchPoint(bundle, options.at, context);
  const prefix = checkpointLogs(checkpoint).schedule;
  admitOverrides(overrides, bundle.scenario, prefix);
  const lineage: Lineage = { parent: bundle.digest, proof, seed: seed ?? null, overrides };
  const { output } = context;
  const branch = seed === undefined ? `${overrides.length} overrides` : `seed ${seed}`;
  const decided = countDecisions(prefix);
  output.record({ type: 'fork', parent: bundle.digest, at: proof.selector, decided, branch });
  output.say(`fork at ${proof.selector} after ${decided} decisions, by ${branch}`);
  // Without a seed the fork inherits its parent's (CR-25).
  return goOn({ bundle, checkpoint, seed: seed ?? null, overrides, lineage, options, context });
}

interface BranchPoint {
  readonly checkpoint: FatCheckpoint;
  readonly proof: SavepointProof;
}

/** A savepoint's own boundary, or a boundary of a recorded run, which is replayed up to it. */
export function branchPoint(bundle: Bundle, at: string | undefined, context: Context): BranchPoint {
  const { savepoint } = bundle.manifest;
  if (savepoint !== null && at === undefined) {
    const checkpoint = bundle.checkpoint();
    if (checkpoint === null) throw missingCheckpoint();
    return { checkpoint, proof: savepoint };
  }
  if (savepoint !== null || at === undefined) {
    throw new SimError({
      code: 'usage/at',
      message:
        at === undefined
          ? 'to fork a recorded run, say where with --at'
          : 'a savepoint has its own boundary: --at is for recorded runs',
    });
  }
  const selector = parseSelector(at);
  const { scenario, images, machines, schedule, events } = bundle;
  const engine = makeEngine(context.artifactDir);
  const replay = { schedule, events };
  const seed = scenario.seed ?? 0;
  const simulation = new Simulation({ scenario, seed, images, engine, machines, replay });
  try {
    runToSelector(simulation, selector);
    const checkpoint = simulation.capture();
    const proof = proofOf(simulation, checkpoint, selector.text);
    return { checkpoint, proof };
  } finally {
    simulation.dispose();
  }
}

function countDecisions(schedule: Uint8Array): number {
  return [...decodeDecisions(readWholeLog(schedule, LOG_DECISIONS))].length;
}
