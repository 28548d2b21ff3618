import { formatTime, isVacuous, scenarioIds, type ScenarioDef } from '../sim/index.ts';
import { groupDigits, layOut } from './columns.ts';
import type { Context } from './context.ts';
import { shellQuote } from './host.ts';
import { exitCodeOfRun, type RunRecord } from './record.ts';
import type { ChosenSeed } from './seed.ts';
import {
  mergeTimeline,
  printable,
  sayTimeline,
  type ConsoleCollector,
  type TimelineRow,
} from './timeline.ts';

/** What stands at the head of a run. */
export function announceRun(
  record: { readonly scenario: RunRecord['scenario'] },
  seed: ChosenSeed,
  context: Context,
): void {
  const { scenario } = record;
  const { output } = context;
  const { colors } = output;
  const ids = scenarioIds(scenario);
  const count = scenario.world.nodes.length;
  output.say(
    `${colors.bold(scenario.name)}  ${count} ${count === 1 ? 'node' : 'nodes'}  ` +
      colors.dim(`scenario ${ids.scenario.slice(0, 12)}`),
  );
  output.say(`Seed: ${seed.seed} (${seed.source})`);
  output.record({
    type: 'start',
    name: scenario.name,
    seed: seed.seed,
    seed_source: seed.source,
    ids,
  });
}

/** The timeline and the consoles of a finished run. */
export function reportTimeline(
  record: RunRecord,
  collector: ConsoleCollector,
  options: { readonly full: boolean; readonly context: Context },
): void {
  const { output } = options.context;
  collector.close();
  const rows = mergeTimeline(collector.rows, record.notes);
  output.say('');
  reportRows(rows, record.scenario, options);
  output.say('');
  if (collector.lost > 0) output.warn(`${collector.lost} more console lines were not kept`);
}

/** Rows of a timeline: a picture for people, records for programs. */
export function reportRows(
  rows: readonly TimelineRow[],
  scenario: ScenarioDef,
  options: { readonly full: boolean; readonly context: Context },
): void {
  const { output } = options.context;
  const nodes = scenario.world.nodes.map((node) => node.name);
  if (output.speaks) {
    const patterns = tellingPatterns(scenario);
    sayTimeline(rows, { nodes, full: options.full, patterns, output });
  } else {
    for (const { atNs, node, kind, text } of rows) {
      const name = node < 0 ? null : (nodes[node] ?? null);
      output.record({ type: 'timeline', at_ns: atNs, node: name, kind, text });
    }
  }
}

/** Patterns of lines that say something rare; those of `agree` are about most lines. */
function tellingPatterns({ properties }: ScenarioDef): readonly string[] {
  return properties.flatMap((property) => {
    return 'console' in property && property.kind !== 'agree' ? [property.console] : [];
  });
}

/** Nodes, properties and the verdict. */
export function reportOutcome(record: RunRecord, context: Context): void {
  const { outcome } = record;
  const { output } = context;
  for (const { name, status, code, lives, instructions } of outcome.nodes) {
    output.record({ type: 'node', name, status, code, lives, instructions });
  }
  for (const { name, kind, verdict, detail, atNs } of outcome.properties) {
    const picture = record.pictures.get(name);
    const drawn = picture === undefined ? {} : { picture };
    output.record({ type: 'property', name, kind, verdict, detail, at_ns: atNs, ...drawn });
    if (isVacuous({ verdict, detail })) {
      output.record({ type: 'warning', code: 'vacuous_property', property: `${kind} ${name}` });
    }
  }
  for (const { name, why, never } of record.idleEvents) {
    output.record({ type: 'idle-event', name, why, never });
  }
  if (!output.speaks) return;
  sayNodes(record, context);
  output.say('');
  sayProperties(record, context);
  output.say('');
  sayIdleEvents(record, context);
  output.say(verdictLine(record, context));
}

/** The last record of a run, and for people its bundle and how to repeat it (FB-59). */
export function reportEnd(
  record: RunRecord,
  bundle: string | null,
  context: Context,
  extra: Readonly<Record<string, unknown>> = {},
): void {
  const { outcome } = record;
  const { output, host } = context;
  const replay = bundle === null ? null : `${host.command} replay ${shellQuote(bundle)}`;
  output.record({
    type: 'result',
    verdict: outcome.verdict,
    reason: outcome.reason,
    signature: outcome.signature,
    seed: record.scenario.seed,
    scenario: scenarioIds(record.scenario).scenario,
    end_ns: outcome.endNs,
    quanta: outcome.quanta,
    decisions: outcome.decisionCount,
    events: outcome.eventCount,
    decision_chain: outcome.decisionChain,
    event_chain: outcome.eventChain,
    last_draw: outcome.lastDraw,
    bundle,
    replay,
    ...extra,
    exit_code: exitCodeOfRun(record),
  });
  if (bundle !== null) output.say(`bundle  ${bundle}`);
  if (replay !== null) output.say(`replay  ${replay}`);
}

function sayNodes({ outcome }: RunRecord, { output }: Context): void {
  const { colors } = output;
  const head = ['node', 'state', 'exit', 'lives', 'instructions'].map(colors.dim);
  const rows = outcome.nodes.map(({ name, status, code, lives, instructions }) => {
    const bad = status === 'trapped' || (code !== null && code !== 0);
    const state = bad ? colors.red(status) : status;
    const exit = code === null ? '-' : String(code);
    return [name, state, exit, String(lives), groupDigits(instructions)];
  });
  for (const line of layOut([head, ...rows], new Set([2, 3, 4]))) output.say(line);
}

function sayProperties({ outcome, pictures }: RunRecord, { output }: Context): void {
  const { colors } = output;
  const paint = { pass: colors.green, fail: colors.red, inconclusive: colors.yellow };
  const head = ['property', 'kind', 'verdict', 'at', 'detail'].map(colors.dim);
  const rows = outcome.properties.map(({ name, kind, verdict, detail, atNs }) => {
    const at = atNs === null ? '' : formatTime(atNs);
    return [name, kind, paint[verdict](verdict), at, printable(detail).slice(0, 160)];
  });
  for (const line of layOut([head, ...rows])) output.say(line);
  for (const [name, lines] of pictures) {
    output.say('');
    output.say(colors.bold(name));
    for (const line of lines) output.say(`  ${printable(line)}`);
  }
}

/** Events that changed nothing: what a run is taken to have survived, it has not met (FB-73). */
function sayIdleEvents({ idleEvents }: RunRecord, { output }: Context): void {
  if (idleEvents.length === 0) return;
  for (const { name, why, never } of idleEvents) {
    output.say(`${never ? 'never' : 'idle'}   ${printable(name)}: ${why}`);
  }
  output.say('');
}

function verdictLine({ outcome, error }: RunRecord, { output }: Context): string {
  const { colors } = output;
  const paint = {
    pass: colors.green,
    fail: colors.red,
    inconclusive: colors.yellow,
    error: colors.red,
  };
  const verdict = paint[outcome.verdict](colors.bold(outcome.verdict));
  if (error !== null) {
    const place = error.place === undefined ? '' : ` (${error.place})`;
    return `${verdict}  ${error.code}: ${error.message}${place}`;
  }
  const { endNs, quanta, decisionCount, eventCount } = outcome;
  const counts =
    `${groupDigits(quanta)} quanta, ${groupDigits(decisionCount)} decisions, ` +
    `${groupDigits(eventCount)} events`;
  return `${verdict}  ${reasonText(outcome.reason)} at ${formatTime(endNs)}; ${counts}`;
}

function reasonText(reason: string): string {
  switch (reason) {
    case 'quiescence':
      return 'nothing more can happen';
    case 'property':
      return 'the properties are decided';
    case 'stopped':
      return 'every node has stopped';
    case 'virtual-time':
      return 'the limit of virtual time is reached';
    case 'quanta':
      return 'the limit of quanta is reached';
    default:
      return reason;
  }
}

/** `1.502 s of virtual time in 0.012 s, 125 times real time`, for people. */
export function sayPace(endNs: number, wallMs: number, context: Context): void {
  const { output } = context;
  const virtual = (endNs / 1e9).toFixed(3);
  const wall = (wallMs / 1e3).toFixed(3);
  const ratio = Math.round(endNs / 1e6 / Math.max(wallMs, 0.001));
  const pace = ratio > 1 ? `, ${groupDigits(ratio)} times real time` : '';
  output.say(output.colors.dim(`${virtual} s of virtual time in ${wall} s${pace}`));
}
