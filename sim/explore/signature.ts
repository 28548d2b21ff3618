import type { RunOutcome } from '../bundle/manifest.ts';
import type { VirtualNs } from '../kernel/units.ts';
import { compareText } from '../plan/admit.ts';
import type { TemporalDef } from '../plan/predicates.ts';
import type { NodeDef, ScenarioDef } from '../plan/scenario.ts';
import { describeTemporal } from '../property/describe-predicate.ts';
import { compilePattern } from '../property/pattern.ts';

/**
 * What kind of failure a run showed (CR-37). Two runs that fail for one reason have equal keys
 * though they fail at other times, on another of several alike nodes, with other numbers, or as a
 * smaller scenario.
 */
export interface FailureSignature {
  /** The key of the failure that was decided first: what searches and shrinking hold on to. */
  readonly primary: string;
  /** The name of the property that failed first; the error's code where the simulator gave up. */
  readonly property: string;
  /** The keys of all failures, the primary one first, each once. */
  readonly all: readonly string[];
}

/** What a signature is made of. */
export type SignedOutcome = Pick<RunOutcome, 'verdict' | 'reason' | 'properties'>;

/**
 * The signature of a failed run, or null for one that passed or whose budget ran out: a timeout is
 * no failure of a property.
 */
export function failureSignature(
  scenario: ScenarioDef,
  outcome: SignedOutcome,
): FailureSignature | null {
  if (outcome.verdict === 'error') {
    const key = `error: ${outcome.reason}`;
    return { primary: key, property: outcome.reason, all: [key] };
  }
  const failed = outcome.properties.filter(({ verdict }) => verdict === 'fail');
  // Those that only the end of the run decided come last; ties keep the scenario's order.
  const inTime = failed
    .map((property, index) => ({ property, index, atNs: property.atNs ?? Infinity }))
    .sort((a, b) => (a.atNs === b.atNs ? a.index - b.index : a.atNs < b.atNs ? -1 : 1));
  const first = inTime[0];
  if (first === undefined) return null;
  const keys = inTime.map(({ property }) => {
    return `${property.name}: ${property.kind}: ${failureText(scenario, property)}`;
  });
  return {
    primary: keys[0] as string,
    property: first.property.name,
    all: [...new Set(keys)],
  };
}

/** Whether a run failed for the reason that is looked for, whatever else failed as well. */
export function sameFailure(wanted: FailureSignature, found: FailureSignature | null): boolean {
  return found !== null && found.all.includes(wanted.primary);
}

/** Kinds of properties that something must happen for: that it did not may have any reason. */
const LIVENESS: ReadonlySet<string> = new Set(['exit', 'eventually']);

/**
 * The moment of the run that decided that a property failed; null where its end did, or where
 * something that did not happen did.
 */
export function decidingMoment({ properties }: SignedOutcome, name: string): VirtualNs | null {
  const property = properties.find((candidate) => candidate.name === name);
  if (property === undefined || LIVENESS.has(property.kind)) return null;
  return property.verdict === 'fail' ? property.atNs : null;
}

/** A property's detail without what differs from run to run. */
function failureText(
  scenario: ScenarioDef,
  { name, kind, detail }: RunOutcome['properties'][number],
): string {
  const def = scenario.properties.find((property) => property.name === name);
  if (def?.kind === 'temporal') return canonicalText(scenario, temporalText(scenario, def));
  if (def !== undefined && 'console' in def) {
    // What the stars take is said to vary, so the pattern stands for every line that it matches.
    if (def.kind === 'unique' || def.kind === 'agree') return `"${def.console}"`;
    if (def.kind === 'never') return neverText(scenario, def.console, detail);
  }
  // An exit code is the failure's kind, not a count.
  const code = kind === 'exit' ? /exited with (\d+)/.exec(detail)?.[1] : undefined;
  const text = canonicalText(scenario, detail);
  return code === undefined ? text : text.replace(/exited with #/, `exited with ${code}`);
}

/**
 * What was asked for, not what broke it; nodes by their programs, however many of them there are.
 */
function temporalText({ world }: ScenarioDef, def: TemporalDef): string {
  return describeTemporal(def, (nodes) => {
    const classes = nodes.map((node) => classOf(world.nodes[node] as NodeDef));
    return [...new Set(classes)].sort(compareText).join(' or ');
  });
}

/** The forbidden line, with stars where the pattern has stars. */
function neverText(scenario: ScenarioDef, pattern: string, detail: string): string {
  const line = /^[^"]* wrote "(.*)"$/s.exec(detail)?.[1];
  if (line === undefined) return canonicalText(scenario, detail);
  const starred = line.replace(compilePattern(pattern).expression, () => pattern);
  return `"${canonicalText(scenario, starred)}"`;
}

/**
 * A text without times, counts and digests, and with `<label>` for each node that runs the guest of
 * that label: nodes of one program stand for one another, and shrinking may leave only one of them.
 */
export function canonicalText(scenario: ScenarioDef, text: string): string {
  const labels = new Map(scenario.world.nodes.map((node) => [node.name, classOf(node)]));
  const named = text.replace(/[A-Za-z0-9_.-]+/g, (word) => {
    const label = labels.get(word);
    if (label !== undefined) return label;
    // `n3:` and `n3,` are split off by the expression; `n3.` is not.
    const bare = word.replace(/\.+$/, '');
    const bareLabel = labels.get(bare);
    return bareLabel === undefined ? word : bareLabel + word.slice(bare.length);
  });
  return named
    .replace(/\b0x[0-9a-fA-F]+\b|\b(?=[a-f]*\d)[0-9a-f]{8,}\b/g, '#')
    .replace(/\d+(?:[.,]\d+)*/g, '#')
    .replace(/# ?(?:ns|us|µs|ms|s|min|h)\b/g, '#')
    .slice(0, TEXT_LENGTH_MAX);
}

/** Longer texts are cut: a signature is compared and printed, and says enough by then. */
const TEXT_LENGTH_MAX = 400;

function classOf(node: NodeDef): string {
  return `<${node.guest.label.replace(/\d+/g, '')}>`;
}
