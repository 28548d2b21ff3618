import { openSpecs, readInput, type SpecModel } from '../../scenarios/index.ts';
import {
  decodeDecisions,
  decodeEvents,
  firingsOf,
  LOG_DECISIONS,
  LOG_EVENTS,
  metOf,
  readWholeLog,
  SimError,
  STUB_IMPORT,
  suggestMet,
  type PlanTree,
  type PriorLeaf,
  type Suggestions,
} from '../../sim/index.ts';
import { openBundle, type Bundle } from '../bundle.ts';
import type { Context } from '../context.ts';
import { bundledLeaf } from '../suite/bundled-suite.ts';
import { decodeReport } from '../suite/suite-report.ts';

/** What is said of earlier runs: for people and for programs. */
export interface SaidSuggestions {
  readonly lines: readonly string[];
  readonly document: Readonly<Record<string, unknown>>;
}

interface Asked {
  readonly spec: SpecModel;
  readonly plan: PlanTree;
  readonly context: Pick<Context, 'path'>;
}

/**
 * `sim plan --suggest --from`: what runs of the spec as it stands met and none of them exercised.
 * Reads their reports and bundles and runs nothing; a leaf that stands in several files counts once.
 * Throws `input/from` for runs of another spec, and what readers of reports and bundles throw.
 */
export async function suggestFrom(
  files: readonly string[],
  { spec, plan, context }: Asked,
): Promise<SaidSuggestions> {
  const { modelImage } = await openSpecs();
  const { digest } = modelImage(spec);
  const leaves = new Map<string, PriorLeaf>();
  const add = (seed: number, index: number, leaf: PriorLeaf): void => {
    const key = JSON.stringify([seed, leaf.test, index]);
    if (!leaves.has(key)) leaves.set(key, leaf);
  };
  for (const file of files) {
    const bytes = readInput(context.path(file), file);
    if (bytes[0] === ZIP_FIRST_BYTE) {
      const bundle = openBundle(bytes);
      const { index, leaf } = leafOfBundle(bundle, spec, file);
      add(bundle.manifest.seed, index, leaf);
      continue;
    }
    const report = decodeReport(bytes, file);
    if (report.digest !== digest) refuse(`it is of another ${plan.spec} than stands here`, file);
    for (const leaf of report.leaves) add(report.seed, leaf.leaf, leaf);
  }
  const suggestions = suggestMet([...leaves.values()], {
    tests: spec.tests.map(({ name, kind, scenario, cells, place }) => {
      const own = kind === 'scenario' ? name : null;
      return { name, scenario: scenario ?? cells[0]?.scenario ?? own, place };
    }),
    services: spec.services.map(({ name }) => name),
    taken: new Set([...spec.tests, ...spec.scenarios, ...spec.assumptions].map(({ name }) => name)),
  });
  // Whoever pastes all that is printed, or pasted some before, has the import once.
  const hasImport = [...spec.files.values()].some((text) => text.includes(STUB_IMPORT));
  const edges = plan.edges.some(({ faultTests }) => faultTests.length === 0);
  return said(suggestions, leaves.size, hasImport || edges ? [] : [STUB_IMPORT, '']);
}

/** A bundle is a ZIP file and begins with `PK`, a report is JSON. */
const ZIP_FIRST_BYTE = 0x50;

function leafOfBundle(
  bundle: Bundle,
  spec: SpecModel,
  file: string,
): { readonly index: number; readonly leaf: PriorLeaf } {
  const of = bundledLeaf(bundle);
  if (of === null) return refuse('it is the bundle of no leaf of a suite', file);
  const { scenario, sources, manifest } = bundle;
  const held = new Map(sources.map(({ name, bytes }) => [name, bytes]));
  for (const [name, text] of spec.files) {
    const bytes = held.get(name);
    if (of.spec === spec.file && bytes !== undefined && new TextDecoder().decode(bytes) === text)
      continue;
    return refuse(`it is of another ${spec.file} than stands here: ${name} differs`, file);
  }
  const events = readWholeLog(bundle.events, LOG_EVENTS);
  const schedule = readWholeLog(bundle.schedule, LOG_DECISIONS);
  const { endNs } = manifest.outcome;
  const firings = firingsOf(scenario, {
    decisions: decodeDecisions(schedule),
    events: decodeEvents(events),
    endNs,
  });
  const met = metOf(scenario, {
    events: decodeEvents(events),
    decisions: decodeDecisions(schedule),
    acted: (name) => firings.has(name),
  });
  const rules = scenario.plan.events.map(({ name }) => {
    return { name, idle: firings.has(name) ? null : 'its time or its chance never came' };
  });
  return { index: of.index, leaf: { test: of.test, virtualNs: endNs, met, rules } };
}

function said(
  { list, leftOut }: Suggestions,
  leaves: number,
  words: readonly string[],
): SaidSuggestions {
  const document = { leaves, left_out: leftOut, list };
  const head = `From ${leaves} leaves that ran: `;
  if (list.length === 0)
    return { lines: ['', `${head}nothing to suggest: all that they met was exercised`], document };
  const lines = ['', `${head}${list.length} suggestion(s)`];
  for (const { what, count, test, place } of list)
    lines.push(`  ${what} — met ${count} times, nearest ${test} (${place})`);
  if (leftOut > 0) lines.push(`  ${leftOut} more left out: paste these, run again and ask again`);
  lines.push('', ...words, ...list.map(({ stub }) => stub));
  return { lines, document };
}

function refuse(message: string, place: string): never {
  const remedy = 'run the spec as it stands: sim test SPEC --report FILE, and give that file';
  throw new SimError({ code: 'input/from', message, place, remedy });
}
