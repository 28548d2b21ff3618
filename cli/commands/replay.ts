import { existsSync } from 'node:fs';
import { branchOf, formatTime, SimError } from '../../sim/index.ts';
import { bisectTwoRuns } from '../bisect/two-runs.ts';
import type { Bundle } from '../bundle.ts';
import { readRun, readSavepoint } from '../bundle-input.ts';
import type { Context } from '../context.ts';
import { planJson } from '../documents.ts';
import { makeEngine } from '../engine.ts';
import type { OptionsOf } from '../options.ts';
import { runToEnd, type RunRecord } from '../record.ts';
import { reportOutcome, reportTimeline } from '../run-output.ts';
import { parseSelector, runToSelector, type Selector } from '../selector.ts';
import { Simulation } from '../simulation.ts';
import { bundledLeaf, bundledPlan, planDrift, type BundledLeaf } from '../suite/bundled-suite.ts';
import { replayLeaf } from '../suite/replay-leaf.ts';
import { ConsoleCollector } from '../timeline.ts';

/**
 * `sim replay`: fresh guests repeat a recorded run, every decision and event is compared while it
 * happens, and the end is compared as a whole (CR-27).
 */
export async function run(
  args: readonly string[],
  options: OptionsOf<'replay'>,
  context: Context,
): Promise<number> {
  if (options.bisect !== undefined) return bisectTwoRuns(args[0] ?? '', options.bisect, context);
  const path = args[0] ?? '';
  const bundle = readRun(path, context);
  await warnOfDrift(bundle, context);
  if (options.leaf !== undefined) return replayLeaf(bundle, options.leaf, { path, context });
  if (options.to !== undefined) return replayPrefix(bundle, options.to, context);
  const collector = new ConsoleCollector();
  const { scenario, images, machines, schedule, events, manifest } = bundle;
  const broken = manifest.outcome.verdict === 'error';
  const record = runToEnd({
    scenario,
    images,
    engine: makeEngine(context.artifactDir),
    machines,
    // The log of a run that broke off ends before the run did: it is compared afterwards.
    ...(broken ? {} : { replay: { schedule, events } }),
    onConsole: collector.piece,
  });
  reportTimeline(record, collector, { full: options.full, context });
  reportOutcome(record, context);
  compareEnd(bundle, record);
  report(bundle, options, context);
  return 0;
}

/** Warns where the bundle's plan is not the one that this version makes (FB-58). */
async function warnOfDrift(bundle: Bundle, { output }: Context): Promise<void> {
  if (bundle.plan === null) {
    output.warn('no plan data');
    return;
  }
  const leaf = bundledLeaf(bundle);
  if (leaf !== null) {
    const drift = await suiteDrift(bundle, leaf);
    if (drift !== null) output.warn(drift);
    return;
  }
  const recorded = bundle.plan.split('\n');
  const own = planJson(bundle.scenario).split('\n');
  const at = own.findIndex((line, index) => line !== recorded[index]);
  if (at >= 0) output.warn(`the plan has drifted, first at: ${(own[at] ?? '').trim()}`);
}

/** The same for a leaf of a suite: its spec stands in the bundle and is planned again. */
async function suiteDrift(bundle: Bundle, leaf: BundledLeaf): Promise<string | null> {
  try {
    const drift = planDrift(leaf, await bundledPlan(bundle, leaf));
    return drift === null ? null : `the plan has drifted, first at: ${drift}`;
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    return `the plan cannot be made again: ${error.message}`;
  }
}

function replayPrefix(bundle: Bundle, to: string, context: Context): number {
  const selector = prefixEnd(bundle, to, context);
  const { scenario, images, machines, schedule, events } = bundle;
  const engine = makeEngine(context.artifactDir);
  const replay = { schedule, events };
  const seed = scenario.seed ?? 0;
  const simulation = new Simulation({ scenario, seed, images, engine, machines, replay });
  try {
    runToSelector(simulation, selector);
    const { nowNs, quanta, decisionCount, eventCount } = simulation;
    const { output } = context;
    output.record({
      type: 'replay',
      validation: 'passed',
      to: selector.text,
      at_ns: nowNs,
      quanta,
      decisions: decisionCount,
      events: eventCount,
    });
    output.say(
      `validation=passed up to ${selector.text}: virtual time ${formatTime(nowNs)}, ` +
        `quantum ${quanta}, decision ${decisionCount}, event ${eventCount}`,
    );
    return 0;
  } finally {
    simulation.dispose();
  }
}

/** `--to` names a boundary, or a savepoint of the same run. */
function prefixEnd(bundle: Bundle, to: string, context: Context): Selector {
  if (!existsSync(context.path(to))) return parseSelector(to);
  const savepoint = readSavepoint(to, context);
  if (savepoint.manifest.ids.scenario !== bundle.manifest.ids.scenario) {
    throw new SimError({
      code: 'oracle/scenario',
      message: `the savepoint is of another scenario: expected ${bundle.manifest.ids.scenario}, found ${savepoint.manifest.ids.scenario}`,
      place: to,
    });
  }
  const quanta = savepoint.manifest.savepoint?.quanta ?? 0;
  return { text: `quanta=${quanta}`, stop: { quanta }, quiescence: false };
}

/** Terminal state, event stream and fingerprints must match byte for byte (CR-27). */
function compareEnd({ manifest, schedule, events, fingerprints }: Bundle, record: RunRecord): void {
  const recorded = manifest.outcome;
  if (recorded.verdict === 'error') {
    if (record.outcome.reason === recorded.reason) return;
    throw mismatch('the error', recorded.reason, record.outcome.reason);
  }
  if (JSON.stringify(fingerprints) !== JSON.stringify(record.fingerprints)) {
    const at = fingerprints.findIndex((fingerprint, index) => {
      return JSON.stringify(fingerprint) !== JSON.stringify(record.fingerprints[index]);
    });
    const time = formatTime(fingerprints[Math.max(0, at)]?.atNs ?? 0);
    throw mismatch('a fingerprint', `that of virtual time ${time}`, 'another');
  }
  for (const key of Object.keys(recorded) as (keyof typeof recorded)[]) {
    const expected = JSON.stringify(recorded[key]);
    const found = JSON.stringify(record.outcome[key]);
    if (expected !== found) throw mismatch(`the outcome's ${key}`, expected, found);
  }
  if (Buffer.compare(schedule, record.schedule) !== 0)
    throw mismatch('the schedule', 'it', 'another');
  if (Buffer.compare(events, record.events) !== 0) throw mismatch('the event log', 'it', 'another');
}

function mismatch(what: string, expected: string, found: string): SimError {
  return new SimError({
    code: 'verdict/mismatch',
    message: `${what} differs from the record: expected ${expected}, found ${found}`,
    remedy: 'run `sim verify` on the scenario to learn what differs from run to run',
  });
}

/** Validation apart from what was reproduced (CR-29): repeating a failure is a success. */
function report(bundle: Bundle, options: OptionsOf<'replay'>, { output }: Context): void {
  const { outcome, lineage, ids } = bundle.manifest;
  const canonical = lineage === null;
  const log = options.check === 'log' ? { log: 'identical' } : {};
  output.record({
    type: 'replay',
    validation: 'passed',
    reproduced_status: outcome.verdict,
    signature: outcome.signature,
    scenario: ids.scenario,
    canonical,
    ...log,
  });
  const branch = canonical ? '' : `  canonical=no (${branchOf(lineage)})`;
  const identical = options.check === 'log' ? '  log=identical' : '';
  output.say(`validation=passed  reproduced_status=${outcome.verdict}${identical}${branch}`);
}
