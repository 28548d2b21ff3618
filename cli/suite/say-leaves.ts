import type { Context } from '../context.ts';
import { shellQuote } from '../host.ts';
import { countExplored, type Leaf } from './leaf.ts';
import { isRed, type LeafReport } from './leaf-report.ts';
import type { PlacedReport } from './suite-report.ts';

/**
 * A leaf's line; of one that did not pass also why, and the commands that repeat it (FB-59): `again` runs it
 * alone, without the name of this program.
 */
export function sayLeaf(report: PlacedReport, again: string, { host, output }: Context): void {
  const { test, leaf, title, outcome, detail, virtualNs, bundle } = report;
  const { colors } = output;
  const marks = {
    pass: colors.green('✓'),
    fail: colors.red('✗'),
    error: colors.red('✗'),
    inconclusive: colors.yellow('?'),
    halted: colors.dim('-'),
    filtered: colors.dim('-'),
  };
  output.say(`${marks[outcome]} ${title}${outcome === 'pass' ? '' : `  ${outcome}`}`);
  if (isRed(report)) {
    for (const line of detail === '' ? [] : detail.split('\n')) output.say(`    ${line}`);
    output.say(`    ${host.command} ${again}`);
    if (bundle !== null) output.say(`    ${host.command} replay ${shellQuote(bundle)}`);
  }
  output.record({
    type: 'leaf',
    test,
    leaf,
    title,
    outcome,
    detail,
    virtual_ns: virtualNs,
    bundle,
  });
}

/** What became of the orders of branches' steps, by tests: how many there are, and how many differ. */
export function sayOrders(leaves: readonly Leaf[], { output }: Context): void {
  const byTest = new Map<string, Leaf[]>();
  for (const leaf of leaves) {
    const { name } = leaf.test;
    const known = byTest.get(name);
    if (known === undefined) byTest.set(name, [leaf]);
    else known.push(leaf);
  }
  for (const [test, own] of byTest) {
    const found = countExplored(own);
    if (found === null) continue;
    const { orders, estimated, explored } = found;
    const least = estimated ? 'at least ' : '';
    const counts = `${least}${orders} orders, ${explored} explored, ${least}${orders - explored} equivalent`;
    output.say(`Orders: ${test}: ${counts}`);
    output.record({
      type: 'orders',
      test,
      orders,
      explored,
      equivalent: orders - explored,
      estimated,
    });
  }
}

/** How many leaves ended how; the exit code of the suite. */
export function saySummary(leaves: readonly LeafReport[], { output }: Context): number {
  const counts = new Map<string, number>();
  for (const { outcome } of leaves) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const shown = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  output.say('');
  output.say(`${leaves.length} leaves: ${shown}`);
  output.record({ type: 'summary', leaves: leaves.length, ...Object.fromEntries(counts) });
  return leaves.some(isRed) ? 1 : 0;
}
