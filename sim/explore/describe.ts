import type { Decision } from '../kernel/decision.ts';
import { SimError } from '../kernel/errors.ts';
import type { LoggedEvent } from '../kernel/event-log.ts';
import {
  decodeDecisions,
  decodeEvents,
  LOG_DECISIONS,
  LOG_EVENTS,
  readLog,
} from '../kernel/log-reader.ts';
import { formatTime } from '../kernel/units.ts';
import type { Parting, Recording } from './replay.ts';

/** The decision at `index` in a run's schedule, or null past its end. */
function decisionAt(recording: Recording, index: number): Decision | null {
  for (const decision of decodeDecisions(readLog(recording.schedule, LOG_DECISIONS))) {
    if (decision.index === index) return decision;
  }
  return null;
}

/** The event at `index` in a run's event log, or null past its end. */
function eventAt(recording: Recording, index: number): LoggedEvent | null {
  for (const event of decodeEvents(readLog(recording.events, LOG_EVENTS))) {
    if (event.index === index) return event;
  }
  return null;
}

function describeDecision(decision: Omit<Decision, 'choice' | 'door'> | null): string {
  if (decision === null) return 'the end of the run';
  const { stream, ordinal, arity, atNs } = decision;
  return `${stream}#${ordinal} of ${arity} at ${formatTime(atNs)}`;
}

function describeEvent(event: LoggedEvent | null, nodes: readonly string[]): string {
  if (event === null) return 'the end of the run';
  const node = event.guest < 0 ? 'world' : (nodes[event.guest] ?? `guest ${event.guest}`);
  const input = event.input.toString(16).padStart(8, '0');
  return `${event.kind} of ${node} at ${formatTime(event.atNs)}, input ${input}, result ${event.result}`;
}

/** The error of a replay that parted from its recording: what was expected, and what came. */
export function describeDivergence(
  parting: Parting,
  recorded: Recording,
  produced: Recording,
  nodes: readonly string[],
): SimError {
  const { index } = parting;
  const [expected, actual] =
    parting.log === 'decisions'
      ? [describeDecision(decisionAt(recorded, index)), describeDecision(parting.asked)]
      : [
          describeEvent(eventAt(recorded, index), nodes),
          describeEvent(eventAt(produced, index), nodes),
        ];
  return new SimError({
    code: 'verdict/divergence',
    message: `the replay met another ${parting.log === 'decisions' ? 'decision' : 'event'} than was recorded: expected ${expected}; came ${actual}`,
    place: `${parting.log === 'decisions' ? 'decision' : 'event'} ${index}`,
    remedy: 'run `sim verify` on the scenario to learn what differs from run to run',
  });
}
