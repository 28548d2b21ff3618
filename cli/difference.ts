import {
  formatTime,
  type Decision,
  type LoggedEvent,
  type RunDifference,
  type ScenarioDef,
} from '../sim/index.ts';
import { layOut } from './columns.ts';
import type { Context } from './context.ts';
import { formatAddress } from './override.ts';

/**
 * Reports how two runs differ. Coordinates from the log and from the fingerprints stay apart; what
 * does not localise is `unknown` (CR-15).
 */
export function reportDifference(
  difference: RunDifference,
  scenario: ScenarioDef,
  names: { readonly left: string; readonly right: string },
  context: Context,
): void {
  const { output } = context;
  const node = (guest: number | null): string => {
    if (guest === null) return 'unknown';
    return guest < 0 ? 'world' : (scenario.world.nodes[guest]?.name ?? `guest ${guest}`);
  };
  const time = (ns: number | null): string => (ns === null ? 'unknown' : formatTime(ns));
  const { decision, event, fingerprint, window, source } = difference;
  const stateGuests = difference.fingerprintGuests.map((guest) => node(guest));
  output.record({
    type: 'difference',
    left: names.left,
    right: names.right,
    first_decision: decision,
    first_event: event,
    log_virtual_time: time(difference.logNs),
    log_node: node(difference.logGuest),
    fingerprint_after: time(difference.fingerprintAfterNs),
    fingerprint_by: time(difference.fingerprintByNs),
    fingerprint_nodes: stateGuests.length === 0 ? 'unknown' : stateGuests,
    likely_source: source,
    window,
  });
  if (!output.speaks) return;
  const rows = [
    ['first differing decision', decision === null ? 'none' : `number ${decision.index}`],
    ['  left', describeDecision(decision?.left)],
    ['  right', describeDecision(decision?.right)],
    ['first differing event', event === null ? 'none' : `number ${event.index}`],
    ['  virtual time (log)', time(difference.logNs)],
    ['  node (log)', node(difference.logGuest)],
    ['state differs (fingerprint)', fingerprint === null ? 'nowhere' : span(difference, time)],
    ['  nodes (fingerprint)', stateGuests.length === 0 ? 'unknown' : stateGuests.join(', ')],
    ['likely source', output.colors.bold(source)],
  ];
  for (const line of layOut(rows)) output.say(line);
  if (event === null) return;
  output.say('');
  sayWindow(names.left, window.left, event.index, node, context);
  sayWindow(names.right, window.right, event.index, node, context);
}

function span(difference: RunDifference, time: (ns: number | null) => string): string {
  return `after ${time(difference.fingerprintAfterNs)}, by ${time(difference.fingerprintByNs)}`;
}

function describeDecision(decision: Decision | null | undefined): string {
  if (decision === undefined) return 'none';
  if (decision === null) return 'the end of the run';
  const { stream, ordinal, choice, arity, atNs } = decision;
  return `${formatAddress(stream, ordinal)}=${choice} of ${arity} at ${formatTime(atNs)}`;
}

function sayWindow(
  name: string,
  events: readonly LoggedEvent[],
  index: number,
  node: (guest: number) => string,
  { output }: Context,
): void {
  output.say(output.colors.dim(name));
  const rows = events.map((event) => [
    event.index === index ? '>' : ' ',
    String(event.index),
    formatTime(event.atNs),
    node(event.guest),
    event.kind,
    event.input.toString(16).padStart(8, '0'),
    String(event.result),
  ]);
  for (const line of layOut(rows, new Set([1]))) output.say(`  ${line}`);
}
