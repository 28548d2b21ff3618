import {
  decodeEvents,
  keepFaults,
  LOG_EVENTS,
  momentOf,
  momentsLike,
  moveEvents,
  nodeOf,
  readWholeLog,
  roleOf,
  type EventDef,
  type LoggedEvent,
  type ScenarioDef,
} from '../sim/index.ts';
import type { RunRecord } from './record.ts';

/** Places that are tried for a fault in a run without those before it. */
const PLACES_MAX = 12;
/** So many faults are tried alone, the last ones: the failure came soon after. */
const ALONE_MAX = 8;

/**
 * Scenarios with fewer faults, in groups to be tried in turn. Where a fault is left out, everything
 * after it comes at other times, and the next fault would miss what it had met. It is put where its
 * node does again what it interrupted, and what follows it moves along. Each fault is tried alone
 * first, then all but one. `runOf` runs a scenario to where the failure would be.
 */
export function* alignedScenarios(
  scenario: ScenarioDef,
  failed: RunRecord,
  runOf: (scenario: ScenarioDef) => RunRecord,
): Generator<readonly ScenarioDef[], void, void> {
  const faults = scenario.plan.events.filter((event) => !roleOf(event).mends);
  if (faults.length < 2) return;
  const logged = eventsOf(failed);
  const place = (kept: readonly EventDef[], anchor: EventDef): readonly ScenarioDef[] => {
    const smaller = keepFaults(scenario, new Set(kept.map(({ name }) => name)));
    const moment = momentOf(logged, nodeOf(anchor), anchor.atNs);
    if (moment === null) return [];
    const before = kept.filter(({ atNs }) => atNs < anchor.atNs).map(({ name }) => name);
    const run = runOf(keepFaults(scenario, new Set(before)));
    const times = momentsLike(eventsOf(run), moment, PLACES_MAX);
    return times.map((atNs) => moveEvents(smaller, anchor.atNs, anchor.atNs - atNs));
  };
  for (const fault of faults.slice(-ALONE_MAX).reverse()) yield place([fault], fault);
  if (faults.length === 2) return;
  for (const [index, left] of faults.entries()) {
    const next = faults[index + 1];
    if (next === undefined) continue;
    const kept = faults.filter((fault) => fault !== left);
    yield place(kept, next);
  }
}

function eventsOf({ events }: RunRecord): readonly LoggedEvent[] {
  return [...decodeEvents(readWholeLog(events, LOG_EVENTS))];
}
