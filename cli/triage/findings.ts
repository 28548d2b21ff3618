import { failureSignature, guestsOf, type RunOutcome, type ScenarioDef } from '../../sim/index.ts';
import type { Bundle } from '../bundle.ts';
import { sha256Hex } from '../zip.ts';

/** How alike two failures must be to be taken for one (CR-36). */
export type Policy = 'coarse' | 'default' | 'fine' | 'exact';

/** A failed or undecided run, or several that somebody has counted already. */
export interface TriageFinding {
  readonly kind: 'fail' | 'error' | 'inconclusive';
  /** The scenario's name; empty where only a ledger tells of it. */
  readonly scenario: string;
  /** Equal for failures that each policy takes for one, and what people see of them. */
  readonly signatures: Readonly<Record<Policy, string>>;
  readonly count: number;
  readonly seed: number;
  /** When it failed, in virtual time; null where only a ledger tells of it. */
  readonly atNs: number | null;
  /** Which builds ran: equal for equal guests. Empty where only a ledger tells of it. */
  readonly build: string;
  /** The bundle, as it can be named on a command line; null where there is none. */
  readonly bundle: { readonly path: string; readonly bytes: number } | null;
}

/** What a bundle's run shows by its outcome, or null for a savepoint and a run that passed. */
export function findingOf(
  bundle: Bundle,
  { path, bytes }: NonNullable<TriageFinding['bundle']>,
  outcome: RunOutcome,
): TriageFinding | null {
  const { manifest, scenario } = bundle;
  const { kind, name, seed } = manifest;
  if (kind !== 'run' || outcome.verdict === 'pass') return null;
  const build = buildOf(scenario);
  return {
    kind: outcome.verdict,
    scenario: name,
    signatures: signaturesOf(scenario, outcome, build),
    count: 1,
    seed,
    atNs: firstFailureNs(outcome),
    build,
    bundle: { path, bytes },
  };
}

function signaturesOf(
  scenario: ScenarioDef,
  outcome: RunOutcome,
  build: string,
): TriageFinding['signatures'] {
  const signature = failureSignature(scenario, outcome);
  if (signature === null) return sameFor(`timeout: ${outcome.reason}`);
  const { primary, property, all } = signature;
  const details = outcome.properties.flatMap(({ name, verdict, detail }) => {
    return verdict === 'fail' ? [`${name}: ${detail}`] : [];
  });
  return {
    coarse: property,
    default: primary,
    fine: all.join(' + '),
    exact: [primary, ...details, `build ${build}`].join(' | '),
  };
}

/** Of somebody's word alone: there is no more to tell failures apart by. */
export function sameFor(signature: string): TriageFinding['signatures'] {
  return { coarse: signature, default: signature, fine: signature, exact: signature };
}

function firstFailureNs({ properties, endNs }: RunOutcome): number {
  const times = properties.flatMap(({ verdict, atNs }) => {
    return verdict === 'fail' && atNs !== null ? [atNs] : [];
  });
  return times.reduce((first, atNs) => Math.min(first, atNs), endNs);
}

/** Eight digits that tell the guests of one scenario from those of another. */
function buildOf(scenario: ScenarioDef): string {
  const images = [...new Set(guestsOf(scenario).map(({ image }) => image))].sort();
  return sha256Hex(Buffer.from(images.join(' '))).slice(0, 8);
}
