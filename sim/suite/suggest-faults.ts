import type { PlannedEdge, PlanTree } from './plan-tree.ts';

/** The import that stubs use, under a name of its own: it stands beside whatever the spec imports. */
export const STUB_IMPORT = `import * as suggested from "athanor/spec";`;

/**
 * One stub for each edge that no fault hits: pasted into the spec it loads, and covers the edge
 * (FB-20 to FB-22). Null where there is nothing to suggest.
 */
export function suggestFaults({ edges }: PlanTree): string | null {
  const open = edges.filter(({ faultTests }) => faultTests.length === 0);
  if (open.length === 0) return null;
  return [STUB_IMPORT, '', ...open.map(stub)].join('\n');
}

/** Conservative: whatever the protocol, nobody can connect to the target (FB-21). */
function stub({ from, to, protocol, via }: PlannedEdge): string {
  const name = `${from}_without_${to}`.replace(/-/g, '_');
  return [
    `// ${from} -> ${to} (${protocol}, by ${via}): no fault test yet`,
    `suggested.faultAssumption('${name}_down', {`,
    `  target: '${to}',`,
    `  rules: [{ do: 'isolate', node: '${to}', at: '0s' }],`,
    '});',
    `suggested.scenario('${name}', async () => {`,
    `  // To write: what ${from} promises while it cannot reach ${to}`,
    '});',
    `suggested.faultScenario('${name}_refused', { scenario: '${name}', faults: ['${name}_down'] });`,
    '',
  ].join('\n');
}
