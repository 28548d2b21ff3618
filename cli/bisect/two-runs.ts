import {
  compareRuns,
  decodeDecisions,
  LOG_DECISIONS,
  readLog,
  type Decision,
} from '../../sim/index.ts';
import type { Bundle } from '../bundle.ts';
import { readRun } from '../bundle-input.ts';
import { layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { reportDifference } from '../difference.ts';
import { makeEngine } from '../engine.ts';
import { shellQuote } from '../host.ts';
import { runToEnd } from '../record.ts';
import { MachinePair } from './machine-pair.ts';
import { decisionText, meaningOf } from './meaning.ts';

/** Decisions of each side that are shown before the first that differs, and from it on. */
const AROUND = 5;

/**
 * The first difference of two recorded runs (CR-28): both are repeated by fresh guests and compared
 * with their records, then with each other. Returns the exit code: 1 if they differ.
 */
export function bisectTwoRuns(left: string, right: string, context: Context): number {
  const sides = [left, right].map((path) => ({ path, bundle: readRun(path, context) }));
  const [a, b] = sides as [(typeof sides)[0], (typeof sides)[0]];
  const machines = MachinePair.of(a.bundle, b.bundle);
  try {
    return compare(a, b, machines, context);
  } finally {
    machines?.close();
  }
}

interface Side {
  readonly path: string;
  readonly bundle: Bundle;
}

function compare(a: Side, b: Side, machines: MachinePair | null, context: Context): number {
  const { output, host } = context;
  const { path: left } = a;
  const { path: right } = b;
  for (const { bundle } of [a, b]) repeat(bundle, machines, context);
  if (a.bundle.manifest.ids.world !== b.bundle.manifest.ids.world) {
    output.warn('the two runs are of different worlds: they may differ from the start');
  }
  const difference = compareRuns(a.bundle, b.bundle);
  const next = `${host.command} inspect ${shellQuote(left)} --decisions`;
  if (difference === null) {
    output.record({ type: 'result', mode: 'runs', left, right, equal: true, exit_code: 0 });
    output.say('both were repeated, and are equal byte for byte');
    return 0;
  }
  reportDifference(difference, a.bundle.scenario, { left, right }, context);
  const index = difference.decision?.index ?? null;
  if (index !== null) for (const side of [a, b]) reportAround(side, index, context);
  machines?.report(difference, context);
  const from = Math.max(0, (index ?? 0) - AROUND);
  output.record({
    type: 'result',
    mode: 'runs',
    left,
    right,
    equal: false,
    decision: index,
    event: difference.event?.index ?? null,
    next: [`${next} --from ${from}`],
    exit_code: 1,
  });
  output.say('');
  output.say(`next  ${next} --from ${from}`);
  return 1;
}

/** Throws `verdict/divergence` if a run is not what its bundle says. */
function repeat(bundle: Bundle, pair: MachinePair | null, context: Context): void {
  const { scenario, images, machines, schedule, events, manifest } = bundle;
  if (manifest.outcome.verdict === 'error') return;
  const engine = makeEngine(context.artifactDir);
  const machineHost = pair?.hostFor(bundle);
  runToEnd({ scenario, images, engine, machines, machineHost, replay: { schedule, events } });
}

function reportAround(
  { path, bundle }: { readonly path: string; readonly bundle: Bundle },
  index: number,
  { output }: Context,
): void {
  const decisions: Decision[] = [];
  for (const decision of decodeDecisions(readLog(bundle.schedule, LOG_DECISIONS))) {
    if (decision.index >= index + AROUND) break;
    if (decision.index >= index - AROUND) decisions.push(decision);
  }
  output.record({ type: 'context', run: path, decisions });
  if (!output.speaks) return;
  output.say('');
  output.say(output.colors.dim(path));
  const rows = decisions.map((each) => {
    const mark = each.index === index ? '>' : ' ';
    return [mark, String(each.index), decisionText(each), meaningOf(each, bundle.scenario)];
  });
  for (const line of layOut(rows, new Set([1]))) output.say(`  ${line}`);
}
