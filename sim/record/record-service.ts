import { Divergence } from '../explore/replay.ts';
import { assert } from '../kernel/assert.ts';
import type { Decisions } from '../kernel/decision.ts';
import { SimError } from '../kernel/errors.ts';
import type { Stream } from '../kernel/stream.ts';
import { EPOCH_SECONDS, NS_PER_MS, NS_PER_S, type VirtualNs } from '../kernel/units.ts';
import type { CallOutcome, CallReply, FaultOutcome } from './call.ts';
import { parseDatetime } from './datetime.ts';
import { effectiveRule, type EffectiveRule } from './fault-rules.ts';
import type { HandlerArgs, HandlerTable, RecordHandler, WorldView } from './handler.ts';
import { checkArguments, parametersOf, runOperation } from './operations.ts';
import { clockText } from './record-clock.ts';
import { RecordWorld } from './record-world.ts';
import { Refusal } from './refusal.ts';
import type { TraceEvent } from './trace.ts';
import { checkValue } from './value.ts';
import type {
  FaultKind,
  FaultProfile,
  OperationDef,
  ParameterDef,
  RecordWorldDef,
} from './world-def.ts';

export interface RecordServiceOptions {
  readonly def: RecordWorldDef;
  readonly handlers: HandlerTable;
  /** What is injected; null injects nothing, whatever the world file says (FH-35). */
  readonly faults: FaultProfile | null;
  readonly decisions: Decisions;
  /** The streams are called `<scope>/<service>.<operation>/…`. */
  readonly scope: string;
  readonly runIndex: number;
  /** Is told of every attempt, after it; also of those that failed (FH-37). */
  readonly onCall: (event: TraceEvent) => void;
}

/** An operation with all that its calls need. */
interface Bound {
  readonly def: OperationDef;
  readonly parameters: readonly ParameterDef[];
  readonly handler: RecordHandler | null;
  readonly rule: EffectiveRule;
  readonly latency: Stream;
  readonly error: Stream;
  readonly draw: Stream;
  /** The first datetime field of its record, or null. */
  readonly bornField: string | null;
  /** When the calls were admitted that still count for the rate limit. */
  admittedNs: VirtualNs[];
}

/**
 * Operations on a world, and what goes wrong with them. A call has two moments: when it arrives
 * and its latency is drawn, and when it has taken that long and is decided: conditional not-found,
 * rate limit, probabilistic error, execution, in this order (FH-32).
 */
export class RecordService {
  readonly world: RecordWorld;
  private readonly options: RecordServiceOptions;
  private readonly operations: ReadonlyMap<string, Bound>;
  private readonly view: WorldView;
  private callCount = 0;
  /** The last second that was written as text, and that text. */
  private shownSecond = -Infinity;
  private shownText = '';

  /** Throws `scenario/handler` where a handler that the world names is not at hand. */
  constructor(options: RecordServiceOptions) {
    this.options = options;
    this.world = new RecordWorld(options.def);
    this.view = viewOf(this.world);
    this.operations = new Map(options.def.operations.map((def) => [def.name, this.bind(def)]));
  }

  /** The latency of a call that arrives now: a draw in whole milliseconds. */
  arrive(operation: string, atNs: VirtualNs): VirtualNs {
    const bound = this.operations.get(operation);
    if (bound === undefined) return 0;
    const [low, high] = bound.rule.latencyMs;
    if (low === high) return low * NS_PER_MS;
    return (low + this.options.decisions.decide(bound.latency, atNs, high - low + 1)) * NS_PER_MS;
  }

  /**
   * What becomes of a call whose latency has passed. `atNs` is the run's time, for the record of
   * decisions; `clockNs` what the service's clock shows, since the epoch.
   */
  serve(
    operation: string,
    args: HandlerArgs,
    when: { readonly atNs: VirtualNs; readonly clockNs: VirtualNs; readonly latencyNs: VirtualNs },
  ): CallOutcome {
    const bound = this.operations.get(operation);
    const outcome = bound === undefined ? this.unknown(operation) : this.decide(bound, args, when);
    this.trace(operation, args, outcome, when);
    return outcome;
  }

  /** Both moments of a call at once, for callers whose clock stands still meanwhile. */
  call(
    operation: string,
    args: HandlerArgs,
    clock: { nowNs: VirtualNs; advance(ns: VirtualNs): void },
  ): CallReply {
    const latencyNs = this.arrive(operation, clock.nowNs);
    clock.advance(latencyNs);
    const clockNs = clock.nowNs;
    return {
      outcome: this.serve(operation, args, { atNs: clockNs, clockNs, latencyNs }),
      latencyNs,
    };
  }

  capture(): RecordServiceState {
    const windows = [...this.operations.values()].map(({ admittedNs }) => admittedNs.slice());
    return { world: this.world.capture(), callCount: this.callCount, windows };
  }

  restore(state: RecordServiceState): void {
    this.world.restore(state.world);
    this.callCount = state.callCount;
    [...this.operations.values()].forEach((bound, index) => {
      bound.admittedNs = (state.windows[index] ?? []).slice();
    });
  }

  private bind(def: OperationDef): Bound {
    const { options } = this;
    const { decisions, scope } = options;
    const record = options.def.records.find(({ name }) => name === def.record);
    const stream = `${scope}/${def.service}.${def.name}`;
    return {
      def,
      parameters: parametersOf(options.def, def),
      handler: def.kind === 'custom' ? findHandler(options.handlers, def) : null,
      rule: effectiveRule(options.faults, def),
      latency: decisions.stream(`${stream}/latency`),
      error: decisions.stream(`${stream}/error`),
      draw: decisions.stream(`${stream}/draw`),
      bornField: record?.fields.find(({ type }) => type.kind === 'datetime')?.name ?? null,
      admittedNs: [],
    };
  }

  private decide(
    bound: Bound,
    args: HandlerArgs,
    { atNs, clockNs }: { readonly atNs: VirtualNs; readonly clockNs: VirtualNs },
  ): CallOutcome {
    const { rule } = bound;
    if (rule.notFoundIfNewerThanNs !== null && this.isTooNew(bound, args, clockNs)) {
      return fault('not_found');
    }
    if (rule.rateLimit !== null) {
      const retryAfterSeconds = admit(bound, rule.rateLimit, clockNs);
      if (retryAfterSeconds > 0) return { ...fault('http_429'), retryAfterSeconds };
    }
    const choice = this.options.decisions.decideWeighted(bound.error, atNs, rule.weights);
    const kind = choice === 0 ? null : (rule.kinds[choice - 1] as FaultKind);
    if (kind === null) return this.execute(bound, args, atNs, clockNs);
    if (kind === 'timeout') this.execute(bound, args, atNs, clockNs);
    const retryAfterSeconds = kind === 'http_429' ? 1 : 0;
    return { ...fault(kind), retryAfterSeconds, empty: bound.def.kind === 'list' ? [] : null };
  }

  /** Get, update and delete of a row that is younger than the rule allows; no draw (FH-33). */
  private isTooNew(
    { def, rule, bornField }: Bound,
    args: HandlerArgs,
    clockNs: VirtualNs,
  ): boolean {
    if (bornField === null || !['get', 'update', 'delete'].includes(def.kind)) return false;
    const { id } = args;
    const table = this.world.table(def.record);
    if (typeof id !== 'number' || !table.has(id)) return false;
    const born = table.get(id)[bornField];
    const seconds = typeof born === 'string' ? parseDatetime(born) : null;
    if (seconds === null) return false;
    return clockNs - (seconds - EPOCH_SECONDS) * NS_PER_S < (rule.notFoundIfNewerThanNs ?? 0);
  }

  private execute(
    { def, parameters, handler, draw }: Bound,
    args: HandlerArgs,
    atNs: VirtualNs,
    clockNs: VirtualNs,
  ): CallOutcome {
    try {
      checkArguments(parameters, args);
      if (handler === null) return result(runOperation(this.world, def, args));
      const clock = { nowNs: clockNs, now: () => clockText(clockNs) };
      const draws = {
        below: (arity: number) => {
          if (Number.isSafeInteger(arity) && arity >= 1) {
            return this.options.decisions.decide(draw, atNs, arity);
          }
          throw new TypeError('a draw is below a whole number from 1');
        },
      };
      const checked = this.checked(parameters, args);
      return result(this.world.whole(() => handler(this.view, clock, checked, draws)));
    } catch (error) {
      if (error instanceof Refusal) {
        return { kind: 'refusal', refusal: error.kind, message: error.message };
      }
      throw handlerCrash(def, error);
    }
  }

  /** The arguments of a custom operation by their declared types. */
  private checked(parameters: readonly ParameterDef[], args: HandlerArgs): HandlerArgs {
    const hasRow = (record: string, id: number): boolean => this.world.table(record).has(id);
    return Object.fromEntries(
      parameters.map(({ name, type }) => [name, checkValue(type, args[name], name, hasRow)]),
    );
  }

  private unknown(operation: string): CallOutcome {
    const known = [...this.operations.keys()].join(', ');
    const message = `there is no operation "${operation}"; there are ${known}`;
    return { kind: 'refusal', refusal: 'unknown_operation', message };
  }

  private trace(
    tool: string,
    args: HandlerArgs,
    outcome: CallOutcome,
    { clockNs, latencyNs }: { readonly clockNs: VirtualNs; readonly latencyNs: VirtualNs },
  ): void {
    const { options } = this;
    // Two literals of a fixed shape: a trace is written for every call.
    const run = options.runIndex;
    const seq = this.callCount++;
    const ts = this.clockText(clockNs);
    const latency_ms = latencyNs / NS_PER_MS;
    const world_rev = this.world.revision;
    if (outcome.kind === 'result') {
      const result = outcome.value;
      options.onCall({
        run,
        seq,
        ts,
        tool,
        args,
        fault: null,
        latency_ms,
        ok: true,
        result,
        world_rev,
      });
      return;
    }
    const fault = outcome.kind === 'fault' ? outcome.fault : null;
    const error = outcome.kind === 'fault' ? outcome.fault : outcome.message;
    options.onCall({ run, seq, ts, tool, args, fault, latency_ms, ok: false, error, world_rev });
  }

  /** The clock as text; many calls fall into one second. */
  private clockText(clockNs: VirtualNs): string {
    const second = Math.floor(clockNs / NS_PER_S);
    if (second !== this.shownSecond) {
      this.shownSecond = second;
      this.shownText = clockText(clockNs);
    }
    return this.shownText;
  }
}

export interface RecordServiceState {
  readonly world: Uint8Array;
  readonly callCount: number;
  readonly windows: readonly (readonly VirtualNs[])[];
}

function viewOf(world: RecordWorld): WorldView {
  const view = Object.create(null) as Record<string, unknown>;
  for (const [name, table] of Object.entries(world.tables)) view[name] = table;
  Object.defineProperty(view, 'revision', { get: () => world.revision });
  view['snapshot'] = () => world.snapshot();
  view['diff'] = (old: Parameters<RecordWorld['diff']>[0]) => world.diff(old);
  return view as WorldView;
}

function findHandler(handlers: HandlerTable, { handler, name }: OperationDef): RecordHandler {
  const found = handlers.get(handler);
  if (found !== undefined) return found;
  throw new SimError({
    code: 'scenario/handler',
    message: `the handler ${handler} is not at hand`,
    place: `operation ${name}`,
    remedy: 'register it, or put its module beside the world file',
  });
}

function result(value: unknown): CallOutcome {
  return { kind: 'result', value: value === undefined ? null : value };
}

function fault(kind: FaultKind): FaultOutcome {
  return { kind: 'fault', fault: kind, retryAfterSeconds: 0, empty: null };
}

/** Admits a call and gives 0, or the whole seconds after which the next one is. */
function admit(
  bound: Bound,
  { calls, windowNs }: { readonly calls: number; readonly windowNs: VirtualNs },
  clockNs: VirtualNs,
): number {
  const within = bound.admittedNs.filter((atNs) => atNs > clockNs - windowNs);
  bound.admittedNs = within;
  if (within.length < calls) {
    within.push(clockNs);
    return 0;
  }
  const oldestNs = within[0];
  assert(oldestNs !== undefined, 'a limit of at least one call is reached by calls');
  return Math.max(1, Math.ceil((oldestNs + windowNs - clockNs) / NS_PER_S));
}

function handlerCrash({ name, handler }: OperationDef, error: unknown): unknown {
  // A replay that parts within a handler is no fault of the handler.
  if (error instanceof SimError || error instanceof Divergence) return error;
  return new SimError({
    code: 'crash/handler',
    message: `an operation broke: ${error instanceof Error ? error.message : 'it threw no Error'}`,
    place: `operation ${name}${handler === '' ? '' : `, handler ${handler}`}`,
    remedy: 'mend the handler; to refuse a call, throw a Refusal',
    cause: error,
  });
}
