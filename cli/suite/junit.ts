import { create } from 'xmlbuilder2';
import type { LeafReport } from './leaf-report.ts';

/** Leaves as JUnit XML, the form that CI systems read; times are virtual seconds. */
export function junitXml(spec: string, leaves: readonly LeafReport[]): Uint8Array {
  const count = (wanted: readonly string[]): number => {
    return leaves.filter(({ outcome }) => wanted.includes(outcome)).length;
  };
  const root = create({ version: '1.0', encoding: 'UTF-8' }).ele('testsuite', {
    name: spec,
    tests: leaves.length,
    failures: count(['fail', 'inconclusive']),
    errors: count(['error']),
    skipped: count(['halted', 'filtered']),
  });
  for (const { title, outcome, detail, virtualNs } of leaves) {
    const seconds = (virtualNs / 1e9).toFixed(9);
    const item = root.ele('testcase', { name: title, classname: spec, time: seconds });
    if (outcome === 'error') item.ele('error', { message: detail });
    else if (outcome === 'halted' || outcome === 'filtered')
      item.ele('skipped', { message: outcome });
    else if (outcome !== 'pass') item.ele('failure', { message: detail, type: outcome });
  }
  return new TextEncoder().encode(`${root.end({ prettyPrint: true })}\n`);
}
