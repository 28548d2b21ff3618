import { formatSpan } from '../kernel/units.ts';
import { decodeUtf8 } from '../kernel/utf8.ts';
import type { NetworkMatchDef, PredicateDef, TemporalDef } from '../plan/predicates.ts';

/** How a list of nodes is told. */
export type TellNodes = (nodes: readonly number[]) => string;

/** `n1`, `n1 or n2`; of many nodes the first three are named. */
export function tellNodes(names: readonly string[]): TellNodes {
  return (nodes) => {
    if (nodes.length === names.length && nodes.length > 1) return 'any node';
    const shown = nodes.slice(0, 3).map((node) => names[node] ?? `node ${node}`);
    if (nodes.length > shown.length) return `${shown.join(', ')} or another`;
    return shown.join(' or ');
  };
}

/** A predicate in words. */
export function describePredicate(def: PredicateDef, tell: TellNodes): string {
  const within = (part: PredicateDef): string => describePredicate(part, tell);
  switch (def.kind) {
    case 'at':
      return `it is ${formatSpan(def.atNs)}`;
    case 'after':
      return `it is past ${formatSpan(def.atNs)}`;
    case 'timer':
      return `${formatSpan(def.afterNs)} after ${within(def.arm)}`;
    case 'network_match':
      return describeNetwork(def, tell);
    case 'console_match':
      return `${tell(def.nodes)} writes "${def.text}"`;
    case 'guest_marker':
      return `${tell(def.nodes)} marks "${def.text}"`;
    case 'io_pattern':
      return `${tell(def.nodes)} does ${def.io === 'any' ? 'any I/O' : def.io}`;
    case 'node_state':
      return `${tell(def.nodes)} is ${def.state}`;
    case 'assertion_state':
      return `"${def.assertion}" was ${def.state}`;
    case 'quiescent':
      return 'nothing can happen';
    case 'all_of':
      return `(${def.of.map(within).join(' and ')})`;
    case 'any_of':
      return `(${def.of.map(within).join(' or ')})`;
    case 'once':
      return `once ${within(def.of)}`;
    case 'not':
      return `not ${within(def.of)}`;
  }
}

function describeNetwork(def: NetworkMatchDef, tell: TellNodes): string {
  const { when, from, to, protocol, match, bytes } = def;
  const what = protocol === 'any' ? 'a packet' : `a ${protocol} packet`;
  const payload = match === 'any' ? '' : `, payload ${match} "${decodeUtf8(bytes)}"`;
  const verb = when === 'send' ? 'is sent' : 'arrives';
  return `${what} from ${tell(from)} to ${tell(to)}${payload} ${verb}`;
}

/** What a property over moments asks for, in words. */
export function describeTemporal(def: TemporalDef, tell: TellNodes): string {
  const that = describePredicate(def.that, tell);
  const within = def.withinNs === null ? '' : ` within ${formatSpan(def.withinNs)}`;
  const when = def.when === null ? '' : ` when ${describePredicate(def.when, tell)}`;
  return `${def.operator}${within} ${that}${when}`;
}
