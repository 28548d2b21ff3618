import { formatTime, type Decision } from '../../sim/index.ts';
import type { WasmEngine } from '../../wasm/index.ts';
import { layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { formatAddress } from '../override.ts';
import { shellQuote } from '../host.ts';
import { countsOf, drawCurve, percent } from './curve-chart.ts';
import type { DecisionLine } from './decision-line.ts';
import { decisionText, meaningOf } from './meaning.ts';
import type { DecidingResult } from './over-decisions.ts';
import { CERTAIN, type Crossing, type Curve, type CurvePoint } from './over-time.ts';
import { keepRun } from './pair.ts';
import { faultSentence, reportFaults } from './report-faults.ts';
import type { ResponsibleFaults } from './responsible.ts';
import type { Sampler } from './sampler.ts';
import { shareOf } from './statistics.ts';
import type { Subject } from './subject.ts';

const ROWS_MAX = 24;
/** Decisions shown before and after the one that is named. */
const AROUND = 3;

interface Found {
  readonly subject: Subject;
  readonly line: DecisionLine;
  readonly sampler: Sampler;
}

/** What is about to be bisected. */
export function reportSubject(
  { path, bundle, wanted }: Subject,
  line: DecisionLine,
  mode: 'time' | 'decisions',
  { output }: Context,
): void {
  const { name, seed } = bundle.manifest;
  output.record({
    type: 'start',
    mode,
    bundle: path,
    name,
    seed,
    signature: wanted.primary,
    decisions: line.length,
    failed_at_ns: line.timeOf(line.length),
  });
  output.say(`${output.colors.bold(name)}  seed ${seed}`);
  output.say(`failure  ${wanted.primary}`);
  output.say(`after ${line.length} decisions, at ${formatTime(line.timeOf(line.length))}`);
}

/** The curve, the decision at its steep rise, and the one after which all is lost. */
export function reportCurve(
  found: Found & { readonly curve: Curve; readonly faults: ResponsibleFaults },
  context: Context,
): number {
  const { curve, faults, line, sampler } = found;
  const { output } = context;
  for (const point of curve.points) {
    output.record({ type: 'point', ...pointRecord(point) });
  }
  const { rise, certain } = curve;
  const marked = [rise, certain].flatMap((each) =>
    each === null ? [] : [each.before, each.after],
  );
  const marks = new Set(marked.map(({ position }) => position));
  if (output.speaks) {
    output.say('');
    const chart = drawCurve(curve.points, { marks, colors: output.colors, rowsMax: ROWS_MAX });
    for (const text of chart) output.say(text);
    output.say('');
  }
  if (rise === null || certain === null) return reportCertain(found, context);
  reportCrossing('rise', rise, found, context);
  reportCrossing('certain', certain, found, context);
  reportFaults(faults, context);
  const next = nextCommands(found, rise, context);
  const exact = rise.exact && certain.exact;
  const exitCode = exact && faults.complete ? 0 : 2;
  output.record({
    type: 'result',
    mode: 'time',
    decision: rise.before.position,
    certain_after: certain.before.position,
    exact,
    faults: faults.faults,
    faults_tried: faults.tried,
    faults_complete: faults.complete,
    continuations: sampler.continuations,
    next,
    exit_code: exitCode,
  });
  for (const one of faults.found) output.say(faultSentence(one));
  output.say(`made certain by ${certainBy(found, certain)}`);
  output.say(`${sampler.continuations} continuations of ${line.length} positions`);
  if (!exact) output.warn('the budget ran out before the window was one decision wide: --budget');
  if (exact && !faults.complete) {
    const { tried, faults: count } = faults;
    output.warn(`the budget ran out when ${tried} of ${count} faults were looked at: --budget`);
  }
  for (const command of next) output.say(`next  ${command}`);
  return exitCode;
}

function reportCertain(
  { subject, line, sampler, curve }: Found & { curve: Curve },
  context: Context,
): number {
  const { output, host } = context;
  const first = curve.points[0] as CurvePoint;
  const next = [`${host.command} run ${shellQuote(subject.path)} --runs 100`];
  output.record({
    type: 'result',
    mode: 'time',
    decision: null,
    certain_after: null,
    exact: true,
    continuations: sampler.continuations,
    next,
    exit_code: 0,
  });
  output.say(`all but certain from the start: ${countsOf(first)} futures fail`);
  output.say(`no decision of ${line.length} makes the difference: look at the program or the plan`);
  for (const command of next) output.say(`next  ${command}`);
  return 0;
}

function reportCrossing(
  which: 'rise' | 'certain',
  crossing: Crossing,
  found: Found,
  context: Context,
): void {
  const { before, after, exact } = crossing;
  const { line, subject } = found;
  const { output } = context;
  const { scenario } = subject.bundle;
  // The decision that is made between the two positions.
  const decision = line.decisions[before.position] as Decision;
  const notes = notesNear(line, before, after);
  output.record({
    type: 'moment',
    which,
    exact,
    decision,
    meaning: meaningOf(decision, scenario),
    before: pointRecord(before),
    after: pointRecord(after),
    notes,
  });
  if (!output.speaks) return;
  const title =
    which === 'rise'
      ? 'the steepest step'
      : `all but certain (${percent(CERTAIN)} or more) from here on`;
  output.say(
    `${output.colors.bold(title)}  ${percent(shareOf(before))} to ${percent(afterShare(after))}`,
  );
  const last = exact ? before.position : after.position - 1;
  const rows: string[][] = [];
  const from = Math.max(0, before.position - AROUND);
  const to = Math.min(line.length - 1, Math.min(last, before.position + 10) + AROUND);
  for (let index = from; index <= to; index++) {
    const each = line.decisions[index] as Decision;
    const inside = index >= before.position && index <= last;
    rows.push([inside ? '>' : ' ', String(index), decisionText(each), meaningOf(each, scenario)]);
  }
  for (const text of layOut(rows, new Set([1]))) output.say(`  ${text}`);
  for (const { atNs, text } of notes) output.say(`  meanwhile, at ${formatTime(atNs)}: ${text}`);
  output.say('');
}

/** The two runs that differ in one decision. */
export function reportDeciding(
  found: Found & {
    readonly deciding: DecidingResult;
    readonly engine: WasmEngine;
    readonly out: string | undefined;
  },
  context: Context,
): number {
  const { deciding, line, sampler, subject } = found;
  const { output, host } = context;
  const { scenario } = subject.bundle;
  for (const { future, position } of deciding.found) {
    const decision = line.decisions[position] as Decision;
    const seed = sampler.futureSeed(future);
    output.record({
      type: 'deciding',
      future,
      seed,
      position,
      decision,
      meaning: meaningOf(decision, scenario),
    });
  }
  if (deciding.position === null) return reportUndecided(found, context);
  const { position } = deciding;
  const voters = deciding.found.filter((each) => each.position === position);
  const future = voters[0]?.future ?? 0;
  const keep = (at: number, name: string) =>
    keepRun({ ...found, position: at, future, name, context });
  const base = `${subject.bundle.digest.slice(0, 8)}-decision-${position}`;
  const passing = keep(position, `${base}-without`);
  const failing = keep(position + 1, `${base}-with`);
  const decision = line.decisions[position] as Decision;
  const next = [
    `${host.command} bisect ${shellQuote(failing.path)} ${shellQuote(passing.path)}`,
    `${host.command} replay ${shellQuote(passing.path)}`,
  ];
  output.record({
    type: 'result',
    mode: 'decisions',
    position,
    decision,
    meaning: meaningOf(decision, scenario),
    votes: voters.length,
    futures: deciding.found.length,
    failing: failing.path,
    passing: passing.path,
    passing_verdict: passing.verdict,
    continuations: sampler.continuations,
    next,
    exit_code: 0,
  });
  if (!output.speaks) return 0;
  output.say('');
  output.say(output.colors.bold('the decisions that decide, of each future'));
  const rows = deciding.found.map((each) => {
    const chosen = line.decisions[each.position] as Decision;
    const mark = each.position === position ? '>' : ' ';
    return [mark, String(each.position), decisionText(chosen), meaningOf(chosen, scenario)];
  });
  for (const text of layOut(rows, new Set([1]))) output.say(`  ${text}`);
  output.say('');
  output.say(`${voters.length} of ${deciding.found.length} futures name decision ${position}`);
  output.say(`with it    ${failing.path}  (${failing.verdict})`);
  output.say(`without    ${passing.path}  (${passing.verdict})`);
  for (const command of next) output.say(`next  ${command}`);
  return 0;
}

function reportUndecided(
  { deciding, sampler }: { readonly deciding: DecidingResult; readonly sampler: Sampler },
  { output }: Context,
): number {
  const spent = sampler.budgetLeft === 0 || deciding.futures === 0;
  const exitCode = spent ? 2 : 0;
  output.record({
    type: 'result',
    mode: 'decisions',
    position: null,
    votes: 0,
    futures: 0,
    continuations: sampler.continuations,
    exit_code: exitCode,
  });
  output.say(
    spent
      ? 'the budget ran out before a deciding decision was found: give more with --budget'
      : `all of ${deciding.futures} futures fail whatever is decided: look at the program or the plan`,
  );
  return exitCode;
}

function pointRecord(point: CurvePoint): Record<string, unknown> {
  const { position, atNs, failures, samples, low, high } = point;
  return { position, at_ns: atNs, failures, samples, share: afterShare(point), low, high };
}

/** The share; one where the failure itself stands, which needs no sample. */
function afterShare(point: CurvePoint): number {
  return point.samples === 0 && point.low === 1 ? 1 : shareOf(point);
}

/** The last decision in a sentence. */
function certainBy({ line, subject }: Found, { before, after }: Crossing): string {
  const decision = line.decisions[before.position] as Decision;
  const { stream, ordinal, atNs } = decision;
  const what = `${meaningOf(decision, subject.bundle.scenario)} (${formatAddress(stream, ordinal)})`;
  const shares = `${percent(shareOf(before))} before it, ${percent(afterShare(after))} after it`;
  return `${what} at ${formatTime(atNs)}: ${shares}`;
}

/** What the world noted between two positions: faults, starts, exits. */
function notesNear(line: DecisionLine, before: CurvePoint, after: CurvePoint) {
  const endNs = line.decisions[after.position]?.atNs ?? after.atNs;
  return line.notes
    .filter(({ atNs }) => atNs >= before.atNs && atNs <= endNs)
    .slice(0, 8)
    .map(({ atNs, node, kind, text }) => ({ atNs, node, kind, text: `${kind} ${text}` }));
}

function nextCommands({ subject, line }: Found, rise: Crossing, { host }: Context): string[] {
  const bundle = shellQuote(subject.path);
  const { quanta } = line.boundaryBefore(rise.before.position);
  return [
    `${host.command} bisect ${bundle} --decisions`,
    `${host.command} fork ${bundle} --at quanta=${quanta} --seed 1`,
  ];
}
