import { countPlan, SimError } from '../../sim/index.ts';
import { bundleOfRun, writeBundle } from '../bundle-write.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import type { OptionsOf } from '../options.ts';
import { chooseSeed } from '../seed.ts';
import { diagnose } from '../suite/diagnose.ts';
import { leafTitle, type Leaf } from '../suite/leaf.ts';
import { junitXml } from '../suite/junit.ts';
import { SuiteRunner, type LeafResult } from '../suite/run-suite.ts';
import { openSuite, type Suite } from '../suite/suite.ts';
import { writeAtomically } from '../atomic-write.ts';

/** `sim test`: runs the leaves of a suite (FB-14, FB-38). */
export async function run(
  args: readonly string[],
  options: OptionsOf<'test'>,
  context: Context,
): Promise<number> {
  const path = args[0] ?? '';
  const asked = context.globals.seed ?? null;
  const suite = await openSuite(path, { types: !options.noTypes, seed: asked }, context);
  const seed = chooseSeed(context, suite.plan.seed);
  const { output } = context;
  const runner = await SuiteRunner.open(suite, () => makeEngine(context.artifactDir), seed.seed);
  const leaves = select(suite, runner, options);
  const total = countPlan(suite.plan);
  output.say(
    `${suite.plan.spec}  ${suite.plan.tests.length} tests  ${leaves.length} leaves to run`,
  );
  output.say(`Seed: ${seed.seed} (${seed.source})`);
  output.record({
    type: 'suite',
    spec: suite.plan.spec,
    seed: seed.seed,
    planned: total.instances,
    estimated: total.estimated,
    leaves: leaves.length,
  });
  const results: LeafResult[] = [];
  runner.runAll(leaves, (result) => {
    reportLeaf(result, { path, seed: seed.seed, context });
    results.push(result);
  });
  if (options.junit !== undefined) {
    writeAtomically(context.path(options.junit), junitXml(suite.plan.spec, results));
  }
  for (const { code, test, message } of diagnose(results)) {
    output.say(`! ${code} ${test}: ${message}`);
    output.record({ type: 'diagnostic', code, test, message });
  }
  return summarise(results, context);
}

/** The leaves that are wanted; none at all is an error, never a pass (FB-74). */
function select(suite: Suite, runner: SuiteRunner, options: OptionsOf<'test'>): readonly Leaf[] {
  const { test, leaf, shard } = options;
  const tests = suite.plan.tests.filter(({ name }) => test === undefined || name === test);
  if (tests.length === 0) {
    const names = suite.plan.tests.map(({ name }) => name).join(', ');
    throw new SimError({
      code: 'verdict/no-tests',
      message: test === undefined ? 'the spec has no tests' : `no test is called "${test}"`,
      place: suite.plan.spec,
      remedy: names === '' ? 'declare one with test()' : `there are ${names}`,
    });
  }
  const all = tests.flatMap((each) => runner.leaves(each));
  const wanted = leaf === undefined ? all : all.filter(({ index }) => index === leaf);
  if (wanted.length === 0) {
    throw new SimError({
      code: 'verdict/no-leaf',
      message: `there is no leaf ${leaf ?? 0}: the last is ${all.length - 1}`,
      place: suite.plan.spec,
      remedy: 'see the leaves with sim plan',
    });
  }
  if (shard === undefined) return wanted;
  const [part, parts] = readShard(shard);
  return wanted.filter((_, index) => index % parts === part - 1);
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

function reportLeaf(
  result: LeafResult,
  options: { readonly path: string; readonly seed: number; readonly context: Context },
): void {
  const { leaf, outcome, detail, record, images, sources } = result;
  const { path, seed, context } = options;
  const { output } = context;
  const { colors } = output;
  const marks = {
    pass: colors.green('✓'),
    fail: colors.red('✗'),
    error: colors.red('✗'),
    inconclusive: colors.yellow('?'),
    halted: colors.dim('-'),
    filtered: colors.dim('-'),
  };
  output.say(`${marks[outcome]} ${leafTitle(leaf)}${outcome === 'pass' ? '' : `  ${outcome}`}`);
  const bad = outcome === 'fail' || outcome === 'error' || outcome === 'inconclusive';
  let bundle: string | null = null;
  if (bad) {
    const bytes = bundleOfRun({ record, images, sources, lineage: null, thin: false });
    bundle = writeBundle(bytes, { name: leaf.test.name, seed, out: undefined, context });
    for (const line of detail === '' ? [] : detail.split('\n')) output.say(`    ${line}`);
    output.say(
      `    sim test ${path} --test '${leaf.test.name}' --leaf ${leaf.index} --seed ${seed}`,
    );
    output.say(`    sim replay ${bundle}`);
  }
  output.record({
    type: 'leaf',
    test: leaf.test.name,
    leaf: leaf.index,
    title: leafTitle(leaf),
    outcome,
    detail,
    virtual_ns: record.outcome.endNs,
    bundle,
  });
}

function summarise(results: readonly LeafResult[], { output }: Context): number {
  const counts = new Map<string, number>();
  for (const { outcome } of results) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const shown = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  output.say('');
  output.say(`${results.length} leaves: ${shown}`);
  output.record({ type: 'summary', leaves: results.length, ...Object.fromEntries(counts) });
  return results.every(({ outcome }) => /^(pass|halted|filtered)$/.test(outcome)) ? 0 : 1;
}
