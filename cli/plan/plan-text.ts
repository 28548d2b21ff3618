import {
  countPlan,
  countTest,
  type Axis,
  type PlannedTest,
  type PlanTree,
} from '../../sim/index.ts';

/** The plan as a tree for people (FB-2, FB-3, FB-7). */
export function planLines(plan: PlanTree): readonly string[] {
  const { spec, seed, determinism, tests, services, diagnostics } = plan;
  const lines = [
    `Plan: ${spec}`,
    `Seed: ${seed === null ? '(unseeded)' : seed}`,
    `Determinism: ${contract(determinism)}`,
    '',
  ];
  if (tests.length === 0) lines.push('(no tests discovered)');
  else lines.push(`${tests.length} test${tests.length === 1 ? '' : 's'}`);
  tests.forEach((test, index) => lines.push(...testLines(test, index === tests.length - 1)));
  lines.push('', totalLine(plan));
  const names = services.map(({ name }) => name).join(', ');
  lines.push(`Services: ${services.length}${names === '' ? '' : ` (${names})`}`);
  for (const { code, message, place } of diagnostics) {
    if (code !== 'no_tests_discovered') lines.push(`  ! ${code}: ${message} (${place})`);
  }
  return lines;
}

function contract({ level, strict, explicit }: PlanTree['determinism']): string {
  const said = explicit ? '' : ' — default; spec did not call determinism()';
  return `${level}${strict ? ' (strict)' : ''}${said}`;
}

function testLines(test: PlannedTest, last: boolean): string[] {
  const { instances, estimated } = countTest(test);
  const count =
    instances === 1 && !estimated ? '' : `  x ${estimated ? 'at least ' : ''}${instances}`;
  const children = test.compositions.flatMap(({ kind, axes }) => {
    if (axes.length === 0) return [];
    return axes.map((axis) => `${kind} ${axisText(axis)}`);
  });
  if (test.faults.length > 0) children.push(`faults: ${test.faults.join(', ')}`);
  if (test.expect !== null) children.push(`expect: ${test.expect}`);
  if (test.timeout !== null) children.push(`timeout: ${test.timeout}`);
  const bar = last ? '   ' : '│  ';
  return [
    `${last ? '└─' : '├─'} ${test.name} [${test.kind}]${count}`,
    ...children.map((child, index) => {
      return `${bar}${index === children.length - 1 ? '└─' : '├─'} ${child}`;
    }),
  ];
}

/** Every option of an axis; one that cannot be read is said to be unknown (FB-30, FB-32). */
function axisText({ name, values, estimated }: Axis): string {
  if (values === null) return `${name}: (computed — size unknown)`;
  const why = estimated === null ? '' : ` (${estimated})`;
  return `${name}: [${values.join(', ')}]${why}`;
}

function totalLine(plan: PlanTree): string {
  const { instances, estimated } = countPlan(plan);
  if (!estimated) return `Total: ${instances} plan instance${instances === 1 ? '' : 's'}`;
  const reasons = plan.tests
    .flatMap(({ compositions }) => compositions)
    .flatMap(({ axes }) => axes)
    .flatMap((axis) => (axis.estimated === null ? [] : [`${axis.name}: ${axis.estimated}`]));
  const hidden = plan.diagnostics.some(({ code }) => code === 'unmodeled_registration');
  if (hidden) reasons.push('declarations that only a run would count');
  return `Total: at least ${instances} plan instances (${[...new Set(reasons)].join('; ')})`;
}

/** Which services depend on which, and which of these edges a fault hits (FB-15). */
export function coverageLines({ services, edges }: PlanTree): readonly string[] {
  if (services.length === 0) return ['Coverage: no topology data'];
  const lines = [`Coverage: ${services.length} services, ${edges.length} dependency edges`];
  for (const { from, to, faultTests } of edges) {
    const covered = faultTests.length > 0;
    const note = covered ? `(faulted in: ${faultTests.join(', ')})` : '(no fault test)';
    lines.push(`  ${covered ? '✓' : '⚠'} ${from} → ${to} ${note}`);
  }
  const open = edges.filter(({ faultTests }) => faultTests.length === 0).length;
  if (edges.length === 0) lines.push('no service depends on another: there is nothing to cover');
  else if (open > 0) lines.push(`${open} edge(s) without fault coverage — see sim plan --suggest`);
  else lines.push('every edge has a fault test');
  return lines;
}
