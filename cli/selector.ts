import { formatSpan, formatTime, parseSpan, SimError } from '../sim/index.ts';
import type { Simulation, StopAt } from './simulation.ts';

/** A boundary that somebody asked for, such as `virtual-time=5s`. */
export interface Selector {
  /** As it is told and kept: one spelling for one boundary. */
  readonly text: string;
  readonly stop: StopAt;
  /** The end of the run itself. */
  readonly quiescence: boolean;
}

const FORMS =
  'virtual-time=<span>, quanta=<n>, event=<n>, decision=<n>, property=<name>, ' +
  'console=<pattern>, quiescence, or a span alone';

/** Reads a selector. Throws `usage/at`. */
export function parseSelector(text: string): Selector {
  if (text === 'quiescence') return { text, stop: {}, quiescence: true };
  const [name = '', ...rest] = text.split('=');
  const value = rest.join('=');
  if (rest.length === 0 || name === 'virtual-time') {
    const span = parseSpan(rest.length === 0 ? name : value);
    if (!span.ok) return refuse(text, span.why);
    const stop = { virtualNs: span.ns };
    return { text: `virtual-time=${formatSpan(span.ns)}`, stop, quiescence: false };
  }
  if (value === '') return refuse(text, 'it has no value');
  switch (name) {
    case 'quanta':
      return { text, stop: { quanta: count(text, value) }, quiescence: false };
    case 'event':
      return { text, stop: { events: count(text, value) }, quiescence: false };
    case 'decision':
      return { text, stop: { decisions: count(text, value) }, quiescence: false };
    case 'property':
      return { text, stop: { property: value }, quiescence: false };
    case 'console':
    case 'marker':
      return { text: `console=${value}`, stop: { console: value }, quiescence: false };
    default:
      return refuse(text, `"${name}" is no kind of boundary`);
  }
}

/**
 * Runs to the boundary exactly. Throws `oracle/boundary` where the run does not have it: there is
 * no such time, property or line before its end (CR-18).
 */
export function runToSelector(simulation: Simulation, selector: Selector): void {
  const ended = simulation.runUntil(selector.stop) === 'ended';
  if (selector.quiescence) {
    if (simulation.endReason === 'quiescence') return;
    throw boundaryError(selector, simulation, `it ended by ${simulation.endReason ?? 'nothing'}`);
  }
  if (ended) throw boundaryError(selector, simulation, 'it ended before');
  const { virtualNs, quanta, events, decisions } = selector.stop;
  const exact =
    (virtualNs === undefined || simulation.nowNs >= virtualNs) &&
    (quanta === undefined || simulation.quanta === quanta) &&
    (events === undefined || simulation.eventCount === events) &&
    (decisions === undefined || simulation.decisionCount === decisions);
  if (exact) return;
  const near = `quanta=${simulation.quanta} (event=${simulation.eventCount}, decision=${simulation.decisionCount})`;
  throw boundaryError(selector, simulation, `the next boundary is ${near}`);
}

function boundaryError(selector: Selector, simulation: Simulation, why: string): SimError {
  return new SimError({
    code: 'oracle/boundary',
    message: `the run does not stop at ${selector.text}: ${why}`,
    place: `virtual time ${formatTime(simulation.nowNs)}`,
    remedy: 'choose a boundary that the run has; `sim inspect` lists decisions and events',
  });
}

function count(text: string, value: string): number {
  const number = Number(value);
  if (/^\d{1,16}$/.test(value) && Number.isSafeInteger(number)) return number;
  return refuse(text, `"${value}" is not a whole number`);
}

function refuse(text: string, why: string): never {
  throw new SimError({
    code: 'usage/at',
    message: `"${text}" names no boundary: ${why}`,
    remedy: `write ${FORMS}`,
  });
}
