import type { CompiledScenario } from '../../scenarios/index.ts';
import type { ScenarioDef } from '../../sim/index.ts';
import { bundleOfRun, writeBundle } from '../bundle-write.ts';
import { writeSavepoint } from '../commands/save.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import { askedMachines } from '../machines/machine-backend.ts';
import { exitCodeOfRun, recordOf, type RunRecord, type RunRequest } from '../record.ts';
import { reportEnd, reportOutcome, reportRows } from '../run-output.ts';
import { Simulation } from '../simulation.ts';
import { ConsoleCollector, mergeTimeline } from '../timeline.ts';
import type { Trace } from '../trace.ts';
import { LineQueue } from './line-queue.ts';
import { runSession, type SessionEnd } from './session.ts';

export interface InteractiveRun {
  /** Its seed is the run's. */
  readonly scenario: ScenarioDef;
  readonly found: CompiledScenario;
  readonly trace: Trace | null;
  readonly watch: boolean;
  readonly saveOn: RunRequest['saveOn'];
  readonly out: string | undefined;
  readonly thin: boolean;
  readonly context: Context;
}

/**
 * `sim run --interactive`: the run waits at its start for commands on the standard input. A session
 * that only looked leaves a bundle like any run. One that injected or forked leaves none, since when
 * its commands came is in no record (CR-30).
 */
export async function runInteractively(request: InteractiveRun): Promise<number> {
  const { scenario, found, trace, context } = request;
  const frames = trace === null ? {} : { onDecisionFrame: trace.frame, onEventFrame: trace.frame };
  const collector = new ConsoleCollector();
  const simulation = new Simulation({
    scenario,
    seed: scenario.seed ?? 0,
    images: found.images,
    engine: makeEngine(context.artifactDir),
    machines: askedMachines(scenario, context),
    ...frames,
    onConsole: (node, descriptor, bytes, atNs) => {
      collector.piece({ node, descriptor, bytes, atNs });
    },
  });
  const nodes = scenario.world.nodes.map(({ name }) => name);
  let rowsShown = 0;
  let notesShown = 0;
  try {
    const end = await runSession({
      simulation,
      nodes,
      lines: new LineQueue(context.host.lines()),
      context,
      watch: request.watch,
      report: () => {
        const rows = collector.rows.slice(rowsShown);
        const notes = simulation.notes.slice(notesShown);
        rowsShown = collector.rows.length;
        notesShown = simulation.notes.length;
        reportRows(mergeTimeline(rows, notes), scenario, { full: true, context });
      },
      save: (quanta, file) => {
        writeSavepoint({ scenario, found, at: `quanta=${quanta}`, out: file, context });
      },
    });
    const record = recordOf(scenario, simulation, request.saveOn);
    reportOutcome(record, context);
    return conclude({ record, collector }, end, request);
  } finally {
    trace?.close();
    simulation.dispose();
  }
}

function conclude(
  { record, collector }: { readonly record: RunRecord; readonly collector: ConsoleCollector },
  end: SessionEnd,
  request: InteractiveRun,
): number {
  const { scenario, found, context, thin, out } = request;
  const captured = end.ended && !end.changed;
  const extra = { reproduction: captured ? 'captured' : 'not-captured' };
  let path: string | null = null;
  if (captured) {
    const { images, sources } = found;
    const bytes = bundleOfRun({ record, images, sources, lineage: null, thin, collector });
    const { name } = scenario;
    path = writeBundle(bytes, { name, seed: scenario.seed ?? 0, out, context });
  } else {
    const why = end.changed ? 'what was injected is in no record' : 'the run was not at its end';
    context.output.say(`no bundle: ${why} (reproduction: not-captured)`);
  }
  reportEnd(record, path, context, extra);
  return exitCodeOfRun(record);
}
