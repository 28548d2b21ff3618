import { NS_PER_S, type VirtualNs } from '../kernel/units.ts';
import {
  FAULT_KINDS,
  type FaultKind,
  type FaultProfile,
  type FaultRule,
  type OperationDef,
} from './world-def.ts';
import type { Millionths } from '../kernel/units.ts';

/** A rule as calls use it. */
export interface EffectiveRule {
  readonly latencyMs: readonly [low: number, high: number];
  /** Kinds that may happen, in the catalogue's order, and their probabilities. */
  readonly kinds: readonly FaultKind[];
  readonly weights: readonly Millionths[];
  readonly rateLimit: { readonly calls: number; readonly windowNs: VirtualNs } | null;
  readonly notFoundIfNewerThanNs: VirtualNs | null;
}

export const NO_FAULTS: EffectiveRule = {
  latencyMs: [0, 0],
  kinds: [],
  weights: [],
  rateLimit: null,
  notFoundIfNewerThanNs: null,
};

/** The key of an operation in a profile. */
export function faultKey({ service, name }: Pick<OperationDef, 'service' | 'name'>): string {
  return `${service}.${name}`;
}

/** `default` and the operation's own rule merged: the own one wins kind by kind (FH-25). */
export function mergeRules(profile: FaultProfile, key: string): FaultRule {
  const common = profile['default'] ?? {};
  const own = profile[key] ?? {};
  return { ...common, ...own, errors: { ...common.errors, ...own.errors } };
}

export function effectiveRule(
  profile: FaultProfile | null,
  operation: OperationDef,
): EffectiveRule {
  if (profile === null) return NO_FAULTS;
  const rule = mergeRules(profile, faultKey(operation));
  const { errors = {}, rateLimit } = rule;
  const kinds = FAULT_KINDS.filter((kind) => (errors[kind] ?? 0) > 0);
  return {
    latencyMs: rule.latencyMs ?? [0, 0],
    kinds,
    weights: kinds.map((kind) => errors[kind] ?? 0),
    rateLimit: rateLimit
      ? { calls: rateLimit.calls, windowNs: rateLimit.perSeconds * NS_PER_S }
      : null,
    notFoundIfNewerThanNs: rule.notFoundIfNewerThanNs ?? null,
  };
}
