import { formatTime } from '../../sim/index.ts';
import { writeAtomically } from '../atomic-write.ts';
import { groupDigits, layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { shellQuote } from '../host.ts';
import type { OptionsOf } from '../options.ts';
import { printable } from '../timeline.ts';
import { clusterFindings, clusterKey, type Cluster } from '../triage/clusters.ts';
import type { Policy } from '../triage/findings.ts';
import {
  minimizeClusters,
  minimizedLine,
  minimizedRecord,
  type Minimized,
} from '../triage/minimize.ts';
import { readFindings, type TriageInput } from '../triage/read-findings.ts';

/** At most so many bundles of a cluster are named in its record. */
const BUNDLES_NAMED_MAX = 100;

/** How a cluster stands to those of the other campaign. */
type Standing = 'new' | 'known' | null;

interface Ranked {
  readonly cluster: Cluster;
  readonly standing: Standing;
}

/** `sim triage`: many findings into the few failures that they show (CR-36, CR-37). */
export async function run(
  args: readonly string[],
  options: OptionsOf<'triage'>,
  context: Context,
): Promise<number> {
  const policy = options.policy ?? 'default';
  const [text = ''] = args;
  const repeat = options.recomputeSignatures;
  const input = readFindings(text, context, { repeat });
  const clusters = clusterFindings(input.findings, policy);
  const compared = options.compare;
  const other =
    compared === undefined
      ? null
      : clusterFindings(readFindings(compared, context, { repeat }).findings, policy);
  const known = other === null ? null : new Map(other.map((each) => [clusterKey(each), each]));
  const ranked = clusters.map((cluster): Ranked => {
    const key = clusterKey(cluster);
    return { cluster, standing: known === null ? null : known.has(key) ? 'known' : 'new' };
  });
  const own = new Set(clusters.map(clusterKey));
  const gone = [...(known ?? [])].flatMap(([key, cluster]) => (own.has(key) ? [] : [cluster]));
  const minimized = await minimizeClusters(clusters, options, context);
  const isUnread = input.damaged.length > 0 && input.findings.length + input.passed === 0;
  const exitCode = isUnread ? 5 : ranked.some(({ standing }) => standing === 'new') ? 1 : 0;
  for (const each of minimized)
    context.output.record({ type: 'minimized', ...minimizedRecord(each) });
  record(ranked, gone, input, { policy, exitCode }, context);
  say(ranked, gone, input, context);
  for (const each of minimized) context.output.say(minimizedLine(each));
  if (options.report !== undefined) {
    const page = markdown(ranked, gone, input, context, minimized);
    writeAtomically(context.path(options.report), Buffer.from(page));
  }
  return exitCode;
}

function record(
  ranked: readonly Ranked[],
  gone: readonly Cluster[],
  input: TriageInput,
  { policy, exitCode }: { readonly policy: Policy; readonly exitCode: number },
  { output, host }: Context,
): void {
  ranked.forEach(({ cluster, standing }, index) => {
    const { kind, scenario, signature, count, firstSeed, builds, smallest, bundles } = cluster;
    output.record({
      type: 'cluster',
      rank: index + 1,
      verdict: kind,
      scenario: scenario === '' ? null : scenario,
      signature,
      count,
      builds: builds.size,
      first_seed: firstSeed,
      at_ns: smallest?.atNs ?? null,
      bundle: smallest?.bundle?.path ?? null,
      bundle_bytes: smallest?.bundle?.bytes ?? null,
      bundles: bundles.slice(0, BUNDLES_NAMED_MAX),
      ...(standing === null ? {} : { standing }),
      replay: commandOf('replay', cluster, host.command),
      shrink: shrinkOf(cluster, host.command),
    });
  });
  for (const { kind, scenario, signature, count } of gone) {
    output.record({ type: 'gone', verdict: kind, scenario, signature, count });
  }
  for (const damaged of input.damaged) output.record({ type: 'damaged', ...damaged });
  output.record({
    type: 'result',
    policy,
    findings: input.findings.reduce((sum, { count }) => sum + count, 0),
    clusters: ranked.length,
    passed: input.passed,
    duplicates: input.duplicates,
    damaged: input.damaged.length,
    gone: gone.length,
    exit_code: exitCode,
  });
}

function say(
  ranked: readonly Ranked[],
  gone: readonly Cluster[],
  input: TriageInput,
  { output, host }: Context,
): void {
  if (!output.speaks) return;
  const { dim, bold } = output.colors;
  output.say(bold(summary(ranked, input)));
  if (ranked.length > 0) output.say('');
  const [head, ...rows] = table(ranked);
  if (ranked.length > 0) {
    const lines = layOut([(head ?? []).map(dim), ...rows], new Set([0, 1, 2, 4, 5, 6]));
    for (const line of lines) output.say(line);
    output.say('');
  }
  ranked.forEach(({ cluster }, index) => {
    const command = commandOf('replay', cluster, host.command);
    if (command !== null) output.say(`${index + 1}  ${command}`);
  });
  for (const { count, signature } of gone) {
    output.say(`gone    ${groupDigits(count)} × ${printable(signature)}`);
  }
  for (const { path, code, message } of input.damaged) {
    output.say(`damaged ${printable(path)}: ${code}: ${message}`);
  }
}

function summary(ranked: readonly Ranked[], input: TriageInput): string {
  const findings = input.findings.reduce((sum, { count }) => sum + count, 0);
  const kinds = `${ranked.length} ${ranked.length === 1 ? 'failure' : 'failures'}`;
  const more = [
    [input.passed, 'passed or savepoints'],
    [input.duplicates, 'duplicates'],
    [input.damaged.length, 'damaged'],
  ] as const;
  const rest = more.flatMap(([count, what]) =>
    count > 0 ? [`${groupDigits(count)} ${what}`] : [],
  );
  return [`${kinds} in ${groupDigits(findings)} findings`, ...rest].join(', ');
}

/** The head and a row for each cluster. */
function table(ranked: readonly Ranked[]): readonly (readonly string[])[] {
  const compared = ranked.some(({ standing }) => standing !== null);
  const head = ['rank', 'count', 'builds', 'verdict', 'first seed', 'at', 'bytes', 'what'];
  const rows = ranked.map(({ cluster, standing }, index) => {
    const { kind, scenario, signature, count, builds, firstSeed, smallest } = cluster;
    const at = smallest?.atNs ?? null;
    const bytes = smallest?.bundle?.bytes ?? null;
    const what = scenario === '' ? signature : `${scenario}: ${signature}`;
    return [
      String(index + 1),
      groupDigits(count),
      builds.size === 0 ? '-' : String(builds.size),
      kind,
      String(firstSeed),
      at === null ? '-' : formatTime(at),
      bytes === null ? '-' : groupDigits(bytes),
      ...(compared ? [standing ?? ''] : []),
      printable(what),
    ];
  });
  return [compared ? [...head.slice(0, -1), 'standing', 'what'] : head, ...rows];
}

/** The same as a page of Markdown: equal findings give equal bytes. */
function markdown(
  ranked: readonly Ranked[],
  gone: readonly Cluster[],
  input: TriageInput,
  { host }: Context,
  minimized: readonly Minimized[],
): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|');
  const [head = [], ...rows] = table(ranked);
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  const lines = ['# Triage', '', summary(ranked, input), ''];
  if (rows.length > 0) {
    lines.push(line(head), line(head.map(() => '---')), ...rows.map(line), '');
  }
  ranked.forEach(({ cluster }, index) => {
    const command = commandOf('replay', cluster, host.command);
    if (command !== null) lines.push(`    ${index + 1}  ${command}`);
  });
  for (const each of minimized) lines.push(`- ${minimizedLine(each)}`);
  for (const { count, signature } of gone) lines.push(`- gone: ${count} × ${printable(signature)}`);
  for (const { path, code } of input.damaged) lines.push(`- damaged: ${printable(path)} (${code})`);
  return `${lines.join('\n').trimEnd()}\n`;
}

function commandOf(verb: string, { smallest }: Cluster, command: string): string | null {
  const path = smallest?.bundle?.path;
  return path === undefined ? null : `${command} ${verb} ${shellQuote(path)}`;
}

/** A timeout is reported and never shrunk (CR-37). */
function shrinkOf(cluster: Cluster, command: string): string | null {
  if (cluster.kind === 'inconclusive') return 'not-applicable-timeout';
  return cluster.kind === 'fail' ? commandOf('shrink', cluster, command) : null;
}
