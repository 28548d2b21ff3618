import {
  countPlan,
  planDocument,
  SimError,
  suggestFaults,
  type PlanTree,
} from '../../sim/index.ts';
import { openSpecs } from '../../scenarios/index.ts';
import type { Context } from '../context.ts';
import type { OptionsOf } from '../options.ts';
import { planDot } from '../plan/plan-dot.ts';
import { coverageLines, planLines } from '../plan/plan-text.ts';
import { readSpec } from '../plan/read-spec.ts';
import { suggestFrom } from '../plan/suggest-from.ts';

/** `sim plan`: what a suite will run, what it costs and what it leaves out. Runs nothing (FB-1). */
export async function run(
  args: readonly string[],
  options: OptionsOf<'plan'>,
  context: Context,
): Promise<number> {
  checkUsage(options);
  const { makePlan } = await openSpecs();
  const spec = await readSpec(args[0] ?? '', context);
  const plan = makePlan(spec, context.globals.seed ?? null);
  const { output } = context;
  const suggestions = options.suggest ? suggestFaults(plan) : null;
  const met =
    options.from.length === 0 ? null : await suggestFrom(options.from, { spec, plan, context });
  if (options.dot) output.text(planDot(plan));
  else {
    const document = withCost(planDocument(plan), plan, options);
    output.document(met === null ? document : { ...document, suggestions: met.document }, 'plan');
    for (const line of planLines(plan)) output.say(line);
    if (options.coverage || options.suggest || options.strictCoverage) {
      output.say('');
      for (const line of coverageLines(plan)) output.say(line);
    }
    if (options.suggest) {
      output.say('');
      output.say(suggestions ?? 'nothing to suggest: no edge is without a fault test');
    }
    for (const line of met?.lines ?? []) output.say(line);
  }
  return gate(plan, options, context);
}

/** The gates of a commit: 2 for a plan that costs more than was allowed, 1 for open edges. */
function gate(plan: PlanTree, options: OptionsOf<'plan'>, { host }: Context): number {
  const { instances, estimated } = countPlan(plan);
  if (options.checkCost && instances > (options.maxInstances ?? 0)) {
    const has = `${estimated ? 'at least ' : ''}${instances}`;
    const most = `--max-instances=${options.maxInstances}`;
    host.stderr.write(`cost gate: plan has ${has} instances; ${most} exceeded\n`);
    return 2;
  }
  const open = plan.edges.some(({ faultTests }) => faultTests.length === 0);
  return options.strictCoverage && open ? 1 : 0;
}

/** The document, with the gate's answer among its diagnostics where it is exceeded (FB-72). */
function withCost(
  document: Readonly<Record<string, unknown>>,
  plan: PlanTree,
  { checkCost, maxInstances = 0 }: OptionsOf<'plan'>,
): Readonly<Record<string, unknown>> {
  const { instances } = countPlan(plan);
  if (!checkCost || instances <= maxInstances) return document;
  const message = `plan has ${instances} instances; --max-instances=${maxInstances} exceeded`;
  const cost = { code: 'PLAN_COST_EXCEEDED', message, place: plan.spec };
  return { ...document, diagnostics: [...plan.diagnostics, cost] };
}

function checkUsage(options: OptionsOf<'plan'>): void {
  const { checkCost, maxInstances, strategy, suggest, from } = options;
  if (from.length > 0 && !suggest) {
    throw new SimError({
      code: 'usage/from',
      message: '--from without --suggest would say nothing',
      remedy: 'write --suggest --from FILE',
    });
  }
  if (checkCost && maxInstances === undefined) {
    throw new SimError({
      code: 'usage/check-cost',
      message: '--check-cost without --max-instances would always pass',
      remedy: 'say how many instances may be: --max-instances 500',
    });
  }
  if (strategy === undefined || strategy === 'rules') return;
  const reserved = strategy === 'llm';
  throw new SimError({
    code: 'usage/strategy',
    message: reserved
      ? 'strategy "llm" is reserved: a hermetic simulator asks no model'
      : `strategy "${strategy}" is not recognized (valid: rules; reserved: llm)`,
    remedy: 'write --strategy rules, or leave it out',
  });
}
