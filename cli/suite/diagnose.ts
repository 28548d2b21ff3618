import type { LeafResult } from './run-suite.ts';

/** What a test that may be green does not prove (FB-72). */
export interface SuiteDiagnostic {
  readonly code: 'FAULT_NOT_FIRED' | 'TEST_NO_ASSERTIONS';
  readonly test: string;
  readonly message: string;
}

/**
 * The diagnostics of the leaves that ran, by tests in their order: tests that passed and asserted nothing
 * in any leaf, and rules that changed nothing in any leaf that has them (FB-73).
 */
export function diagnose(results: readonly LeafResult[]): readonly SuiteDiagnostic[] {
  const byTest = new Map<string, LeafResult[]>();
  for (const result of results) {
    const { name } = result.leaf.test;
    const known = byTest.get(name);
    if (known === undefined) byTest.set(name, [result]);
    else known.push(result);
  }
  return [...byTest].flatMap(([test, leaves]) => [
    ...assertionless(test, leaves),
    ...idle(test, leaves),
  ]);
}

function assertionless(test: string, leaves: readonly LeafResult[]): SuiteDiagnostic[] {
  const silent = leaves.every(({ outcome, assertions, leaf }) => {
    return outcome === 'pass' && assertions === 0 && leaf.test.expect !== 'fails';
  });
  if (!silent) return [];
  return [{ code: 'TEST_NO_ASSERTIONS', test, message: 'it passed and asserted nothing' }];
}

function idle(test: string, leaves: readonly LeafResult[]): SuiteDiagnostic[] {
  const fired = new Set<string>();
  const reasons = new Map<string, string>();
  for (const { record } of leaves) {
    const still = new Map(record.idleEvents.map(({ name, why }) => [name, why]));
    for (const { name } of record.scenario.plan.events) {
      const why = still.get(name);
      if (why === undefined) fired.add(name);
      else reasons.set(name, why);
    }
  }
  return [...reasons].flatMap(([name, why]): SuiteDiagnostic[] => {
    if (fired.has(name)) return [];
    return [{ code: 'FAULT_NOT_FIRED', test, message: `${name} changed nothing: ${why}` }];
  });
}
