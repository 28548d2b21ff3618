import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { readInput } from '../../scenarios/index.ts';
import { SimError, type RunOutcome } from '../../sim/index.ts';
import type { WasmEngine } from '../../wasm/index.ts';
import { openBundle, type Bundle } from '../bundle.ts';
import { readRun } from '../bundle-input.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import { OUTPUT_VERSION } from '../output.ts';
import { runToEnd } from '../record.ts';
import { findingOf, sameFor, type TriageFinding } from './findings.ts';

/** At most so many bundles are taken from a folder, and findings from a list. */
export const TRIAGE_FILES_MAX = 100_000;

const BUNDLE_SUFFIX = '.athanor';

/** What was read: failures, and what could not be. */
export interface TriageInput {
  readonly findings: TriageFinding[];
  /** Bundles that are no failure: runs that passed, and savepoints. */
  passed: number;
  /** Bundles that stand there more than once, byte for byte. */
  duplicates: number;
  readonly damaged: {
    readonly path: string;
    readonly code: string;
    readonly message: string;
  }[];
}

/**
 * With `repeat` a run is repeated, and what comes of it counts; a list's word alone then does not.
 * Reads a folder of bundles, one bundle, the ledger of a search, or the records that `sim run --runs`
 * or `sim search` wrote. A bundle that cannot be read is listed, and stops nothing. Throws `input/…`
 * where there is nothing to read, or a list that makes no sense.
 */
export function readFindings(
  text: string,
  context: Context,
  { repeat }: { readonly repeat: boolean },
): TriageInput {
  const reader = new FindingsReader(context, repeat ? makeEngine(context.artifactDir) : null);
  const path = context.path(text);
  if (existsSync(path) && statSync(path).isDirectory()) reader.folder(text);
  else reader.file(text);
  const { input } = reader;
  const { findings, passed, damaged } = input;
  if (findings.length + passed + damaged.length > 0 || reader.isList) return input;
  throw new SimError({
    code: 'input/empty',
    message: `there is no bundle in "${text}"`,
    place: text,
    remedy:
      'name a folder of bundles such as .athanor/runs, a ledger, or the records of a campaign',
  });
}

class FindingsReader {
  readonly input: TriageInput = { findings: [], passed: 0, duplicates: 0, damaged: [] };
  /** Whether a list was read: one without findings is an answer, too. */
  isList = false;
  private readonly context: Context;
  /** Repeats runs; null where their record is believed. */
  private readonly engine: WasmEngine | null;
  private readonly digests = new Set<string>();

  constructor(context: Context, engine: WasmEngine | null) {
    this.context = context;
    this.engine = engine;
  }

  folder(text: string): void {
    const names = readdirSync(this.context.path(text), { recursive: true, encoding: 'utf8' });
    const bundles = names.filter((name) => name.endsWith(BUNDLE_SUFFIX)).sort();
    checkCount(bundles.length, text);
    for (const name of bundles) this.bundle(join(text, name));
  }

  file(text: string): void {
    const bytes = Buffer.from(readInput(this.context.path(text), text));
    const start = bytes.subarray(0, 200).toString('utf8').trimStart();
    const isList = start.startsWith('{') || (start === '' && !text.endsWith(BUNDLE_SUFFIX));
    if (isList) this.list(bytes.toString('utf8'), text);
    else this.bundle(text);
  }

  /** Takes a bundle; what is wrong with it is only noted. Says whether it could be read. */
  private bundle(path: string): boolean {
    try {
      const bytes = readInput(this.context.path(path), path);
      const bundle = openBundle(bytes);
      if (this.digests.has(bundle.digest)) {
        this.input.duplicates++;
        return true;
      }
      this.digests.add(bundle.digest);
      const finding = findingOf(
        bundle,
        { path, bytes: bytes.length },
        this.outcomeOf(bundle, path),
      );
      if (finding === null) this.input.passed++;
      else this.input.findings.push(finding);
      return true;
    } catch (error) {
      if (!(error instanceof SimError)) throw error;
      this.input.damaged.push({ path, code: error.code, message: error.message });
      return false;
    }
  }

  /** What became of a bundle's run. Throws `verdict/divergence` if it can be repeated no more. */
  private outcomeOf(bundle: Bundle, path: string): RunOutcome {
    const { engine } = this;
    if (engine === null || bundle.manifest.kind !== 'run') return bundle.manifest.outcome;
    const { scenario, images, machines, schedule, events } = readRun(path, this.context);
    const replay = { schedule, events };
    return runToEnd({ scenario, images, machines, engine, replay }).outcome;
  }

  private list(text: string, place: string): void {
    this.isList = true;
    const records = recordsOf(text, place);
    checkCount(records.length, place);
    for (const record of records) this.counted(record, place);
  }

  /** A failure that somebody has counted: its bundle says more, if it is still there. */
  private counted(record: CountedRecord, place: string): void {
    const path = record.bundle === null ? null : this.pathOf(record.bundle, place);
    const before = this.input.findings.length;
    if (path !== null && this.bundle(path)) {
      const read = this.input.findings[before];
      if (read !== undefined) this.input.findings[before] = { ...read, count: record.count };
      return;
    }
    if (this.engine !== null) {
      const message = 'it names no bundle, so that its run cannot be repeated';
      if (path === null) this.input.damaged.push({ path: place, code: 'input/findings', message });
      return;
    }
    this.input.findings.push({
      kind: record.kind,
      scenario: '',
      signatures: sameFor(record.signature),
      count: record.count,
      seed: record.seed,
      atNs: null,
      build: '',
      bundle: null,
    });
  }

  /** Where a bundle is: where the list says, or beside the list if both were moved. */
  private pathOf(bundle: string, place: string): string {
    if (existsSync(this.context.path(bundle))) return bundle;
    const beside = join(dirname(place), basename(bundle));
    return existsSync(this.context.path(beside)) ? beside : bundle;
  }
}

interface CountedRecord {
  readonly kind: TriageFinding['kind'];
  readonly signature: string;
  readonly count: number;
  readonly seed: number;
  readonly bundle: string | null;
}

const count = z.int().min(1);
const seed = z.int().min(0);
const kind = z.enum(['fail', 'error', 'inconclusive']);
const bundle = z.string().nullable();

/** An entry of a ledger, and a record of `sim search`. */
const finding = z.object({ kind, signature: z.string(), count, seed, bundle });

/** A record of `sim run --runs`. */
const group = z
  .object({ verdict: kind, signature: z.string(), count, first_seed: seed, bundle })
  .transform(({ verdict, first_seed: first, ...rest }) => {
    return { ...rest, kind: verdict, seed: first };
  });

/** The counted failures of a ledger, of one JSON document of records, or of records a line. */
function recordsOf(text: string, place: string): readonly CountedRecord[] {
  const whole = parse(text);
  if (whole !== null && whole['type'] === undefined && Array.isArray(whole['records'])) {
    checkVersion(whole, place);
    return (whole['records'] as unknown[]).flatMap((each) => counted(asRecord(each), place));
  }
  if (whole?.['type'] === 'findings') {
    checkVersion(whole, place);
    const entries = Array.isArray(whole['findings']) ? (whole['findings'] as unknown[]) : [];
    return entries.flatMap((each) => counted({ ...asRecord(each), type: 'finding' }, place));
  }
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const record = parse(line);
    const at = `${place}:${index + 1}`;
    if (record === null) throw malformed('the line is no JSON object', at);
    checkVersion(record, at);
    return counted(record, at);
  });
}

/** A record of another type says nothing about failures. */
function counted(record: JsonRecord, place: string): readonly CountedRecord[] {
  const { type } = record;
  if (type !== 'finding' && type !== 'group') return [];
  const read = (type === 'finding' ? finding : group).safeParse(record);
  if (read.success) return [read.data];
  const [issue] = read.error.issues;
  throw malformed(`"${issue?.path.join('.') ?? ''}" of a ${type} is not as it must be`, place);
}

type JsonRecord = Readonly<Record<string, unknown>>;

function parse(text: string): JsonRecord | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? asRecord(value) : null;
  } catch {
    return null;
  }
}

function asRecord(value: unknown): JsonRecord {
  return typeof value === 'object' && value !== null ? (value as JsonRecord) : {};
}

function checkVersion(record: JsonRecord, place: string): void {
  if (record['schema_version'] === OUTPUT_VERSION) return;
  throw malformed(`its schema_version is not ${OUTPUT_VERSION}`, place);
}

function checkCount(found: number, place: string): void {
  if (found <= TRIAGE_FILES_MAX) return;
  throw new SimError({
    code: 'input/limit',
    message: `there are ${found} findings, the limit is ${TRIAGE_FILES_MAX}`,
    place,
  });
}

function malformed(why: string, place: string): SimError {
  return new SimError({
    code: 'input/findings',
    message: `it is no list of findings: ${why}`,
    place,
    remedy: 'give the ledger of a search, or what `sim run --runs` or `sim search` wrote as jsonl',
  });
}
