import { countTest, type PlanTree } from '../../sim/index.ts';

/** The plan as a graph for Graphviz: tests with their numbers, services with their edges (FB-9). */
export function planDot(plan: PlanTree): string {
  const lines = ['digraph plan {', '  rankdir = LR;', '  node [shape = box];'];
  for (const { name } of plan.services)
    lines.push(`  ${quote(`service ${name}`)} [label = ${quote(name)}, shape = component];`);
  for (const { from, to, protocol, faultTests } of plan.edges) {
    const color = faultTests.length > 0 ? 'darkgreen' : 'darkorange';
    const ends = `${quote(`service ${from}`)} -> ${quote(`service ${to}`)}`;
    lines.push(`  ${ends} [label = ${quote(protocol)}, color = ${color}];`);
  }
  for (const test of plan.tests) {
    const { instances, estimated } = countTest(test);
    const label = `${test.name}\n${test.kind} x ${estimated ? '>= ' : ''}${instances}`;
    lines.push(`  ${quote(`test ${test.name}`)} [label = ${quote(label)}];`);
    for (const fault of test.faults) {
      lines.push(`  ${quote(`fault ${fault}`)} -> ${quote(`test ${test.name}`)};`);
    }
  }
  lines.push('}');
  return lines.join('\n');
}

function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;
}
