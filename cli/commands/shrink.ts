import {
  decodeDecisions,
  decodeEvents,
  failureSignature,
  firingsOf,
  inputSize,
  guestsOf,
  imagesOfGuest,
  LOG_DECISIONS,
  LOG_EVENTS,
  MILLION,
  OVERRIDES_MAX,
  readWholeLog,
  roleOf,
  scenarioIds,
  SimError,
  type Answer,
  type FailureSignature,
  type Lineage,
} from '../../sim/index.ts';
import type { Bundle } from '../bundle.ts';
import { readRun } from '../bundle-input.ts';
import { bundleOfRun, writeBundle } from '../bundle-write.ts';
import { groupDigits, layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import { shellQuote } from '../host.ts';
import type { MachineChoice } from '../machines/machine-backend.ts';
import type { OptionsOf } from '../options.ts';
import { ProbePool } from '../probe-pool.ts';
import { Progress } from '../progress.ts';
import { runToEnd, type RunRecord } from '../record.ts';
import { PROBES_DEFAULT, ShrinkBudget } from '../shrink-budget.ts';
import { Shrinker, viewOf, type Candidate, type View } from '../shrinker.ts';
import { isSingleFault } from '../single-faults.ts';
import { storyOf, tellStory, type Story } from '../story.ts';
import { ConsoleCollector, mergeTimeline } from '../timeline.ts';

/**
 * `sim shrink`: the smallest scenario that fails as a recorded run did, with its story. What comes
 * out is a run of its own: it replays from its own bundle (CR-26, CR-37).
 */
export async function run(
  args: readonly string[],
  options: OptionsOf<'shrink'>,
  context: Context,
): Promise<number> {
  const bundle = readRun(args[0] ?? '', context);
  const shrunk = await shrinkRun(bundle, options, context);
  if (shrunk === null) return notApplicable(bundle, context);
  report(shrunk, context);
  return 0;
}

/** How a run is to be shrunk. */
export type ShrinkOptions = Pick<OptionsOf<'shrink'>, 'budget' | 'jobs' | 'out' | 'thin'>;

/** Shrinks a run and writes the bundle of what is left; null where no property failed. */
export async function shrinkRun(
  bundle: Bundle,
  options: ShrinkOptions,
  context: Context,
): Promise<Shrunk | null> {
  const startMs = performance.now();
  const budget = ShrinkBudget.parse(options.budget, startMs);
  const wanted = failureSignature(bundle.scenario, bundle.manifest.outcome);
  if (wanted === null) return null;
  const engine = makeEngine(context.artifactDir);
  const pool = new ProbePool({ jobs: options.jobs ?? 1, engine });
  const { images, machines, sources } = bundle;
  const tools = { images, machines, engine, wanted };
  const first = parentCandidate(bundle);
  const before = viewOf(first, tools);
  assertReproduced(wanted, before);
  // A budget of time has no number of runs: the bar then shows the usual one.
  const total = Math.min(budget.available(startMs), PROBES_DEFAULT);
  const progress = new Progress(context.host, total, context.globals.quiet);
  const shrinker = new Shrinker(first, {
    ...tools,
    pool,
    budget,
    nowMs: () => performance.now(),
    onProgress: (stage) => progress.update(Math.min(budget.charged, total), stage),
  });
  let smallest: Candidate;
  try {
    smallest = await shrinker.run();
  } finally {
    progress.end();
    await pool.close();
  }
  const after = viewOf(smallest, tools, 'to end');
  assertReproduced(wanted, after);
  const sizes = [sizeOf(before), sizeOf(after)] as const;
  const lineage = lineageOf(bundle, after, wanted, {
    probes: budget.charged,
    faultsBefore: faultCount(sizes[0]),
    faultsAfter: faultCount(sizes[1]),
  });
  const needed = guestsOf(after.record.scenario).flatMap(imagesOfGuest);
  const kept = new Map([...images].filter(([digest]) => needed.includes(digest)));
  const { record } = after;
  const { story, collector } = tellAgain(after, tools);
  const run = { record, images: kept, sources, lineage, thin: options.thin };
  const bytes = bundleOfRun({ ...run, collector });
  const { name, seed } = record.scenario;
  const path = writeBundle(bytes, { name, seed: seed ?? 0, out: options.out, context });
  const wallMs = performance.now() - startMs;
  return { wanted, sizes, lineage, story, path, record, wallMs, charged: budget.charged };
}

/** A timeout is reported, not shrunk: that nothing was decided is not a failure (CR-37). */
function notApplicable(bundle: Bundle, { output }: Context): number {
  const { verdict, reason } = bundle.manifest.outcome;
  if (verdict === 'pass') {
    throw new SimError({
      code: 'input/not-failed',
      message: 'the run passed: there is nothing to shrink',
      remedy: 'give the bundle of a run in which a property failed',
    });
  }
  output.record({ type: 'result', status: 'not-applicable-timeout', verdict, reason });
  output.say(`not-applicable-timeout: the run ended with ${reason}, no property failed`);
  return 2;
}

/** The recorded run as a candidate: what its seed does not answer is answered from the record. */
function parentCandidate({ scenario, schedule, manifest }: Bundle): Candidate {
  const reseeded = manifest.lineage !== null && manifest.lineage.seed !== null;
  const answers: Answer[] = [];
  for (const decision of decodeDecisions(readWholeLog(schedule, LOG_DECISIONS))) {
    const { stream, ordinal, choice, arity, door } = decision;
    if (reseeded || door !== 'seeded') answers.push({ stream, ordinal, choice, arity });
  }
  return { scenario, answers, calm: [] };
}

function assertReproduced(wanted: FailureSignature, { record }: View): void {
  const found = failureSignature(record.scenario, record.outcome);
  if (found?.all.includes(wanted.primary) === true) return;
  throw new SimError({
    code: 'verdict/not-reproduced',
    message: `the recorded failure does not come again: expected ${wanted.primary}, found ${found?.primary ?? record.outcome.verdict}`,
    remedy: 'run `sim replay` on the bundle: it says where the run parts from its record',
  });
}

/** How much there is of what people look at. */
export interface Size {
  readonly events: number;
  /** Faults that were decided one by one: a lost packet, a failed write. */
  readonly singles: number;
  readonly waits: number;
  readonly nodes: number;
  /** Arguments, variables and files of all nodes. */
  readonly inputBytes: number;
  readonly endNs: number;
}

function sizeOf({ record, decisions }: View): Size {
  const { scenario, outcome } = record;
  const events = decodeEvents(readWholeLog(record.events, LOG_EVENTS));
  const firings = firingsOf(scenario, { decisions, events, endNs: outcome.endNs });
  const faults = scenario.plan.events.filter((event) => !roleOf(event).mends);
  const counts = faults.map(({ name }) => firings.get(name)?.length ?? 0);
  return {
    events: counts.reduce((sum, count) => sum + count, 0),
    singles: decisions.filter(isSingleFault).length,
    waits: decisions.filter(({ stream, choice }) => choice > 0 && stream.endsWith('/schedule'))
      .length,
    nodes: scenario.world.nodes.length,
    inputBytes: inputSize(scenario),
    endNs: outcome.endNs,
  };
}

function faultCount({ events, singles, waits }: Size): number {
  return events + singles + waits;
}

function lineageOf(
  bundle: Bundle,
  { decisions, record }: View,
  wanted: FailureSignature,
  counts: { readonly probes: number; readonly faultsBefore: number; readonly faultsAfter: number },
): Lineage {
  const overrides = decisions
    .filter(({ door }) => door === 'override')
    .slice(0, OVERRIDES_MAX)
    .map(({ stream, ordinal, choice }) => ({ stream, ordinal, choice }));
  const shrunk = { signature: wanted.primary, ...counts };
  const { seed } = record.scenario;
  const reseeded = seed === bundle.scenario.seed ? null : seed;
  return { parent: bundle.digest, proof: null, seed: reseeded, overrides, shrunk };
}

/** Replays the shrunk run for its consoles, which is the proof that its bundle replays, too. */
function tellAgain(
  { record }: View,
  {
    images,
    machines,
    engine,
    wanted,
  }: {
    readonly images: ReadonlyMap<string, Uint8Array>;
    readonly machines: MachineChoice | undefined;
    readonly engine: Parameters<typeof runToEnd>[0]['engine'];
    readonly wanted: FailureSignature;
  },
): { readonly story: Story; readonly collector: ConsoleCollector } {
  const collector = new ConsoleCollector();
  const { scenario, schedule, events } = record;
  const replay = { schedule, events };
  const run = { scenario, images, machines, engine, replay };
  const again = runToEnd({ ...run, onConsole: collector.piece });
  collector.close();
  return { story: storyOf(again, mergeTimeline(collector.rows, again.notes), wanted), collector };
}

/** A run made smaller, as it stands in its bundle. */
export interface Shrunk {
  readonly wanted: FailureSignature;
  readonly sizes: readonly [Size, Size];
  readonly lineage: Lineage;
  readonly story: Story;
  readonly path: string;
  readonly record: RunRecord;
  readonly wallMs: number;
  readonly charged: number;
}

function report(told: Shrunk, context: Context): void {
  const { wanted, sizes, lineage, story, path, record, charged } = told;
  const { output, host } = context;
  const [before, after] = sizes;
  const removed = Math.round((1 - faultCount(after) / Math.max(1, faultCount(before))) * MILLION);
  const replay = `${host.command} replay ${shellQuote(path)}`;
  for (const { atNs, node, role, text } of story.lines) {
    output.record({ type: 'story', at_ns: atNs, node, role, text });
  }
  output.record({
    type: 'result',
    status: 'shrunk',
    signature: wanted.primary,
    parent: lineage.parent,
    scenario: scenarioIds(record.scenario).scenario,
    moral: story.moral,
    before: sizeRecord(before),
    after: sizeRecord(after),
    faults_removed_millionths: removed,
    overrides: lineage.overrides.length,
    probes: charged,
    canonical: false,
    bundle: path,
    replay,
  });
  if (!output.speaks) return;
  sayReport(told, removed, output);
  output.say(`bundle  ${path}`);
  output.say(`replay  ${replay}`);
}

export function sizeRecord(size: Size): Record<string, number> {
  const { events, singles, waits, nodes, inputBytes, endNs } = size;
  return {
    fault_events: events,
    single_faults: singles,
    waits,
    nodes,
    input_bytes: inputBytes,
    end_ns: endNs,
  };
}

function sayReport(
  { wanted, sizes, story, record, wallMs, charged }: Shrunk,
  removed: number,
  output: Context['output'],
): void {
  const { colors } = output;
  const [before, after] = sizes;
  output.say(`${colors.bold(record.scenario.name)}  ${wanted.primary}`);
  output.say('');
  const row = (name: string, key: keyof Size): string[] => {
    return [name, groupDigits(before[key]), groupDigits(after[key])];
  };
  const table = [
    ['', 'before', 'after'].map(colors.dim),
    row('faults of the plan', 'events'),
    row('single faults', 'singles'),
    row('waits', 'waits'),
    row('nodes', 'nodes'),
    row('input bytes', 'inputBytes'),
    ['virtual ms', groupDigits(ms(before.endNs)), groupDigits(ms(after.endNs))],
  ];
  for (const line of layOut(table, new Set([1, 2]))) output.say(line);
  const share = (removed / 10_000).toFixed(1);
  const seconds = (wallMs / 1000).toFixed(1);
  output.say(colors.dim(`${share} % of the faults removed, ${charged} runs, ${seconds} s`));
  output.say('');
  for (const line of tellStory(story)) output.say(line);
  output.say('');
}

function ms(ns: number): number {
  return Math.round(ns / 1e6);
}
