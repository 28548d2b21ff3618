import { join, relative } from 'node:path';
import type { SourceFile } from '../scenarios/index.ts';
import type { Lineage } from '../sim/index.ts';
import { writeAtomically } from './atomic-write.ts';
import { packBundle } from './bundle.ts';
import type { Context } from './context.ts';
import { environmentJson, planJson } from './documents.ts';
import { engineIdentity } from './engine.ts';
import type { RunRecord } from './record.ts';
import type { ConsoleCollector } from './timeline.ts';
import { traceJson } from './trace-document.ts';
import { sha256Hex } from './zip.ts';

export interface BundleRequest {
  readonly record: RunRecord;
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly sources: readonly SourceFile[];
  readonly lineage: Lineage | null;
  readonly thin: boolean;
  /** What the whole run wrote, where somebody collected it: it goes along for reports. */
  readonly collector?: ConsoleCollector | null;
  /** The text of `plan.json`, or null for none; where absent, that of the scenario. */
  readonly plan?: string | null;
}

/** The bundle of a run, as its file's bytes. */
export function bundleOfRun(request: BundleRequest): Uint8Array {
  const { record, images, sources, lineage, thin, collector, plan } = request;
  return packBundle({
    scenario: record.scenario,
    images,
    sources,
    schedule: record.schedule,
    events: record.events,
    fingerprints: record.fingerprints,
    checkpoint: record.checkpoint,
    plan: plan === undefined ? planJson(record.scenario) : plan,
    trace: collector ? traceJson(record, collector) : null,
    environment: environmentJson(),
    manifest: {
      kind: 'run',
      engine: engineIdentity(),
      ...(record.machines === null ? {} : { machines: record.machines }),
      seed: record.scenario.seed ?? 0,
      thin,
      outcome: record.outcome,
      savepoint: null,
      lineage,
    },
  });
}

/**
 * Writes a bundle to `out`, or under a name of its own among the artefacts: scenario, seed, and
 * the start of its SHA-256, so that no run overwrites another that differs. Returns the path as
 * somebody would write it from where they are.
 */
export function writeBundle(
  bytes: Uint8Array,
  options: {
    readonly name: string;
    readonly seed: number;
    readonly out: string | undefined;
    readonly context: Context;
  },
): string {
  const { name, seed, out, context } = options;
  const plain = name.replaceAll(/[^A-Za-z0-9._-]/g, '-');
  const file = `${plain}-seed${seed}-${sha256Hex(bytes).slice(0, 8)}.athanor`;
  const path = out === undefined ? join(context.artifactDir, 'runs', file) : context.path(out);
  writeAtomically(path, bytes);
  const near = relative(context.host.cwd, path);
  return near.startsWith('..') ? path : near;
}
