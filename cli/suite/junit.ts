import { create } from 'xmlbuilder2';
import { leafTitle } from './leaf.ts';
import type { LeafResult } from './run-suite.ts';

/** Results as JUnit XML, the form that CI systems read; times are virtual seconds. */
export function junitXml(spec: string, results: readonly LeafResult[]): Uint8Array {
  const count = (wanted: readonly string[]): number => {
    return results.filter(({ outcome }) => wanted.includes(outcome)).length;
  };
  const root = create({ version: '1.0', encoding: 'UTF-8' }).ele('testsuite', {
    name: spec,
    tests: results.length,
    failures: count(['fail', 'inconclusive']),
    errors: count(['error']),
    skipped: count(['halted', 'filtered']),
  });
  for (const { leaf, outcome, detail, record } of results) {
    const seconds = (record.outcome.endNs / 1e9).toFixed(9);
    const entry = { name: leafTitle(leaf), classname: spec, time: seconds };
    const item = root.ele('testcase', entry);
    if (outcome === 'error') item.ele('error', { message: detail });
    else if (outcome === 'halted' || outcome === 'filtered')
      item.ele('skipped', { message: outcome });
    else if (outcome !== 'pass') item.ele('failure', { message: detail, type: outcome });
  }
  return new TextEncoder().encode(`${root.end({ prettyPrint: true })}\n`);
}
