import type { MachineChoice } from './machines/machine-backend.ts';
import {
  cutBytes,
  ddmin,
  decodeDecisions,
  decodeEvents,
  decidingMoment,
  drawUniform,
  firingsOf,
  GRAINS,
  inputPieces,
  isSound,
  joinBytes,
  keepFaults,
  keepFired,
  LOG_DECISIONS,
  LOG_EVENTS,
  moveEvents,
  numberArguments,
  onlyProperty,
  pinPlan,
  plainLink,
  readWholeLog,
  roleOf,
  sameFailure,
  streamKey,
  withBytes,
  withEvents,
  withLimit,
  withLinks,
  withNumber,
  withoutFaults,
  withoutNodes,
  withoutPieces,
  withoutScheduling,
  WORD_BYTES,
  weakerEvents,
  type Answer,
  type Decision,
  type FailureSignature,
  type InputPiece,
  type ScenarioDef,
} from '../sim/index.ts';
import type { WasmEngine } from '../wasm/index.ts';
import type { ProbePool } from './probe-pool.ts';
import { runProbe, type Probe } from './probe.ts';
import type { RunRecord } from './record.ts';
import { alignedScenarios } from './shrink-alignment.ts';
import type { ShrinkBudget } from './shrink-budget.ts';

/** A scenario that may show the failure, and what is answered in its run besides the seed. */
export interface Candidate {
  readonly scenario: ScenarioDef;
  readonly answers: readonly Answer[];
  /** Streams on which every decision takes the calm choice, 0. */
  readonly calm: readonly string[];
}

/** What a run shows, as far as shrinking looks at it. */
export interface View {
  readonly record: RunRecord;
  readonly decisions: readonly Decision[];
  /** When the property failed, or the run ended. */
  readonly failNs: number;
  /** Whether a moment in the run decided the failure, and not only its end. */
  readonly isSafety: boolean;
}

export interface ShrinkerOptions {
  readonly pool: ProbePool;
  readonly engine: WasmEngine;
  readonly images: ReadonlyMap<string, Uint8Array>;
  /** How machines are run. */
  readonly machines?: MachineChoice | undefined;
  readonly budget: ShrinkBudget;
  readonly wanted: FailureSignature;
  readonly nowMs: () => number;
  /** Called after each group of runs, with the name of the stage. */
  readonly onProgress: (stage: string) => void;
}

/** How many draws are tried without a fault: enough for a failure of one run in ten. */
const REDRAWS = 32;

/** How much later events may be moved: less than the second by which a run may outlast the failure. */
const LATER_NS_MAX = 500_000_000;

/** A text of more parts is not cut so finely. */
const PARTS_MAX = 4_096;

/** Links and single decisions are tried one by one only up to this many. */
const UNITS_MAX = 512;

/**
 * Makes a failing run smaller step by step: faults, network, other decisions, nodes, time, input.
 * Each step keeps the failure's signature. The result is a function of the run and of a budget of
 * runs, whatever the number of jobs.
 */
export class Shrinker {
  private readonly options: ShrinkerOptions;
  private current: Candidate;
  private stage = '';
  /** Whether the parent's world fails even without any fault. */
  private failsCalmly = false;

  constructor(first: Candidate, options: ShrinkerOptions) {
    this.current = first;
    this.options = options;
  }

  /** The smallest that was found. The first candidate must show the failure. */
  async run(): Promise<Candidate> {
    const stages: readonly (readonly [string, () => Promise<void>])[] = [
      ['frame', () => this.frame()],
      ['faults', () => this.faults()],
      ['other times', () => this.align()],
      ['other draws', () => this.redraw()],
      ['network', () => this.network()],
      ['decisions', () => this.decisions()],
      ['nodes', () => this.nodes()],
      ['time', () => this.time()],
      ['input', () => this.input()],
      ['faults again', () => this.faults()],
    ];
    for (const [name, stage] of stages) {
      this.stage = name;
      await stage();
    }
    return this.current;
  }

  /** What the present candidate's run shows. */
  view(): View {
    return viewOf(this.current, this.options);
  }

  /**
   * Tries candidates in order, and goes on from the first that fails as wanted. Where `guarded`,
   * such a candidate must not fail without its faults: else it fails for another reason. Returns
   * its place, or -1.
   */
  private async take(candidates: readonly Candidate[], guarded = false): Promise<number> {
    let from = 0;
    while (from < candidates.length) {
      const found = await this.first(candidates.slice(from));
      if (found < 0) return -1;
      const place = from + found;
      const candidate = candidates[place] as Candidate;
      if (!guarded || this.failsCalmly || !(await this.fails(calmly(candidate)))) {
        this.current = candidate;
        return place;
      }
      from = place + 1;
    }
    return -1;
  }

  private async fails(candidate: Candidate): Promise<boolean> {
    return (await this.first([candidate])) === 0;
  }

  /** The place of the first candidate that fails as wanted, or -1. */
  private async first(candidates: readonly Candidate[]): Promise<number> {
    const { pool, images, machines, budget, wanted, nowMs } = this.options;
    const places = candidates.flatMap((candidate, place) => {
      return isSound(candidate.scenario) ? [place] : [];
    });
    const tried = places.slice(0, budget.available(nowMs()));
    if (tried.length === 0) return -1;
    const probes = tried.map((place): Probe => {
      const candidate = candidates[place] as Candidate;
      const { scenario } = candidate;
      const start = pool.addStart({ scenario, images, machines, checkpoint: null });
      return { ...probeOf(candidate, wanted), start };
    });
    const found = await pool.first(probes, ({ signature }) => sameFailure(wanted, signature));
    for (const { start } of probes) pool.dropStart(start);
    // What further workers tried in vain is not charged, so that jobs decide nothing.
    budget.charge(found === null ? tried.length : found.index + 1);
    this.options.onProgress(this.stage);
    return found === null ? -1 : (tried[found.index] as number);
  }

  /** Delta debugging over `items`; `make` gives the candidate that keeps a subset of them. */
  private async minimize<T>(
    items: readonly T[],
    make: (kept: readonly T[]) => Candidate,
    guarded = false,
  ): Promise<void> {
    const game = ddmin(items);
    for (let turn = game.next(); turn.done !== true;) {
      const place = await this.take(turn.value.map(make), guarded);
      if (place < 0 && this.isSpent()) return;
      turn = game.next(place);
    }
  }

  private isSpent(): boolean {
    return this.options.budget.available(this.options.nowMs()) === 0;
  }

  /** Only what happened, as it happened, up to the failure, and only the property that failed. */
  private async frame(): Promise<void> {
    const { wanted } = this.options;
    this.failsCalmly = await this.fails(calmly(this.current));
    const { record, decisions, failNs } = this.view();
    const { scenario } = this.current;
    const events = decodeEvents(readWholeLog(record.events, LOG_EVENTS));
    const { endNs } = record.outcome;
    const firings = firingsOf(scenario, { decisions, events, endNs });
    // Half as long again, and a second: a candidate may take its time to fail.
    const cut = (smaller: ScenarioDef): ScenarioDef => {
      return withLimit(smaller, Math.floor(failNs * 1.5) + 1_000_000_000);
    };
    const fired = [pinPlan(scenario, firings), keepFired(scenario, firings)];
    const only = (smaller: ScenarioDef): ScenarioDef => onlyProperty(smaller, wanted.property);
    const isProperty = scenario.properties.some(({ name }) => name === wanted.property);
    const framed = isProperty ? fired.map((smaller) => cut(only(smaller))) : fired;
    await this.take([...framed, ...fired].map((smaller) => this.with(smaller)));
  }

  private async faults(): Promise<void> {
    const base = this.current;
    const { scenario } = base;
    const faults = scenario.plan.events.filter((event) => !roleOf(event).mends);
    await this.minimize(
      faults.map(({ name }) => name),
      (kept) => ({ ...base, scenario: keepFaults(scenario, new Set(kept)) }),
    );
    // What mends may go only where a moment decides the failure: see EventRole.
    const { isSafety } = this.view();
    if (!isSafety) return;
    const rest = this.current;
    const { events } = rest.scenario.plan;
    await this.minimize(
      events.filter((event) => roleOf(event).mends),
      (kept) => {
        const left = events.filter((event) => !roleOf(event).mends || kept.includes(event));
        return { ...rest, scenario: withEvents(rest.scenario, left) };
      },
    );
  }

  /** Fewer faults, those that are left where they meet what they met: see `alignedScenarios`. */
  private async align(): Promise<void> {
    for (let smaller = true; smaller;) {
      smaller = false;
      const { record } = this.view();
      const runOf = (scenario: ScenarioDef): RunRecord => {
        this.options.budget.charge(1);
        return viewOf(this.with(scenario), this.options).record;
      };
      const groups = alignedScenarios(this.current.scenario, record, runOf);
      while (!smaller && !this.isSpent()) {
        const turn = groups.next();
        if (turn.done === true) return;
        const candidates = turn.value.map((scenario) => this.with(scenario));
        smaller = (await this.take(candidates, true)) >= 0;
      }
      if (smaller) await this.faults();
    }
  }

  /**
   * Fewer faults under other seeds, or sooner or later: a fault may be there only because without
   * it everything else comes at other times.
   */
  private async redraw(): Promise<void> {
    for (;;) {
      const base = this.current;
      const { scenario } = base;
      const faults = scenario.plan.events.filter((event) => !roleOf(event).mends);
      if (faults.length < 2) break;
      const candidates = faults.flatMap((left) => {
        const kept = faults.filter((fault) => fault !== left).map(({ name }) => name);
        const smaller = keepFaults(scenario, new Set(kept));
        return Array.from({ length: REDRAWS }, (_, draw): Candidate => {
          return { ...base, scenario: redrawn(smaller, draw) };
        });
      });
      if ((await this.take(candidates, true)) < 0) break;
      await this.faults();
    }
  }

  /** No loss, no jitter, no limit of bandwidth: on all links, or on as many as may be. */
  private async network(): Promise<void> {
    const { links } = this.current.scenario.world;
    const plain = withLinks(this.current.scenario, plainLink);
    if (links.some(({ faults }) => faults !== undefined)) await this.take([this.with(plain)]);
    await this.calmLinks(
      links.flatMap(({ loss }, index) => (loss > 0 ? [index] : [])),
      {
        loss: 0,
      },
    );
    await this.calmLinks(
      links.flatMap(({ jitterNs }, index) => (jitterNs > 0 ? [index] : [])),
      {
        jitterNs: 0,
      },
    );
    await this.calmLinks(
      links.flatMap(({ bandwidth }, index) => (bandwidth === null ? [] : [index])),
      { bandwidth: null },
    );
    await this.take([this.with(withoutScheduling(this.current.scenario))]);
    for (const { name } of this.current.scenario.plan.events) {
      const { scenario } = this.current;
      await this.take(weakerEvents(scenario, name).map((weaker) => this.with(weaker)));
    }
  }

  private async calmLinks(
    links: readonly number[],
    calm: { readonly loss?: 0; readonly jitterNs?: 0; readonly bandwidth?: null },
  ): Promise<void> {
    if (links.length === 0) return;
    const base = this.current;
    const make = (kept: readonly number[]): Candidate => {
      const changed = withLinks(base.scenario, (link, index) => {
        return kept.includes(index) || !links.includes(index) ? link : { ...link, ...calm };
      });
      return { ...base, scenario: changed };
    };
    if ((await this.take([make([])])) === 0 || links.length > UNITS_MAX) return;
    await this.minimize(links, make);
  }

  /** Every other decision takes the calm choice, where the failure allows it. */
  private async decisions(): Promise<void> {
    const before = this.current;
    const streams = new Set<string>();
    for (const { stream, choice } of this.view().decisions) {
      if (choice !== 0 && !isOfPlan(stream)) streams.add(stream);
    }
    const all = [...streams];
    await this.minimize(all, (kept) => {
      return { ...before, calm: all.filter((stream) => !kept.includes(stream)) };
    });
    const base = this.current;
    const told = this.view().decisions.filter(({ stream, choice, arity }) => {
      const isOpen = !base.calm.includes(stream) && !isOfPlan(stream);
      return choice !== 0 && isOpen && isSingle(stream, arity);
    });
    if (told.length === 0 || told.length > UNITS_MAX) return;
    const own = base.answers.filter(({ stream }) => !told.some((one) => one.stream === stream));
    const calm = [...new Set([...base.calm, ...told.map(({ stream }) => stream)])];
    await this.minimize(told, (kept) => {
      const answers = kept.map(({ stream, ordinal, choice, arity }): Answer => {
        return { stream, ordinal, choice, arity };
      });
      return { ...base, calm, answers: [...own, ...answers] };
    });
  }

  /** Nodes that the failure does not need; what is left must do its work without faults. */
  private async nodes(): Promise<void> {
    const base = this.current;
    const { nodes } = base.scenario.world;
    await this.minimize(
      nodes.map((_, index) => index),
      (kept) => {
        const gone = nodes.flatMap((_, index) => (kept.includes(index) ? [] : [index]));
        return { ...base, scenario: withoutNodes(base.scenario, new Set(gone)) };
      },
      true,
    );
  }

  /** Faults sooner, and the gaps between them smaller: as much as goes, by halves. */
  private async time(): Promise<void> {
    const times = [...new Set(this.current.scenario.plan.events.map(({ atNs }) => atNs))];
    for (let place = 0; place < Math.min(times.length, UNITS_MAX); place++) {
      const { scenario } = this.current;
      const now = [...new Set(scenario.plan.events.map(({ atNs }) => atNs))].sort((a, b) => a - b);
      const atNs = now[place];
      if (atNs === undefined) break;
      const gapNs = atNs - (place === 0 ? 0 : (now[place - 1] as number));
      const shares = [15, 12, 8].map((share) => Math.floor((gapNs * share) / 16));
      await this.take(
        shares
          .filter((earlierNs) => earlierNs > 0)
          .map((earlierNs) => this.with(moveEvents(scenario, atNs, earlierNs))),
        true,
      );
    }
    const { failNs } = this.view();
    await this.take([this.with(withLimit(this.current.scenario, failNs + 1_000_000_000))]);
  }

  /** Smaller numbers among the arguments, fewer pieces of input, and of these only what is needed. */
  private async input(): Promise<void> {
    for (const argument of numberArguments(this.current.scenario)) {
      const { value } = argument;
      const values = [1, 2, Math.floor(value / 8), Math.floor(value / 2)];
      const lower = [...new Set(values)].filter((lesser) => lesser >= 1 && lesser < value);
      await this.take(
        lower.map((lesser) => this.with(withNumber(this.current.scenario, argument, lesser))),
        true,
      );
    }
    const base = this.current;
    const pieces = inputPieces(base.scenario);
    const without = (kept: readonly InputPiece[]): Candidate => {
      const gone = pieces.filter((piece) => !kept.includes(piece));
      return { ...base, scenario: withoutPieces(base.scenario, gone) };
    };
    await this.minimize(pieces, without, true);
    for (const [index, { bytes }] of inputPieces(this.current.scenario).entries()) {
      if (bytes.length >= WORD_BYTES) await this.cutPiece(index);
    }
  }

  /** Of one piece of input only what is needed: of its lines, then its words, then its characters. */
  private async cutPiece(index: number): Promise<void> {
    for (const grain of GRAINS) {
      const base = this.current;
      const piece = inputPieces(base.scenario)[index];
      if (piece === undefined) return;
      const parts = cutBytes(piece.bytes, grain);
      if (parts.length > PARTS_MAX) continue;
      const make = (kept: readonly Uint8Array[]): Candidate => {
        return { ...base, scenario: withBytes(base.scenario, piece, joinBytes(kept)) };
      };
      await this.minimize(parts, make, true);
    }
  }

  private with(scenario: ScenarioDef): Candidate {
    return { ...this.current, scenario };
  }
}

/** The scenario under another seed, and every other time with all its events moved together. */
function redrawn(scenario: ScenarioDef, draw: number): ScenarioDef {
  const seed = (scenario.seed ?? 0) + (draw >> 1);
  const first = scenario.plan.events[0];
  if (draw % 2 === 0 || first === undefined) return { ...scenario, seed };
  const key = streamKey(seed, 'shrink/move');
  const earlierNs = first.atNs - drawUniform(key, draw, first.atNs + LATER_NS_MAX);
  return { ...moveEvents(scenario, 0, earlierNs), seed };
}

/** Whether a stream decides about events: pinning them does more than any answer. */
function isOfPlan(stream: string): boolean {
  return stream.startsWith('plan/') || stream.startsWith('swarm/');
}

/**
 * Whether decisions of a stream are tried one by one: those that say yes or no, and waits for the
 * processor. Single bytes of entropy tell nobody anything.
 */
function isSingle(stream: string, arity: number): boolean {
  return arity === 2 || stream.endsWith('/schedule');
}

/** The candidate's world when nothing goes wrong in it. */
function calmly({ scenario }: Candidate): Candidate {
  return { scenario: withoutFaults(scenario), answers: [], calm: [] };
}

function probeOf(candidate: Candidate, wanted: FailureSignature): Omit<Probe, 'start'> {
  const { scenario, answers, calm } = candidate;
  const isProperty = scenario.properties.some(({ name }) => name === wanted.property);
  return {
    seed: null,
    answers,
    untilProperty: isProperty ? wanted.property : null,
    ...(calm.length === 0 ? {} : { policy: { kind: 'calm', streams: calm } }),
  };
}

/** Runs a candidate here, up to the failure or to the end of the run, and looks at it. */
export function viewOf(
  candidate: Candidate,
  tools: Pick<ShrinkerOptions, 'images' | 'machines' | 'engine' | 'wanted'>,
  extent: 'to failure' | 'to end' = 'to failure',
): View {
  const { images, machines, engine, wanted } = tools;
  const start = { scenario: candidate.scenario, images, machines, checkpoint: null };
  const probe = probeOf(candidate, wanted);
  const whole = extent === 'to end' ? { ...probe, untilProperty: null } : probe;
  const { record, result } = runProbe(start, whole, engine);
  const property = result.properties.find(({ name }) => name === wanted.property);
  const decidedNs = property?.atNs ?? null;
  return {
    record,
    decisions: [...decodeDecisions(readWholeLog(record.schedule, LOG_DECISIONS))],
    failNs: decidedNs ?? result.endNs,
    // That somebody did not finish may have any reason: what mends must stay.
    isSafety: decidingMoment(result, wanted.property) !== null,
  };
}
