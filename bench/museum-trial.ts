import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import type { Host } from '../cli/host.ts';
import { runCommandLine } from '../cli/program.ts';
import { isSingleFault } from '../cli/single-faults.ts';
import { Simulation } from '../cli/simulation.ts';
import { loadScenarioText, LocalFiles } from '../scenarios/index.ts';
import { campaignText } from '../scenarios/museum/campaign.ts';
import type { MuseumCase } from '../scenarios/museum/index.ts';
import {
  decodeDecisions,
  decodeEvents,
  firingsOf,
  formatTime,
  LOG_DECISIONS,
  LOG_EVENTS,
  readWholeLog,
  roleOf,
} from '../sim/index.ts';
import { WasmEngine } from '../wasm/index.ts';

/** A record that the command line writes. */
type Fields = Readonly<Record<string, unknown>>;

/** What became of one case: found in a campaign of faults, bisected over time, shrunk, replayed. */
export interface Trial {
  readonly seed: number;
  /** Injected faults before and after shrinking: events that happened and single faults. */
  readonly faultsBefore: number;
  readonly faultsAfter: number;
  /** Exit code of the replay of the shrunk bundle. */
  readonly replayed: number;
  /** The lines of the story, as `node role text`. */
  readonly story: readonly string[];
  /** The stream of the decision at the steepest step; null where all is lost from the start. */
  readonly rise: string | null;
  /** The faults that the failure needed, as a bisection names them, in order. */
  readonly needed: readonly string[];
  readonly exact: boolean;
  /** Processor seconds of one thread. */
  readonly shrinkSeconds: number;
  readonly bisectSeconds: number;
}

/** A campaign has injected so many faults at least by the time at which the failure comes. */
export const FAULTS_MIN = 8;

/** The first seed from `from` on whose campaign fails after `FAULTS_MIN` faults; null within none. */
export function findCampaign(
  { name, property }: MuseumCase,
  from: number,
  countMax: number,
): number | null {
  const loaded = loadScenarioText(campaignText(name, 'bug'), name, new LocalFiles('.'));
  if (!loaded.ok) throw new Error(`the campaign of ${name} is no scenario`);
  const { def, images } = loaded.scenario;
  const engine = new WasmEngine({});
  for (let seed = from; seed < from + countMax; seed++) {
    const simulation = new Simulation({ scenario: def, images, engine, seed });
    try {
      simulation.runUntil({ property });
      const { properties, schedule, events: log, endNs } = simulation.finish();
      const failed = properties.find((each) => each.name === property)?.verdict === 'fail';
      if (!failed) continue;
      const decisions = [...decodeDecisions(readWholeLog(schedule, LOG_DECISIONS))];
      const events = decodeEvents(readWholeLog(log, LOG_EVENTS));
      const firings = firingsOf(def, { decisions, events, endNs });
      const faults = def.plan.events.filter((event) => !roleOf(event).mends);
      const count = faults.reduce((sum, event) => sum + (firings.get(event.name)?.length ?? 0), 0);
      if (count + decisions.filter(isSingleFault).length >= FAULTS_MIN) return seed;
    } finally {
      simulation.dispose();
    }
  }
  return null;
}

/** Takes a case through the commands in `folder`, as somebody would type them, on one thread. */
export async function tryCase(one: MuseumCase, seed: number, folder: string): Promise<Trial> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${one.name}.toml`), campaignText(one.name, 'bug'));
  const failed = `${one.name}.athanor`;
  const small = `${one.name}-small.athanor`;
  await sim(folder, ['run', `${one.name}.toml`, '--seed', String(seed), '--out', failed]);
  const shrunk = await sim(folder, ['shrink', failed, '--jobs', '1', '--out', small]);
  const { exitCode: replayed } = await sim(folder, ['replay', small, '--check', 'log']);
  const bisected = await sim(folder, ['bisect', failed, '--jobs', '1']);
  const result = shrunk.records.find(({ type }) => type === 'result') ?? {};
  const rise = bisected.records.find(({ which }) => which === 'rise');
  const story = shrunk.records.filter(({ type }) => type === 'story');
  return {
    seed,
    faultsBefore: faultsOf(result['before']),
    faultsAfter: faultsOf(result['after']),
    replayed,
    story: story.map(({ node, role, text }) => [node, role, text].join(' ')),
    rise: rise === undefined ? null : (rise['decision'] as { readonly stream: string }).stream,
    needed: bisected.records
      .filter(({ type }) => type === 'fault')
      .map(({ meaning, at_ns }) => `${String(meaning)} at ${formatTime(Number(at_ns))}`),
    exact: bisected.records.at(-1)?.['exact'] === true,
    shrinkSeconds: shrunk.seconds,
    bisectSeconds: bisected.seconds,
  };
}

function faultsOf(size: unknown): number {
  const { fault_events: events = NaN, single_faults: singles = NaN } = (size ?? {}) as Partial<
    Record<string, number>
  >;
  return events + singles;
}

interface Told {
  readonly exitCode: number;
  readonly records: readonly Fields[];
  readonly seconds: number;
}

async function sim(folder: string, args: readonly string[]): Promise<Told> {
  let stdout = '';
  const sink = (write: (text: string) => void): Host['stdout'] => ({
    isTerminal: false,
    columns: 100,
    write,
    writeBytes: () => undefined,
  });
  const host: Host = {
    stdout: sink((text) => {
      stdout += text;
    }),
    stderr: sink(() => undefined),
    env: { NO_COLOR: '1' },
    cwd: folder,
    command: 'sim',
    lines: () => Readable.from([]),
    streams: () => ({ input: Readable.from([]), output: new PassThrough() }),
  };
  const before = process.cpuUsage();
  const exitCode = await runCommandLine([...args, '--format', 'jsonl'], host);
  const { user, system } = process.cpuUsage(before);
  const lines = stdout.split('\n').filter((line) => line !== '');
  const records = lines.map((line) => JSON.parse(line) as Fields);
  return { exitCode, records, seconds: (user + system) / 1e6 };
}
