import { formatTime } from '../../sim/index.ts';
import { layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { countsOf, percent } from './curve-chart.ts';
import type { Responsible, ResponsibleFaults } from './responsible.ts';
import { shareOf, type Estimate } from './statistics.ts';

/** The faults that the failure needed, as records and for people. */
export function reportFaults(faults: ResponsibleFaults, { output }: Context): void {
  for (const one of faults.found) output.record({ type: 'fault', ...recordOf(one) });
  if (!output.speaks) return;
  const { found, tried } = faults;
  if (found.length === 0) {
    const why =
      tried === 0 ? 'no fault happened before it' : `none of ${tried} faults makes a difference`;
    output.say(`needed no fault: ${why}`);
    output.say('');
    return;
  }
  output.say(
    `${output.colors.bold('the faults that it needed')}  futures that fail, from there on`,
  );
  const rows = found.map((one) => [
    '>',
    formatTime(one.fault.atNs),
    one.fault.text,
    `with ${countsOf(one.withIt)}`,
    `without ${countsOf(one.withoutIt)}`,
  ]);
  for (const text of layOut(rows, new Set())) output.say(`  ${text}`);
  output.say('');
}

/** What to say of the strongest fault in a sentence. */
export function faultSentence({ fault, withIt, withoutIt }: Responsible): string {
  const share = (estimate: Estimate): string => percent(shareOf(estimate));
  return `made possible by ${fault.text} at ${formatTime(fault.atNs)}: ${share(withoutIt)} without it, ${share(withIt)} with it`;
}

function recordOf(one: Responsible): Record<string, unknown> {
  const { fault, withIt, withoutIt, redrawn, doubt } = one;
  const { source, node, text, atNs, position } = fault;
  return {
    ...source,
    node,
    meaning: text,
    at_ns: atNs,
    position,
    with: estimateRecord(withIt),
    without: estimateRecord(withoutIt),
    redrawn_of: redrawn,
    doubt,
  };
}

function estimateRecord(estimate: Estimate): Record<string, number> {
  const { failures, samples, low, high } = estimate;
  return { failures, samples, share: shareOf(estimate), low, high };
}
