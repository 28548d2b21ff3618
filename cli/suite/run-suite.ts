import {
  DISK_CHANCES,
  LINK_CHANCES,
  MODEL_EXIT,
  type SourceFile,
  TEST_NODE,
} from '../../scenarios/index.ts';
import {
  decodeEvents,
  LOG_EVENTS,
  OrderExplorer,
  orderSteps,
  readWholeLog,
  SimError,
  type ExploredOrder,
  type OrderStep,
  type PlannedTest,
} from '../../sim/index.ts';
import type { WasmEngine } from '../../wasm/index.ts';
import { bundleOfRun } from '../bundle-write.ts';
import type { MachineChoice } from '../machines/machine-backend.ts';
import { runToEnd, type ConsolePiece, type RunRecord } from '../record.ts';
import { ConsoleCollector } from '../timeline.ts';
import { choiceAxes, enumerateLeaves, orderedLeaves, type Leaf, type LeafAxis } from './leaf.ts';
import {
  isRed,
  leafPlanJson,
  reportOf,
  type LeafOutcome,
  type LeafReport,
  type LeafRun,
} from './leaf-report.ts';
import { leafScenario, ruleName, type LeafBody } from './leaf-scenario.ts';
import { LeafSource, type PinnedRule } from './leaf-source.ts';
import type { Suite } from './suite.ts';

/** A leaf with its whole run. */
export interface LeafResult {
  readonly report: LeafReport;
  readonly record: RunRecord;
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly sources: readonly SourceFile[];
  readonly collector: ConsoleCollector;
}

export interface SuiteRunnerOptions {
  /** Loads the suite's code: again where something was left half done. */
  readonly load: () => Suite;
  readonly makeEngine: () => WasmEngine;
  readonly seed: number;
  /** False for `--no-plan`: axes come from the recording pass alone, and bundles hold no plan. */
  readonly plans: boolean;
  /** How machines are run. */
  readonly machines?: MachineChoice | undefined;
}

/** So many leaves share one watch over bodies that never end. */
export const WATCHED_LEAVES = 16;

/** Runs a suite's leaves, one after another. */
export class SuiteRunner {
  private readonly options: SuiteRunnerOptions;
  private suite: Suite;
  private engine: WasmEngine;
  private shares = true;
  private readonly compiled = new Map<string, ReturnType<typeof leafScenario>>();
  private readonly specTests: ReadonlyMap<string, Suite['model']['tests'][number]>;

  constructor(options: SuiteRunnerOptions) {
    this.options = options;
    this.suite = options.load();
    this.engine = options.makeEngine();
    this.specTests = new Map(this.suite.model.tests.map((test) => [test.name, test]));
  }

  /** The leaves of tests, in their order. */
  discover(tests: readonly PlannedTest[]): readonly Leaf[] {
    return this.watched(tests, (test) => this.leaves(test)).flat();
  }

  /** Runs leaves in their order; `take` is told of each. */
  runAll(leaves: readonly Leaf[], take: (run: LeafRun) => void): void {
    for (let from = 0; from < leaves.length; from += WATCHED_LEAVES) {
      const some = leaves.slice(from, from + WATCHED_LEAVES);
      this.watched(some, (leaf) => this.packed(this.run(leaf), leaf)).forEach(take);
    }
  }

  /** Runs a leaf that is known to fail for a reason that its run does not show. */
  runFailed(leaf: Leaf, detail: string): LeafRun {
    const result = this.run(leaf);
    return this.packed({ ...result, report: { ...result.report, outcome: 'fail', detail } }, leaf);
  }

  /** What an error of a body says, with the spec's places. */
  describe(error: unknown): string {
    const { models, program } = this.suite;
    let text = '';
    models.watch.share(() => (text = program.realm.describe(error)));
    return program.locate(text);
  }

  /**
   * Several steps under one watch. Where its time is up, one of them either spins or takes long: all that
   * it had in hand is made anew, and it runs again with a watch for each step, which tells the two apart.
   */
  private watched<T, R>(items: readonly T[], work: (item: T) => R): readonly R[] {
    const results: R[] = [];
    if (this.shares) {
      this.shares = this.suite.models.watch.share(() => {
        for (const item of items) results.push(work(item));
      });
      if (!this.shares) {
        this.suite = this.options.load();
        this.engine = this.options.makeEngine();
        this.compiled.clear();
      }
    }
    for (const item of items.slice(results.length)) results.push(work(item));
    return results;
  }

  private packed(result: LeafResult, leaf: Leaf): LeafRun {
    const { report, record, images, sources, collector } = result;
    if (!isRed(report)) return { report, bundle: null };
    const plan = this.options.plans ? leafPlanJson(this.suite.plan, leaf) : null;
    const run = { record, images, sources, lineage: null, thin: false };
    const bundle = bundleOfRun({ ...run, plan, collector });
    return { report, bundle };
  }

  /** The leaves of a test: the plan's axes, and those that one recording pass finds (FB-38). */
  private leaves(test: PlannedTest): readonly Leaf[] {
    const bodyAxes = test.compositions
      .filter(({ kind }) => this.options.plans && (kind === 'choose' || kind === 'parallel'))
      .flatMap(({ axes }) => axes)
      .filter(({ level }) => level !== 'event');
    const cells: readonly (string | null)[] = test.matrixCells.length === 0 ? [null] : test.faults;
    const recorded = this.record(test, cells[0] ?? null);
    const leaves: Leaf[] = [];
    for (const [index, cell] of cells.entries()) {
      const faults = cell === null ? test.faults : [cell];
      const axes: LeafAxis[] = [];
      if (cell !== null)
        axes.push({ kind: 'cell', name: test.matrixCells[index] ?? cell, size: 1 });
      axes.push(...this.ruleAxes(faults), ...choiceAxes(bodyAxes, recorded.seen));
      // A test of one leaf has been seen to order no steps: there are none to look for.
      const ordered = this.hasOrders && (axes.length > 0 || recorded.hasSteps());
      for (const leaf of enumerateLeaves(test, axes, leaves.length)) {
        if (ordered) leaves.push(...orderedLeaves(leaf, this.orders(leaf), leaves.length));
        else leaves.push(leaf);
      }
    }
    return leaves;
  }

  /** The orders of branches' steps that can differ in a leaf; each of its runs finds further ones. */
  private orders(leaf: Leaf): readonly ExploredOrder[] {
    const explorer = new OrderExplorer();
    for (let order = explorer.next(); order !== null; order = explorer.next()) {
      explorer.take(this.steps(leaf, order));
    }
    return explorer.orders;
  }

  /** The steps of a leaf's branches under an order. */
  private steps(leaf: Leaf, order: readonly number[]): readonly OrderStep[] {
    const { timed } = this.suite.program.tally;
    timed.clear();
    const rules = this.pinnedRules(leaf);
    const body = this.bodyOf(leaf.test, this.faultsOf(leaf));
    const { record } = this.execute(body, new LeafSource(choicesOf(leaf), rules, order));
    if (record.error !== null) throw record.error;
    const events = decodeEvents(readWholeLog(record.events, LOG_EVENTS));
    const steps = orderSteps(events, this.testNode);
    // Time has a part in what services do that look at it, and occurrences are counted over all of a world.
    const services = [...timed.keys()].some((name) => name !== TEST_NODE);
    if (!services && rules.length === 0) return steps;
    return steps.map((step) => ({ ...step, touches: { ...step.touches, everything: true } }));
  }

  /** Whether anything in the spec asks for orders of steps; looking for them takes a run of each leaf. */
  private get hasOrders(): boolean {
    return [...this.suite.model.files.values()].some((text) => /['"`](dpor|event)['"`]/.test(text));
  }

  /** Runs one leaf. */
  run(leaf: Leaf): LeafResult {
    const body = this.bodyOf(leaf.test, this.faultsOf(leaf));
    const source = new LeafSource(choicesOf(leaf), this.pinnedRules(leaf), orderOf(leaf));
    // The body's node is the last; what it says as it fails is why it failed.
    let said = '';
    const collector = new ConsoleCollector();
    const { tally } = this.suite.program;
    const before = tally.assertions;
    const { record, images, sources } = this.execute(body, source, (piece) => {
      collector.piece(piece);
      const { node, descriptor, bytes } = piece;
      if (node === this.testNode && descriptor === 2) said = new TextDecoder().decode(bytes);
    });
    const why = said.startsWith('failed: ') ? said.slice('failed: '.length).trimEnd() : null;
    const detail = why ?? detailOf(record);
    const assertions = tally.assertions - before;
    const judged = judge(record, leaf.test.expect, detail);
    const report = reportOf(leaf, record, { ...judged, assertions });
    return { report, record, images, sources, collector };
  }

  /** The body's node comes after those of the services. */
  private get testNode(): number {
    return this.suite.declared.filter(({ kind }) => kind === 'service').length;
  }

  /** What a body asks for when each choice takes its first option, and whether branches took ordered steps then. */
  private record(
    test: PlannedTest,
    cell: string | null,
  ): { readonly seen: ReadonlyMap<string, number>; readonly hasSteps: () => boolean } {
    const source = new LeafSource(new Map(), [], []);
    const body = this.bodyOf(test, cell === null ? test.faults : [cell]);
    const { record } = this.execute(body, source);
    const hasSteps = (): boolean => {
      const events = decodeEvents(readWholeLog(record.events, LOG_EVENTS));
      return orderSteps(events, this.testNode).length > 0;
    };
    return { seen: source.seen, hasSteps };
  }

  private execute(
    body: LeafBody,
    answers: LeafSource,
    onConsole?: (piece: ConsolePiece) => void,
  ): Omit<LeafResult, 'report' | 'collector'> {
    const key = JSON.stringify(body);
    let compiled = this.compiled.get(key);
    if (compiled === undefined) {
      compiled = leafScenario(this.suite, body);
      this.compiled.set(key, compiled);
    }
    const { def, images, sources } = compiled;
    const { engine } = this;
    const { seed, machines } = this.options;
    const { models } = this.suite;
    try {
      const record = runToEnd({
        scenario: { ...def, seed },
        images,
        engine,
        models,
        machines,
        answers,
        ...(onConsole === undefined ? {} : { onConsole }),
      });
      return { record, images, sources };
    } catch (error) {
      throw placed(error, `${this.suite.model.file}, test "${body.name}"`);
    }
  }

  private bodyOf(test: PlannedTest, faults: readonly string[]): LeafBody {
    const spec = this.specTests.get(test.name);
    const scenario = spec?.scenario ?? test.name;
    const kind = test.kind === 'def' ? 'def' : test.kind === 'test_builtin' ? 'test' : 'scenario';
    const key = `${kind}:${kind === 'scenario' ? scenario : test.name}`;
    return { key, name: test.name, faults, timeout: test.timeout };
  }

  private faultsOf({ test, pins }: Leaf): readonly string[] {
    const cell = pins.find(({ axis }) => axis.kind === 'cell');
    if (cell === undefined) return test.faults;
    const index = test.matrixCells.indexOf(cell.axis.name);
    const spec = this.specTests.get(test.name);
    return [spec?.cells[index]?.fault ?? ''];
  }

  private rules(faults: readonly string[]): readonly {
    readonly name: string;
    readonly fires: number;
    readonly event: Readonly<Record<string, unknown>>;
  }[] {
    return faults.flatMap((fault) => {
      const declared = this.suite.declared.find((each) => {
        return each.kind === 'assumption' && each.name === fault;
      });
      const rules = (declared?.options['rules'] ?? []) as readonly Record<string, unknown>[];
      return rules.flatMap((event, index) => {
        const fires = event['max_fires'];
        return typeof fires === 'number' ? [{ name: ruleName(fault, index), fires, event }] : [];
      });
    });
  }

  private ruleAxes(faults: readonly string[]): LeafAxis[] {
    return this.rules(faults).map(({ name, fires }) => {
      return { kind: 'rule' as const, name, size: 2 ** fires };
    });
  }

  private pinnedRules(leaf: Leaf): readonly PinnedRule[] {
    const rules = this.rules(this.faultsOf(leaf));
    return leaf.pins.flatMap(({ axis, index }) => {
      const rule = axis.kind === 'rule' ? rules.find(({ name }) => name === axis.name) : undefined;
      if (rule === undefined) return [];
      return [{ matches: this.streamsOf(rule), length: rule.fires, vector: index }];
    });
  }

  /** The streams that a rule's chance is drawn from: of its event, of links, of disks. */
  private streamsOf(rule: {
    readonly name: string;
    readonly event: Readonly<Record<string, unknown>>;
  }): (stream: string) => boolean {
    const { name, event } = rule;
    const kebab = (key: string): string => key.replaceAll('_', '-');
    const isChance = (key: string): boolean => event[key] !== undefined;
    if (isChance('chance')) return (stream) => stream === `plan/${name}/chance`;
    const disk = DISK_CHANCES.filter(isChance).map((key) => `/disk/${kebab(key)}/${name}`);
    if (event['do'] === 'disk') return (stream) => disk.some((end) => stream.endsWith(end));
    const link = LINK_CHANCES.filter(isChance).map(kebab);
    const nodes = event['nodes'] as readonly string[] | undefined;
    return (stream) => {
      const [first, from = '', to = '', what = ''] = stream.split('/');
      const within = nodes === undefined || (nodes.includes(from) && nodes.includes(to));
      return first === 'link' && within && link.includes(what);
    };
  }
}

/** An error of a guest, which does not know of which suite it is. */
function placed(error: unknown, suite: string): unknown {
  if (!(error instanceof SimError) || !error.code.startsWith('guest/')) return error;
  const { code, message, remedy } = error;
  const place = error.place === undefined ? suite : `${suite}: ${error.place}`;
  return new SimError({
    code,
    message,
    place,
    ...(remedy === undefined ? {} : { remedy }),
    cause: error,
  });
}

function choicesOf({ pins }: Leaf): ReadonlyMap<string, number> {
  return new Map(
    pins.flatMap(({ axis, index }) => (axis.kind === 'choice' ? [[axis.name, index]] : [])),
  );
}

function orderOf({ pins }: Leaf): readonly number[] {
  return pins.flatMap(({ axis }) => (axis.kind === 'order' ? axis.order.choices : []));
}

function detailOf({ outcome, error }: RunRecord): string {
  if (error !== null) return error.message;
  const failed = outcome.properties.find(({ verdict }) => verdict !== 'pass');
  return failed?.detail ?? '';
}

/** What a run means for its leaf, given what the spec expects of it: `fails` or `passes`. */
function judge(
  record: RunRecord,
  expect: string | null,
  detail: string,
): { readonly outcome: LeafOutcome; readonly detail: string } {
  const { outcome } = record;
  if (outcome.verdict === 'error') return { outcome: 'error', detail };
  const code = outcome.nodes.find(({ name }) => name === TEST_NODE)?.code ?? null;
  if (code === MODEL_EXIT.halted) return { outcome: 'halted', detail: '' };
  if (code === MODEL_EXIT.filtered) return { outcome: 'filtered', detail: '' };
  if (outcome.verdict === 'inconclusive')
    return { outcome: 'inconclusive', detail: outcome.reason };
  const failed = outcome.verdict === 'fail';
  if (expect !== 'fails')
    return { outcome: failed ? 'fail' : 'pass', detail: failed ? detail : '' };
  if (failed) return { outcome: 'pass', detail: '' };
  return { outcome: 'fail', detail: 'it passed, where the spec expects that it fails' };
}
