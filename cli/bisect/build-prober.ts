import {
  draw53,
  sameFailure,
  streamKey,
  type Answer,
  type Drift,
  type FailureSignature,
  type ScenarioDef,
} from '../../sim/index.ts';
import type { Probe, ProbeResult, ProbeStart } from '../probe.ts';
import type { ProbePool } from '../probe-pool.ts';
import { sha256Hex } from '../zip.ts';
import { isUnusable, withImage, type Build } from './builds.ts';

/** What is known of a build. */
export interface Standing {
  /** The build's number in the list. */
  readonly index: number;
  readonly name: string;
  /** Runs that failed as the recorded one did. */
  readonly failures: number;
  /** Runs that failed in another way, or used up their budget: they speak for neither side. */
  readonly others: number;
  readonly runs: number;
  /** Whether the recorded decisions alone make it fail. */
  readonly replayFails: boolean;
  /** How the recorded decisions met the build's; null for one that cannot be tried. */
  readonly drift: Drift | null;
  /** Why it cannot be tried, in words; null for one that can. */
  readonly skipped: string | null;
}

/** Answers how a build stands after so many runs. */
export interface BuildJudge {
  /**
   * How build `index` stands after at least `runs` runs, or as many as the budget allows; with
   * `untilFailure`, no more are run once one has failed.
   */
  ask(index: number, runs: number, untilFailure: boolean): Promise<Standing>;
}

export interface ProberOptions {
  readonly builds: readonly Build[];
  readonly scenario: ScenarioDef;
  readonly images: ReadonlyMap<string, Uint8Array>;
  /** The guest whose image is exchanged. */
  readonly label: string;
  /** The recorded decisions, in order. */
  readonly answers: readonly Answer[];
  readonly wanted: FailureSignature;
  /** Whether a moment of the recorded run decided the failure, and not only its end. */
  readonly isDecidedInTime: boolean;
  readonly pool: ProbePool;
  /** At most this many runs. */
  readonly budget: number;
  readonly onProgress: (done: number) => void;
}

/** So many runs are asked for at once, whatever the number of jobs, so that results do not vary. */
const ROUND = 8;
/** A build that fails otherwise in this many runs, and never as wanted or not at all, is skipped. */
const OTHERS_MIN = 8;

/** How much of the record the runs after the first keep, in turn: the rest is of another future. */
const KEPT_QUARTERS = [3, 2, 1, 0] as const;

/**
 * Tries builds. The first run of each answers its decisions as they were recorded, by address, so
 * that decisions which a build adds or leaves out shift nothing else (CR-60); the recorded seed
 * answers what is new. The other runs keep a part of the record and draw the rest from other seeds:
 * the same ones for each build.
 */
export class BuildProber implements BuildJudge {
  private readonly options: ProberOptions;
  private readonly standings = new Map<number, Standing>();
  /** Of builds that fail: the first of their runs that did. */
  private readonly failing = new Map<number, number>();
  /** Whether the good end uses up its virtual time: that is then how a good build ends. */
  private goodOutlasts = false;
  private spent = 0;

  constructor(options: ProberOptions) {
    this.options = options;
  }

  /** How many runs there were. */
  get runs(): number {
    return this.spent;
  }

  get budgetLeft(): number {
    return this.options.budget - this.spent;
  }

  /** The builds that were tried or skipped, in the order in which they were asked for. */
  get tried(): readonly Standing[] {
    return [...this.standings.values()];
  }

  /** The number of the first failing run of a build; null where none has failed. */
  failingRun(index: number): number | null {
    return this.failing.get(index) ?? null;
  }

  /** What run `number` of a build starts from and how it is answered, to be run again. */
  async questionOf(
    index: number,
    number: number,
  ): Promise<{ readonly start: ProbeStart; readonly probe: Omit<Probe, 'start'> }> {
    const image = await (this.options.builds[index] as Build).image();
    return { start: this.withBuild(image), probe: this.probe(number) };
  }

  async ask(index: number, runs: number, untilFailure: boolean): Promise<Standing> {
    const known = this.standings.get(index) ?? (await this.blank(index));
    this.standings.set(index, known);
    const enough = ({ runs: done, failures, skipped }: Standing): boolean => {
      return skipped !== null || done >= runs || (untilFailure && failures > 0);
    };
    if (enough(known) || this.budgetLeft <= 0) return known;
    const { pool } = this.options;
    const image = await (this.options.builds[index] as Build).image();
    const start = this.startWith(image, index);
    if (start === null) return this.standings.get(index) as Standing;
    try {
      let standing = known;
      while (!enough(standing) && this.budgetLeft > 0) {
        // The recorded decisions alone settle most builds.
        const round = standing.runs === 0 ? 1 : Math.min(ROUND, runs - standing.runs);
        const count = Math.min(round, this.budgetLeft);
        const first = standing.runs;
        const probes = Array.from({ length: count }, (_, at) => {
          return { ...this.probe(first + at), start };
        });
        standing = this.judge(standing, await pool.run(probes));
        this.spent += count;
        this.options.onProgress(this.spent);
        this.standings.set(index, standing);
      }
      return standing;
    } finally {
      pool.dropStart(start);
    }
  }

  /** A build without a run yet; skipped where it cannot be had. */
  private async blank(index: number): Promise<Standing> {
    const { builds } = this.options;
    const build = builds[index] as Build;
    const blank = { index, name: build.name, failures: 0, others: 0, runs: 0, replayFails: false };
    try {
      await build.image();
      return { ...blank, drift: null, skipped: null };
    } catch (error) {
      if (!isUnusable(error)) throw error;
      return { ...blank, drift: null, skipped: error.message };
    }
  }

  /** Makes a build known to the pool; null if it is no guest, which skips it. */
  private startWith(image: Uint8Array, index: number): number | null {
    try {
      return this.options.pool.addStart(this.withBuild(image));
    } catch (error) {
      if (!isUnusable(error)) throw error;
      const standing = this.standings.get(index) as Standing;
      this.standings.set(index, { ...standing, skipped: error.message });
      return null;
    }
  }

  /** The scenario's start with another build. */
  private withBuild(image: Uint8Array): ProbeStart {
    const { scenario, images, label } = this.options;
    const digest = sha256Hex(image);
    const all = new Map([...images, [digest, image]]);
    return { scenario: withImage(scenario, label, digest), images: all, checkpoint: null };
  }

  private probe(number: number): Omit<Probe, 'start'> {
    const { answers, wanted, scenario } = this.options;
    const untilProperty = wanted.property;
    if (number === 0) return { seed: null, answers, untilProperty };
    const quarters = KEPT_QUARTERS[(number - 1) % KEPT_QUARTERS.length] as number;
    const kept = answers.slice(0, Math.floor((answers.length * quarters) / 4));
    const seed = draw53(streamKey(scenario.seed ?? 0, 'bisect/future'), number, 0);
    return { seed, answers: kept, untilProperty };
  }

  private judge(before: Standing, results: readonly ProbeResult[]): Standing {
    const { wanted } = this.options;
    let { failures, others, replayFails, drift } = before;
    let lastOther = '';
    results.forEach((result, at) => {
      const fails = sameFailure(wanted, result.signature);
      if (before.runs + at === 0) {
        const { answered, missing, misfits, extra } = result;
        drift = { answered, missing, misfits, extra };
        replayFails = fails;
      }
      if (fails && failures++ === 0) this.failing.set(before.index, before.runs + at);
      if (!fails && this.isOther(result, before.index)) {
        others++;
        lastOther = result.signature?.primary ?? result.reason;
      }
    });
    const runs = before.runs + results.length;
    const hopeless = others >= OTHERS_MIN && others === runs;
    const skipped = hopeless ? `each run ends in another way: ${lastOther}` : null;
    return { ...before, failures, others, runs, replayFails, drift, skipped };
  }

  /** Whether a run neither failed as wanted nor went on to where it could have. */
  private isOther({ verdict, reason }: ProbeResult, index: number): boolean {
    if (verdict !== 'inconclusive') return verdict !== 'pass';
    if (reason === 'stopped') return false;
    return reason !== 'virtual-time' || !this.outlasts(index);
  }

  /**
   * Whether a build may use up its virtual time and pass. A failure that a moment decides had as much
   * time as in the runs of the bad end, and `sim shrink` leaves little more. Between the ends only if
   * the good end does so too: else such a build hangs, and hides what it would have done.
   */
  private outlasts(index: number): boolean {
    if (!this.options.isDecidedInTime) return false;
    if (index === 0) this.goodOutlasts = true;
    return this.goodOutlasts || index === this.options.builds.length - 1;
  }
}
