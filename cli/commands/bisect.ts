import { availableParallelism } from 'node:os';
import { SimError } from '../../sim/index.ts';
import { asksForBuilds, bisectBuilds } from '../bisect/bisect-builds.ts';
import { bisectOverDecisions } from '../bisect/over-decisions.ts';
import { bisectOverTime } from '../bisect/over-time.ts';
import { DecisionLine } from '../bisect/decision-line.ts';
import { faultsOf } from '../bisect/line-faults.ts';
import { reportCurve, reportDeciding, reportSubject } from '../bisect/report.ts';
import { findResponsible } from '../bisect/responsible.ts';
import { Sampler } from '../bisect/sampler.ts';
import { checkNumbers, readSubject } from '../bisect/subject.ts';
import { bisectTwoRuns } from '../bisect/two-runs.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import type { OptionsOf } from '../options.ts';
import { ProbePool } from '../probe-pool.ts';
import { Progress } from '../progress.ts';

/** Continuations of a run are cheap; this many take seconds to a minute for a cluster. */
const BUDGET_DEFAULT = 3000;

/** `sim bisect`: what made a run fail. */
export async function run(
  args: readonly string[],
  options: OptionsOf<'bisect'>,
  context: Context,
): Promise<number> {
  const [first = '', other] = args;
  const overBuilds = asksForBuilds(options);
  if (other === undefined) {
    return overBuilds ? bisectBuilds(first, options, context) : bisectRun(first, options, context);
  }
  if (options.decisions || overBuilds || options.budget !== undefined) {
    throw new SimError({
      code: 'usage/bisect',
      message: 'two bundles are compared as they are: no --decisions, --builds, --git or --budget',
      remedy: 'give one bundle to bisect its run',
    });
  }
  return bisectTwoRuns(first, other, context);
}

/** One failed run: over time, or over its decisions. */
async function bisectRun(
  path: string,
  options: OptionsOf<'bisect'>,
  context: Context,
): Promise<number> {
  const numbers = checkNumbers({ ...options, budgetDefault: BUDGET_DEFAULT });
  const engine = makeEngine(context.artifactDir);
  const pool = new ProbePool({ jobs: options.jobs ?? availableParallelism(), engine });
  const subject = readSubject(path, context);
  const { bundle, wanted } = subject;
  const { scenario, images, machines } = bundle;
  const line = DecisionLine.follow(bundle, wanted, engine);
  reportSubject(subject, line, options.decisions ? 'decisions' : 'time', context);
  const progress = new Progress(context.host, numbers.budget, context.globals.quiet);
  const onProgress = (done: number): void => progress.update(done, '');
  const base = { line, scenario, images, machines, wanted, pool };
  const sampler = new Sampler({ ...base, ...numbers, onProgress });
  const found = { subject, line, sampler, engine };
  try {
    if (options.decisions) {
      const deciding = await bisectOverDecisions(line, sampler);
      progress.end();
      return reportDeciding({ ...found, deciding, out: options.out }, context);
    }
    const curve = await bisectOverTime(line, sampler);
    const faults = await findResponsible(faultsOf(line, bundle), curve.points, sampler);
    progress.end();
    return reportCurve({ ...found, curve, faults }, context);
  } finally {
    progress.end();
    await pool.close();
  }
}
