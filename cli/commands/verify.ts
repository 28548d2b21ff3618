import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readInput } from '../../scenarios/index.ts';
import { compareRuns, scenarioIds, SimError } from '../../sim/index.ts';
import { openBundle, type Bundle } from '../bundle.ts';
import { cacheFolder } from '../cache-folder.ts';
import type { Context } from '../context.ts';
import { reportDifference } from '../difference.ts';
import { hasMachines } from '../machines/machine-backend.ts';
import { hostileHosts, otherRuntime, type HostileHost } from '../hostile-hosts.ts';
import type { OptionsOf } from '../options.ts';
import { Progress } from '../progress.ts';
import { findScenario, withPlan } from '../scenario-input.ts';
import { chooseSeed } from '../seed.ts';
import { Store } from '../store.ts';

/** At most this many processes; they run one after another. */
const RUNS_MAX = 1_000;

/**
 * `sim verify`: independent processes reduce one scenario under hostile hosts, and every record is
 * compared (CR-13, CR-14); or two bundles are compared.
 */
export async function run(
  args: readonly string[],
  options: OptionsOf<'verify'>,
  context: Context,
): Promise<number> {
  if (options.compare) return compareBundles(args, options, context);
  if (args[1] !== undefined) {
    throw new SimError({
      code: 'usage/verify',
      message: 'two bundles are compared with --compare; a scenario stands alone',
    });
  }
  const found = findScenario(args[0], context);
  const def = withPlan(found.def, options);
  const chosen = chooseSeed(context, def.seed);
  const scenario = { ...def, seed: chosen.seed };
  const hosts = chooseHosts(options, context);
  const { output } = context;
  output.say(`${scenario.name}  ${hosts.length} processes`);
  output.say(`Seed: ${chosen.seed} (${chosen.source})`);
  const { scenario: id } = scenarioIds(scenario);
  output.record({ type: 'start', name: scenario.name, seed: chosen.seed, scenario: id });
  const folder = join(context.artifactDir, 'verify', `${id.slice(0, 12)}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  new Store(join(folder, 'store')).putScenario(scenario, found.images);
  const isWithMachines = hasMachines(scenario);
  const bundles = await reduceAll({ hosts, folder, id, isWithMachines, context });
  const differs = compareAll(bundles, hosts, context);
  if (differs === null) {
    rmSync(folder, { recursive: true, force: true });
    return 0;
  }
  output.say(`bundles kept in ${folder}`);
  output.record({ type: 'kept', folder, bundles: bundles.map((_, index) => bundleFile(index)) });
  return 1;
}

function chooseHosts(options: OptionsOf<'verify'>, context: Context): readonly HostileHost[] {
  const { cwd } = context.host;
  const matrix = hostileHosts(cwd);
  const runs = options.runs ?? (options.adversarial ? matrix.length : 2);
  if (runs + options.node.length < 2 || runs > RUNS_MAX) {
    throw new SimError({
      code: 'usage/runs',
      message: `${runs} runs cannot be compared, expected 2 to ${RUNS_MAX}`,
    });
  }
  const hosts = Array.from({ length: runs }, (_, index) => {
    return matrix[index % matrix.length] as HostileHost;
  });
  return [...hosts, ...options.node.map((binary) => otherRuntime(context.path(binary), cwd))];
}

interface Reduction {
  readonly hosts: readonly HostileHost[];
  readonly folder: string;
  /** The scenario's id in the store within `folder`. */
  readonly id: string;
  readonly isWithMachines: boolean;
  readonly context: Context;
}

/** One process after another, so that load is what a host says it is. */
async function reduceAll(reduction: Reduction): Promise<readonly Bundle[]> {
  const { hosts, context } = reduction;
  const progress = new Progress(context.host, hosts.length, context.globals.quiet);
  const bundles: Bundle[] = [];
  for (const [index, host] of hosts.entries()) {
    progress.update(index, host.name);
    await reduce(host, index, reduction);
    bundles.push(openBundle(readFileSync(join(reduction.folder, bundleFile(index)))));
    context.output.detail(`  run ${index}: ${host.name}`);
  }
  progress.end();
  return bundles;
}

function bundleFile(index: number): string {
  return `run-${String(index).padStart(3, '0')}.athanor`;
}

async function reduce(host: HostileHost, index: number, reduction: Reduction): Promise<void> {
  const { folder, id, context } = reduction;
  const program = fileURLToPath(new URL('../main.js', import.meta.url));
  const args = [
    ...host.nodeOptions,
    program,
    'run',
    id,
    ...['--store', join(folder, 'store')],
    ...['--artifact-dir', join(folder, `artifacts-${index}`)],
    ...['--out', join(folder, bundleFile(index))],
    ...['--format', 'json', '--quiet', '--backend', context.backend],
    ...machineJobs(index, reduction),
  ];
  const load = Array.from({ length: host.loadCount }, () => {
    return spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
  });
  try {
    await runChild(host, args, cacheFolder(context.host));
  } finally {
    for (const busy of load) busy.kill('SIGKILL');
    rmSync(join(folder, `artifacts-${index}`), { recursive: true, force: true });
  }
}

/** Where nobody says how many machines run at once, every second process runs them one by one. */
function machineJobs(index: number, { isWithMachines, context }: Reduction): readonly string[] {
  const jobs = context.globals.machineJobs ?? (index % 2 === 1 && isWithMachines ? 1 : undefined);
  return jobs === undefined ? [] : ['--machine-jobs', String(jobs)];
}

/** Waits for a child; only outcomes of the run itself are taken: pass, fail, budget, our error. */
function runChild(host: HostileHost, args: readonly string[], cache: string): Promise<void> {
  // What could change the child's run apart from what the host is to be.
  const inherited = { ...process.env };
  delete inherited['ATHANOR_SEED'];
  delete inherited['NODE_OPTIONS'];
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(host.binary ?? process.execPath, args, {
      cwd: host.cwd,
      env: { ...inherited, ...host.env, ATHANOR_CACHE: cache },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let complaint = '';
    child.stderr?.on('data', (data: Buffer) => {
      if (complaint.length < 10_000) complaint += data.toString('utf8');
    });
    child.on('error', (error) => {
      reject(childError(host, error.message, error));
    });
    child.on('exit', (code, signal) => {
      if (code !== null && code <= 3) resolve();
      else
        reject(childError(host, complaint.trim() || `it ended by ${signal ?? code ?? 'nothing'}`));
    });
  });
}

function childError(host: HostileHost, why: string, cause?: unknown): SimError {
  return new SimError({
    code: 'backend/process',
    message: `a process could not run: ${why.slice(0, 2_000)}`,
    place: host.name,
    cause,
  });
}

/** Compares each run with the first; the first that differs, or null. */
function compareAll(
  bundles: readonly Bundle[],
  hosts: readonly HostileHost[],
  context: Context,
): number | null {
  const { output } = context;
  const [first, ...others] = bundles;
  if (first === undefined) return null;
  for (const [at, bundle] of others.entries()) {
    const index = at + 1;
    const difference = compareRuns(first, bundle);
    const host = hosts[index]?.name ?? '';
    output.record({ type: 'comparison', run: index, host, equal: difference === null });
    if (difference === null) continue;
    output.say(`run ${index} differs from run 0 (${host})`);
    const names = { left: `run 0 (${hosts[0]?.name ?? ''})`, right: `run ${index} (${host})` };
    reportDifference(difference, first.scenario, names, context);
    return index;
  }
  const { outcome } = first.manifest;
  const identical = { decisions: outcome.decisionCount, events: outcome.eventCount };
  output.record({
    type: 'verify',
    deterministic: true,
    runs: bundles.length,
    verdict: outcome.verdict,
    ...identical,
    event_chain: outcome.eventChain,
  });
  output.say(
    `deterministic: ${bundles.length} runs with ${identical.decisions} decisions and ` +
      `${identical.events} events are equal byte for byte (verdict ${outcome.verdict})`,
  );
  return null;
}

/** `--compare a b`: two retained bundles (CR-13). */
function compareBundles(
  args: readonly string[],
  options: OptionsOf<'verify'>,
  context: Context,
): number {
  const [left, right] = args;
  if (left === undefined || right === undefined || options.runs !== undefined) {
    throw new SimError({
      code: 'usage/compare',
      message: '--compare takes two bundles and no --runs',
      remedy: 'write `sim verify --compare a.athanor b.athanor`',
    });
  }
  const a = openBundle(readInput(context.path(left), left));
  const b = openBundle(readInput(context.path(right), right));
  refuseForks(a, left);
  refuseForks(b, right);
  if (a.manifest.ids.scenario !== b.manifest.ids.scenario) {
    throw new SimError({
      code: 'oracle/scenario',
      message: `the bundles are of two scenarios: ${a.manifest.ids.scenario} and ${b.manifest.ids.scenario}`,
      remedy: 'compare runs of one scenario and seed',
    });
  }
  const difference = compareRuns(a, b);
  const { output } = context;
  output.record({ type: 'comparison', left, right, equal: difference === null });
  if (difference === null) {
    output.say('the runs are equal byte for byte');
    return 0;
  }
  output.say('the runs differ');
  reportDifference(difference, a.scenario, { left, right }, context);
  return 1;
}

/** A run that somebody bent on purpose proves nothing about determinism (CR-26). */
function refuseForks(bundle: Bundle, shown: string): void {
  if (bundle.manifest.lineage === null) return;
  throw new SimError({
    code: 'oracle/non-canonical',
    message: `"${shown}" is a fork, expected a canonical run`,
    place: shown,
    remedy: 'compare runs that nobody has changed',
  });
}
