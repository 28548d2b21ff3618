import { TEST_NODE } from '../../scenarios/index.ts';
import {
  decodeDecisions,
  decodeEvents,
  LOG_DECISIONS,
  LOG_EVENTS,
  metOf,
  planDocument,
  readWholeLog,
  type Met,
  type PlanTree,
} from '../../sim/index.ts';
import type { RunRecord } from '../record.ts';
import { leafTitle, levelOf, type Leaf } from './leaf.ts';

/** What became of a leaf (FB-52, FB-70). */
export const LEAF_OUTCOMES = [
  'pass',
  'fail',
  'inconclusive',
  'halted',
  'filtered',
  'error',
] as const;
export type LeafOutcome = (typeof LEAF_OUTCOMES)[number];

/** A leaf that has run, as plain data: all that reports and diagnostics are made of. */
export interface LeafReport {
  readonly test: string;
  readonly leaf: number;
  readonly title: string;
  readonly outcome: LeafOutcome;
  /** Why it is not a pass, in a line; its stack in those that follow. */
  readonly detail: string;
  /** What the spec expects, or null. */
  readonly expect: string | null;
  /** How many assertions its bodies made. */
  readonly assertions: number;
  readonly virtualNs: number;
  /** Its rules, and why each changed nothing; null for those that did something. */
  readonly rules: readonly { readonly name: string; readonly idle: string | null }[];
  /** Services that broke by themselves: what they ended with. */
  readonly broken: readonly { readonly name: string; readonly how: string }[];
  /** What it met, for suggestions of what else to try (FB-25). */
  readonly met: Met;
}

/** What a leaf leaves behind. */
export interface LeafRun {
  readonly report: LeafReport;
  /** The bundle of one that did not pass, as its file's bytes. */
  readonly bundle: Uint8Array | null;
}

/** The report of a leaf, but for what judging it adds. */
export function reportOf(
  leaf: Leaf,
  { outcome, scenario, idleEvents, events, schedule }: RunRecord,
  judged: Pick<LeafReport, 'outcome' | 'detail' | 'assertions'>,
): LeafReport {
  const idle = new Map(idleEvents.map(({ name, why }) => [name, why]));
  return {
    test: leaf.test.name,
    leaf: leaf.index,
    title: leafTitle(leaf),
    ...judged,
    expect: leaf.test.expect,
    virtualNs: outcome.endNs,
    rules: scenario.plan.events.map(({ name }) => ({ name, idle: idle.get(name) ?? null })),
    broken: outcome.nodes.flatMap(({ name, status, code }) => {
      if (name === TEST_NODE) return [];
      if (status === 'trapped') return [{ name, how: 'it trapped' }];
      const bad = status === 'exited' && code !== 0;
      return bad ? [{ name, how: `it exited with ${code}` }] : [];
    }),
    met: metOf(scenario, {
      events: decodeEvents(readWholeLog(events, LOG_EVENTS)),
      decisions: decodeDecisions(readWholeLog(schedule, LOG_DECISIONS)),
      acted: (name) => !idle.has(name),
    }),
  };
}

/** Whether a leaf makes its suite red. */
export function isRed({ outcome }: Pick<LeafReport, 'outcome'>): boolean {
  return outcome === 'fail' || outcome === 'error' || outcome === 'inconclusive';
}

/** `plan.json` of a leaf's bundle: the suite's plan, and which leaf of it this is (FB-54, FB-47). */
export function leafPlanJson(plan: PlanTree, leaf: Leaf): string {
  const axes = leaf.pins.map(({ axis, index }) => {
    const level = levelOf(axis);
    return { name: axis.name, value: index, ...(level === null ? {} : { level }) };
  });
  const own = { test: leaf.test.name, index: leaf.index, title: leafTitle(leaf), axes };
  return `${JSON.stringify({ ...planDocument(plan), leaf: own }, null, 2)}\n`;
}
