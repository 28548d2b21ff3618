import { SimError, type FatCheckpoint, type Lineage, type Override } from '../../sim/index.ts';
import type { Bundle } from '../bundle.ts';
import { readSavepoint } from '../bundle-input.ts';
import { bundleOfRun, writeBundle } from '../bundle-write.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import type { OptionsOf } from '../options.ts';
import { exitCodeOfRun, runToEnd } from '../record.ts';
import { reportEnd, reportOutcome, reportTimeline } from '../run-output.ts';
import { ConsoleCollector } from '../timeline.ts';
import { resumedCollector } from '../trace-document.ts';
import { Trace } from '../trace.ts';

/**
 * `sim resume`: goes on from a savepoint. The run that comes out is byte for byte the one that
 * never stopped (CR-20, CR-21).
 */
export function run(
  args: readonly string[],
  options: OptionsOf<'resume'>,
  context: Context,
): number {
  const bundle = readSavepoint(args[0] ?? '', context);
  const checkpoint = bundle.checkpoint();
  if (checkpoint === null) throw missingCheckpoint();
  return goOn({ bundle, checkpoint, seed: null, overrides: [], lineage: null, options, context });
}

export function missingCheckpoint(): SimError {
  return new SimError({ code: 'bundle/content', message: 'the savepoint holds no checkpoint' });
}

export interface Continuation {
  readonly bundle: Bundle;
  readonly checkpoint: FatCheckpoint;
  readonly seed: number | null;
  readonly overrides: readonly Override[];
  readonly lineage: Lineage | null;
  readonly options: OptionsOf<'resume'>;
  readonly context: Context;
}

/** Runs from a checkpoint to the end, and reports and keeps the run like any other. */
export function goOn(continuation: Continuation): number {
  const { bundle, checkpoint, seed, overrides, lineage, options, context } = continuation;
  const { scenario, images, machines, sources } = bundle;
  const collector = new ConsoleCollector();
  // What is shown begins here, what is kept began at the start of the run.
  const whole = bundle.trace === null ? null : resumedCollector(bundle.trace);
  const { trace: tracePath } = context.globals;
  const name = `${scenario.name}-seed${scenario.seed ?? 0}`;
  const trace = tracePath === undefined ? null : Trace.start(context.path(tracePath), name);
  const record = runToEnd({
    scenario,
    images,
    engine: makeEngine(context.artifactDir),
    machines,
    trace,
    from: { checkpoint, seed, overrides },
    onConsole: (piece) => {
      collector.piece(piece);
      whole?.piece(piece);
    },
  });
  trace?.close();
  reportTimeline(record, collector, { full: options.full, context });
  reportOutcome(record, context);
  const bytes = bundleOfRun({
    record,
    images,
    sources,
    lineage,
    thin: options.thin,
    collector: whole,
  });
  const file = { name: scenario.name, seed: scenario.seed ?? 0, out: options.out, context };
  const path = writeBundle(bytes, file);
  reportEnd(record, path, context, { canonical: lineage === null });
  if (record.unreached.length > 0) {
    throw new SimError({
      code: 'verdict/override-unreached',
      message: `the run ended before it reached ${record.unreached.join(', ')}`,
      remedy: 'override decisions that the run makes; `sim inspect --decisions` lists them',
    });
  }
  return exitCodeOfRun(record);
}
