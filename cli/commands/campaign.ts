import { rmSync } from 'node:fs';
import type { MachineChoice } from '../machines/machine-backend.ts';
import type { SourceFile } from '../../scenarios/index.ts';
import { SimError, type ScenarioDef } from '../../sim/index.ts';
import type { WasmEngine } from '../../wasm/index.ts';
import { bundleOfRun, writeBundle } from '../bundle-write.ts';
import { CampaignPool, JOBS_MAX } from '../campaign-pool.ts';
import { runSeed, type SeedResult } from '../campaign-run.ts';
import { groupDigits, layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import { shellQuote } from '../host.ts';
import type { OptionsOf } from '../options.ts';
import type { MachineHost } from '../machines/machine-host.ts';
import { ThreadMachines } from '../machines/thread-machines.ts';
import { NeverFired } from '../never-fired.ts';
import { Progress } from '../progress.ts';
import { runToEnd } from '../record.ts';
import { Simulation } from '../simulation.ts';
import { ConsoleCollector } from '../timeline.ts';
import type { ChosenSeed } from '../seed.ts';

export interface Campaign {
  /** Its seed is the first one. */
  readonly scenario: ScenarioDef;
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly machines: MachineChoice | undefined;
  readonly sources: readonly SourceFile[];
  readonly seed: ChosenSeed;
  readonly options: OptionsOf<'run'>;
  readonly context: Context;
}

/** Runs that did not pass, for the same reason. */
interface Group {
  readonly verdict: SeedResult['verdict'];
  readonly signature: string;
  count: number;
  /** The lowest seed of the group. */
  firstSeed: number;
  /** The bundle that was written, and of which seed. */
  bundle: { readonly path: string; readonly seed: number } | null;
}

/** At most this many groups are kept; further ones are only counted. */
export const GROUPS_MAX = 100;

/** Runs many seeds, groups what did not pass, and keeps the bundle of each group's first seed. */
export async function runCampaign(campaign: Campaign): Promise<number> {
  const { options, context, seed } = campaign;
  const runs = options.runs ?? 1;
  const jobs = options.jobs ?? 1;
  checkSizes(seed.seed, runs, jobs);
  const engine = makeEngine(context.artifactDir);
  const threadMachines = new ThreadMachines();
  const tally = new Tally(campaign, engine, threadMachines, runs);
  announce(campaign, runs, jobs);
  const startMs = performance.now();
  try {
    if (jobs === 1) {
      const { scenario, images, machines } = campaign;
      const host = threadMachines.hostFor(campaign);
      for (let index = 0; index < runs; index++) {
        tally.add(runSeed(scenario, seed.seed + index, images, engine, machines, host));
        // Lets signals in between runs.
        if (index % 16 === 15) await new Promise((resolve) => setImmediate(resolve));
      }
    } else {
      preload(campaign, engine, threadMachines.hostFor(campaign));
      const pool = new CampaignPool({ ...campaign, shared: engine.shareable(), jobs });
      await pool.run(seed.seed, runs, (result) => tally.add(result));
    }
    tally.finish();
    return tally.report(performance.now() - startMs);
  } finally {
    threadMachines.close();
  }
}

function checkSizes(seed: number, runs: number, jobs: number): void {
  if (runs < 1) throw new SimError({ code: 'usage/runs', message: '--runs is 0, at least 1 is' });
  if (jobs < 1 || jobs > JOBS_MAX) {
    throw new SimError({
      code: 'usage/jobs',
      message: `--jobs is ${jobs}, expected 1 to ${JOBS_MAX}`,
    });
  }
  if (!Number.isSafeInteger(seed + runs)) {
    throw new SimError({
      code: 'usage/runs',
      message: `the last seed would be above 2^53 - 1: ${seed} and ${runs} more`,
    });
  }
}

/** Compiles every guest once, and brings machines to where they are ready: workers find both. */
function preload(campaign: Campaign, engine: WasmEngine, machineHost?: MachineHost): void {
  const { scenario, images, machines } = campaign;
  new Simulation({ scenario, seed: 0, images, engine, machines, machineHost }).dispose();
  for (const { guest, memoryPagesMax } of scenario.world.nodes) {
    const image = images.get(guest.image);
    if (image === undefined || guest.kind !== 'wasm') continue;
    engine.load(guest.image, image, memoryPagesMax);
  }
}

function announce({ scenario, seed, context }: Campaign, runs: number, jobs: number): void {
  const { output } = context;
  const last = seed.seed + runs - 1;
  const counted = `${groupDigits(runs)} ${runs === 1 ? 'run' : 'runs'}`;
  output.say(`${output.colors.bold(scenario.name)}  ${counted}, ${jobs} at a time`);
  output.say(`Seed: ${seed.seed} to ${last} (${seed.source})`);
  const { seed: from, source } = seed;
  output.record({
    type: 'start',
    name: scenario.name,
    seed: from,
    seed_source: source,
    runs,
    jobs,
  });
}

/** Counts results and keeps a bundle for each group. */
class Tally {
  private readonly campaign: Campaign;
  private readonly engine: WasmEngine;
  private readonly threadMachines: ThreadMachines;
  private readonly groups = new Map<string, Group>();
  private readonly progress: Progress;
  private readonly neverFired = new NeverFired();
  private done = 0;
  private passed = 0;
  private ungrouped = 0;

  constructor(
    campaign: Campaign,
    engine: WasmEngine,
    threadMachines: ThreadMachines,
    runs: number,
  ) {
    this.campaign = campaign;
    this.engine = engine;
    this.threadMachines = threadMachines;
    const { host, globals } = campaign.context;
    this.progress = new Progress(host, runs, globals.quiet);
  }

  add(result: SeedResult): void {
    const { context } = this.campaign;
    this.done++;
    this.neverFired.add(result);
    if (context.globals.verbose) context.output.record({ type: 'run', ...result });
    if (result.verdict === 'pass') this.passed++;
    else this.addToGroup(result);
    const bad = this.done - this.passed;
    const note = bad === 0 ? '' : `${bad} not passed, ${this.groups.size} kinds`;
    this.progress.update(this.done, note);
  }

  /** Sees to it that each bundle is that of its group's lowest seed. */
  finish(): void {
    this.progress.end();
    for (const group of this.groups.values()) {
      const earlier = group.bundle;
      if (earlier === null || earlier.seed === group.firstSeed) continue;
      group.bundle = this.keep(group, group.firstSeed);
      rmSync(this.campaign.context.path(earlier.path), { force: true });
    }
  }

  report(wallMs: number): number {
    const { output } = this.campaign.context;
    const groups = [...this.groups.values()].sort((a, b) => {
      return b.count - a.count || a.firstSeed - b.firstSeed;
    });
    for (const { verdict, signature, count, firstSeed, bundle } of groups) {
      const path = bundle?.path ?? null;
      const group = { verdict, signature, count, first_seed: firstSeed, bundle: path };
      output.record({ type: 'group', ...group, replay: this.replayCommand(path) });
    }
    this.neverFired.report(this.campaign.context);
    const exitCode = this.exitCode(groups);
    output.record({
      type: 'result',
      runs: this.done,
      passed: this.passed,
      not_passed: this.done - this.passed,
      groups: groups.length,
      ungrouped: this.ungrouped,
      exit_code: exitCode,
    });
    if (output.speaks) this.sayReport(groups, wallMs);
    return exitCode;
  }

  private sayReport(groups: readonly Group[], wallMs: number): void {
    const { output } = this.campaign.context;
    const { colors } = output;
    const rate = (this.done * 1000) / Math.max(1, wallMs);
    const passed = colors.green(`${groupDigits(this.passed)} passed`);
    const bad = this.done - this.passed;
    const failed = bad === 0 ? '' : `, ${colors.red(`${groupDigits(bad)} did not`)}`;
    output.say(`${passed}${failed}  ${colors.dim(`(${rate.toFixed(1)} runs a second)`)}`);
    if (groups.length === 0) return;
    output.say('');
    const head = ['count', 'verdict', 'first seed', 'what'].map(colors.dim);
    const rows = groups.map(({ count, verdict, firstSeed, signature }) => {
      return [groupDigits(count), verdict, String(firstSeed), signature];
    });
    for (const line of layOut([head, ...rows], new Set([0, 2]))) output.say(line);
    output.say('');
    for (const { bundle } of groups) {
      if (bundle !== null) output.say(`replay  ${this.replayCommand(bundle.path) ?? ''}`);
    }
    if (this.ungrouped > 0) {
      output.say(`${this.ungrouped} more runs were of further kinds (limit ${GROUPS_MAX})`);
    }
  }

  private addToGroup(result: SeedResult): void {
    const { verdict, seed } = result;
    const signature = result.signature === '' ? result.reason : result.signature;
    const key = `${verdict} ${signature}`;
    let group = this.groups.get(key);
    if (group === undefined) {
      if (this.groups.size >= GROUPS_MAX) {
        this.ungrouped++;
        return;
      }
      group = { verdict, signature, count: 0, firstSeed: seed, bundle: null };
      this.groups.set(key, group);
      group.bundle = this.keep(group, seed);
    }
    group.count++;
    group.firstSeed = Math.min(group.firstSeed, seed);
  }

  /** Runs a seed again, here, and writes its bundle; it must end as it did before. */
  private keep(group: Group, seed: number): Group['bundle'] {
    const { campaign, engine } = this;
    const { images, machines, sources, options, context } = campaign;
    const scenario = { ...campaign.scenario, seed };
    const collector = new ConsoleCollector();
    const record = runToEnd({
      scenario,
      images,
      engine,
      machines,
      machineHost: this.threadMachines.hostFor(campaign),
      onConsole: collector.piece,
    });
    const { outcome } = record;
    const signature = outcome.signature === '' ? outcome.reason : outcome.signature;
    if (outcome.verdict !== group.verdict || signature !== group.signature) {
      throw new SimError({
        code: 'verdict/nondeterminism',
        message: `seed ${seed} ended twice in two ways: first ${group.verdict} (${group.signature}), then ${outcome.verdict} (${signature})`,
        place: `seed ${seed}`,
        remedy: `run \`sim verify\` on the scenario with --seed ${seed}`,
      });
    }
    const run = { record, images, sources, lineage: null, thin: options.thin };
    const bytes = bundleOfRun({ ...run, collector });
    return {
      path: writeBundle(bytes, { name: scenario.name, seed, out: undefined, context }),
      seed,
    };
  }

  private replayCommand(path: string | null): string | null {
    const { command } = this.campaign.context.host;
    return path === null ? null : `${command} replay ${shellQuote(path)}`;
  }

  /** A failed property outweighs an error of ours, and that a used-up budget (CR-32, CR-48). */
  private exitCode(groups: readonly Group[]): number {
    const has = (verdict: Group['verdict']): boolean => {
      return groups.some((group) => group.verdict === verdict);
    };
    if (has('fail')) return 1;
    if (has('error')) return 3;
    return has('inconclusive') ? 2 : 0;
  }
}
