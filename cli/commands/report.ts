import { relative } from 'node:path';
import { reportHtml, type ReportNode, type ReportSource } from '../../report/index.ts';
import { packageRoot } from '../../scenarios/index.ts';
import {
  decodeDecisions,
  decodeEvents,
  LOG_DECISIONS,
  LOG_EVENTS,
  readLog,
  SimError,
} from '../../sim/index.ts';
import { writeAtomically } from '../atomic-write.ts';
import type { Bundle } from '../bundle.ts';
import { readRun } from '../bundle-input.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import { shellQuote } from '../host.ts';
import type { OptionsOf } from '../options.ts';
import { runToEnd } from '../record.ts';
import { ConsoleCollector, mergeTimeline } from '../timeline.ts';
import { readTrace } from '../trace-document.ts';

/** `sim report`: a run as one HTML file that a person can look at (FB-63). */
export function run(
  args: readonly string[],
  options: OptionsOf<'report'>,
  context: Context,
): number {
  const text = args[0] ?? '';
  const bundle = readRun(text, context);
  const html = reportHtml(sourceOf(bundle, text, context), packageRoot());
  const path = context.path(options.out ?? `${text.replace(/\.athanor$/, '')}.html`);
  writeAtomically(path, new TextEncoder().encode(html));
  const near = relative(context.host.cwd, path);
  const shown = near.startsWith('..') ? path : near;
  context.output.record({ type: 'report', path: shown, bytes: html.length });
  context.output.say(`report: ${shown}`);
  return 0;
}

function sourceOf(bundle: Bundle, text: string, context: Context): ReportSource {
  const { manifest, scenario, schedule, events, plan } = bundle;
  const { outcome, engine, seed, ids } = manifest;
  const { rows, missing } = rowsOf(bundle, context);
  return {
    title: scenario.name,
    bundle: text,
    seed,
    verdict: outcome.verdict,
    reason: outcome.reason,
    endNs: outcome.endNs,
    engine: `${engine.name} ${engine.version}`,
    scenarioId: ids.scenario,
    replay: `${context.host.command} replay ${shellQuote(text)}`,
    nodes: nodesOf(bundle),
    properties: outcome.properties,
    rows,
    missing,
    plan: plan === null ? null : (JSON.parse(plan) as unknown),
    decisions: decodeDecisions(readLog(schedule, LOG_DECISIONS)),
    events: decodeEvents(readLog(events, LOG_EVENTS)),
  };
}

/** An error of the simulator leaves no outcome of nodes. */
function nodesOf({ scenario, manifest }: Bundle): readonly ReportNode[] {
  return scenario.world.nodes.map(({ name, guest }, node) => {
    const ended = manifest.outcome.nodes[node];
    if (ended === undefined) return { name, guest: guest.label, ended: 'unknown', lives: 0 };
    const { status, code, lives } = ended;
    return { name, guest: guest.label, ended: code === null ? status : `${status} ${code}`, lives };
  });
}

/** What a bundle says of its consoles; where it does not, a replay tells. */
function rowsOf(bundle: Bundle, context: Context): Pick<ReportSource, 'rows' | 'missing'> {
  if (bundle.trace === null) return replayForRows(bundle, context);
  return { rows: readTrace(bundle.trace), missing: null };
}

function replayForRows(
  { scenario, images, machines, schedule, events, manifest }: Bundle,
  context: Context,
): Pick<ReportSource, 'rows' | 'missing'> {
  const collector = new ConsoleCollector();
  const broken = manifest.outcome.verdict === 'error';
  try {
    const record = runToEnd({
      scenario,
      images,
      engine: makeEngine(context.artifactDir),
      machines,
      ...(broken ? {} : { replay: { schedule, events } }),
      onConsole: collector.piece,
    });
    collector.close();
    return { rows: mergeTimeline(collector.rows, record.notes), missing: null };
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    const missing = `no console lines: the run could not be repeated here (${error.message})`;
    context.output.warn(missing);
    return { rows: [], missing };
  }
}
