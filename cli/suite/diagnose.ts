import type { PlannedTest } from '../../sim/index.ts';
import type { LeafReport } from './leaf-report.ts';

/** What leaves say besides their outcome (FB-72): the codes are stable. */
export const DIAGNOSTIC_CODES = [
  'FAULT_FIRED_BUT_SUCCESS',
  'FAULT_NOT_FIRED',
  'NO_POSITIVE_CONTROL',
  'SERVICE_CRASHED',
  'TEST_NO_ASSERTIONS',
  'TIMEOUT_DURING_FAULT',
  'TIMEOUT_NO_FAULTS',
  'TIMEOUT_NO_FAULT_FIRED',
] as const;

export interface SuiteDiagnostic {
  readonly code: (typeof DIAGNOSTIC_CODES)[number];
  readonly test: string;
  readonly message: string;
}

/** The diagnostics of the leaves that ran, by tests in their order. */
export function diagnose(
  tests: readonly PlannedTest[],
  leaves: readonly LeafReport[],
): readonly SuiteDiagnostic[] {
  const byTest = new Map<string, LeafReport[]>();
  for (const report of leaves) {
    const known = byTest.get(report.test);
    if (known === undefined) byTest.set(report.test, [report]);
    else known.push(report);
  }
  return tests.flatMap((test) => {
    const own = byTest.get(test.name) ?? [];
    return [
      ...assertionless(test, own),
      ...idle(test, own),
      ...uncontrolled(test, own),
      ...own.flatMap(ofLeaf),
    ];
  });
}

const fired = ({ rules }: LeafReport): boolean => rules.some((rule) => rule.idle === null);

/** It passed in every leaf and never asserted anything. */
function assertionless({ name }: PlannedTest, leaves: readonly LeafReport[]): SuiteDiagnostic[] {
  const silent = leaves.every(({ outcome, assertions, expect }) => {
    return outcome === 'pass' && assertions === 0 && expect !== 'fails';
  });
  if (!silent || leaves.length === 0) return [];
  return [{ code: 'TEST_NO_ASSERTIONS', test: name, message: 'it passed and asserted nothing' }];
}

/** Rules that changed nothing in any leaf that has them (FB-73). */
function idle({ name: test }: PlannedTest, leaves: readonly LeafReport[]): SuiteDiagnostic[] {
  const rules = leaves.flatMap((leaf) => leaf.rules);
  const useful = new Set(rules.flatMap((rule) => (rule.idle === null ? [rule.name] : [])));
  const reasons = new Map(rules.flatMap((rule) => (rule.idle ? [[rule.name, rule.idle]] : [])));
  return [...reasons].flatMap(([name, why]): SuiteDiagnostic[] => {
    if (useful.has(name)) return [];
    return [{ code: 'FAULT_NOT_FIRED', test, message: `${name} changed nothing: ${why}` }];
  });
}

/**
 * Nothing shows that the body passes without its faults. A scenario's own test does for those that run it
 * under faults; a test with faults has a control where some of its leaves have none that fired.
 */
function uncontrolled(
  { name: test, kind, faults }: PlannedTest,
  leaves: readonly LeafReport[],
): SuiteDiagnostic[] {
  const scenario = kind === 'fault_matrix' || kind === 'fault_scenario';
  if (scenario || faults.length === 0 || leaves.length === 0) return [];
  if (leaves.some((leaf) => leaf.outcome === 'pass' && !fired(leaf))) return [];
  const message = 'no leaf shows that it passes without its faults';
  return [{ code: 'NO_POSITIVE_CONTROL', test, message }];
}

function ofLeaf(leaf: LeafReport): SuiteDiagnostic[] {
  const { test, title, outcome, expect, rules, broken } = leaf;
  const say = (code: SuiteDiagnostic['code'], message: string): SuiteDiagnostic => {
    return { code, test, message: `${title}: ${message}` };
  };
  const found = broken.map(({ name, how }) => say('SERVICE_CRASHED', `service ${name}: ${how}`));
  if (expect === 'fails' && outcome === 'fail' && fired(leaf)) {
    const names = rules.flatMap((rule) => (rule.idle === null ? [rule.name] : []));
    found.push(say('FAULT_FIRED_BUT_SUCCESS', `it passed although ${names.join(', ')} fired`));
  }
  if (outcome === 'inconclusive') {
    if (fired(leaf)) found.push(say('TIMEOUT_DURING_FAULT', 'its time was up under a fault'));
    else if (rules.length > 0)
      found.push(say('TIMEOUT_NO_FAULT_FIRED', 'its time was up, and no fault had fired'));
    else found.push(say('TIMEOUT_NO_FAULTS', 'its time was up without any fault'));
  }
  return found;
}
