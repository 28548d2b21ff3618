import { SimError, type Drift } from '../../sim/index.ts';
import { layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { percent } from './curve-chart.ts';
import type { BuildProber, Standing } from './build-prober.ts';
import type { Build, BuildList } from './builds.ts';
import { shellQuote } from '../host.ts';
import type { KeptBuilds } from './keep-build.ts';
import type { BuildsResult } from './over-builds.ts';
import type { Subject } from './subject.ts';

/** What is about to be looked for, and among what. */
export function reportBuildsSubject(
  found: { readonly subject: Subject; readonly list: BuildList; readonly label: string },
  { output }: Context,
): void {
  const { subject, list, label } = found;
  const { name, seed } = subject.bundle.manifest;
  const signature = subject.wanted.primary;
  const { builds } = list;
  output.record({
    type: 'start',
    mode: 'builds',
    bundle: subject.path,
    name,
    seed,
    signature,
    guest: label,
    builds: builds.length,
  });
  output.say(`${output.colors.bold(name)}  seed ${seed}`);
  output.say(`failure  ${signature}`);
  const ends = [builds[0], builds.at(-1)].map((build) => build?.name ?? '');
  output.say(`${builds.length} builds of "${label}", from ${ends.join(' to ')}`);
}

/** Throws an error where the ends are not what they were said to be. */
export function checkEnds({ wrong, lastGood, firstBad }: BuildsResult, list: BuildList): void {
  if (wrong === null) return;
  const { place } = list;
  const good = `the first build, ${list.builds[0]?.name ?? ''},`;
  const bad = `the last build, ${list.builds.at(-1)?.name ?? ''},`;
  const passes = `${bad} does not fail in this way in ${firstBad.runs} runs`;
  const fails = `${good} fails in this way too`;
  switch (wrong) {
    case 'swapped':
      throw new SimError({
        code: 'input/builds-swapped',
        message: `the ends are the wrong way round: ${fails}, and ${passes}`,
        place,
        remedy: 'name the builds, or the range, from the good one to the bad one',
      });
    case 'good-fails':
      throw new SimError({
        code: 'input/good-build-fails',
        message: `${fails}: it is not good`,
        place,
        remedy: 'start from an older build',
      });
    case 'bad-passes':
      throw new SimError({
        code: 'input/bad-build-passes',
        message: `${passes}, neither under the recorded decisions nor under others: it is not bad`,
        place,
        remedy: 'end with a build that fails, best the one that the run was recorded with',
      });
    case 'good-skipped':
      throw endSkipped(good, lastGood, place);
    case 'bad-skipped':
      throw endSkipped(bad, firstBad, place);
  }
}

function endSkipped(end: string, { skipped }: Standing, place: string): SimError {
  return new SimError({
    code: 'input/build-end',
    message: `${end} cannot be tried: ${skipped ?? ''}`,
    place,
    remedy: 'builds between the ends may fail to build or to run, the ends may not',
  });
}

/** The builds that were tried, and the first bad one. Returns the exit code. */
export function reportBuilds(
  found: {
    readonly list: BuildList;
    readonly prober: BuildProber;
    readonly result: BuildsResult;
    /** Null where the budget left no run of both builds. */
    readonly kept: KeptBuilds | null;
  },
  context: Context,
): number {
  const { list, prober, result, kept } = found;
  const { output } = context;
  const next = nextCommands(kept, context);
  const { firstBad, lastGood, between, rate, confirmed } = result;
  const tried = [...prober.tried].sort((a, b) => a.index - b.index);
  for (const standing of tried) output.record({ type: 'build', ...recordOf(standing) });
  const exact = confirmed && firstBad.index - lastGood.index === 1;
  const exitCode = exact ? 0 : 2;
  const names = between.map((index) => (list.builds[index] as Build).name);
  const skipped = tried.filter((standing) => standing.skipped !== null);
  output.record({
    type: 'result',
    mode: 'builds',
    first_bad: firstBad.name,
    last_good: lastGood.name,
    exact,
    confirmed,
    candidates: list.builds.slice(lastGood.index + 1, firstBad.index + 1).map(({ name }) => name),
    skipped: skipped.map(({ name }) => name),
    rate,
    passes_needed: result.passesNeeded,
    tried: tried.length,
    runs: prober.runs,
    failing: kept?.failing ?? null,
    passing: kept?.passing ?? null,
    next,
    exit_code: exitCode,
  });
  if (output.speaks) sayTable(tried, result, context);
  output.say(`${tried.length} of ${list.builds.length} builds tried, in ${prober.runs} runs`);
  output.say(
    `${percent(rate)} of the bad end's runs fail; ${result.passesNeeded} passes make good`,
  );
  if (exact) {
    output.say(output.colors.bold(`the first bad build is ${firstBad.name}`));
    output.say(
      `the last good one, ${lastGood.name}, passed ${lastGood.runs} runs of ${lastGood.runs}`,
    );
  } else if (names.length > 0 && confirmed) {
    const all = [...names, firstBad.name].join(', ');
    output.warn(`the first bad build is one of ${all}: the others could not be tried`);
  } else {
    output.warn(
      `the budget ran out: the first bad build is after ${lastGood.name}, ${firstBad.name} at the latest: --budget`,
    );
  }
  if (kept !== null) {
    output.say(`with it    ${kept.failing}`);
    output.say(`before it  ${kept.passing}`);
  }
  for (const command of next) output.say(`next  ${command}`);
  return exitCode;
}

function nextCommands(kept: KeptBuilds | null, { host }: Context): readonly string[] {
  if (kept === null) return [];
  const failing = shellQuote(kept.failing);
  return [
    `${host.command} bisect ${failing} ${shellQuote(kept.passing)}`,
    `${host.command} shrink ${failing}`,
  ];
}

function sayTable(tried: readonly Standing[], result: BuildsResult, { output }: Context): void {
  const { colors } = output;
  const head = ['', 'build', 'failing', 'recorded', 'answered', 'missing', 'misfit', 'extra'];
  const rows = tried.map((standing) => {
    const { index, name, skipped, failures, runs, replayFails, drift } = standing;
    const mark = index === result.firstBad.index ? '>' : ' ';
    if (skipped !== null) return [mark, name, 'skipped', '', '', '', '', '', skipped];
    const recorded = replayFails ? 'fails' : 'passes';
    return [mark, name, `${failures} of ${runs}`, recorded, ...driftColumns(drift)];
  });
  output.say('');
  const columns = new Set([4, 5, 6, 7]);
  for (const line of layOut([head.map(colors.dim), ...rows], columns)) output.say(line);
  output.say('');
}

function driftColumns(drift: Drift | null): string[] {
  if (drift === null) return [];
  const { answered, missing, misfits, extra } = drift;
  return [answered, missing, misfits, extra].map(String);
}

function recordOf(standing: Standing): Readonly<Record<string, unknown>> {
  const { index, name, failures, others, runs, replayFails, drift, skipped } = standing;
  return {
    index,
    name,
    failures,
    others,
    runs,
    recorded_fails: replayFails,
    drift,
    skipped,
  };
}
