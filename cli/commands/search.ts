import { isSchedule, NS_PER_S, SimError, withSwarm, type ScenarioDef } from '../../sim/index.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import { askedMachines, type MachineChoice } from '../machines/machine-backend.ts';
import { SearchFindings } from '../search-findings.ts';
import type { OptionsOf } from '../options.ts';
import { ProbePool } from '../probe-pool.ts';
import { runProbe, type ProbeStart } from '../probe.ts';
import { Progress } from '../progress.ts';
import type { RunRecord } from '../record.ts';
import { findScenario, withPlan } from '../scenario-input.ts';
import {
  BRANCH_ON_DEFAULT,
  DEPTH_DEFAULT,
  makeStates,
  schedules,
  withScheduling,
  type SearchState,
  type StateSource,
  type Strategy,
} from '../search-states.ts';
import { chooseSeed } from '../seed.ts';
import type { WasmEngine } from '../../wasm/index.ts';

/** The longest wait for a processor where nobody says: some round trips of a local network. */
const DELAY_NS_DEFAULT = NS_PER_S / 50;
/** States are taken in groups of this size, whatever the number of jobs, so that it decides nothing. */
const BATCH = 16;

/**
 * `sim search`: looks for runs that fail, among other schedules and faults than one seed gives
 * (CR-31 to CR-33, CR-38).
 */
export async function run(
  args: readonly string[],
  options: OptionsOf<'search'>,
  context: Context,
): Promise<number> {
  const strategy = options.strategy ?? 'random';
  const statesMax = budget('--max-states', options.maxStates ?? 1);
  const depth = budget('--max-depth', options.maxDepth ?? DEPTH_DEFAULT[strategy]);
  const jobs = options.jobs ?? 1;
  const found = findScenario(args[0], context);
  const scenario = prepare(withPlan(found.def, options), strategy, options, context);
  const engine = makeEngine(context.artifactDir);
  const pool = new ProbePool({ jobs, engine });
  const { images, sources } = found;
  const machines = askedMachines(scenario, context);
  announce(scenario, { strategy, statesMax, depth, jobs }, context);
  const steps = verifyFirst({ scenario, images, machines, checkpoint: null }, strategy, engine);
  const branchOn = options.branchOn.length === 0 ? BRANCH_ON_DEFAULT : options.branchOn;
  const states = makeStates({ strategy, scenario, depth, steps, branchOn, statesMax });
  const findings = new SearchFindings({
    scenario,
    strategy,
    images,
    machines,
    sources,
    engine,
    ledger: options.ledger ?? null,
    context,
  });
  const walk = { states, pool, images, machines, findings, statesMax, context };
  try {
    await explore(walk, options.onViolation ?? 'stop');
  } finally {
    await pool.close();
  }
  return findings.report(states.coverage());
}

/** A budget of nothing is a mistake, not a search (CR-31). */
function budget(name: string, value: number): number {
  if (value >= 1) return value;
  throw new SimError({ code: 'usage/budget', message: `${name} is 0, expected at least 1` });
}

/** The scenario as it is searched: with its seed, and with waits where the strategy decides them. */
function prepare(
  def: ScenarioDef,
  strategy: Strategy,
  options: OptionsOf<'search'>,
  context: Context,
): ScenarioDef {
  const { seed } = chooseSeed(context, def.seed);
  const delayNs = options.delay ?? DELAY_NS_DEFAULT;
  const waits = schedules(strategy) || options.delay !== undefined;
  const scheduled = waits ? withScheduling(def, delayNs) : def;
  return { ...(strategy === 'swarm' ? withSwarm(scheduled) : scheduled), seed };
}

function announce(
  scenario: ScenarioDef,
  search: { strategy: Strategy; statesMax: number; depth: number; jobs: number },
  { output }: Context,
): void {
  const { strategy, statesMax, depth, jobs } = search;
  const { name, seed } = scenario;
  output.record({
    type: 'start',
    name,
    seed,
    strategy,
    states_max: statesMax,
    depth_max: depth,
    jobs,
  });
  output.say(
    `${output.colors.bold(name)}  search by ${strategy}, at most ${statesMax} runs, ` +
      `depth ${depth}, ${jobs} at a time, from seed ${seed}`,
  );
}

/**
 * Runs the first state twice and refuses to search where the two differ: what a search finds in a
 * world that does not repeat is noise (CR-33). Returns how many resumes may be put off in a run.
 */
function verifyFirst(start: ProbeStart, strategy: Strategy, engine: WasmEngine): number {
  const seed = start.scenario.seed ?? 0;
  const calm = { kind: 'delay', seed, delays: 0, steps: 1 } as const;
  const probe = {
    seed: null,
    answers: [],
    untilProperty: null,
    branchOn: { patterns: ['/schedule'], countMax: 1_000_000 },
    ...(schedules(strategy) ? { policy: calm } : {}),
  };
  const [first, second] = [runProbe(start, probe, engine), runProbe(start, probe, engine)];
  assertSameRun(first.record, second.record);
  return first.result.branches.filter(({ stream }) => isSchedule(stream)).length;
}

/** Throws `verdict/nondeterminism` where two runs of one state differ. */
export function assertSameRun(first: RunRecord, second: RunRecord): void {
  const differs = (['schedule', 'events'] as const).find((log) => {
    return Buffer.compare(first[log], second[log]) !== 0;
  });
  const prints = [first, second].map(({ fingerprints }) => JSON.stringify(fingerprints));
  if (differs === undefined && prints[0] === prints[1]) return;
  throw new SimError({
    code: 'verdict/nondeterminism',
    message: `two runs of one seed differ in their ${differs ?? 'fingerprints'}: what a search found would be noise`,
    place: `seed ${first.scenario.seed ?? 0}`,
    remedy: 'run `sim verify` on the scenario: it names the first difference and its likely source',
  });
}

interface Walk {
  readonly states: StateSource;
  readonly pool: ProbePool;
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly machines: MachineChoice | undefined;
  readonly findings: SearchFindings;
  readonly statesMax: number;
  readonly context: Context;
}

async function explore(walk: Walk, onViolation: 'stop' | 'collect'): Promise<void> {
  const { states, pool, images, machines, findings, statesMax, context } = walk;
  const starts = new Map<ScenarioDef, number>();
  const startOf = (scenario: ScenarioDef): number => {
    const known = starts.get(scenario);
    if (known !== undefined) return known;
    const start = pool.addStart({ scenario, images, machines, checkpoint: null });
    starts.set(scenario, start);
    return start;
  };
  const progress = new Progress(context.host, statesMax, context.globals.quiet);
  let done = 0;
  for (let batch = states.take(BATCH); batch.length > 0; batch = states.take(BATCH)) {
    const probes = batch.map(({ scenario, probe }) => ({ ...probe, start: startOf(scenario) }));
    const results = await pool.run(probes);
    for (const [place, result] of results.entries()) {
      const state = batch[place] as SearchState;
      states.tell(state, result);
      findings.add(state, result);
      done++;
      if (onViolation === 'stop' && findings.hasViolation) return progress.end();
    }
    progress.update(done, findings.note);
  }
  progress.end();
}
