import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import Table from 'cli-table3';
import { asyncifyBenchmark } from './asyncify.ts';
import { echoBenchmark } from './echo.ts';
import { etcdBenchmark } from './etcd.ts';
import { forkBenchmark } from './fork.ts';
import type { Benchmark, Figure } from './harness.ts';
import { historyBenchmark } from './histories.ts';
import { instrumentationBenchmark } from './instrumentation.ts';
import { logShareBenchmark } from './log-share.ts';
import { logBenchmark } from './log.ts';
import { machineBenchmark } from './machines.ts';
import { messageBenchmark } from './messages.ts';
import { paceBenchmark } from './pace.ts';
import { packagePath } from './paths.ts';
import { recordWorldBenchmark } from './record-world.ts';
import { replayBenchmark } from './replay.ts';
import { reportBenchmark } from './report.ts';
import { seedsBenchmark } from './seeds.ts';
import { startBenchmark } from './start.ts';
import { suiteBenchmark } from './suite.ts';
import { suspendBenchmark } from './suspend.ts';

/** All benchmarks, in the order in which they run. */
const BENCHMARKS: readonly Benchmark[] = [
  logBenchmark,
  logShareBenchmark,
  historyBenchmark,
  messageBenchmark,
  recordWorldBenchmark,
  suiteBenchmark,
  paceBenchmark,
  etcdBenchmark,
  instrumentationBenchmark,
  asyncifyBenchmark,
  echoBenchmark,
  suspendBenchmark,
  forkBenchmark,
  replayBenchmark,
  reportBenchmark,
  seedsBenchmark,
  startBenchmark,
  machineBenchmark,
];

/** Figures of an earlier run, kept in the repository: by benchmark, then by figure. */
type Baseline = Readonly<Record<string, Readonly<Record<string, number>>>>;

const BASELINE_FILE = packagePath('bench/baseline.json');

function holds(figure: Figure): boolean {
  if (figure.bar === null) return true;
  const { kind, value } = figure.bar;
  return kind === 'at-most' ? figure.value <= value : figure.value >= value;
}

function show(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en');
  return value.toPrecision(3);
}

function barText({ bar, unit }: Figure): string {
  if (bar === null) return '';
  return `${bar.kind === 'at-most' ? '≤' : '≥'} ${show(bar.value)} ${unit}`;
}

function readBaseline(): Baseline {
  try {
    return JSON.parse(readFileSync(BASELINE_FILE, 'utf8')) as Baseline;
  } catch {
    return {};
  }
}

function printTable(name: string, figures: readonly Figure[], baseline: Baseline): void {
  const table = new Table({
    head: [name, 'value', 'bar', '', 'baseline', 'note'],
    style: { head: [], border: [] },
  });
  for (const figure of figures) {
    const before = baseline[name]?.[figure.name];
    table.push([
      figure.name,
      `${show(figure.value)} ${figure.unit}`,
      barText(figure),
      figure.bar === null ? '' : holds(figure) ? 'met' : 'MISSED',
      before === undefined ? '' : show(before),
      figure.note,
    ]);
  }
  console.log(table.toString());
}

/** `npm run bench [-- NAME …] [-- --save]`: measures, prints, and with --save keeps the figures. */
async function main(args: readonly string[]): Promise<void> {
  const names = args.filter((arg) => !arg.startsWith('--'));
  const known = BENCHMARKS.map(({ name }) => name);
  const unknown = args.find((arg) => arg !== '--save' && !known.includes(arg));
  if (unknown !== undefined) {
    console.error(`no benchmark is called ${unknown}; there are: ${known.join(', ')}`);
    process.exitCode = 2;
    return;
  }
  const baseline = readBaseline();
  const measured: Record<string, Record<string, number>> = { ...baseline };
  console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`);
  let missed = 0;
  for (const benchmark of BENCHMARKS) {
    if (names.length > 0 && !names.includes(benchmark.name)) continue;
    const missing = benchmark.missing?.() ?? null;
    if (missing !== null) {
      console.log(`${benchmark.name}: not measured: ${missing}`);
      continue;
    }
    const figures = await benchmark.measure((text) => {
      process.stderr.write(`${benchmark.name}: ${text}\n`);
    });
    printTable(benchmark.name, figures, baseline);
    measured[benchmark.name] = Object.fromEntries(figures.map(({ name, value }) => [name, value]));
    missed += figures.filter((figure) => !holds(figure)).length;
  }
  if (args.includes('--save'))
    writeFileSync(BASELINE_FILE, JSON.stringify(measured, null, 2) + '\n');
  console.log(missed === 0 ? 'all bars met' : `${missed} bars missed`);
}

await main(process.argv.slice(2));
