import {
  decodeEvents,
  firingsOf,
  LOG_EVENTS,
  readWholeLog,
  roleOf,
  type Answer,
  type Decision,
  type EventDef,
  type PlanFiring,
  type ScenarioDef,
} from '../../sim/index.ts';
import type { Bundle } from '../bundle.ts';
import { isSingleFault } from '../single-faults.ts';
import type { Boundary, DecisionLine } from './decision-line.ts';
import { meaningOf } from './meaning.ts';

/** A fault that happened before the failure, and how to do without it. */
export interface LineFault {
  /** The event of the plan that it is, or the decision that made it. */
  readonly source: { readonly event: string } | { readonly decision: Decision };
  /** The node that it met, where it met one. */
  readonly node: string | null;
  readonly text: string;
  readonly atNs: number;
  /** The last boundary before it. */
  readonly from: Boundary;
  /** When it had happened, and what came of it at once was decided, so many decisions were made. */
  readonly position: number;
  /** What does nothing in a run without it; null for a fault that one decision made. */
  readonly withheld: PlanFiring | null;
  /** How that decision is answered in a run without it; null for an event of the plan. */
  readonly calm: Answer | null;
}

/** The faults of a line, in order: events of the plan that broke something, and single faults. */
export function faultsOf(line: DecisionLine, bundle: Bundle): readonly LineFault[] {
  const { scenario, events: log, manifest } = bundle;
  const failedNs = line.timeOf(line.length);
  const events = decodeEvents(readWholeLog(log, LOG_EVENTS));
  const { endNs } = manifest.outcome;
  const firings = firingsOf(scenario, { decisions: line.decisions, events, endNs });
  const faults: LineFault[] = [];
  for (const event of scenario.plan.events) {
    if (roleOf(event).mends) continue;
    (firings.get(event.name) ?? []).forEach(({ atNs, choice }, firing) => {
      if (atNs > failedNs) return;
      const node = nodeNameOf(event, choice ?? 0, scenario);
      const kind = event.action.kind;
      faults.push({
        source: { event: event.name },
        node,
        text: `the event "${event.name}": ${kind}${node === null ? '' : ` of ${node}`}`,
        atNs,
        ...placeOf(line, atNs),
        withheld: { event: event.name, firing },
        calm: null,
      });
    });
  }
  line.decisions.forEach((decision, index) => {
    if (!isSingleFault(decision)) return;
    const { stream, ordinal, arity, atNs } = decision;
    const node = decodeURIComponent(stream.split('/')[1] ?? '');
    faults.push({
      source: { decision },
      node,
      text: meaningOf(decision, scenario),
      atNs,
      from: line.boundaryBefore(index),
      position: index + 1,
      withheld: null,
      calm: { stream, ordinal, choice: 0, arity },
    });
  });
  return faults.sort((a, b) => a.atNs - b.atNs || a.position - b.position);
}

/** The node that an event met, by name; null where it is about none or about several. */
function nodeNameOf({ action }: EventDef, choice: number, scenario: ScenarioDef): string | null {
  if (!('oneOf' in action)) return null;
  return scenario.world.nodes[action.oneOf[choice] ?? -1]?.name ?? null;
}

function placeOf(
  line: DecisionLine,
  atNs: number,
): { readonly from: Boundary; readonly position: number } {
  const from = line.boundaryAt(atNs);
  let position = from.decisions;
  // Guests run ahead of one another, so that a later decision may stand before an earlier one.
  const { decisions: bound } = line.boundaryAfter(atNs);
  for (let index = from.decisions; index < bound; index++) {
    if ((line.decisions[index] as Decision).atNs <= atNs) position = index + 1;
  }
  return { from, position };
}
