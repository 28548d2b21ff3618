import { availableParallelism } from 'node:os';
import {
  answersOf,
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
import { buildsInFolder, chooseGuest, type BuildList } from './builds.ts';
import { openCommits } from './commits.ts';
import { bisectOverBuilds } from './over-builds.ts';
import { checkEnds, reportBuilds, reportBuildsSubject } from './report-builds.ts';
import { checkNumbers, readSubject } from './subject.ts';

/** Whole runs; a rare failure takes some hundreds of each of the builds that are tried. */
const BUDGET_DEFAULT = 4000;

type Options = OptionsOf<'bisect'>;

/** Whether a command line is about builds. */
export function asksForBuilds({ builds, git, command, artifact, repo, guest }: Options): boolean {
  return [builds, git, command, artifact, repo, guest].some((value) => value !== undefined);
}

/** `sim bisect RUN --builds DIR` and `--git GOOD..BAD`: the first build that fails as the run did. */
export async function bisectBuilds(
  path: string,
  options: Options,
  context: Context,
): Promise<number> {
  checkOptions(options);
  const numbers = checkNumbers({ ...options, budgetDefault: BUDGET_DEFAULT });
  const subject = readSubject(path, context);
  const { scenario, images, schedule } = subject.bundle;
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
      pool,
      budget: numbers.budget,
      onProgress: (done) => progress.update(done, ''),
    });
    const result = await bisectOverBuilds(prober, list.builds.length, numbers.confidence);
    progress.end();
    checkEnds(result, list);
    return reportBuilds({ list, prober, result }, context);
  } finally {
    progress.end();
    await pool.close();
    await list.close();
  }
}

async function openBuilds(options: Options, context: Context): Promise<BuildList> {
  const { builds, git, command = '', artifact = '', repo } = options;
  if (builds !== undefined) return buildsInFolder(builds, context);
  return openCommits({ range: git ?? '', command, artifact, repo }, context);
}

/** Throws `usage/bisect` where options contradict each other or miss one another. */
function checkOptions({ builds, git, command, artifact, repo, decisions }: Options): void {
  const refuse = (message: string): never => {
    throw new SimError({
      code: 'usage/bisect',
      message,
      remedy: 'give --builds DIR, or --git GOOD..BAD --command COMMAND --artifact PATH',
    });
  };
  if (decisions) refuse('a run is bisected over its decisions or over builds, not over both');
  if (builds !== undefined && git !== undefined) refuse('--builds and --git are both given');
  if (builds === undefined && git === undefined) refuse('neither --builds nor --git is given');
  if (git !== undefined) {
    if (!command) refuse('--git needs --command: what builds a commit');
    if (!artifact) refuse('--git needs --artifact: the module that the command leaves');
    return;
  }
  if ([command, artifact, repo].some((value) => value !== undefined)) {
    refuse('--command, --artifact and --repo go with --git');
  }
}
