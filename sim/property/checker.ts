import { assert, unreachable } from '../kernel/assert.ts';
import type { VirtualNs } from '../kernel/units.ts';
import { decodeUtf8 } from '../kernel/utf8.ts';
import type { PropertyDef } from '../plan/scenario.ts';
import { isHistoryProperty, type HistoryPropertyDef } from '../plan/history-properties.ts';
import type { TemporalDef, TemporalOperator } from '../plan/predicates.ts';
import { Assertions, type AssertionResult, type AssertionsState } from './assertions.ts';
import { judgeHistory, type HistoryVerdict } from './history-verdict.ts';
import { History, type HistoryState } from './history.ts';
import { compilePattern, matchPattern, type Pattern } from './pattern.ts';
import { TemporalProperties, type TemporalState, type TriggerWatch } from './temporal.ts';

export type PropertyVerdict = 'pass' | 'fail' | 'inconclusive';

export interface PropertyResult {
  readonly name: string;
  readonly kind:
    Exclude<PropertyDef['kind'], 'temporal'> | TemporalOperator | AssertionResult['kind'];
  readonly verdict: PropertyVerdict;
  readonly detail: string;
  /** When it was decided, or null where only the end of the run decided it. */
  readonly atNs: VirtualNs | null;
  /** Lines of plain text that show a failure of a history. */
  readonly picture?: readonly string[];
}

/** One property's progress, as plain data. */
interface Progress {
  verdict: PropertyVerdict | null;
  detail: string;
  atNs: VirtualNs | null;
  /** Whether any line matched at all. */
  seen: boolean;
  /** `exit`: nodes that have exited with the right code. */
  exited: number[];
  /** `unique`: captured text to node. `agree`: first capture to the further ones. */
  captured: Map<string, string>;
}

export interface CheckerState {
  readonly progress: readonly (Omit<Progress, 'captured'> & {
    readonly captured: readonly (readonly [string, string])[];
  })[];
  /** Null where no property is about a history. */
  readonly history: HistoryState | null;
  readonly assertions: AssertionsState;
  /** Absent where no property is about moments. */
  readonly temporal?: TemporalState;
}

/** `unique` and `agree` remember at most this many different captures; more is inconclusive. */
export const CAPTURES_MAX = 1 << 20;

/** The timeline shows so many characters of a marker. */
const NOTE_LENGTH_MAX = 200;

/** Follows a scenario's properties while a run goes on. */
export class PropertyChecker {
  private readonly defs: readonly PropertyDef[];
  private readonly patterns: readonly (Pattern | null)[];
  private readonly nodeNames: readonly string[];
  /** What the programs assert about themselves. */
  readonly assertions: Assertions;
  private readonly history: History | null;
  /** The properties over moments, or null where there are none. */
  readonly temporal: TemporalProperties | null;
  /** When all faults are lifted: what must come eventually is waited for from then on. */
  private readonly liftedNs: VirtualNs;
  private progress: Progress[];

  constructor(
    defs: readonly PropertyDef[],
    nodeNames: readonly string[],
    liftedNs: VirtualNs = 0,
    startsNs: readonly VirtualNs[] = [],
    triggers: readonly TriggerWatch[] = [],
  ) {
    this.liftedNs = liftedNs;
    const temporal = defs.filter((def) => def.kind === 'temporal');
    this.temporal =
      temporal.length + triggers.length === 0
        ? null
        : new TemporalProperties({ defs: temporal, nodeNames, startsNs, liftedNs, triggers });
    this.defs = defs.map((def) => {
      if (def.kind !== 'eventually' || def.withinNs === null) return def;
      return { ...def, withinNs: def.withinNs + liftedNs };
    });
    this.nodeNames = nodeNames;
    this.patterns = defs.map((def) => ('console' in def ? compilePattern(def.console) : null));
    this.assertions = new Assertions(nodeNames, (node, name, state, atNs) => {
      this.temporal?.assertion(node, name, state, atNs);
    });
    this.history = defs.some(isHistoryProperty) ? new History(nodeNames) : null;
    this.progress = defs.map(() => ({
      verdict: null,
      detail: '',
      atNs: null,
      seen: false,
      exited: [],
      captured: new Map(),
    }));
  }

  /** A node wrote a whole line. */
  line(node: number, line: string, atNs: VirtualNs): void {
    this.history?.line(node, line, atNs);
    this.assertions.line(node, line, atNs);
    this.temporal?.line(node, line, atNs);
    for (let index = 0; index < this.defs.length; index++) {
      const progress = this.progress[index] as Progress;
      const def = this.defs[index] as PropertyDef;
      const pattern = this.patterns[index] as Pattern | null;
      if (progress.verdict !== null || pattern === null || !('console' in def)) continue;
      if (def.kind === 'eventually' && atNs < this.liftedNs) continue;
      if (def.nodes.length > 0 && !def.nodes.includes(node)) continue;
      const captures = matchPattern(pattern, line);
      if (captures !== null) this.matched(def, progress, { node, line, captures, atNs });
    }
  }

  /** A guest ended by itself. */
  exit(node: number, code: number, atNs: VirtualNs): void {
    this.temporal?.node(node, 'exited', atNs);
    this.defs.forEach((def, index) => {
      const progress = this.progress[index] as Progress;
      if (def.kind !== 'exit' || progress.verdict !== null || !def.nodes.includes(node)) return;
      progress.seen = true;
      if (code !== def.code) {
        const name = this.nodeNames[node] as string;
        decide(progress, 'fail', `${name} exited with ${code}, expected ${def.code}`, atNs);
        return;
      }
      if (!progress.exited.includes(node)) progress.exited.push(node);
      if (progress.exited.length === def.nodes.length) {
        decide(progress, 'pass', `exited with ${code}`, atNs);
      }
    });
  }

  /** A guest trapped. */
  trap(node: number, code: string, message: string, atNs: VirtualNs): void {
    this.temporal?.node(node, 'crashed', atNs);
    this.defs.forEach((def, index) => {
      const progress = this.progress[index] as Progress;
      if (progress.verdict !== null) return;
      const name = this.nodeNames[node] as string;
      if (def.kind === 'no-trap') {
        decide(progress, 'fail', `${name} trapped: ${code}: ${message}`, atNs);
      }
    });
  }

  /**
   * A node said something by a marker: a line of a history may come this way as well. The result
   * is what the timeline shows of it.
   */
  marker(node: number, bytes: Uint8Array, atNs: VirtualNs): string {
    const text = decodeUtf8(bytes);
    this.history?.line(node, text, atNs);
    this.assertions.marker(node, text, atNs);
    this.temporal?.marker(node, text, atNs);
    return text.slice(0, NOTE_LENGTH_MAX);
  }

  /** A node's guest ended, in whatever way. */
  lifeEnded(node: number): void {
    this.history?.lifeEnded(node);
    this.assertions.lifeEnded(node);
  }

  /** Whether a safety property has failed already. */
  get failed(): boolean {
    if (this.assertions.failed || this.temporal?.failed === true) return true;
    return this.progress.some((progress) => progress.verdict === 'fail');
  }

  /** Whether all properties that can be decided early are decided (CR-7 `property`). */
  get settled(): boolean {
    const temporal = this.temporal?.early() ?? [];
    if (temporal.includes(false)) return false;
    let early = temporal.length;
    for (let index = 0; index < this.defs.length; index++) {
      const kind = (this.defs[index] as PropertyDef).kind;
      if (kind !== 'exit' && kind !== 'eventually') continue;
      early++;
      if ((this.progress[index] as Progress).verdict === null) return false;
    }
    return early > 0;
  }

  /** Whether the named property is decided. */
  decided(name: string): boolean {
    if (this.temporal?.decided(name) === true) return true;
    return this.defs.some((def, index) => {
      return def.name === name && (this.progress[index] as Progress).verdict !== null;
    });
  }

  /**
   * The verdicts at the end of a run: of the scenario's properties, then of the assertions. `complete` says that the run ended by itself, so that what
   * has not come will never come; otherwise it is inconclusive (three-valued, LTL3), and of what
   * guests did ahead of others only what came before `knownNs` is judged moment by moment.
   */
  results(
    endNs: VirtualNs,
    complete: boolean,
    knownNs: VirtualNs = Infinity,
  ): readonly PropertyResult[] {
    const temporal = this.temporal?.results(endNs, complete, knownNs);
    const results = this.defs.map((def, index): PropertyResult => {
      const progress = this.progress[index] as Progress;
      if (def.kind === 'temporal') return temporalResult(def, temporal);
      const { name, kind } = def;
      if (progress.verdict !== null) {
        return {
          name,
          kind,
          verdict: progress.verdict,
          detail: progress.detail,
          atNs: progress.atNs,
        };
      }
      const judged = isHistoryProperty(def)
        ? this.judge(def)
        : verdictAtEnd(def, progress, endNs, complete);
      return { name, kind, ...judged, atNs: null };
    });
    return [...results, ...this.assertions.results()];
  }

  capture(): CheckerState {
    return {
      progress: this.progress.map((progress) => ({
        ...progress,
        exited: progress.exited.slice(),
        captured: [...progress.captured],
      })),
      history: this.history?.capture() ?? null,
      assertions: this.assertions.capture(),
      ...(this.temporal === null ? {} : { temporal: this.temporal.capture() }),
    };
  }

  restore(state: CheckerState): void {
    this.progress = state.progress.map((saved) => ({
      ...saved,
      exited: saved.exited.slice(),
      captured: new Map(saved.captured),
    }));
    this.assertions.restore(state.assertions);
    if (state.history !== null) this.history?.restore(state.history);
    if (state.temporal !== undefined) this.temporal?.restore(state.temporal);
  }

  private judge(def: HistoryPropertyDef): HistoryVerdict {
    assert(this.history !== null, 'a scenario with a property of a history keeps one');
    return judgeHistory(def, this.history);
  }

  private matched(
    def: Extract<PropertyDef, { readonly console: string }>,
    progress: Progress,
    match: { node: number; line: string; captures: readonly string[]; atNs: VirtualNs },
  ): void {
    const { node, line, captures, atNs } = match;
    const name = this.nodeNames[node] as string;
    progress.seen = true;
    switch (def.kind) {
      case 'never':
        return decide(progress, 'fail', `${name} wrote "${line}"`, atNs);
      case 'eventually':
        if (def.withinNs === null || atNs <= def.withinNs) {
          return decide(progress, 'pass', `${name} wrote "${line}"`, atNs);
        }
        return decide(progress, 'fail', `first came too late, from ${name}`, atNs);
      case 'unique': {
        const other = remember(progress, captures.join(' '), name);
        if (other !== name)
          decide(progress, 'fail', `${other} and ${name} both wrote "${line}"`, atNs);
        return;
      }
      case 'agree': {
        const rest = captures.slice(1).join(' ');
        const other = remember(progress, captures[0] ?? '', rest);
        if (other === rest) return;
        const expected = `earlier "${other}"`;
        return decide(progress, 'fail', `${name} wrote "${line}", ${expected} elsewhere`, atNs);
      }
      default:
        return unreachable(def);
    }
  }
}

function decide(
  progress: Progress,
  verdict: PropertyVerdict,
  detail: string,
  atNs: VirtualNs,
): void {
  progress.verdict = verdict;
  progress.detail = detail;
  progress.atNs = atNs;
}

function temporalResult(
  def: TemporalDef,
  results: ReturnType<TemporalProperties['results']> | undefined,
): PropertyResult {
  const result = results?.get(def.name);
  assert(result !== undefined, 'each property over moments is judged');
  return { name: def.name, kind: def.operator, ...result };
}

/** The value that stands under `key`, which is `value` if there was none. */
function remember(progress: Progress, key: string, value: string): string {
  const known = progress.captured.get(key);
  if (known !== undefined) return known;
  if (progress.captured.size >= CAPTURES_MAX) {
    progress.verdict = 'inconclusive';
    progress.detail = `more than ${CAPTURES_MAX} different captures`;
    return value;
  }
  progress.captured.set(key, value);
  return value;
}

function verdictAtEnd(
  def: Exclude<PropertyDef, HistoryPropertyDef | TemporalDef>,
  progress: Progress,
  endNs: VirtualNs,
  complete: boolean,
): { verdict: PropertyVerdict; detail: string } {
  switch (def.kind) {
    case 'no-trap':
      return { verdict: 'pass', detail: 'no guest trapped' };
    case 'never':
      return { verdict: 'pass', detail: 'no such line' };
    case 'unique':
    case 'agree':
      return progress.seen
        ? { verdict: 'pass', detail: `${progress.captured.size} different` }
        : { verdict: 'pass', detail: 'vacuous: no line matched' };
    case 'eventually': {
      const late = def.withinNs !== null && endNs > def.withinNs;
      if (complete || late) return { verdict: 'fail', detail: 'no such line' };
      return { verdict: 'inconclusive', detail: 'the run ended before' };
    }
    case 'exit':
      if (complete) return { verdict: 'fail', detail: 'still running when nothing could happen' };
      return { verdict: 'inconclusive', detail: 'still running when the run ended' };
    default:
      return unreachable(def);
  }
}
