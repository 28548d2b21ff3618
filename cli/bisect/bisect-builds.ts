import { availableParallelism } from 'node:os';
import {
  answersOf,
  decidingMoment,
  decodeDecisions,
  LOG_DECISIONS,
  readWholeLog,
  SimError,
} from '../../sim/index.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import type { OptionsOf } from '../options.ts';
import { ProbePool } from '../probe-pool.ts';
import { Progress } from '../progress.ts';
import { BuildProber } from './build-prober.ts';
import { buildsInFolder, chooseGuest, twoBuilds, type BuildList } from './builds.ts';
import { openCommits } from './commits.ts';
import { keepBuilds } from './keep-build.ts';
import { bisectOverBuilds } from './over-builds.ts';
import { checkEnds, reportBuilds, reportBuildsSubject } from './report-builds.ts';
import { checkNumbers, readSubject } from './subject.ts';

/** Whole runs; a rare failure takes some hundreds of each of the builds that are tried. */
const BUDGET_DEFAULT = 4000;

type Options = OptionsOf<'bisect'>;

/** Whether a command line is about builds. */
export function asksForBuilds(options: Options): boolean {
  const { good, bad, builds, git, build, artifact, repo, guest } = options;
  return [good, bad, builds, git, build, artifact, repo, guest].some((value) => {
    return value !== undefined;
  });
}

/**
 * `sim bisect RUN --good A --bad B`, `--builds DIR` and `--git GOOD..BAD`: the first build that fails
 * as the run did.
 */
export async function bisectBuilds(
  path: string,
  options: Options,
  context: Context,
): Promise<number> {
  checkOptions(options);
  const numbers = checkNumbers({ ...options, budgetDefault: BUDGET_DEFAULT });
  const subject = readSubject(path, context);
  const { scenario, images, schedule, manifest } = subject.bundle;
  const { outcome } = manifest;
  const label = chooseGuest(scenario, options.guest);
  const engine = makeEngine(context.artifactDir);
  const pool = new ProbePool({ jobs: options.jobs ?? availableParallelism(), engine });
  const list = await openBuilds(options, context);
  const progress = new Progress(context.host, numbers.budget, context.globals.quiet);
  try {
    reportBuildsSubject({ subject, list, label }, context);
    const prober = new BuildProber({
      builds: list.builds,
      scenario,
      images,
      label,
      answers: answersOf(decodeDecisions(readWholeLog(schedule, LOG_DECISIONS))),
      wanted: subject.wanted,
      isDecidedInTime: decidingMoment(outcome, subject.wanted.property) !== null,
      pool,
      budget: numbers.budget,
      onProgress: (done) => progress.update(done, ''),
    });
    const result = await bisectOverBuilds(prober, list.builds.length, numbers.confidence);
    progress.end();
    checkEnds(result, list);
    const kept = await keepBuilds({ subject, prober, result, engine, out: options.out, context });
    return reportBuilds({ list, prober, result, kept }, context);
  } finally {
    progress.end();
    await pool.close();
    await list.close();
  }
}

async function openBuilds(options: Options, context: Context): Promise<BuildList> {
  const { good, bad, builds, git = '', build = '', artifact, repo } = options;
  if (good !== undefined && bad !== undefined) return twoBuilds(good, bad, context);
  if (builds !== undefined) return buildsInFolder(builds, context);
  return openCommits({ range: git, command: build, artifact, repo }, context);
}

/** Throws `usage/bisect` where options contradict each other or miss one another. */
function checkOptions(options: Options): void {
  const { good, bad, builds, git, build, artifact, repo, decisions } = options;
  const refuse = (message: string): never => {
    throw new SimError({
      code: 'usage/bisect',
      message,
      remedy: 'give --good MODULE --bad MODULE, --builds DIR, or --git GOOD..BAD --build COMMAND',
    });
  };
  if (decisions) refuse('a run is bisected over its decisions or over builds, not over both');
  if ((good === undefined) !== (bad === undefined)) refuse('--good and --bad go together');
  const sources = Object.entries({ '--good': good, '--builds': builds, '--git': git });
  const [first, second] = sources.filter(([, value]) => value !== undefined);
  if (first === undefined) refuse('no builds are named');
  if (second !== undefined) refuse(`${first?.[0]} and ${second[0]} are both given`);
  if (git !== undefined && build === undefined) refuse('--git needs --build: what builds a commit');
  if (git === undefined && [build, artifact, repo].some((value) => value !== undefined)) {
    refuse('--build, --artifact and --repo go with --git');
  }
}
