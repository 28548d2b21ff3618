import { formatSpan, formatTime, type Decision, type ScenarioDef } from '../../sim/index.ts';
import { formatAddress } from '../override.ts';

/** A decision as it can be pasted, with what it was answered. */
export function decisionText({ stream, ordinal, choice, arity, atNs }: Decision): string {
  return `${formatAddress(stream, ordinal)}=${choice} of ${arity} at ${formatTime(atNs)}`;
}

/** What a decision is about, in words, as far as its stream's name tells. */
export function meaningOf(decision: Decision, scenario: ScenarioDef): string {
  const { stream, choice, atNs } = decision;
  const [kind, first = '', ...rest] = stream.split('/');
  const what = rest.join('/');
  switch (kind) {
    case 'plan':
      return planMeaning(scenario, { name: first, what, choice, atNs });
    case 'link':
      return `a packet from ${first} to ${rest[0] ?? '?'}: ${rest.slice(1).join(' ')}`;
    case 'node':
      if (what === 'disk/crash') return `what the disk of ${first} keeps when its power is lost`;
      return `${first}: ${rest.join(' ')}`;
    default:
      return stream;
  }
}

function planMeaning(
  scenario: ScenarioDef,
  draw: {
    readonly name: string;
    readonly what: string;
    readonly choice: number;
    readonly atNs: number;
  },
): string {
  const { name, what, choice, atNs } = draw;
  const event = scenario.plan.events.find((each) => each.name === name);
  switch (what) {
    case 'chance':
      return `the event "${name}" ${choice === 1 ? 'happens' : 'does not happen'}`;
    case 'at':
      return `the event "${name}" happens ${formatSpan(choice)} later, at ${formatTime(atNs + choice)}`;
    case 'node': {
      const nodes = event !== undefined && 'oneOf' in event.action ? event.action.oneOf : [];
      const node = scenario.world.nodes[nodes[choice] ?? -1]?.name ?? 'a node';
      return `the event "${name}" meets ${node}`;
    }
    default:
      return `the event "${name}": ${what}`;
  }
}
