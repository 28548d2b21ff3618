import { scenarioIds, SimError } from '../../sim/index.ts';
import { bundleOfRun, writeBundle } from '../bundle-write.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import { askedMachines } from '../machines/machine-backend.ts';
import type { OptionsOf } from '../options.ts';
import { runInteractively } from '../interactive/run.ts';
import { exitCodeOfRun, runToEnd } from '../record.ts';
import { announceRun, reportEnd, reportOutcome, reportTimeline, sayPace } from '../run-output.ts';
import { findScenario, withPlan } from '../scenario-input.ts';
import { chooseSeed } from '../seed.ts';
import { ConsoleCollector } from '../timeline.ts';
import { Trace } from '../trace.ts';
import { runCampaign } from './campaign.ts';

/** `sim run`: one run with its timeline, or many over seeds. */
export async function run(
  args: readonly string[],
  options: OptionsOf<'run'>,
  context: Context,
): Promise<number> {
  checkUsage(options);
  const found = findScenario(args[0], context);
  const def = withPlan(found.def, options);
  const chosen = chooseSeed(context, def.seed);
  const scenario = { ...def, seed: chosen.seed };
  const source = { images: found.images, sources: found.sources };
  if (options.dry) {
    reportIds(scenario, context);
    return 0;
  }
  const machines = askedMachines(scenario, context);
  context.store.putScenario(def, found.images);
  if (options.runs !== undefined) {
    return runCampaign({ scenario, ...source, machines, seed: chosen, options, context });
  }
  announceRun({ scenario }, chosen, context);
  const { trace: tracePath } = context.globals;
  const trace =
    tracePath === undefined
      ? null
      : Trace.start(context.path(tracePath), `${scenario.name}-seed${chosen.seed}`);
  if (options.interactive) {
    const { watch, out, thin, saveOn } = options;
    return runInteractively({ scenario, found, trace, watch, out, thin, saveOn, context });
  }
  const collector = new ConsoleCollector();
  const startMs = performance.now();
  const record = runToEnd({
    scenario,
    images: found.images,
    engine: makeEngine(context.artifactDir),
    machines,
    trace,
    saveOn: options.saveOn ?? 'never',
    onConsole: collector.piece,
  });
  trace?.close();
  const wallMs = performance.now() - startMs;
  reportTimeline(record, collector, { full: options.full, context });
  reportOutcome(record, context);
  if (record.error === null) sayPace(record.outcome.endNs, wallMs, context);
  const bytes = bundleOfRun({
    record,
    ...source,
    lineage: null,
    thin: options.thin,
    collector,
  });
  const { name } = scenario;
  const path = writeBundle(bytes, { name, seed: chosen.seed, out: options.out, context });
  reportEnd(record, path, context);
  return exitCodeOfRun(record);
}

function checkUsage({ interactive, watch, runs }: OptionsOf<'run'>): void {
  if (interactive && runs !== undefined) {
    throw new SimError({
      code: 'usage/interactive',
      message: '--interactive is about one run, --runs about many',
      remedy: 'leave one of them out',
    });
  }
  if (watch && !interactive) {
    throw new SimError({
      code: 'usage/watch',
      message: '--watch is about a run that is led by hand',
      remedy: 'add --interactive, or leave it out',
    });
  }
}

function reportIds(scenario: Parameters<typeof scenarioIds>[0], { output }: Context): void {
  const ids = scenarioIds(scenario);
  output.record({ type: 'scenario', name: scenario.name, seed: scenario.seed, ids });
  output.say(`${scenario.name} is a sound scenario`);
  for (const [part, id] of Object.entries(ids)) output.say(`  ${part.padEnd(10)} ${id}`);
}
