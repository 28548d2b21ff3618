import { VIRTUAL_NS_MAX } from '../kernel/units.ts';
import { isMoment, partsOf, type PredicateDef, type TemporalDef } from './predicates.ts';
import type { Until } from './scenario.ts';

/** Predicates nest at most so deep. */
export const PREDICATE_DEPTH_MAX = 8;
/** A predicate has at most so many parts, itself included. */
export const PREDICATE_PARTS_MAX = 100;
/** Patterns, names and payloads that predicates compare with are at most so long. */
export const PREDICATE_TEXT_LENGTH_MAX = 1_000;

/** What is wrong with a part of a property, and what to write instead. */
export interface PredicateFault {
  /** Below the property: `that.of[1].text`. */
  readonly field: string;
  readonly why: string;
  readonly remedy?: string;
}

/** Why a property over moments is not acceptable; null for one that is. */
export function temporalFault(
  def: TemporalDef,
  nodeCount: number,
  until: Until,
): PredicateFault | null {
  const { operator, that, when, withinNs, unreached } = def;
  for (const [field, predicate] of [['that', that] as const, ['when', when] as const]) {
    if (predicate === null) continue;
    const fault = predicateFault(predicate, nodeCount, field);
    if (fault !== null) return fault;
  }
  const lasts = operator === 'always' || operator === 'after_quiescence';
  if (lasts && isMoment(that)) {
    const why = `${operator} needs what lasts, and this is true for moments only`;
    return { field: 'that', why, remedy: 'say "once" around it, or "not", or use "sometimes"' };
  }
  if (operator === 'after_quiescence' && (until === 'property' || until === 'virtual-time')) {
    const why = `a run until "${until}" ends before nothing can happen any more`;
    return { field: 'operator', why, remedy: 'say until = "quiescence", or "stopped"' };
  }
  if (when !== null && operator === 'after_quiescence') {
    return { field: 'when', why: 'after_quiescence says when already' };
  }
  if (withinNs !== null && operator !== 'eventually') {
    return { field: 'within', why: `only "eventually" waits, "${operator}" does not` };
  }
  if (withinNs !== null && !isWithin(withinNs, 1)) {
    return { field: 'within', why: `${withinNs} ns is not within 1 to ${VIRTUAL_NS_MAX}` };
  }
  if (unreached === 'fail' && operator !== 'sometimes' && operator !== 'reachable') {
    return { field: 'unreached', why: 'it belongs to "sometimes" and "reachable"' };
  }
  return null;
}

/** Why a predicate is not acceptable; null for one that is. */
export function predicateFault(
  def: PredicateDef,
  nodeCount: number,
  field: string,
): PredicateFault | null {
  const size = { parts: 0 };
  return faultWithin(def, nodeCount, field, 1, size);
}

function faultWithin(
  def: PredicateDef,
  nodeCount: number,
  field: string,
  depth: number,
  size: { parts: number },
): PredicateFault | null {
  if (depth > PREDICATE_DEPTH_MAX) {
    return { field, why: `predicates nest deeper than ${PREDICATE_DEPTH_MAX}` };
  }
  if (++size.parts > PREDICATE_PARTS_MAX) {
    return { field, why: `it has more than ${PREDICATE_PARTS_MAX} parts` };
  }
  const own = ownFault(def, nodeCount);
  if (own !== null) return { ...own, field: `${field}.${own.field}` };
  const parts = partsOf(def);
  for (const [index, part] of parts.entries()) {
    const place = `${field}.${placeOf(def, index)}`;
    const fault = faultWithin(part, nodeCount, place, depth + 1, size);
    if (fault !== null) return fault;
  }
  return null;
}

function placeOf(def: PredicateDef, index: number): string {
  if (def.kind === 'timer') return index === 0 ? 'timer.arm' : 'timer.cancel';
  return def.kind === 'all_of' || def.kind === 'any_of' ? `${def.kind}[${index}]` : def.kind;
}

function ownFault(def: PredicateDef, nodeCount: number): PredicateFault | null {
  const fault = (field: string, why: string): PredicateFault => {
    return { field: `${def.kind}.${field}`, why };
  };
  switch (def.kind) {
    case 'at':
    case 'after':
      return isWithin(def.atNs, 0) ? null : fault('at', `${def.atNs} ns is no time of a run`);
    case 'timer':
      return isWithin(def.afterNs, 1) ? null : fault('after', 'a timer takes at least 1 ns');
    case 'all_of':
    case 'any_of':
      return def.of.length > 0 ? null : fault('0', 'the list is empty');
    case 'console_match':
    case 'guest_marker':
      return nodesFault(def.nodes, nodeCount, fault) ?? textFault(def.text, fault);
    case 'io_pattern':
    case 'node_state':
      return nodesFault(def.nodes, nodeCount, fault);
    case 'assertion_state':
      return textFault(def.assertion, fault, 'name');
    case 'network_match': {
      const ends = nodesFault(def.from, nodeCount, fault, 'from');
      const other = ends ?? nodesFault(def.to, nodeCount, fault, 'to');
      if (other !== null) return other;
      const { length } = def.bytes;
      if (def.match === 'any') {
        return length === 0 ? null : fault('text', 'match "any" compares with nothing');
      }
      const fits = length > 0 && length <= PREDICATE_TEXT_LENGTH_MAX;
      const range = `1 to ${PREDICATE_TEXT_LENGTH_MAX} bytes`;
      return fits ? null : fault('text', `match "${def.match}" compares with ${range}`);
    }
    default:
      return null;
  }
}

type MakeFault = (field: string, why: string) => PredicateFault;

function nodesFault(
  nodes: readonly number[],
  nodeCount: number,
  fault: MakeFault,
  field = 'nodes',
): PredicateFault | null {
  if (nodes.length === 0) return fault(field, 'it names no node');
  const inOrder = nodes.every((node, at) => at === 0 || (nodes[at - 1] as number) < node);
  const inRange = nodes.every((node) => isWithin(node, 0) && node < nodeCount);
  return inOrder && inRange ? null : fault(field, 'it is no ascending list of nodes');
}

function textFault(text: string, fault: MakeFault, field = 'text'): PredicateFault | null {
  if (text === '') return fault(field, 'it is empty');
  if (text.length <= PREDICATE_TEXT_LENGTH_MAX) return null;
  return fault(field, `it is longer than ${PREDICATE_TEXT_LENGTH_MAX} characters`);
}

function isWithin(value: number, min: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= VIRTUAL_NS_MAX;
}
