import { mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import {
  decodeDecisions,
  guestsOf,
  LOG_DECISIONS,
  OVERRIDES_MAX,
  readWholeLog,
} from '../../sim/index.ts';
import type { Lineage, ScenarioDef } from '../../sim/index.ts';
import type { WasmEngine } from '../../wasm/index.ts';
import { writeAtomically } from '../atomic-write.ts';
import { bundleOfRun } from '../bundle-write.ts';
import type { Context } from '../context.ts';
import { runProbe } from '../probe.ts';
import type { RunRecord } from '../record.ts';
import type { BuildProber } from './build-prober.ts';
import type { BuildsResult } from './over-builds.ts';
import type { Subject } from './subject.ts';

/** The bundles that show a build's defect, as somebody would write their paths. */
export interface KeptBuilds {
  /** A run of the first bad build that fails in the way that was looked for. */
  readonly failing: string;
  /** The same run of the last good build, which passes. */
  readonly passing: string;
}

export interface KeepBuildsRequest {
  readonly subject: Subject;
  readonly prober: BuildProber;
  readonly result: BuildsResult;
  readonly engine: WasmEngine;
  /** The folder for them; among the artefacts if undefined. */
  readonly out: string | undefined;
  readonly context: Context;
}

/**
 * Runs the first failing run of the first bad build again, and the same one of the last good build,
 * and writes both: answered by the same decisions, they differ by the build alone.
 */
export async function keepBuilds(request: KeepBuildsRequest): Promise<KeptBuilds | null> {
  const { prober, result, subject } = request;
  const { firstBad, lastGood } = result;
  const number = prober.failingRun(firstBad.index);
  if (number === null || lastGood.runs <= number) return null;
  const keep = async (index: number, name: string): Promise<string> => {
    const { start, probe } = await prober.questionOf(index, number);
    const { record } = runProbe(start, { ...probe, untilProperty: null }, request.engine);
    return write(record, start.images, name, request);
  };
  const base = subject.bundle.digest.slice(0, 8);
  return {
    failing: await keep(firstBad.index, `${base}-first-bad`),
    passing: await keep(lastGood.index, `${base}-last-good`),
  };
}

function write(
  record: RunRecord,
  images: ReadonlyMap<string, Uint8Array>,
  name: string,
  { subject, out, context }: KeepBuildsRequest,
): string {
  const { bundle } = subject;
  const { scenario } = record;
  const used = imagesOf(scenario);
  const bytes = bundleOfRun({
    record,
    images: new Map([...images].filter(([digest]) => used.has(digest))),
    sources: bundle.sources,
    lineage: lineageOf(record, subject),
    thin: bundle.manifest.thin,
  });
  const folder = out === undefined ? join(context.artifactDir, 'bisect') : context.path(out);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.athanor`);
  writeAtomically(path, bytes);
  const near = relative(context.host.cwd, path);
  return near.startsWith('..') ? path : near;
}

function imagesOf(scenario: ScenarioDef): ReadonlySet<string> {
  return new Set(guestsOf(scenario).map(({ image }) => image));
}

function lineageOf({ scenario, schedule }: RunRecord, { bundle }: Subject): Lineage {
  const decisions = [...decodeDecisions(readWholeLog(schedule, LOG_DECISIONS))];
  const overrides = decisions
    .filter(({ door }) => door === 'override')
    .slice(0, OVERRIDES_MAX)
    .map(({ stream, ordinal, choice }) => ({ stream, ordinal, choice }));
  const { seed } = scenario;
  const reseeded = seed === bundle.scenario.seed ? null : seed;
  return { parent: bundle.digest, proof: null, seed: reseeded, overrides };
}
