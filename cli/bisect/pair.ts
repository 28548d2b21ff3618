import { mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Lineage } from '../../sim/index.ts';
import type { WasmEngine } from '../../wasm/index.ts';
import { writeAtomically } from '../atomic-write.ts';
import { proofOf } from '../branch-proof.ts';
import { bundleOfRun } from '../bundle-write.ts';
import type { Context } from '../context.ts';
import { runProbe } from '../probe.ts';
import type { DecisionLine } from './decision-line.ts';
import type { Sampler } from './sampler.ts';
import type { Subject } from './subject.ts';

export interface KeptRun {
  /** As somebody would write it from where they are. */
  readonly path: string;
  readonly verdict: string;
  readonly failed: boolean;
}

export interface KeepRequest {
  readonly subject: Subject;
  readonly line: DecisionLine;
  readonly sampler: Sampler;
  readonly engine: WasmEngine;
  readonly position: number;
  readonly future: number;
  readonly name: string;
  readonly out: string | undefined;
  readonly context: Context;
}

/** Runs a continuation again, here, to its end, and writes its bundle: a fork of the failed run. */
export function keepRun(request: KeepRequest): KeptRun {
  const { subject, line, sampler, engine, position, future, context } = request;
  const { bundle } = subject;
  const { scenario, images, machines, sources } = bundle;
  const boundary = line.boundaryBefore(position);
  const answers = line.answers(boundary, position);
  const { checkpoint, proof } = line.at(boundary, (simulation) => {
    const captured = simulation.capture();
    return {
      checkpoint: captured,
      proof: proofOf(simulation, captured, `quanta=${boundary.quanta}`),
    };
  });
  const seed = sampler.futureSeed(future);
  const start = { scenario, images, machines, checkpoint };
  const { record, result } = runProbe(start, { seed, answers, untilProperty: null }, engine);
  const overrides = answers.map(({ stream, ordinal, choice }) => ({ stream, ordinal, choice }));
  const lineage: Lineage = { parent: bundle.digest, proof, seed, overrides };
  const { thin } = bundle.manifest;
  const bytes = bundleOfRun({ record, images, sources, lineage, thin });
  const folder =
    request.out === undefined ? join(context.artifactDir, 'bisect') : context.path(request.out);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${request.name}.athanor`);
  writeAtomically(path, bytes);
  const near = relative(context.host.cwd, path);
  return {
    path: near.startsWith('..') ? path : near,
    verdict: result.verdict,
    failed: sampler.failed(result),
  };
}
