import { basename } from 'node:path';
import { readInput } from '../../scenarios/index.ts';
import { countPlan, SimError, type PlannedTest } from '../../sim/index.ts';
import { writeAtomically } from '../atomic-write.ts';
import { writeBundle } from '../bundle-write.ts';
import { JOBS_MAX } from '../campaign-pool.ts';
import type { Context } from '../context.ts';
import { shellQuote } from '../host.ts';
import { suiteMachines } from '../machines/machine-backend.ts';
import type { OptionsOf } from '../options.ts';
import { chooseSeed, type ChosenSeed } from '../seed.ts';
import { diagnose } from '../suite/diagnose.ts';
import { junitXml } from '../suite/junit.ts';
import type { Leaf } from '../suite/leaf.ts';
import { openLeafCrew } from '../suite/leaf-crew.ts';
import { sayLeaf, sayOrders, saySummary } from '../suite/say-leaves.ts';
import {
  decodeReport,
  encodeReport,
  mergeReports,
  type PlacedReport,
  type SuiteReport,
} from '../suite/suite-report.ts';
import { planSuite, type PlannedSuite } from '../suite/suite.ts';

/** `sim test`: plans a suite, then runs its leaves (FB-14, FB-38), or merges what shards of it reported. */
export async function run(
  args: readonly string[],
  options: OptionsOf<'test'>,
  context: Context,
): Promise<number> {
  checkUsage(options);
  const path = args[0] ?? '';
  const asked = context.globals.seed ?? null;
  const types = !options.noTypes && options.merge.length === 0;
  const suite = await planSuite(path, { types, seed: asked }, context);
  const tests = selectTests(suite, options.test, context);
  const report =
    options.merge.length > 0
      ? merged(suite, options, { path, context })
      : await runLeaves(suite, tests, { path, options, context });
  const { spec } = suite.plan;
  if (options.junit !== undefined)
    writeAtomically(context.path(options.junit), junitXml(spec, report.leaves));
  if (options.report !== undefined)
    writeAtomically(context.path(options.report), encodeReport(report));
  for (const { code, test, message } of diagnose(suite.plan.tests, report.leaves)) {
    context.output.say(`! ${code} ${test}: ${message}`);
    context.output.record({ type: 'diagnostic', code, test, message });
  }
  return saySummary(report.leaves, context);
}

interface Run {
  /** The spec as it was named on the command line. */
  readonly path: string;
  readonly options: OptionsOf<'test'>;
  readonly context: Context;
}

async function runLeaves(
  suite: PlannedSuite,
  tests: readonly PlannedTest[],
  { path, options, context }: Run,
): Promise<SuiteReport> {
  const seed = chooseSeed(context, suite.plan.seed);
  sayPlan(suite, seed, options, context);
  const { artifactDir } = context;
  const plans = !options.noPlan;
  const machines = suiteMachines(suite.model.services, context);
  const start = { suite, seed: seed.seed, plans, artifactDir, machines };
  const crew = openLeafCrew(start, options.jobs ?? 1);
  try {
    const found = await crew.discover(tests);
    sayOrders(found, context);
    const all = selectLeaves(suite, found, options.leaf);
    const places = selectShard(all, options.shard);
    const leaves = places.map((place) => all[place] as Leaf);
    const { spec } = suite.plan;
    context.output.say(`${spec}  ${tests.length} tests  ${leaves.length} leaves to run`);
    context.output.record({ type: 'suite', spec, tests: tests.length, leaves: leaves.length });
    const reports: PlacedReport[] = [];
    await crew.runAll(leaves, ({ report, bundle }) => {
      const name = { name: report.test, seed: seed.seed, out: undefined, context };
      const file = bundle === null ? null : writeBundle(bundle, name);
      const placed = { ...report, position: places[reports.length] as number, bundle: file };
      sayLeaf(placed, againOf(placed, path, seed.seed, options), context);
      reports.push(placed);
    });
    return {
      spec,
      digest: suite.image.digest,
      seed: seed.seed,
      test: options.test ?? null,
      leaf: options.leaf ?? null,
      total: all.length,
      leaves: reports,
    };
  } finally {
    await crew.close();
  }
}

/** The plan is known before any guest starts (FB-14). */
function sayPlan(
  { plan }: PlannedSuite,
  seed: ChosenSeed,
  { noPlan }: OptionsOf<'test'>,
  { output }: Context,
): void {
  const { instances, estimated } = countPlan(plan);
  const counted = `${estimated ? 'at least ' : ''}${instances} plan instances`;
  output.say(`Plan: ${plan.spec}  ${noPlan ? '(left out)' : counted}`);
  output.say(`Seed: ${seed.seed} (${seed.source})`);
  const counts = noPlan ? {} : { planned: instances, estimated };
  output.record({ type: 'plan', spec: plan.spec, seed: seed.seed, ...counts });
  if (noPlan) return;
  for (const { code, message, place } of plan.diagnostics) {
    output.record({ type: 'diagnostic', code, test: null, message: `${message} (${place})` });
  }
}

/** Reports of shards, as one; of the spec as it stands, else `input/shards`. */
function merged(
  suite: PlannedSuite,
  options: OptionsOf<'test'>,
  { path, context }: { readonly path: string; readonly context: Context },
): SuiteReport {
  const files = options.merge;
  const report = mergeReports(
    files.map((file) => {
      return { place: file, report: decodeReport(readInput(context.path(file), file), file) };
    }),
  );
  if (report.digest !== suite.image.digest) {
    throw new SimError({
      code: 'input/shards',
      message: `the reports are of another ${basename(path)} than the one that stands here`,
      place: files[0] ?? '',
      remedy: 'merge beside the spec that the shards ran',
    });
  }
  for (const each of report.leaves) {
    sayLeaf(each, againOf(each, path, report.seed, options), context);
  }
  return report;
}

/** The command that runs a leaf alone, without the program's name; with the options that change what leaves are. */
function againOf(
  { test, leaf }: PlacedReport,
  path: string,
  seed: number,
  { noPlan, noTypes }: OptionsOf<'test'>,
): string {
  const flags = `${noTypes ? ' --no-types' : ''}${noPlan ? ' --no-plan' : ''}`;
  const what = `--test ${shellQuote(test)} --leaf ${leaf} --seed ${seed}${flags}`;
  return `test ${shellQuote(path)} ${what}`;
}

/** The tests that are wanted; none at all is an error, never a pass (FB-74). */
function selectTests(
  { plan }: PlannedSuite,
  wanted: string | undefined,
  { output }: Context,
): readonly PlannedTest[] {
  const tests = plan.tests.filter(({ name }) => wanted === undefined || name === wanted);
  if (tests.length > 0) return tests;
  const message = wanted === undefined ? 'the spec has no tests' : `no test is called "${wanted}"`;
  if (wanted === undefined) {
    output.record({ type: 'diagnostic', code: 'NO_TESTS_DISCOVERED', test: null, message });
  }
  const names = plan.tests.map(({ name }) => name).join(', ');
  throw new SimError({
    code: 'verdict/no-tests',
    message,
    place: plan.spec,
    remedy: names === '' ? 'declare one with test()' : `there are ${names}`,
  });
}

function selectLeaves(
  { plan }: PlannedSuite,
  all: readonly Leaf[],
  leaf: number | undefined,
): readonly Leaf[] {
  const wanted = leaf === undefined ? all : all.filter(({ index }) => index === leaf);
  if (wanted.length > 0) return wanted;
  const last = all.reduce((most, { index }) => Math.max(most, index), 0);
  throw new SimError({
    code: 'verdict/no-leaf',
    message: `there is no leaf ${leaf ?? 0}: the last is ${last}`,
    place: plan.spec,
    remedy: 'see the leaves with sim plan',
  });
}

/** The places of a shard's leaves: every n-th, so that all shards have some of each test. */
function selectShard(all: readonly Leaf[], text: string | undefined): readonly number[] {
  const places = all.map((_, place) => place);
  if (text === undefined) return places;
  const [part, parts] = readShard(text);
  return places.filter((place) => place % parts === part - 1);
}

function readShard(text: string): readonly [number, number] {
  const match = /^(\d{1,6})\/(\d{1,6})$/.exec(text);
  const [part, parts] = [Number(match?.[1]), Number(match?.[2])];
  if (match !== null && part >= 1 && part <= parts) return [part, parts];
  throw new SimError({
    code: 'usage/shard',
    message: `--shard ${text} is no part of a whole`,
    remedy: 'write --shard 1/4 to 4/4',
  });
}

function checkUsage({ merge, shard, leaf, test, jobs = 1 }: OptionsOf<'test'>): void {
  if (jobs < 1 || jobs > JOBS_MAX) {
    const message = `--jobs is ${jobs}, expected 1 to ${JOBS_MAX}`;
    throw new SimError({ code: 'usage/jobs', message });
  }
  if (shard !== undefined) readShard(shard);
  if (merge.length === 0 || (shard ?? leaf ?? test) === undefined) return;
  throw new SimError({
    code: 'usage/merge',
    message: '--merge runs nothing: it does not go with --test, --leaf or --shard',
    remedy: 'leave them out; the reports say what was run',
  });
}
