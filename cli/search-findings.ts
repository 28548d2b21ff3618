import type { MachineChoice } from './machines/machine-backend.ts';
import { writeAtomically } from './atomic-write.ts';
import type { SourceFile } from '../scenarios/index.ts';
import { scenarioIds, SimError, type ScenarioDef } from '../sim/index.ts';
import type { WasmEngine } from '../wasm/index.ts';
import { bundleOfRun, writeBundle } from './bundle-write.ts';
import { ConsoleCollector } from './timeline.ts';
import { groupDigits, layOut } from './columns.ts';
import type { Context } from './context.ts';
import { shellQuote } from './host.ts';
import { runProbe, type ProbeResult } from './probe.ts';
import type { SearchState } from './search-states.ts';

/** Runs that did not pass, for one reason. */
interface Finding {
  readonly kind: 'fail' | 'error' | 'inconclusive';
  readonly signature: string;
  /** The property that failed, or why there is no verdict. */
  readonly what: string;
  count: number;
  readonly state: number;
  readonly seed: number;
  readonly note: string;
  readonly bundle: string;
}

/** At most this many findings are kept; runs of further kinds are only counted. */
export const FINDINGS_MAX = 1_000;

/** What a search has found: one bundle for each signature, written when it is first met (CR-32). */
export class SearchFindings {
  private readonly options: {
    readonly scenario: ScenarioDef;
    readonly strategy: string;
    readonly images: ReadonlyMap<string, Uint8Array>;
    readonly machines: MachineChoice | undefined;
    readonly sources: readonly SourceFile[];
    readonly engine: WasmEngine;
    /** Where the ledger goes, if it is wanted. */
    readonly ledger: string | null;
    readonly context: Context;
  };
  private readonly findings = new Map<string, Finding>();
  private states = 0;
  private passed = 0;
  private further = 0;

  constructor(options: SearchFindings['options']) {
    this.options = options;
    // Somebody who asked for a ledger has one whatever happens (CR-38).
    this.writeLedger();
  }

  /** Whether a property has failed, or the simulator given up. */
  get hasViolation(): boolean {
    return [...this.findings.values()].some(({ kind }) => kind !== 'inconclusive');
  }

  /** For the line of progress. */
  get note(): string {
    const count = this.findings.size;
    return count === 0 ? 'nothing found' : `${count} found`;
  }

  /** Takes the result of the next state; states come in their order. */
  add(state: SearchState, result: ProbeResult): void {
    this.states++;
    const { verdict, signature } = result;
    if (verdict === 'pass') {
      this.passed++;
      return;
    }
    const key = signature?.primary ?? `timeout: ${result.reason}`;
    const known = this.findings.get(key);
    if (known !== undefined) {
      known.count++;
      return;
    }
    if (this.findings.size >= FINDINGS_MAX) {
      this.further++;
      return;
    }
    const finding: Finding = {
      kind: verdict,
      signature: key,
      what: signature?.property ?? result.reason,
      count: 1,
      state: state.index,
      seed: state.probe.seed ?? 0,
      note: state.note,
      bundle: this.keep(state, key),
    };
    this.findings.set(key, finding);
    this.writeLedger();
  }

  /** Says what was found; returns the exit code. */
  report(coverage: string): number {
    this.writeLedger();
    const { output } = this.options.context;
    const exitCode = this.exitCode();
    const findings = [...this.findings.values()].sort((a, b) => a.state - b.state);
    for (const finding of findings) {
      const replay = this.command('replay', finding.bundle);
      const shrink = finding.kind === 'fail' ? this.command('shrink', finding.bundle) : null;
      output.record({ type: 'finding', ...finding, replay, shrink });
    }
    output.record({
      type: 'result',
      states: this.states,
      passed: this.passed,
      findings: findings.length,
      further: this.further,
      coverage,
      exit_code: exitCode,
    });
    if (output.speaks) this.sayReport(findings, coverage);
    return exitCode;
  }

  private sayReport(findings: readonly Finding[], coverage: string): void {
    const { output } = this.options.context;
    const { colors } = output;
    const verb = findings.length === 1 ? 'finding' : 'findings';
    output.say(`${findings.length} ${verb} in ${groupDigits(this.states)} runs: ${coverage}`);
    if (findings.length === 0) return;
    output.say('');
    const head = ['count', 'verdict', 'run', 'seed', 'chosen', 'what'].map(colors.dim);
    const rows = findings.map(({ count, kind, state, seed, note, signature }) => {
      return [groupDigits(count), kind, String(state), String(seed), note, signature];
    });
    for (const line of layOut([head, ...rows], new Set([0, 2, 3]))) output.say(line);
    output.say('');
    for (const { kind, bundle } of findings) {
      output.say(`replay  ${this.command('replay', bundle)}`);
      if (kind === 'fail') output.say(`shrink  ${this.command('shrink', bundle)}`);
    }
    if (this.further > 0) output.say(`${this.further} more runs were of further kinds`);
  }

  private command(verb: 'replay' | 'shrink', bundle: string): string {
    return `${this.options.context.host.command} ${verb} ${shellQuote(bundle)}`;
  }

  /** Runs a state again, here, and writes its bundle; it must end as it did before. */
  private keep(state: SearchState, key: string): string {
    const { images, machines, sources, engine, context } = this.options;
    const start = { scenario: state.scenario, images, machines, checkpoint: null };
    const collector = new ConsoleCollector();
    const { record, result } = runProbe(start, state.probe, engine, collector.piece);
    const found = result.signature?.primary ?? `timeout: ${result.reason}`;
    if (found !== key) {
      throw new SimError({
        code: 'verdict/nondeterminism',
        message: `run ${state.index} ended twice in two ways: first ${key}, then ${found}`,
        place: `seed ${state.probe.seed ?? 0}`,
        remedy: 'run `sim verify` on the scenario with that seed',
      });
    }
    const run = { record, images, sources, lineage: null, thin: false };
    const bytes = bundleOfRun({ ...run, collector });
    const { name, seed } = record.scenario;
    return writeBundle(bytes, { name, seed: seed ?? 0, out: undefined, context });
  }

  /** One document, replaced as a whole, so that it can be read while the search goes on. */
  private writeLedger(): void {
    const { ledger, scenario, strategy, context } = this.options;
    if (ledger === null) return;
    const document = {
      schema_version: 1,
      type: 'findings',
      scenario: scenarioIds(scenario).scenario,
      strategy,
      seed: scenario.seed,
      states: this.states,
      passed: this.passed,
      further: this.further,
      findings: [...this.findings.values()],
    };
    writeAtomically(context.path(ledger), Buffer.from(`${JSON.stringify(document, null, 2)}\n`));
  }

  /** A failed property outweighs an error of ours, and that a used-up budget (CR-32, CR-48). */
  private exitCode(): number {
    const kinds = new Set([...this.findings.values()].map(({ kind }) => kind));
    if (kinds.has('fail')) return 1;
    if (kinds.has('error')) return 3;
    return kinds.has('inconclusive') ? 2 : 0;
  }
}
