import type { VirtualNs } from '../kernel/units.ts';

/** What a node does: these exclude one another, and a node that was not started yet is none. */
export const NODE_STATES = ['started', 'crashed', 'hung', 'exited'] as const;
export type WatchedNodeState = (typeof NODE_STATES)[number];

/** What a guest does to files (reads, writes, makes durable), and packets of either direction. */
export const IO_KINDS = ['any', 'block_read', 'block_write', 'fsync', 'network'] as const;
export type IoKind = (typeof IO_KINDS)[number];

/** How a packet's payload is compared. */
export const FRAME_MATCHES = ['any', 'exact', 'contains', 'prefix'] as const;

/** A program's assertion was come to, held once, was violated. What is so stays so. */
export const ASSERTION_STATES = ['reached', 'held', 'failed'] as const;
export type AssertionState = (typeof ASSERTION_STATES)[number];

/**
 * Something that is or is not so at a moment of a run: the closed set of predicates (CR-96). Some
 * are moments, true only while one thing happens (`at`, `timer`, and what matches lines, markers,
 * packets, input and output); the others last. Lists of nodes mean any of them.
 */
export type PredicateDef =
  /** This time. */
  | { readonly kind: 'at'; readonly atNs: VirtualNs }
  /** From this time on. */
  | { readonly kind: 'after'; readonly atNs: VirtualNs }
  /** `afterNs` after `arm` last became true, unless `cancel` was true since. */
  | {
      readonly kind: 'timer';
      readonly arm: PredicateDef;
      readonly cancel: PredicateDef | null;
      readonly afterNs: VirtualNs;
    }
  | NetworkMatchDef
  /** A node writes a line that matches (see `PropertyDef` for patterns). */
  | {
      readonly kind: 'console_match';
      readonly nodes: readonly number[];
      readonly text: string;
    }
  /** A node leaves a marker whose name matches, or whose text does if it has no name. */
  | { readonly kind: 'guest_marker'; readonly nodes: readonly number[]; readonly text: string }
  | { readonly kind: 'io_pattern'; readonly nodes: readonly number[]; readonly io: IoKind }
  | {
      readonly kind: 'node_state';
      readonly nodes: readonly number[];
      readonly state: WatchedNodeState;
    }
  /** Of the assertion of that name, on whatever node. */
  | {
      readonly kind: 'assertion_state';
      readonly assertion: string;
      readonly state: AssertionState;
    }
  /** Nothing can happen any more. */
  | { readonly kind: 'quiescent' }
  | { readonly kind: 'all_of'; readonly of: readonly PredicateDef[] }
  | { readonly kind: 'any_of'; readonly of: readonly PredicateDef[] }
  /** From the first moment on at which that was so. */
  | { readonly kind: 'once'; readonly of: PredicateDef }
  | { readonly kind: 'not'; readonly of: PredicateDef };

/** A packet is sent, or reaches its node. */
export interface NetworkMatchDef {
  readonly kind: 'network_match';
  readonly when: 'send' | 'deliver';
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly protocol: 'any' | 'tcp' | 'udp';
  readonly match: (typeof FRAME_MATCHES)[number];
  /** What the payload is compared with; empty for `any`. */
  readonly bytes: Uint8Array;
}

export const TEMPORAL_OPERATORS = [
  'always',
  'sometimes',
  'eventually',
  'after_quiescence',
  'reachable',
  'unreachable',
] as const;
export type TemporalOperator = (typeof TEMPORAL_OPERATORS)[number];

/** A property over the moments of a run (CR-95). */
export interface TemporalDef {
  readonly kind: 'temporal';
  readonly name: string;
  readonly operator: TemporalOperator;
  readonly that: PredicateDef;
  /** Only moments count at which this is so; for `eventually` it opens the wait. */
  readonly when: PredicateDef | null;
  /** `eventually`: how long the wait may be; null waits until the end of the run. */
  readonly withinNs: VirtualNs | null;
  /** `sometimes`, `reachable`: whether a run fails that never came there. */
  readonly unreached: 'warn' | 'fail';
}

/** The predicates right below one. */
export function partsOf(def: PredicateDef): readonly PredicateDef[] {
  switch (def.kind) {
    case 'all_of':
    case 'any_of':
      return def.of;
    case 'once':
    case 'not':
      return [def.of];
    case 'timer':
      return def.cancel === null ? [def.arm] : [def.arm, def.cancel];
    default:
      return [];
  }
}

/** Whether a predicate is true for moments only; `value` false asks whether it is false so. */
export function isMoment(def: PredicateDef, value = true): boolean {
  switch (def.kind) {
    case 'at':
    case 'timer':
    case 'network_match':
    case 'console_match':
    case 'guest_marker':
    case 'io_pattern':
      return value;
    case 'not':
      return isMoment(def.of, !value);
    case 'all_of':
      return value ? def.of.some((each) => isMoment(each)) : def.of.every(isMomentarilyFalse);
    case 'any_of':
      return value ? def.of.every((each) => isMoment(each)) : def.of.some(isMomentarilyFalse);
    default:
      return false;
  }
}

function isMomentarilyFalse(def: PredicateDef): boolean {
  return isMoment(def, false);
}

/** The predicate with its lists of nodes mapped; null if one of them came out empty. */
export function mapNodes(
  def: PredicateDef,
  map: (nodes: readonly number[]) => readonly number[],
): PredicateDef | null {
  switch (def.kind) {
    case 'console_match':
    case 'guest_marker':
    case 'io_pattern':
    case 'node_state': {
      const nodes = map(def.nodes);
      return nodes.length === 0 ? null : { ...def, nodes };
    }
    case 'network_match': {
      const [from, to] = [map(def.from), map(def.to)];
      return from.length === 0 || to.length === 0 ? null : { ...def, from, to };
    }
    case 'all_of':
    case 'any_of': {
      const of = def.of.flatMap((each) => mapNodes(each, map) ?? []);
      return of.length < def.of.length ? null : { ...def, of };
    }
    case 'once':
    case 'not': {
      const of = mapNodes(def.of, map);
      return of === null ? null : { ...def, of };
    }
    case 'timer': {
      const arm = mapNodes(def.arm, map);
      const cancel = def.cancel === null ? null : mapNodes(def.cancel, map);
      if (arm === null || (cancel === null && def.cancel !== null)) return null;
      return { ...def, arm, cancel };
    }
    default:
      return def;
  }
}
