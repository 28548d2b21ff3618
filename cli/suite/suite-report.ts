import { z } from 'zod';
import { MET_OPTIONS_MAX, SimError } from '../../sim/index.ts';
import { LEAF_OUTCOMES, type LeafReport } from './leaf-report.ts';

/** What a report is of: equal for the shards of one run of a suite. */
export interface SuiteHead {
  readonly spec: string;
  /** SHA-256 of the spec's code: of all its files. */
  readonly digest: string;
  readonly seed: number;
  /** What `--test` and `--leaf` left; null for all. */
  readonly test: string | null;
  readonly leaf: number | null;
  /** How many leaves the shards have together. */
  readonly total: number;
}

/** A leaf with its place among those of all shards, and the path of its bundle. */
export interface PlacedReport extends LeafReport {
  readonly position: number;
  readonly bundle: string | null;
}

export interface SuiteReport extends SuiteHead {
  readonly leaves: readonly PlacedReport[];
}

/** The version of the report's JSON; another one is refused (FB-55). */
const REPORT_VERSION = 2;
const count = z.number().int().nonnegative();

const metSchema = z.strictObject({
  calls: z.array(
    z.strictObject({
      from: z.string(),
      to: z.string(),
      calls: count,
      answers: count,
      callFaulted: z.boolean(),
      answerFaulted: z.boolean(),
    }),
  ),
  files: z.array(z.strictObject({ node: z.string(), opened: count, faulted: z.boolean() })),
  choices: z.array(
    z.strictObject({
      name: z.string(),
      options: count.max(MET_OPTIONS_MAX),
      taken: z.array(count),
    }),
  ),
  chances: z.array(z.strictObject({ stream: z.string(), drawn: count, hits: count })),
  rules: z.array(
    z.strictObject({
      name: z.string(),
      acted: z.boolean(),
      does: z.string().nullable(),
      on: z.array(z.string()),
    }),
  ),
});

const reportSchema = z.strictObject({
  schema_version: z.literal(REPORT_VERSION),
  spec: z.string(),
  digest: z.string(),
  seed: count,
  test: z.string().nullable(),
  leaf: count.nullable(),
  total: count,
  leaves: z.array(
    z.strictObject({
      position: count,
      test: z.string(),
      leaf: count,
      title: z.string(),
      outcome: z.enum(LEAF_OUTCOMES),
      detail: z.string(),
      expect: z.string().nullable(),
      assertions: count,
      virtualNs: count,
      rules: z.array(z.strictObject({ name: z.string(), idle: z.string().nullable() })),
      broken: z.array(z.strictObject({ name: z.string(), how: z.string() })),
      met: metSchema,
      bundle: z.string().nullable(),
    }),
  ),
});

/** The report as its file's bytes: leaves by their place, keys in a fixed order. */
export function encodeReport(report: SuiteReport): Uint8Array {
  const { spec, digest, seed, test, leaf, total, leaves } = report;
  const head = { schema_version: REPORT_VERSION, spec, digest, seed, test, leaf, total };
  const ordered = leaves.map((each) => ({
    position: each.position,
    test: each.test,
    leaf: each.leaf,
    title: each.title,
    outcome: each.outcome,
    detail: each.detail,
    expect: each.expect,
    assertions: each.assertions,
    virtualNs: each.virtualNs,
    rules: each.rules,
    broken: each.broken,
    met: each.met,
    bundle: each.bundle,
  }));
  const text = JSON.stringify({ ...head, leaves: ordered }, null, 1);
  return new TextEncoder().encode(`${text}\n`);
}

/** Reads a report's file. Throws `input/report` for what is none, or of another version. */
export function decodeReport(bytes: Uint8Array, place: string): SuiteReport {
  const refuse = (message: string): never => {
    const remedy = 'give files that `sim test --report` of this version wrote';
    throw new SimError({ code: 'input/report', message, place, remedy });
  };
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return refuse('it is no JSON');
  }
  const parsed = reportSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return refuse(`it is no report of a suite: ${issue?.path.join('.') ?? ''}: ${issue?.message}`);
}

/**
 * The report of the whole, from those of all its shards in any order: equal to that of a run without
 * shards. Throws `input/shards` where they are not of one run, or not the whole.
 */
export function mergeReports(
  parts: readonly { readonly place: string; readonly report: SuiteReport }[],
): SuiteReport {
  const refuse = (message: string, place: string): never => {
    const remedy = 'merge the reports of all shards 1/n to n/n of one run';
    throw new SimError({ code: 'input/shards', message, place, remedy });
  };
  const [first] = parts;
  if (first === undefined) return refuse('there are no reports', '--merge');
  const head = headOf(first.report);
  const leaves = new Map<number, PlacedReport>();
  for (const { report, place } of parts) {
    for (const [key, value] of Object.entries(headOf(report))) {
      const expected = head[key as keyof SuiteHead];
      if (value !== expected) {
        refuse(
          `its ${key} is ${String(value)}, not ${String(expected)} as in ${first.place}`,
          place,
        );
      }
    }
    for (const leaf of report.leaves) {
      if (leaf.position >= head.total) refuse(`leaf ${leaf.position} is beyond the whole`, place);
      if (leaves.has(leaf.position)) refuse(`${leaf.title} stands in two reports`, place);
      leaves.set(leaf.position, leaf);
    }
  }
  const ordered = [...leaves.values()].sort((a, b) => a.position - b.position);
  if (ordered.length < head.total) {
    const missing = ordered.findIndex(({ position }, index) => position !== index);
    const at = missing < 0 ? ordered.length : missing;
    refuse(`leaf ${at} of ${head.total} is in none of them`, first.place);
  }
  return { ...head, leaves: ordered };
}

function headOf({ spec, digest, seed, test, leaf, total }: SuiteHead): SuiteHead {
  return { spec, digest, seed, test, leaf, total };
}
